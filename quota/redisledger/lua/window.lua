-- Part of take.lua: a window of a pool. gone is the sum before it, oldest the time of its first entry; later, where it
-- refuses, what has to leave. near is the time of the first entry, at last_pos, of the window before it.

local reach, ceiling, start
reach, ceiling, at = unpack_('>I7I7', c, at)
if reach > 0 then
	start = now - reach + 1
else
	local turned = now - grace -- a day holds until the grace after its end
	while tonight <= turned and days + 34 <= #head do -- neither the first nor the last of the days
		days = days + 7
		local yesterday
		yesterday, today, tonight = unpack_('>I7I7I7', head, days)
		if today > turned then
			today, tonight = yesterday, today
		end
	end
	if today > turned or tonight <= turned then
		return redis.error_reply(string.format('DAYS %.0f', now))
	end
	start = today - grace
end

local gone, oldest, pos = total, 0, number -- of a window without entries
if start > newest then -- what is charged now will be its first
	if b == 1 then
		pos1, prev1, at1, sum1 = number, newest, now, total
	elseif b == 2 then
		pos2, prev2, at2, sum2 = number, newest, now, total
	end
else
	local prev = 0
	if b == 1 then
		pos, prev, oldest, gone = pos1, prev1, at1, sum1
	elseif b == 2 then
		pos, prev, oldest, gone = pos2, prev2, at2, sum2
	end
	local hinted = oldest > 0 and pos >= first
	if not hinted or start > oldest or start <= prev and pos > first then
		local lo, hi, guess, before, below = first, number, first, 0, nil
		if hinted and start <= oldest then
			hi, guess = pos, pos - 1
		else
			if hinted then
				lo, guess, before = pos + 1, pos + 1, oldest
			elseif near and near < start then
				lo, before, below = last_pos + 1, near, near
				guess = lo + math.floor((number - lo) * (start - near) / (newest - near + 1))
			end
			oldest, gone = 0, total -- the newest may have been given back
		end
		--: seek
		pos, oldest, gone, prev = seek(log, first, true, start, lo, hi, guess, before, oldest, gone, below, newest)
		if b == 1 then
			pos1, prev1, at1, sum1 = pos, prev, oldest, gone
		elseif b == 2 then
			pos2, prev2, at2, sum2 = pos, prev, oldest, gone
		end
	end
end

if oldest > 0 then
	near, last_pos = oldest, pos
end

local later, _ = 0, nil
if amount > 0 and total - gone + amount > ceiling then
	allowed = false
	--: seek
	if reach > 0 then
		-- The window's oldest entries have to leave until the sum before the next one is x; where all cost the
		-- same the guess is right.
		local x = total + amount - ceiling
		local guess = pos + math.ceil((x - gone) / (total - gone) * (number - pos))
		_, _, _, later = seek(log, first, false, x, pos + 1, number, guess, oldest, 0, 0, gone, total)
	elseif tonight - grace > newest then
		later = total
	else
		_, _, later = seek(log, first, true, tonight - grace, pos, number, number - 1, 0, 0, total)
	end
end
