-- The classic sliding log: a sorted set with one member per unit, scored by its time.
--
-- KEYS[1]  the set
-- ARGV[1]  the limit, ARGV[2] the window in microseconds, ARGV[3] the cost, ARGV[4] a name that no
--          other call has, ARGV[5] how many members one ZADD adds
-- Result   1 when charged, 0 when refused
local limit, window, cost, many = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
if redis.call('ZCARD', KEYS[1]) + cost > limit then
	return 0
end
local at, members = string.format('%.0f', now), {}
for i = 1, cost do
	members[2 * i - 1], members[2 * i] = at, ARGV[4] .. ':' .. i
	if i % many == 0 or i == cost then
		redis.call('ZADD', KEYS[1], unpack(members, 2 * (i - (i - 1) % many) - 1, 2 * i))
	end
end
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return 1
