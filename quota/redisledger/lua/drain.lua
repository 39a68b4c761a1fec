-- Stores a drain of a pool.
--
-- KEYS[1]  the account's state
-- ARGV[1]  the drain (until 0 lifts it) and the least horizon, packed, seven bytes each
-- ARGV[2]  'm', ARGV[3] the field of the pool
-- Result   1
-- Errors   CORRUPT.  NEWER.

local key = KEYS[1]
local drained, used, by, at, probe, least = unpack_('>I7I7I7I7I7I7', ARGV[1])
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local state = got(key, pcall('HMGET', key, ARGV[2], ARGV[3]))
local kept, expires, spenders, generation, born, cursor = meta(key, state[1])
local q = pool(key, state[1], state[2], now)
if not drain(q, { drained, used, by, at, probe }, now) then
	return 1
end
local horizon = math.max(kept, least)
local until_ = math.max(expires, now + life(horizon), q[DRAINED] + KEEP)
keep(key, { ARGV[3], pack(POOL, unpack(q, 1, COLUMNS)) }, now, until_, kept, horizon, spenders, generation, born, cursor)
return 1
