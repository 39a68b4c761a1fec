-- Forgets what was spent from the pools of an account.
--
-- KEYS[1]  the account's state
-- ARGV[1]  'm'
-- Result   1
-- Errors   CORRUPT.  NEWER.  SHARED, where it has a generation.
-- The logs are those of the pools in the state; they have the same hash tag. Positions go on.

local key, state, pools = KEYS[1], {}, {}
local all = got(key, pcall('HGETALL', key))
for k = 1, #all, 2 do
	state[all[k]] = all[k + 1]
end
local _, _, _, generation = meta(key, state[ARGV[1]])
if generation ~= 0 then
	return redis.error_reply('SHARED ' .. key)
end
for field, s in pairs(state) do
	if string.byte(field) == 112 then
		pools[field] = pool(key, state[ARGV[1]], s, 0)
	end
end
for field, q in pairs(pools) do
	q[NEWEST], q[EXPIRES], q[DRAINED], q[DRAINED_USED], q[DRAINED_BY], q[DRAINED_AT], q[PROBE] = 0, 0, 0, 0, 0, 0, 0
	redis.call('HSET', key, field, pack(POOL, unpack(q, 1, COLUMNS)))
	redis.call('DEL', key .. ':' .. string.sub(field, 2))
end
return 1
