-- Records past spends at their own time.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool
-- ARGV[1]  the caller's clock (0: do not compare), ARGV[2] the horizon, ARGV[3] when it was spent
-- ARGV[4]  'm', ARGV[5] the field of who spent, ARGV[5 + i] the field of the i-th pool
-- ARGV[5 + pools + i] its spent amount; 0 writes nothing; then how far clocks may be apart
-- Result   1, or 0 for a time beyond the horizon, which changes nothing
-- Errors   CLOCK clock newest: too far apart.  CORRUPT.  NEWER.
-- All pools or none are written.

local pools, asked, at, gap = #KEYS - 1, tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[#ARGV])
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
if asked > 0 and math.abs(now - asked) > gap then
	return clocks(now, asked)
end
local state, p = read(4, 1, now)
local kept, expires, spenders, generation, born, cursor = meta(KEYS[1], state[1])
local horizon, clock = math.max(kept, tonumber(ARGV[2])), now
for i = 1, pools do
	now = math.max(now, p[i][NEWEST])
end
if now - clock > gap then
	return clocks(clock, now)
end
at = math.min(at, now)
if now - at >= horizon then
	return 0
end

local who = 0
local set = {}
if state[2] then
	who = #state[2] == 2 and unpack_('>I2', state[2]) or corrupt(KEYS[1], 'it holds a spender without an id')
elseif spenders < SPENDERS then
	spenders = spenders + 1
	who = spenders
	set = { ARGV[5], pack('>I2', who) }
end
local tails, extra, pos = {}, {}, {}
for i = 1, pools do
	local q, key, sum = p[i], KEYS[1 + i], nil
	pos[i], sum = q[NUMBER], q[TOTAL]
	if at < q[NEWEST] then
		pos[i], sum = find(key, q, at + 1, q[NUMBER] - 1)
	end
	tails[i] = tail(key, q, pos[i])
	extra[i] = pack(ENTRY, at, sum, (q[NUMBER] + 1) % NUMBERS, who)
end

local renewed = now + life(horizon)
local lives = math.ceil(life(horizon) / 1000)
for i = 1, pools do
	local q, key, amount = p[i], KEYS[1 + i], tonumber(ARGV[5 + pools + i])
	if amount > 0 then
		local empty, total = q[NUMBER] == q[FIRST], q[TOTAL]
		if empty then
			redis.call('LTRIM', key, 1, 0)
		end
		shift(key, q, pos[i], tails[i], 1, amount, extra[i])
		if empty then -- a window over the whole log begins with it
			q[HINT], q[HINT + 1], q[HINT + 2], q[HINT + 3] = pos[i], 0, at, total
		end
		q[NEWEST] = math.max(q[NEWEST], at)
		q[EXPIRES] = renewed
		redis.call('PEXPIRE', key, lives)
		set[#set + 1] = ARGV[5 + i]
		set[#set + 1] = pack(POOL, unpack(q, 1, COLUMNS))
	end
end
keep(KEYS[1], set, clock, math.max(expires, renewed), kept, horizon, spenders, generation, born, cursor)
return 1
