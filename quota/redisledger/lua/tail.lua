-- Shared by scripts that do not run for every call.

local pcall = redis.pcall

local function corrupt(key, why)
	error({ err = 'CORRUPT ' .. key .. ': ' .. why })
end

-- find returns the position of the first entry at a time or later, and its sum.
local function find(key, q, x, guess)
	local pos, _, sum = seek(key, false, q[FIRST], true, x, q[FIRST], q[NUMBER], guess, 0, 0, q[TOTAL])
	return pos, sum
end

-- read returns the state's fields named from ARGV[from] on: the meta field, then others, then the pools. It fails,
-- before anything is written, if one of them or the length of a log is wrong.
local function read(from, others, now)
	local state_key, pools = KEYS[1], #KEYS - 1
	local state = got(state_key, pcall('HMGET', state_key, unpack(ARGV, from, from + others + pools)))
	local p = {}
	for i = 1, pools do
		local q, key = pool(state_key, state[1], state[1 + others + i], now), KEYS[1 + i]
		local is, length = whole(key, q)
		if not is then
			corrupt(key, 'it has ' .. length .. ' entries instead of ' .. q[NUMBER] - q[FIRST])
		end
		p[i] = q
	end
	return state, p
end

-- tail returns the log's entries from position pos on.
local function tail(key, q, pos)
	local all = {}
	for from = pos - q[FIRST], q[NUMBER] - q[FIRST] - 1, 1000 do
		for _, e in ipairs(got(key, pcall('LRANGE', key, from, from + 999))) do
			if #e < ENTRY_SIZE then
				corrupt(key, 'it holds something that is not an entry')
			end
			all[#all + 1] = e
		end
	end
	return all
end

-- shift adds delta to the sums of entries[from] and all after it, and writes them at position pos, after the entry
-- extra if given. Hints of earlier entries stay valid.
local function shift(key, q, pos, entries, from, delta, extra)
	local at, changed = pos - q[FIRST], extra and pos or 0
	for k = from, #entries do
		local t, sum, n, w = unpack_(ENTRY, entries[k])
		local e = pack(ENTRY, t, sum + delta, n, w) .. string.sub(entries[k], ENTRY_SIZE + 1)
		if extra then
			e, extra = extra, e
		end
		redis.call('LSET', key, at, e)
		at = at + 1
	end
	if extra then
		redis.call('RPUSH', key, extra)
		q[NUMBER] = q[NUMBER] + 1
	end
	q[TOTAL] = q[TOTAL] + delta
	for h = HINT, COLUMNS, HINT_SIZE do
		if q[h] >= changed then
			q[h], q[h + 1], q[h + 2], q[h + 3] = 0, 0, 0, 0
		end
	end
end

-- keep writes fields of the state and m, and sets the state's expiry. A longer horizon applies to all logs.
local function keep(key, set, now, until_, kept, horizon, spenders, generation, born, cursor)
	set[#set + 1] = 'm'
	set[#set + 1] = pack(META, MAGIC, VERSION, horizon, until_, spenders, generation, born, cursor)
	for low = 1, #set, 1000 do
		redis.call('HSET', key, unpack(set, low, math.min(low + 999, #set)))
	end
	redis.call('PEXPIRE', key, math.ceil((until_ - now) / 1000))
	if horizon > kept then
		prolong(key, horizon, now)
	end
end

-- everything returns the state as a table, and the columns of all pools by the keys of their logs, which share its
-- hash tag.
local function everything(key, now)
	local all, state, logs = got(key, pcall('HGETALL', key)), {}, {}
	for k = 1, #all, 2 do
		state[all[k]] = all[k + 1]
	end
	if #all > 0 and not state.m then
		corrupt(key, 'it has no field m')
	end
	meta(key, state.m)
	for field, s in pairs(state) do
		if string.byte(field) == 112 then
			logs[key .. ':' .. string.sub(field, 2)] = pool(key, state.m, s, now)
		end
	end
	return state, logs
end

-- drain puts a drain over the last one of a pool, and reports whether that changes it: see quota.Drain.Over.
local function drain(q, d, now)
	local till, is, was, wins = q[DRAINED], d[3] == UNKNOWN, q[DRAINED_BY] == UNKNOWN, false
	local new, old = d[1] > (is and math.max(now, d[4]) or now), till > (was and math.max(now, q[DRAINED_AT]) or now)
	if is and was then
		wins = d[4] > q[DRAINED_AT] or d[4] == q[DRAINED_AT] and d[1] > till
	elseif is or was then
		wins = new and (is or not old) or is and not old
	else
		wins = d[1] == 0 or d[1] > till and (d[5] == 0 or d[5] ~= q[PROBE] or not old)
	end
	local closed = wins and is and new or not wins and was and old
	for k = 1, wins and #d or 0 do
		q[DRAINED - 1 + k] = d[k]
	end
	if closed then
		q[DRAINED] = math.max(d[1], till)
	end
	return wins or q[DRAINED] ~= till
end
