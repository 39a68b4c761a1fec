-- Sums what was spent, by who. It writes nothing.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool, which may be none
-- ARGV[1]  since when, ARGV[2] 'm', ARGV[2 + i] the field of the i-th pool
-- Result   the fields of all spenders, each with its id behind it; the fields of all pools; then for
--          each pool asked for the ids that spent from it, each with the sum behind it, packed,
--          seven bytes each
-- Errors   CORRUPT.  NEWER.

local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local since = tonumber(ARGV[1])
local state, p = read(2, 0, now)
meta(KEYS[1], state[1])

local spenders, fields = {}, {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
	local kind = string.sub(all[i], 1, 1)
	if kind == 'w' then
		if #all[i + 1] ~= 2 then
			corrupt(KEYS[1], 'it holds a spender without an id')
		end
		spenders[#spenders + 1] = all[i]
		spenders[#spenders + 1] = unpack_('>I2', all[i + 1])
	elseif kind == 'p' then
		fields[#fields + 1] = all[i]
	end
end

local out = { spenders, fields }
for i = 1, #KEYS - 1 do
	local q, key = p[i], KEYS[1 + i]
	local sums, before, by = {}, nil, nil
	local pos = find(key, q, since, q[FIRST])
	local entries = tail(key, q, pos)
	for k = 1, #entries + 1 do
		local _, sum, w
		if entries[k] then
			_, sum, _, w = unpack_(ENTRY, entries[k])
		else
			sum = q[TOTAL]
		end
		if by then
			sums[by] = (sums[by] or 0) + sum - before
		end
		before, by = sum, w
	end
	local packed = {}
	for w, sum in pairs(sums) do
		packed[#packed + 1] = pack('>I7I7', w, sum)
	end
	out[2 + i] = table.concat(packed)
end
return out
