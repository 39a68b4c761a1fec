-- Lets all logs of an account live as long as a horizon that has grown.
--
-- KEYS[1]  the account's state
-- ARGV[1]  'm', ARGV[2] the horizon
-- Result   1
-- Errors   CORRUPT.  NEWER.
-- The logs are those of the pools in the state; they have the same hash tag.

local key, longer = KEYS[1], tonumber(ARGV[2])
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local all, state = got(key, pcall('HGETALL', key)), {}
for k = 1, #all, 2 do
	state[all[k]] = all[k + 1]
end
local kept, expires, spenders, generation, born, cursor = meta(key, state[ARGV[1]])
if longer > kept and state[ARGV[1]] then
	prolong(key, state, longer, now)
	expires = math.max(expires, now + longer + KEEP)
	redis.call('HSET', key, ARGV[1], pack(META, MAGIC, VERSION, longer, expires, spenders, generation, born, cursor))
	redis.call('PEXPIRE', key, math.ceil((expires - now) / 1000))
end
return 1
