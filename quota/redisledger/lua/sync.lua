-- Puts logs and fields prepared by sync.go in place in one step, or nothing if any value that it read has changed
-- since. Entries that takes have added meanwhile move up.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool; KEYS[1 + pools + i] where its next one is staged
-- ARGV[1]  the generation, the horizon, how many spenders were known and are now, how many writers are new, how far
--          clocks may be apart, and how many fields change, packed, seven bytes each
-- ARGV[2]  'm', ARGV[3] 's', ARGV[3 + i] the field of the i-th pool
-- ARGV[3 + pools + i]      the change of its log, see PLAN
-- ARGV[3 + 2 * pools + i]  which of its new entries are synced by this step, packed, four bytes each, from 1
-- Then fields, their old values ('': not there; of a writer its WRITER), and their new ones
-- Then, pool by pool, its new entries, if none are staged
-- Result   the clock, before which no snapshot can have counted anything of this
-- Errors   CHANGED.  LOST.  GENERATION now.  CLOCK clock newest: too far apart.  CORRUPT.  NEWER.

-- The position of the first new entry, and of the last one read; how many are staged (0: none are) and how many are
-- here; the growth of the total (and NONE), how many entries came in (NONE: the log stays), and the time of the newest;
-- the end of the drain to lift (0: none), and a drain; then the last entry read, if any.
local PLAN = '>I7I7I7I7I7I7I7I7I7I7I7I7I7'
local NONE = 4503599627370496
local LEFT = 4096 -- entries that may have come in since

local key, pools = KEYS[1], (#KEYS - 1) / 2
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local wanted, longer, knew, spenders, fresh, gap, count = unpack_('>I7I7I7I7I7I7I7', ARGV[1])
local changed = redis.error_reply('CHANGED ' .. key)

local state = fields(key, 2, 3 + pools)
local kept, expires, before, generation, born, cursor = meta(key, state[1])
local horizon = math.max(kept, longer)
local err = other(key, generation, wanted, state[2])
if err then
	return err
end
local base = 3 + 3 * pools
local same = before == knew
for k, value in ipairs(fields(key, base + 1, base + count)) do
	same = same and known(key, ARGV[base + k], value) == ARGV[base + count + k]
end

local plans, clock, late, until_, writes, next_ = {}, now, false, 0, count > 0, base + 3 * count
for i = 1, pools do
	local log, q, plan, at = KEYS[1 + i], pool(key, state[1], state[2 + i], clock), {}, nil
	local is, length = whole(log, q)
	if not is then
		broken(log, length, 'it has ' .. length .. ' entries', true)
	end
	local new = {}
	plan.pos, plan.read, plan.staged, plan.here, plan.grown, plan.added, plan.newest, plan.lifted,
		new[1], new[2], new[3], new[4], new[5], at = unpack_(PLAN, ARGV[3 + pools + i])
	plan.q, plan.grown, plan.from, next_ = q, plan.grown - NONE, next_ + 1, next_ + plan.here
	if plan.added < NONE then
		local last = plan.read > q[FIRST] and plan.read <= q[NUMBER] and redis.call('LINDEX', log, plan.read - 1 - q[FIRST]) or ''
		same = same and last == string.sub(ARGV[3 + pools + i], at) and plan.pos >= q[FIRST] and plan.read >= q[FIRST] and q[NUMBER] - plan.read <= LEFT
			and (plan.staged == 0 or plan.staged == redis.call('LLEN', KEYS[1 + pools + i]))
		if q[TOTAL] + plan.grown > EXACT then
			corrupt(log, 'its sum would not be exact any more')
		end
		late, writes = late or ARGV[3 + 2 * pools + i] ~= '', true
	end
	plan.drained = plan.lifted > 0 and plan.lifted == q[DRAINED] and drain(q, { 0, 0, 0, 0, 0 }, clock)
	plan.drained = new[1] > 0 and drain(q, new, clock) or plan.drained
	if plan.drained then
		until_, writes = math.max(until_, q[DRAINED]), true
	end
	now, plans[i] = math.max(now, q[NEWEST]), plan
end
if not same then
	return changed
end
if now - clock > gap then
	return clocks(clock, now)
end
if not writes then
	return now
end

-- Nothing was written up to here.
local set = {}
local renewed = now + life(horizon)
for i, plan in ipairs(plans) do
	local log, staged, q = KEYS[1 + i], KEYS[1 + pools + i], plan.q
	if plan.added < NONE then
		local since, which, first = tail(log, q, plan.read), ARGV[3 + 2 * pools + i], 0
		for k, e in ipairs(since) do
			local t, sum, n, w = unpack_(ENTRY, e)
			since[k] = pack(ENTRY, t, sum + plan.grown, n, w) .. string.sub(e, ENTRY_SIZE + 1)
		end
		if plan.staged > 0 then
			redis.call('RENAME', staged, log)
		else
			first = plan.pos - q[FIRST]
			redis.call('LTRIM', log, first > 0 and 0 or 1, first > 0 and first - 1 or 0)
			append(log, ARGV, plan.from, plan.from + plan.here - 1)
		end
		for k = 1, #which, 4 do
			local pos = first + unpack_('>I4', which, k) - 1
			local e = redis.call('LINDEX', log, pos)
			local _, from, g = unpack_(NOTE, e, ENTRY_SIZE + 1)
			redis.call('LSET', log, pos, string.sub(e, 1, ENTRY_SIZE) .. pack(NOTE, now, from, g))
		end
		append(log, since, 1, #since)
		q[TOTAL], q[NUMBER], q[EXPIRES] = q[TOTAL] + plan.grown, q[NUMBER] + plan.added, renewed
		q[FIRST], q[NEWEST] = q[NUMBER] - redis.call('LLEN', log), math.max(q[NEWEST], plan.newest, late and now or 0)
		for h = HINT, COLUMNS do
			q[h] = 0
		end
		redis.call('PEXPIRE', log, math.ceil(life(horizon) / 1000))
	end
	if plan.added < NONE or plan.drained then
		set[#set + 1] = ARGV[3 + i]
		set[#set + 1] = pack(POOL, unpack(q, 1, COLUMNS))
	end
end
if fresh > 0 then
	cursor = sweep(key, cursor, now - horizon, math.min(fresh, 64))
end
expires = math.max(expires, renewed, until_ > 0 and until_ + KEEP or 0)
for k = 1, count do
	set[#set + 1] = ARGV[base + k]
	set[#set + 1] = ARGV[base + 2 * count + k]
end
keep(key, set, clock, expires, kept, horizon, spenders, generation, born, cursor)
return now
