-- Refunds a take at its own time.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool charged
-- ARGV[1]  the time of the take, ARGV[2] how long after it a refund is possible
-- ARGV[3]  'm', ARGV[3 + i] the field of the i-th pool
-- ARGV[3 + pools + 2 i - 1] the number of the entry, ARGV[3 + pools + 2 i] its charge
-- Result   1
-- Errors   NOTHING why: not such an entry, not any more, or too late.  CORRUPT.  NEWER.
-- All pools or none are written. The entry is deleted, so that no window waits for it; later entries move up.

local pools, at = #KEYS - 1, tonumber(ARGV[1])
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
if now - at > tonumber(ARGV[2]) then
	return redis.error_reply('NOTHING the take is too long ago')
end
local state, p = read(3, 0, now)
meta(KEYS[1], state[1])

local tails, after, behind = {}, {}, {}
for i = 1, pools do
	local q, key = p[i], KEYS[1 + i]
	local number, amount = tonumber(ARGV[2 + pools + 2 * i]), tonumber(ARGV[3 + pools + 2 * i])
	local pos = find(key, q, at, q[NUMBER] - 1)
	local rest = tail(key, q, pos)
	for k = 1, #rest do
		local t, sum, n = unpack_(ENTRY, rest[k])
		if t ~= at then
			break
		end
		local charged = (rest[k + 1] and select(2, unpack_(ENTRY, rest[k + 1])) or q[TOTAL]) - sum
		if n == number and charged == amount then
			after[i], tails[i], behind[i] = pos + k, rest, k + 1
			break
		end
	end
	if not after[i] then
		return redis.error_reply('NOTHING no such entry in ' .. key)
	end
end

if pools == 0 then
	return 1 -- a peek
end

local set = {}
for i = 1, pools do
	shift(KEYS[1 + i], p[i], after[i] - 1, tails[i], behind[i], -tonumber(ARGV[3 + pools + 2 * i]))
	redis.call('RPOP', KEYS[1 + i])
	p[i][FIRST] = p[i][FIRST] + 1
	if p[i][FIRST] == p[i][NUMBER] then
		p[i][TOTAL] = 0 -- otherwise the empty log would seem to have lost entries
	end
	set[#set + 1] = ARGV[3 + i]
	set[#set + 1] = pack(POOL, unpack(p[i], 1, COLUMNS))
end
redis.call('HSET', KEYS[1], unpack(set))
return 1
