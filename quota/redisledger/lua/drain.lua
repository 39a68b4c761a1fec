-- Keeps the provider's word about a pool.
--
-- KEYS[1]  the account's state
-- ARGV[1]  until when the pool is drained (0: not), ARGV[2] what was used, ARGV[3] the least horizon
-- ARGV[4]  'm', ARGV[5] the field of the pool
-- Result   1
-- Errors   CORRUPT.  NEWER.

local key, drained = KEYS[1], tonumber(ARGV[1])
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local state = got(key, pcall('HMGET', key, ARGV[4], ARGV[5]))
local kept, expires, spenders, generation, born, cursor = meta(key, state[1])
local q = pool(key, state[1], state[2], now)
if not state[2] and drained == 0 then
	return 1
end
if drained > 0 and drained <= q[DRAINED] then
	return 1 -- the later word stands
end
q[DRAINED], q[DRAINED_USED] = drained, tonumber(ARGV[2])
local horizon = math.max(kept, tonumber(ARGV[3]))
local until_ = math.max(now + horizon, drained) + KEEP
local renew = until_ > expires
redis.call('HSET', key, 'm', pack(META, MAGIC, VERSION, horizon, math.max(expires, until_), spenders, generation, born, cursor),
	ARGV[5], pack(POOL, unpack(q, 1, COLUMNS)))
if renew then
	redis.call('PEXPIRE', key, math.ceil((until_ - now) / 1000))
end
return 1
