-- Goes on in the same generation on a server that was restarted with its data.
--
-- KEYS[1]  the account's state
-- ARGV[1]  the generation, ARGV[2] 's'
-- Result   1
-- Errors   CORRUPT.  NEWER.  GENERATION now.  LOST: a log is not as long as its state says.

local key = KEYS[1]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local state, logs = everything(key, now)
local _, _, _, generation = meta(key, state.m)
local failed = other(key, generation, unpack_('>I7', ARGV[1]), nil, state.m)
if failed then
	return failed
end
for log, q in pairs(logs) do
	local is, length = whole(log, q)
	if not is then
		broken(log, length, 'it has ' .. length .. ' entries', true)
	end
end
local here = server()
if type(here) == 'table' then
	return here
end
redis.call('HSET', key, ARGV[2], here)
return 1
