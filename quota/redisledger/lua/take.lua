-- Draws a cost from the pools of an account, all or nothing. What there is of it is pictured in common.lua.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool
-- ARGV[1]  how far clocks may be apart, the caller's clock (0: do not compare), horizon, precision (0: never merge), the
--          offset of its steps (1 with precision 0: a peek, which charges nothing), grace, the number of the operation (0:
--          none), and with one its nonce (0: it is only decided), generation and the highest number known to be written;
--          then the provider's midnights
-- ARGV[2]  'm', ARGV[3] the field of who spends, ARGV[3 + i] that of the i-th pool; with a number the writer's and 's' behind
-- Then for the i-th pool amount and number of bounds; for each its reach (length and grace; 0: the day) and ceiling
-- Result   packed, seven bytes each: 1 when admitted, else 0; the ledger's clock, or the newest entry where that is later;
--          for each pool its total before, until when it is drained (0: not) and what was used then, the number of the
--          entry written (0: none); for each bound the sum before the window, the time of its first entry (0: none), and
--          where it refused the time of the entry that has to leave, or for a day the sum at which the next one begins;
--          then, when it refused, the clock itself
-- Errors   CLOCK clock other: too far apart.  DAYS clock: outside the midnights.  HORIZON: prolong.lua has to run first.
--          CORRUPT.  NEWER.  With a number also LOST, GENERATION now, CLONE and DELIVERED, as quota.Remote has them.
-- Nothing is written unless the first number is 1, an amount is above 0, and so is the nonce. What was written under a
-- number is kept with its result, which is all that asking again under it gives. What can fail comes before what writes.

local KEYS, ARGV, pcall = KEYS, ARGV, redis.pcall
local pools, key, head = #KEYS - 1, KEYS[1], ARGV[1]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local gap, asked, horizon, precision, offset, grace, operation, days = unpack_('>I7I7I7I7I7I7I7', head)
local clock, wanted, nonce, written, numbered, last = now, 0, 0, 0, operation > 0, 3 + pools -- ARGV[last] is the last field
if numbered then
	nonce, wanted, written, days = unpack_('>I7I7I7', head, days)
	last = last + 2
end
if asked > 0 and (now - asked > gap or asked - now > gap) then
	return clocks(now, asked)
end

-- The state: one HMGET of all that is needed of it.

local state = got(key, pcall('HMGET', key, unpack(ARGV, 2, last)))
local m, who, writer, replay = state[1], state[2], numbered and state[last - 2], nil
local kept, expires, spenders, generation, born, cursor = meta(key, m)
if who and #who ~= 2 then
	broken(key, who, 'a spender has no id')
end

-- The number: what its writer wrote last says whether this was asked before, and whether anything was lost.

if numbered then
	local err = other(key, generation, wanted, state[last - 1], not m and (who or writer or state[3]))
	if err then
		return err
	end
	local number, mark = 0, 0
	if writer then
		if #writer < WRITER_SIZE then
			broken(key, writer, 'it holds a writer that is none')
		end
		number, mark = unpack_('>I7I7', writer)
	end
	if number < written then
		broken(key, number, string.format('its writer has written %.0f, here %.0f', written, number), true)
	elseif number > operation or number == operation and mark ~= nonce then
		return redis.error_reply(string.format('CLONE %.0f', number))
	elseif number == operation and #writer == WRITER_SIZE then
		return redis.error_reply(string.format('DELIVERED %.0f', number))
	elseif number == operation then
		replay = string.sub(writer, 15)
	end
end

-- The pools: state[2 + i] becomes the columns of the i-th. The clock never stands before an entry.

for i = 3, 2 + pools do
	local log, q = KEYS[i - 1], pool(key, m, state[i], clock)
	local is, length = whole(log, q)
	if not is then
		broken(log, length, 'it has ' .. length .. ' entries', numbered)
	end
	if q[NEWEST] > now then
		now = q[NEWEST]
	end
	state[i] = q
end
if replay then
	return replay
end
if now - clock > gap then
	return clocks(clock, now)
end

-- The windows: what each has used is the pool's total less the sum before its first entry. A hint says where that was
-- last time.

local out = { 1, now, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil } -- has room for a pool of two windows: a table that grows is slow
local o, allowed, charges, today, tonight = 2, true, false, 0, 0
for i = 1, pools do
	local q, log, c = state[2 + i], KEYS[1 + i], ARGV[last + i]
	local total, number, newest, first = q[TOTAL], q[NUMBER], q[NEWEST], q[FIRST]
	local amount, bounds, at = unpack_('>I7B', c)
	q[AMOUNT] = amount
	charges = charges or amount > 0 and (precision > 0 or offset == 0)
	allowed = allowed and (amount == 0 or q[DRAINED] <= now)
	out[o + 1], out[o + 2], out[o + 3], out[o + 4] = total, q[DRAINED], q[DRAINED_USED], 0
	o = o + 4
	local h = HINT
	for b = 1, bounds do
		local reach, ceiling, start
		reach, ceiling, at = unpack_('>I7I7', c, at)
		if reach > 0 then
			start = now - reach + 1
		else
			local turned = now - grace -- a day holds until the grace after its end
			while tonight <= turned and days + 27 <= #head do -- neither the first nor the last of the days
				days = days + 7
				today, tonight = unpack_('>I7I7', head, days)
			end
			if today > turned or tonight <= turned then
				return redis.error_reply(string.format('DAYS %.0f', now))
			end
			start = today - grace
		end

		local gone, oldest, pos = total, 0, number -- of a window without entries
		if start <= newest then
			pos, oldest, gone = q[h], q[h + 2], q[h + 3]
			local hinted = b <= HINTS and oldest > 0 and pos >= first
			if not hinted or start > oldest or start <= q[h + 1] and pos > first then
				local lo, hi, guess, prev = first, number, first, 0
				if hinted and start <= oldest then
					hi, guess = pos, pos - 1
				else
					if hinted then
						lo, guess, prev = pos + 1, pos + 1, oldest
					end
					oldest, gone = 0, total -- the newest may have been given back
				end
				pos, oldest, gone, prev = seek(log, first, true, start, lo, hi, guess, prev, oldest, gone, nil, newest)
				if b <= HINTS then
					q[h], q[h + 1], q[h + 2], q[h + 3] = pos, prev, oldest, gone
				end
			end
		end
		h = h + HINT_SIZE

		local later, _ = 0, nil
		if amount > 0 and total - gone + amount > ceiling then
			allowed = false
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
		out[o + 1], out[o + 2], out[o + 3] = gone, oldest, later
		o = o + 3
	end
end
local format = o == 12 and '>I7I7I7I7I7I7I7I7I7I7I7I7' or '>' .. string.rep('I7', o)
if not allowed then
	out[1] = 0
	return pack(format, unpack(out, 1, o)) .. pack('>I7', clock)
elseif not charges or numbered and nonce == 0 then
	return pack(format, unpack(out, 1, o))
elseif kept > 0 and horizon > kept then
	return redis.error_reply('HORIZON ' .. key)
end

-- The charge.

if kept > horizon then
	horizon = kept
end
local renewed, lives = now + horizon + KEEP, math.floor((horizon + KEEP) / 1000)
local set, s, learned, place = { nil, nil, nil, nil }, 0, not who and spenders < SPENDERS, 6 -- place: of an entry in out
if who then
	who = unpack_('>I2', who)
elseif learned then
	who, spenders = spenders + 1, spenders + 1
	set[1], set[2], s = ARGV[3], pack('>I2', who), 2
else
	who = 0 -- nobody: the ids are used up
end

local moves, drops = {}, {} -- of a pool, where its newest entry moves, and how many of its first go
for i = 1, pools do -- whatever can still fail
	local q, log = state[2 + i], KEYS[1 + i]
	local number, first = q[NUMBER], q[FIRST]
	if q[AMOUNT] > 0 and number > first then
		if precision > 0 then
			-- With precision, the newest entry of the same spender and step is moved to now and raised: it counts
			-- longer, never shorter. One that was given back is not: it could be given back again.
			local newest = pcall('LINDEX', log, -1)
			if type(newest) ~= 'string' or #newest ~= ENTRY_SIZE then
				broken(log, newest, 'its last entry is not one')
			end
			local t, sum, n, w = unpack_(ENTRY, newest)
			moves[i] = w == who and sum < q[TOTAL] and n < NUMBERS and math.floor((t + offset) / precision) == math.floor((now + offset) / precision)
				and { sum, n }
		end
		if (number + 1) % 64 == 0 and not moves[i] then -- entries beyond the horizon are dropped now and then, at most 16384
			drops[i] = seek(log, first, true, now - horizon + 1, first, first + 16384 < number and first + 16384 or number, first, 0, 0, 0) - first
		end
	end
end
for i = 1, pools do
	local q, log = state[2 + i], KEYS[1 + i]
	if q[AMOUNT] > 0 then
		local entry, move = (q[NUMBER] + 1) % NUMBERS, moves[i]
		if move then
			entry = move[2]
			redis.call('LSET', log, -1, pack(ENTRY, now, move[1], entry, who))
			for column = HINT, COLUMNS do
				q[column] = 0
			end
		else
			if q[NUMBER] == q[FIRST] and q[NUMBER] > 0 then
				redis.call('LTRIM', log, 1, 0)
			end
			redis.call('RPUSH', log, pack(ENTRY, now, q[TOTAL], entry, who))
			if drops[i] and drops[i] > 0 then
				redis.call('LTRIM', log, drops[i], -1)
				q[FIRST] = q[FIRST] + drops[i]
			end
			q[NUMBER] = q[NUMBER] + 1
		end
		q[TOTAL], q[NEWEST] = q[TOTAL] + q[AMOUNT], now
		if q[NUMBER] == q[FIRST] + 1 or q[EXPIRES] < renewed - RENEW then
			q[EXPIRES] = renewed
			redis.call('PEXPIRE', log, lives)
		end
		out[place] = entry
		set[s + 1], set[s + 2] = ARGV[3 + i], pack(POOL, unpack(q, 1, COLUMNS))
		s = s + 2
	end
	place = place + 4 + 3 * string.byte(ARGV[last + i], 8)
end
local result, renew = pack(format, unpack(out, 1, o)), expires < renewed - RENEW
if numbered then
	set[s + 1], set[s + 2] = ARGV[last - 1], string.sub(head, 43, 56) .. result
	s = s + 2
end
if renew or learned or horizon ~= kept or numbered and not writer then
	if numbered and not writer then
		cursor = sweep(key, cursor, now - horizon, 1)
	end
	set[s + 1], set[s + 2] = 'm', pack(META, MAGIC, VERSION, horizon, renew and renewed or expires, spenders, generation, born, cursor)
	s = s + 2
end
redis.call('HSET', key, unpack(set, 1, s))
if renew then
	redis.call('PEXPIRE', key, lives)
end
return result
