-- Records what one data directory knows and the ledger may not: rows at their own times, then what the ledger
-- lacks of its snapshots, drains, and the host.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool
-- ARGV[1]  the generation, the horizon, how many spenders and writers are named
-- ARGV[2]  of each writer its highest number and the nonce of that, packed, seven bytes each
-- ARGV[3]  the host: id (none: it is not listed) and what is kept of it, see HOST
-- ARGV[3 + i]          the rows of the i-th pool in order of time, see ROW
-- ARGV[3 + pools + i]  what the host last saw of it, any number of SNAPSHOT, each with its windows behind it
-- Then the fields: 'm', 'h', those of the pools, those of the snapshots they were raised to, those of the
-- spenders, those of the writers
-- Result   1
-- Errors   LOST.  GENERATION now.  CLOCK clock newest: too far apart.  CORRUPT.  NEWER.
-- A row counts when its number is above its writer's last. All is written or nothing, and what was
-- delivered before changes nothing.

local ROW = '>I7I7I2I2I7I2B' -- time, amount, spender, writer, number, place in the delivery, kind
local ROW_SIZE = 28
local VISIBLE, LATE = 1, 2 -- kinds: snapshots can have counted it in its time; only from now on
local SNAPSHOT = '>I7I7I7I7B' -- generation, time, drained until, used then, windows
local USAGE = '>I7I7' -- of each window its start and what was used
local MARK = '>I7I7' -- generation, time
local MARKS = 8 -- snapshots that a pool remembers, the newest
local HOST = '>I7I2I4' -- when, the lengths of its id and of what is kept of it, which follow
local HOSTS = 256 -- that are listed, the newest

local key, pools = KEYS[1], #KEYS - 1
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local wanted, horizon, people, hands = unpack_('>I7I7I7I7', ARGV[1])
local base = 3 + 2 * pools -- ARGV[base + 1] is the first field
local state = fields(key, base + 1, #ARGV)
local POOLS, RAISED, PEOPLE, WRITERS = 2, 2 + pools, 2 + 2 * pools, 2 + 2 * pools + people
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
	for i = 1, pools do
		local whole, length = intact(KEYS[1 + i], p[i])
		if not whole then
			return redis.error_reply('LOST ' .. KEYS[1 + i] .. ': it has ' .. length .. ' entries')
		end
	end
end

-- writers is what each has written, and plans the records of those that now have written more.
local function writers()
	local last, fresh = {}, 0
	for k = 1, hands do
		local number, nonce = unpack_('>I7I7', ARGV[2], 14 * k - 13)
		local known
		last[k], known = written(key, state[WRITERS + k])
		if number > last[k] then
			note(WRITERS + k, pack(WRITER, number, nonce, 0, now))
			fresh = fresh + (known and 0 or 1)
		end
	end
	return last, fresh
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

-- rows are those of the i-th pool that are new and within the horizon.
local function rows(i, last)
	local new = { at = {}, amount = {}, who = {}, seq = {}, visible = {}, late = {} }
	local blob, n = ARGV[3 + i], 0
	for pos = 1, #blob, ROW_SIZE do
		local at, amount, who, writer, number, seq, kind = unpack_(ROW, blob, pos)
		at = math.min(at, now)
		if number > last[writer] and now - at < horizon then
			n = n + 1
			new.at[n], new.amount[n], new.who[n], new.seq[n] = at, amount, spender(who), seq
			new.visible[n], new.late[n] = kind == VISIBLE, kind == LATE
		end
	end
	return new
end

-- snapshots are what the host saw of the i-th pool.
local function snapshots(i)
	local all, blob, pos = {}, ARGV[3 + pools + i], 1
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
-- the i-th pool was raised to before. It is now raised to these.
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
		for k, m in ipairs(marks) do
			marks[k] = m.at >= 0 and k <= MARKS and pack(MARK, m.generation, m.at) or ''
		end
		note(RAISED + i, table.concat(marks))
	end
	return some
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
local function change(i, q, last, all)
	local log, fresh, some = KEYS[1 + i], rows(i, last), younger(i, all)
	if #fresh.at == 0 and #some == 0 then
		return nil
	end
	local from = fresh.at[1] and fresh.at[1] + 1 or now
	for _, l in ipairs(some) do
		from = math.min(from, l.at + 1)
		for _, w in ipairs(l.windows) do
			from = math.min(from, w.start)
		end
	end
	local plan, raised = load(log, q, from), 0
	net(plan, fresh)
	merge(plan, fresh, q[NUMBER], now)
	for _, l in ipairs(some) do
		raised = raised + (raise(plan, l) and 1 or 0)
	end
	return #fresh.at + raised > 0 and packed(log, plan) or nil
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
local last, fresh = writers()
local changes = {}
for i = 1, pools do
	local all = snapshots(i)
	changes[i] = change(i, p[i], last, all)
	if drain(p[i], all) then
		drained = math.max(drained, p[i][DRAINED])
		changes[i] = changes[i] or {}
	end
end
hosts()
if #set == 0 and not next(changes) and longer == kept then
	return 1
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
		put(log, q, c.pos, c.entries, c.total)
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
return 1
