-- seek returns the first position in [lo, hi) whose time (or, without by_time, sum) is at least x, with its time, its
-- sum, and the time of the entry before it. Everything before lo is less (prev is the time there), and everything from
-- hi on is not (at and sum are of hi); below and above are the known values next to x, if any. first is the position of
-- the log's head; with lost, a missing entry is a loss. It looks at guess first, then ever further from it. Once x is
-- between two known entries, it interpolates, between them or through the last two below, and bisects when that did
-- not halve the range, which bounds the number of steps.
local function seek(key, lost, first, by_time, x, lo, hi, guess, prev, at, sum, below, above)
	local step, width = 1, nil
	while lo < hi do
		if guess < lo then
			guess = lo
		elseif guess >= hi then
			guess = hi - 1
		end
		local e = redis.pcall('LINDEX', key, guess - first)
		if type(e) ~= 'string' or #e < ENTRY_SIZE then
			broken(key, e, 'entry ' .. guess - first .. ' is missing or not an entry', lost)
		end
		local t, s = struct.unpack('>I7I7', e)
		local v, slope = by_time and t or s, 0
		if v >= x then
			hi, at, sum, above = guess, t, s, v
			guess = guess - step
		else
			slope = below and (v - below) / (guess + 1 - lo) or 0
			lo, prev, below = guess + 1, t, v
			guess = guess + step
		end
		if not (below and above) then
			step = step * 2
		elseif width and hi - lo > width / 2 then
			guess, width = math.floor((lo + hi) / 2), nil
		else
			width = hi - lo
			guess = slope > 0 and lo - 1 + math.ceil((x - below) / slope) or lo + math.floor(width * (x - below) / (above - below))
		end
	end
	return hi, at, sum, prev
end
