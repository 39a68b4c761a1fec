-- Records what one data directory knows and the ledger may not: rows at their own times, then what the ledger
-- lacks of its snapshots, drains, and the host.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool
-- ARGV[1]  the generation, the horizon, how many spenders and writers are named
-- ARGV[2]  of each writer its highest number, the nonce of that, and 1 where it is to be taken back, else 0, packed,
--          seven bytes each
-- ARGV[3]  the host: id (none: it is not listed) and what is kept of it, see HOST
-- ARGV[4]  what was told of rows before, see TOLD
-- ARGV[4 + i]          the rows of the i-th pool in order of time, see ROW
-- ARGV[4 + pools + i]  what the host last saw of it, any number of SNAPSHOT, each with its windows behind it
-- Then the fields: 'm', 'h', 's', those of the pools, those of the snapshots they were raised to, those of the
-- spenders, those of the writers
-- Result   the clock
-- Errors   LOST.  GENERATION now.  CLOCK clock newest: too far apart.  CORRUPT.  NEWER.
-- A row counts when its number is above its writer's last. All is written or nothing, and what was
-- delivered before changes nothing.

local ROW = '>I7I7I2I2I7I2BI2' -- time, amount, spender, writer, number, place in the delivery, kind, place in ARGV[4]
local ROW_SIZE = 30
-- Kinds: snapshots can have counted it in its time; only from now on; as ARGV[4] says; it is to be taken back.
local VISIBLE, LATE, KNOWN, UNUSED = 1, 2, 3, 4
local TOLD = '>B' -- how many parts a row's life has had; then of each since when, and until which generation
local LIFE = '>I7I7'
local SNAPSHOT = '>I7I7I7I7B' -- generation, time, drained until, used then, windows
local USAGE = '>I7I7' -- of each window its start and what was used
local MARK = '>I7I7' -- generation, time
local MARKS = 16 -- snapshots that a pool remembers, the newest
local HOST = '>I7I2I4' -- when, the lengths of its id and of what is kept of it, which follow
local HOSTS = 256 -- that are listed, the newest

local key, pools = KEYS[1], #KEYS - 1
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local wanted, horizon, people, hands = unpack_('>I7I7I7I7', ARGV[1])
local base = 4 + 2 * pools -- ARGV[base + 1] is the first field
local state = fields(key, base + 1, #ARGV)
local POOLS, RAISED, PEOPLE, WRITERS = 3, 3 + pools, 3 + 2 * pools, 3 + 2 * pools + people
local kept, expires, spenders, generation, born, cursor = meta(key, state[1])
local set = {} -- fields and values to be written

local function note(k, value)
	set[#set + 1] = ARGV[base + k]
	set[#set + 1] = value
end

-- lost is the error for what is not as it was left, if there is any.
local function lost(p)
	if generation ~= wanted and generation > 0 then
		return redis.error_reply(string.format('GENERATION %.0f', generation))
	elseif generation ~= wanted then
		return redis.error_reply('LOST ' .. key .. ': it has no generation')
	end
	local here = state[3] and server()
	if here ~= state[3] then
		return moved(key, here)
	end
	for i = 1, pools do
		local whole, length = intact(KEYS[1 + i], p[i])
		if not whole then
			return redis.error_reply('LOST ' .. KEYS[1 + i] .. ': it has ' .. length .. ' entries')
		end
	end
end

-- writers is what each has written, and when it was charged what is to be taken back, and plans the records of
-- those that now have written more, or whose last is taken back.
local function writers()
	local last, fresh, charged = {}, 0, {}
	for k = 1, hands do
		local number, nonce, unused = unpack_('>I7I7I7', ARGV[2], 21 * k - 20)
		local record, known = state[WRITERS + k], nil
		last[k], known = written(key, record)
		if unused == 1 and number == last[k] and #record > WRITER_SIZE then
			local _, mark, _, at = unpack_(WRITER, record)
			charged[k] = mark == nonce and at or nil
		end
		if number > last[k] or charged[k] then
			note(WRITERS + k, pack(WRITER, number, nonce, 0, now))
			fresh = fresh + (known and 0 or 1)
		end
	end
	return last, fresh, charged
end

-- lives are what was told of rows before: of each the parts of its life.
local function lives()
	local all, pos = {}, 1
	while pos <= #ARGV[4] do
		local parts, life = nil, {}
		parts, pos = unpack_(TOLD, ARGV[4], pos)
		for k = 1, parts do
			local since, generation
			since, generation, pos = unpack_(LIFE, ARGV[4], pos)
			life[k] = { since = since, generation = generation }
		end
		all[#all + 1] = life
	end
	return all
end

-- spender is the id of the j-th, which gets one when it has none.
local function spender(j)
	local id = state[PEOPLE + j]
	if not id then
		if spenders == SPENDERS then
			return 0
		end
		spenders = spenders + 1
		id = pack('>I2', spenders)
		state[PEOPLE + j] = id
		note(PEOPLE + j, id)
	elseif #id ~= 2 then
		corrupt(key, 'it holds a spender without an id')
	end
	return (unpack_('>I2', id))
end

-- rows are those of the i-th pool that are new and within the horizon, and those that are to be taken back. A row
-- that snapshots count only from some time on is moved on by less than a STEP, so that its entry says that exactly.
local function rows(i, last, charged, known)
	local new = { at = {}, amount = {}, who = {}, seq = {}, life = {}, number = {} }
	local columns, unused = { new.at, new.amount, new.who, new.seq, new.life, new.number }, {}
	local blob, n = ARGV[4 + i], 0
	for pos = 1, #blob, ROW_SIZE do
		local at, amount, who, writer, number, seq, kind, life = unpack_(ROW, blob, pos)
		at = math.min(at, now)
		if kind == UNUSED then
			if charged[writer] and number == last[writer] then
				unused[#unused + 1] = { at = charged[writer], amount = amount, who = spender(who) }
			end
		elseif number > last[writer] and now - at < horizon then
			life = kind == KNOWN and known[life] or kind == VISIBLE and EVER
			local since, entry = kind == LATE and now or life[1].since, 0
			if since > 0 and since >= at then
				entry = steps(since - at)
				if entry < 2 * NUMBERS - 1 then
					at = since - (entry - NUMBERS) * STEP
				end
			end
			n = n + 1
			new.at[n], new.amount[n], new.who[n], new.seq[n], new.life[n], new.number[n] = at, amount, spender(who), seq, life or false, entry
			local k = n
			while k > 1 and new.at[k - 1] > new.at[k] do
				for _, c in ipairs(columns) do
					c[k - 1], c[k] = c[k], c[k - 1]
				end
				k = k - 1
			end
		end
	end
	return new, unused
end

-- snapshots are what the host saw of the i-th pool.
local function snapshots(i)
	local all, blob, pos = {}, ARGV[4 + pools + i], 1
	while pos <= #blob do
		local l, count = { windows = {} }, nil
		l.generation, l.asked, l.drained, l.used, count, pos = unpack_(SNAPSHOT, blob, pos)
		l.at = math.min(l.asked, now)
		for k = 1, count do
			local start, used
			start, used, pos = unpack_(USAGE, blob, pos)
			l.windows[k] = { start = start, used = used }
		end
		all[#all + 1] = l
	end
	return all
end

-- younger are those of the snapshots that are within the horizon and younger than any of the same generation that
-- the i-th pool was raised to before, and, youngest first, all that it is raised to now.
local function younger(i, all)
	local marks, some, s = {}, {}, state[RAISED + i] or ''
	for pos = 1, #s - 13, 14 do
		local generation, at = unpack_(MARK, s, pos)
		marks[#marks + 1] = { generation = generation, at = at }
	end
	for _, l in ipairs(all) do
		local mark
		for _, m in ipairs(marks) do
			mark = mark or m.generation == l.generation and m
		end
		if not mark then
			mark = { generation = l.generation, at = -1 }
			marks[#marks + 1] = mark
		end
		if l.asked > mark.at and now - l.at < horizon then
			mark.at = l.asked
			some[#some + 1] = l
		end
	end
	if #some > 0 then
		table.sort(marks, function(a, b)
			return a.at > b.at
		end)
		local packed_ = {}
		for k, m in ipairs(marks) do
			packed_[k] = m.at >= 0 and k <= MARKS and pack(MARK, m.generation, m.at) or ''
		end
		note(RAISED + i, table.concat(packed_))
	end
	return some, marks
end

-- drain keeps the latest drain of the snapshots that is not over.
local function drain(q, all)
	local drains = false
	for _, l in ipairs(all) do
		if l.drained > math.max(now, q[DRAINED]) then
			q[DRAINED], q[DRAINED_USED], drains = l.drained, l.used, true
		end
	end
	return drains
end

-- change plans what becomes of the i-th pool's log; nil for nothing.
local function change(i, q, all, fresh, unused)
	local log, some, marks = KEYS[1 + i], younger(i, all)
	if #fresh.at == 0 and #some == 0 and #unused == 0 then
		return nil
	end
	local from = fresh.at[1] and fresh.at[1] + 1 or now
	for _, u in ipairs(unused) do
		from = math.min(from, u.at)
	end
	for _, l in ipairs(some) do
		from = math.min(from, l.at + 1)
		for _, w in ipairs(l.windows) do
			from = math.min(from, w.start)
		end
	end
	local plan = load(log, q, from)
	local changed = take_back(plan, unused) or #fresh.at > 0
	net(plan, fresh, marks)
	merge(plan, fresh, q[NUMBER])
	for _, l in ipairs(some) do
		changed = raise(plan, l) or changed
	end
	return changed and packed(log, plan) or nil
end

-- hosts is the list of hosts with the one that delivers.
local function hosts()
	local when, id, kept_, pos = unpack_(HOST, ARGV[3])
	if id == 0 then
		return
	end
	local name = string.sub(ARGV[3], pos, pos + id - 1)
	local list, old = { pack(HOST, now, id, kept_) .. string.sub(ARGV[3], pos) }, state[2] or ''
	pos = 1
	while pos < #old and #list < HOSTS do
		local from = pos
		when, id, kept_, pos = unpack_(HOST, old, pos)
		if string.sub(old, pos, pos + id - 1) ~= name then
			list[#list + 1] = string.sub(old, from, pos + id + kept_ - 1)
		end
		pos = pos + id + kept_
	end
	note(2, table.concat(list))
end

local p, clock, drained = {}, now, 0
for i = 1, pools do
	p[i] = pool(key, state[1], state[POOLS + i], now)
end
local err = lost(p)
if err then
	return err
end
for i = 1, pools do
	now = math.max(now, p[i][NEWEST])
end
if now - clock > GAP then
	return clocks(clock, now)
end
local longer = math.max(kept, horizon)
horizon = longer
local last, fresh, charged = writers()
local changes, known = {}, lives()
for i = 1, pools do
	local all = snapshots(i)
	changes[i] = change(i, p[i], all, rows(i, last, charged, known))
	if drain(p[i], all) then
		drained = math.max(drained, p[i][DRAINED])
		changes[i] = changes[i] or {}
	end
end
hosts()
if #set == 0 and not next(changes) and longer == kept then
	return now
end

-- Up to here nothing was written.
if longer > kept then
	local all, others = redis.call('HGETALL', key), {}
	for k = 1, #all, 2 do
		others[all[k]] = all[k + 1]
	end
	prolong(key, others, longer, clock)
	for i = 1, pools do
		if p[i][EXPIRES] > clock then
			p[i][EXPIRES] = clock + longer + KEEP
		end
	end
end
local renewed = now + longer + KEEP
for i, c in pairs(changes) do
	local q, log = p[i], KEYS[1 + i]
	if c.entries then
		put(log, q, c.pos, c.entries, c.total, c.dropped)
		q[NEWEST], q[EXPIRES] = math.max(q[NEWEST], c.newest), renewed
		redis.call('PEXPIRE', log, math.ceil((longer + KEEP) / 1000))
	end
	note(POOLS + i, pack(POOL, unpack(q, 1, COLUMNS)))
end
if fresh > 0 then
	cursor = sweep(key, cursor, now - longer, math.min(fresh, 64))
end
local until_ = math.max(expires, renewed, drained > 0 and drained + KEEP or 0)
note(1, pack(META, MAGIC, VERSION, longer, until_, spenders, generation, born, cursor))
for low = 1, #set, 1000 do
	redis.call('HSET', key, unpack(set, low, math.min(low + 999, #set)))
end
redis.call('PEXPIRE', key, math.ceil((until_ - clock) / 1000))
return now
