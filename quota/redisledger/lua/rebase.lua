-- Reduces totals that will soon not be exact: it subtracts the same amount from all sums of a pool, and drops entries
-- older than the newest 2^50 units, a thousand times the largest limit, so that no decision changes.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool
-- ARGV[1]  'm', ARGV[1 + i] the field of the i-th pool, ARGV[2 + pools] the total above which a pool is reduced
-- Result   1
-- Errors   CORRUPT.  NEWER.

local KEPT = 1125899906842624
local pools = #KEYS - 1
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local state, p = read(1, 0, now)
meta(KEYS[1], state[1])
for i = 1, pools do
	local q, log = p[i], KEYS[1 + i]
	if q[TOTAL] > tonumber(ARGV[2 + pools]) then
		local entries, kept, base = tail(log, q, q[FIRST]), {}, q[TOTAL]
		for k = 1, #entries do
			local t, sum, n, w = unpack_(ENTRY, entries[k])
			if #kept == 0 or sum <= q[TOTAL] - KEPT then
				kept, base = {}, sum
			end
			kept[#kept + 1] = pack(ENTRY, t, sum - base, n, w) .. string.sub(entries[k], ENTRY_SIZE + 1)
		end
		redis.call('LTRIM', log, 1, 0)
		for low = 1, #kept, 1000 do
			redis.call('RPUSH', log, unpack(kept, low, math.min(low + 999, #kept)))
		end
		if #kept > 0 then
			redis.call('PEXPIRE', log, math.ceil((q[EXPIRES] - now) / 1000))
		end
		q[FIRST], q[TOTAL] = q[NUMBER] - #kept, q[TOTAL] - base
		for h = HINT, COLUMNS do
			q[h] = 0
		end
		redis.call('HSET', KEYS[1], ARGV[1 + i], pack(POOL, unpack(q, 1, COLUMNS)))
	end
end
return 1
