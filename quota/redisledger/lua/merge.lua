-- The rows of a delivery in the log of a pool. What is planned here writes nothing; put does.
--
-- A plan is what the log holds from position pos on: the columns at, amount, number and who as arrays,
-- base, the sum before them, and the entries as they are.

-- load is the plan of what is in the log at a time or later.
local function load(key, q, time)
	local plan = { pos = q[NUMBER], base = q[TOTAL], at = {}, amount = {}, number = {}, who = {} }
	if time <= q[NEWEST] then
		plan.pos, plan.base = find(key, q, time, q[NUMBER] - 1)
	end
	local entries, before = tail(key, q, plan.pos), nil
	for k = 1, #entries do
		local sum
		plan.at[k], sum, plan.number[k], plan.who[k] = unpack_(ENTRY, entries[k])
		if k > 1 then
			plan.amount[k - 1] = sum - before
		end
		before = sum
	end
	if #entries > 0 then
		plan.amount[#entries] = q[TOTAL] - before
	end
	plan.entries = entries
	return plan
end

-- steps is a span as an entry says it, rounded down. More than fits means indefinitely.
local function steps(span)
	return NUMBERS + math.min(math.floor(span / STEP), NUMBERS - 1)
end

local EVER = { { since = 0, generation = 0 } } -- the life of a row that was charged at its own time, and not lost since

-- had_counted says whether the snapshot that a charge was raised to had counted a row of this life: sharedledger's
-- Row.CountedAt. Generations follow each other, so that the snapshot's is that of the first mark from its time on.
local function had_counted(life, time, marks)
	local generation, age = 0, 268435456
	for _, m in ipairs(marks) do
		generation = m.at >= time and m.generation or generation
	end
	for _, part in ipairs(life or {}) do
		local last = part.generation
		if part.since <= time and (last == 0 or generation == last or generation > 0 and math.floor(generation / age) < math.floor(last / age)) then
			return true
		end
	end
	return false
end

-- take_back takes off the log what was charged and nobody used, and says whether there was anything.
local function take_back(plan, unused)
	local found = false
	for _, u in ipairs(unused) do
		for k = 1, #plan.at do
			if plan.at[k] == u.at and plan.amount[k] == u.amount and plan.who[k] == u.who and plan.number[k] < NUMBERS then
				plan.amount[k], found = 0, true
				break
			end
		end
	end
	return found
end

-- net takes off unattributed charges what rows add that their snapshots had counted: what was spent before the
-- snapshot and within its window, the earliest charge first. The rows are taken in the order of their delivery.
local function net(plan, rows, marks)
	local at, amount, charges, order, seqs = plan.at, plan.amount, {}, {}, {}
	for k = 1, #at do
		if plan.who[k] == UNATTRIBUTED and amount[k] > 0 then
			charges[#charges + 1] = k
		end
	end
	if #charges == 0 then
		return
	end
	for r = 1, #rows.at do
		if rows.life[r] then
			order[rows.seq[r]] = r
			seqs[#seqs + 1] = rows.seq[r]
		end
	end
	table.sort(seqs)
	local first = 1 -- of those before nothing is left
	for _, seq in ipairs(seqs) do
		local r = order[seq]
		local left, t = rows.amount[r], rows.at[r]
		for j = first, #charges do
			local k = charges[j]
			if left <= 0 then
				break
			end
			if amount[k] > 0 and t < at[k] and t >= at[k] - (plan.number[k] - NUMBERS) * STEP and had_counted(rows.life[r], at[k], marks) then
				local part = math.min(left, amount[k])
				amount[k], left = amount[k] - part, left - part
			end
			if amount[k] == 0 and j == first then
				first = first + 1
			end
		end
	end
end

-- merge puts rows behind what has the same time, numbered from number on. Rows that snapshots count only from
-- some time on say so. What holds nothing any more goes.
local function merge(plan, rows, number)
	local at, amount, numbers, who, k, r, n = {}, {}, {}, {}, 1, 1, 0
	plan.dropped = 0
	while k <= #plan.at or r <= #rows.at do
		n = n + 1
		if r > #rows.at or k <= #plan.at and plan.at[k] <= rows.at[r] then
			at[n], amount[n], numbers[n], who[n] = plan.at[k], plan.amount[k], plan.number[k], plan.who[k]
			if amount[n] == 0 then
				at[n], amount[n], numbers[n], who[n], n = nil, nil, nil, nil, n - 1
				plan.dropped = plan.dropped + 1
			end
			k = k + 1
		else
			at[n], amount[n], who[n] = rows.at[r], rows.amount[r], rows.who[r]
			numbers[n] = rows.number[r] > 0 and rows.number[r] or (number + r) % NUMBERS
			r = r + 1
		end
	end
	plan.at, plan.amount, plan.number, plan.who = at, amount, numbers, who
end

-- counted is what a snapshot of a time can have counted from start on.
local function counted(plan, start, time)
	local sum = 0
	for k = 1, #plan.at do
		local t, number = plan.at[k], plan.number[k]
		if t > time then
			break
		end
		local late = number >= NUMBERS and plan.who[k] ~= UNATTRIBUTED and number - NUMBERS
		if t >= start and not (late and (late == NUMBERS - 1 or t + late * STEP > time)) then
			sum = sum + plan.amount[k]
		end
	end
	return sum
end

-- raise enters what the log lacks of a snapshot as an unattributed charge at its time, and says whether it did.
local function raise(plan, snapshot)
	local lack, start = 0, 0
	for _, w in ipairs(snapshot.windows) do
		local lacks = w.used - counted(plan, w.start, snapshot.at)
		if lacks > lack then
			lack, start = lacks, w.start
		end
	end
	if lack <= 0 then
		return false
	end
	local k = #plan.at + 1
	while k > 1 and plan.at[k - 1] > snapshot.at do
		k = k - 1
	end
	table.insert(plan.at, k, snapshot.at)
	table.insert(plan.amount, k, lack)
	table.insert(plan.number, k, steps(snapshot.at - start))
	table.insert(plan.who, k, UNATTRIBUTED)
	return true
end

-- packed is what has changed: the position from which on, the entries there, the pool's total with
-- them, and the time of the last.
local function packed(key, plan)
	local entries, sum, pos = {}, plan.base, plan.pos
	for k = 1, #plan.at do
		local e = pack(ENTRY, plan.at[k], sum, plan.number[k], plan.who[k])
		sum = sum + plan.amount[k]
		if #entries == 0 and e == plan.entries[k] then
			pos = pos + 1
		else
			entries[#entries + 1] = e
		end
	end
	if sum > EXACT then
		corrupt(key, 'its sum would not be exact any more')
	end
	return { pos = pos, entries = entries, total = sum, newest = plan.at[#plan.at] or 0, dropped = plan.dropped }
end

-- put writes the entries from position pos on, instead of what is there, which was so many more. Positions grow by
-- these, so that no number is used twice.
local function put(key, q, pos, entries, total, dropped)
	if pos == q[FIRST] then
		redis.call('LTRIM', key, 1, 0)
	elseif pos < q[NUMBER] then
		redis.call('LTRIM', key, 0, pos - q[FIRST] - 1)
	end
	for low = 1, #entries, 1000 do
		redis.call('RPUSH', key, unpack(entries, low, math.min(low + 999, #entries)))
	end
	q[FIRST], q[NUMBER], q[TOTAL] = q[FIRST] + dropped, pos + #entries + dropped, total
	for h = HINT, COLUMNS do
		q[h] = 0
	end
end
