-- Deletes the charges of an account's pools. Positions continue.
--
-- KEYS[1]  the account's state
-- Result   1
-- Errors   CORRUPT.  NEWER.  SHARED, where it has a generation.

local key = KEYS[1]
local state, logs = everything(key, 0)
local _, _, _, generation = meta(key, state.m)
if generation ~= 0 then
	return redis.error_reply('SHARED ' .. key)
end
for log, q in pairs(logs) do
	q[NEWEST], q[EXPIRES], q[DRAINED], q[DRAINED_USED], q[DRAINED_BY], q[DRAINED_AT], q[PROBE] = 0, 0, 0, 0, 0, 0, 0
	redis.call('HSET', key, 'p' .. string.sub(log, #key + 2), pack(POOL, unpack(q, 1, COLUMNS)))
	redis.call('DEL', log)
end
return 1
