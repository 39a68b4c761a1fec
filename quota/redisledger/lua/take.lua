-- Draws a cost from the pools of an account, all or nothing.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool
-- ARGV[1]  the caller's clock (0: do not compare), horizon, precision (0: never merge), the offset of
--          its steps (1 with precision 0: a peek, which charges nothing), grace, the number of the
--          operation (0: none), and with one its nonce (0: it is only decided), generation and the highest
--          number known to be written; then the provider's midnights
-- ARGV[2]  'm', ARGV[3] the field of who spends, ARGV[3 + i] the field of the i-th pool; with a number
--          the writer's field and 's' behind them
-- Then for the i-th pool amount and number of bounds; for each its reach (length and grace; 0: the
--          day) and ceiling
-- Result   packed, seven bytes each: 1 when admitted, else 0; the ledger's clock, or the
--          newest entry where that is later;
--          for each pool its total before, until when it is drained (0: not) and what was used then,
--          the number of the entry written (0: none); for each bound the sum before the window, the
--          time of its first entry (0: none), and where it refused the time of the entry that has to
--          leave, or for a day the sum at which the next one begins; then, when it refused, the clock itself
-- Errors   CLOCK clock other: too far apart.  DAYS clock: outside the midnights.  CORRUPT.  NEWER.
--          With a number also LOST, GENERATION now, CLONE and DELIVERED, as quota.Remote has them.
-- Nothing is written unless the first number is 1, an amount is above 0, and so is the nonce. What was written under a
-- number is kept with its result, which is all that asking again under that number gives.

local KEYS, ARGV, pcall = KEYS, ARGV, redis.pcall
local pools, state_key, head = #KEYS - 1, KEYS[1], ARGV[1]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local asked, horizon, precision, offset, grace, operation, days = unpack_('>I7I7I7I7I7I7', head)
local gap = grace > 0 and grace < GAP and grace or GAP -- quota.Ask.ClockGap
if asked > 0 and (now - asked > gap or asked - now > gap) then
	return clocks(now, asked)
end

local last, numbered = 3 + pools, operation > 0 -- ARGV[last] is the last field
local wanted, nonce, written = 0, 0, 0
if numbered then
	nonce, wanted, written, days = unpack_('>I7I7I7', head, days)
	last = last + 2
end
local state = pcall('HMGET', state_key, unpack(ARGV, 2, last))
if state.err then
	return broken(state_key, state)
end
local m, who, writer, replay = state[1], state[2], numbered and state[last - 2], nil
local kept, expires, spenders, generation = 0, 0, 0, 0
if m then
	local magic, version
	if #m == META_SIZE then
		magic, version, kept, expires, spenders, generation = unpack_('>BBI7I7I2I7', m) -- the front of META
	else
		magic, version = string.byte(m, 1, 2)
	end
	if magic ~= MAGIC or version ~= VERSION or #m ~= META_SIZE or who and #who ~= 2 then
		if magic == MAGIC and version and version > VERSION then
			return redis.error_reply('NEWER ' .. state_key .. ': version ' .. version)
		end
		return broken(state_key, m, 'field m is not a state, or a spender has no id')
	end
end
if numbered then
	if generation ~= wanted then
		if generation > 0 then
			return redis.error_reply(string.format('GENERATION %.0f', generation))
		end
		local stray = not m and (who or writer or state[3])
		return broken(state_key, stray, 'it has no generation', true)
	end
	local here = state[last - 1] and server()
	if here ~= state[last - 1] then
		return moved(state_key, here)
	end
	local number, mark = 0, 0
	if writer then
		if #writer < WRITER_SIZE then
			return broken(state_key, writer, 'it holds a writer that is none')
		end
		number, mark = unpack_('>I7I7', writer)
	end
	if number < written then
		return broken(state_key, number, string.format('its writer has written %.0f, here %.0f', written, number), true)
	elseif number > operation or number == operation and mark ~= nonce then
		return redis.error_reply(string.format('CLONE %.0f', number))
	elseif number == operation then
		replay = string.sub(writer, 15)
		if #writer == WRITER_SIZE then
			return redis.error_reply(string.format('DELIVERED %.0f', number))
		end
	end
end

local p, clock = state, now -- p[2 + i] becomes the columns of the i-th pool
for i = 3, 2 + pools do
	local q = p[i]
	if not q then
		local length = pcall('LLEN', KEYS[i - 1])
		if length ~= 0 then
			return broken(KEYS[i - 1], length, 'the state does not know it', numbered)
		end
		q = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
	else
		if not m or #q ~= POOL_SIZE then
			return broken(state_key, q, 'it holds a pool that is not a state')
		end
		q = { unpack_(POOL, q) }
		if q[FIRST] > q[NUMBER] or q[TOTAL] > EXACT then
			return broken(state_key, q, 'it holds a pool that is not a state')
		end
		if clock >= q[EXPIRES] then
			q[FIRST], q[NEWEST] = q[NUMBER], 0 -- the log's key has expired
		end
		if q[NEWEST] > now then
			now = q[NEWEST]
		end
	end
	p[i] = q
end
if now - clock > gap and not replay then
	return clocks(clock, now)
end

-- out has room for a pool of two windows: a table that grows is slow.
local out = { 1, now, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
local o, allowed, charges, today, tonight = 2, true, false, nil, nil
for i = 1, replay and 0 or pools do
	local q, key = p[2 + i], KEYS[1 + i]
	local total, number, newest, first = q[TOTAL], q[NUMBER], q[NEWEST], q[FIRST]
	local c = ARGV[last + i]
	local amount, bounds, at = unpack_('>I7B', c)
	q[AMOUNT] = amount
	if amount > 0 then
		charges = precision > 0 or offset == 0
		if q[DRAINED] > now then
			allowed = false
		end
	end
	out[o + 1], out[o + 2], out[o + 3], out[o + 4] = total, q[DRAINED], q[DRAINED_USED], 0
	o = o + 4
	local h = HINT
	for b = 1, bounds do
		local reach, ceiling, start
		reach, ceiling, at = unpack_('>I7I7', c, at)
		if reach > 0 then
			start = now - reach + 1
		else
			if not today then
				local n, d, turned = (#head + 1 - days) / 7, 3, now - grace -- a day holds until the grace after its end
				if n > 3 then
					today, tonight = unpack_('>I7I7', head, days + 14) -- most likely
				end
				if n < 4 or today > turned or tonight <= turned then
					d = 0
					repeat
						today, tonight = unpack_('>I7I7', head, days + 7 * d)
						d = d + 1
					until tonight > turned or d + 1 >= n
				end
				if d < 2 or d + 1 >= n or today > turned or tonight <= turned then
					return redis.error_reply(string.format('DAYS %.0f', now))
				end
			end
			start = today - grace
		end

		-- What the window has not: its sum, the time of the first entry behind, and its position.
		local gone, oldest, pos = total, 0, number
		if start <= newest then
			pos, oldest, gone = q[h], q[h + 2], q[h + 3]
			local hinted = b <= HINTS and oldest > 0 and pos >= first
			if not hinted or start > oldest or (start <= q[h + 1] and pos > first) then
				local lo, hi, guess, prev = first, number, first, 0
				if hinted and start <= oldest then
					hi, guess = pos, pos - 1
				else
					if hinted then
						lo, guess, prev = pos + 1, pos + 1, oldest
					end
					oldest, gone = 0, total -- the newest may have been given back
				end
				pos, oldest, gone, prev = seek(key, first, true, start, lo, hi, guess, prev, oldest, gone, nil, newest)
				if not pos then
					return broken(key, oldest, 'entry ' .. gone .. ' is missing or not an entry', numbered)
				end
				if b <= HINTS then
					q[h], q[h + 1], q[h + 2], q[h + 3] = pos, prev, oldest, gone
				end
			end
		end
		h = h + HINT_SIZE

		local later = 0
		if amount > 0 and total - gone + amount > ceiling then
			allowed = false
			if reach > 0 then
				-- The window's oldest entries have to leave until the sum before the next one is x; where
				-- all cost the same the guess is right.
				local x = total + amount - ceiling
				local guess = pos + math.ceil((x - gone) / (total - gone) * (number - pos))
				local found, reply, index, last = seek(key, first, false, x, pos + 1, number, guess, oldest, 0, 0, gone, total)
				if not found then
					return broken(key, reply, 'entry ' .. index .. ' is missing or not an entry', numbered)
				end
				later = last
			elseif tonight - grace > newest then
				later = total
			else
				local found, reply, sum = seek(key, first, true, tonight - grace, pos, number, number - 1, 0, 0, total)
				if not found then
					return broken(key, reply, 'entry ' .. sum .. ' is missing or not an entry', numbered)
				end
				later = sum
			end
		end
		out[o + 1], out[o + 2], out[o + 3] = gone, oldest, later
		o = o + 3
	end
end
local size, format = o, o == 12 and '>I7I7I7I7I7I7I7I7I7I7I7I7' or '>' .. string.rep('I7', o)
if not allowed then
	out[1] = 0
end
if replay or not (allowed and charges) or numbered and nonce == 0 then
	for i = 1, numbered and pools or 0 do
		local q, length = p[2 + i], pcall('LLEN', KEYS[1 + i])
		local count = q[NUMBER] - q[FIRST]
		if (count > 0 or q[NUMBER] == 0) and length ~= count then
			return broken(KEYS[1 + i], length, 'it has not ' .. count .. ' entries', true)
		end
	end
	return replay or pack(format, unpack(out, 1, size)) .. (allowed and '' or pack('>I7', clock))
end

-- Up to here nothing was written. What fails from here on is undone.
if kept > horizon then
	horizon = kept
end
local renewed = now + horizon + KEEP
local renew, learned = expires < renewed - RENEW, false
if kept > 0 and horizon > kept then
	-- Once, when a longer window is configured: the logs of the account's other pools, which are not
	-- among the keys, have to live longer too. They have the same hash tag.
	local all = redis.call('HGETALL', state_key)
	for k = 1, #all, 2 do
		if string.byte(all[k]) == 112 and #all[k + 1] == POOL_SIZE then
			local q = { unpack_(POOL, all[k + 1]) }
			if q[EXPIRES] > clock then
				q[EXPIRES] = renewed
				redis.call('HSET', state_key, all[k], pack(POOL, unpack(q, 1, COLUMNS)))
				redis.call('PEXPIRE', state_key .. ':' .. string.sub(all[k], 2), math.floor((horizon + KEEP) / 1000))
			end
		end
	end
end
if who then
	who = unpack_('>I2', who)
elseif spenders < SPENDERS then
	who, spenders, learned = spenders + 1, spenders + 1, true
else
	who = 0 -- nobody: the ids are used up
end

local set, s, done = { nil, nil, nil, nil }, 0, 0
local merged, drop, again, failed, why, failed_key = nil, nil, nil, nil, nil, nil
o = 6
for i = 1, pools do
	local q, key = p[2 + i], KEYS[1 + i]
	local amount, number, first, sum = q[AMOUNT], q[NUMBER], q[FIRST], q[TOTAL]
	local count, entry = number - first, (number + 1) % NUMBERS
	done, failed_key = i, key
	if amount > 0 then
		-- With precision, the newest entry of the same spender and step is moved to now and raised: it
		-- counts longer, never shorter. One that was given back is not: it could be given back again.
		local newest = precision > 0 and count > 0 and pcall('LINDEX', key, -1)
		if newest then
			if type(newest) ~= 'string' or #newest ~= ENTRY_SIZE then
				failed, why, done = newest, 'its last entry is not one', i - 1
				break
			end
			local t, before, n, w = unpack_(ENTRY, newest)
			if w == who and sum > before and n < NUMBERS and math.floor((t + offset) / precision) == math.floor((now + offset) / precision) then
				merged = merged or {}
				merged[i], sum, entry = newest, before, n
			else
				newest = false
			end
		elseif precision > 0 and count > 0 then
			failed, why, done = true, 'its last entry is missing', i - 1
			break
		end
		-- Entries beyond the horizon are dropped now and then, at most 16384 at once.
		if entry % 64 == 0 and count > 0 and not newest then
			local hi = first + 16384 < number and first + 16384 or number
			local pos, reply = seek(key, first, true, now - horizon + 1, first, hi, first, 0, 0, 0)
			if not pos then
				failed, why, done = reply, 'an entry is missing or not one', i - 1
				break
			end
			drop = drop or {}
			drop[i], q[FIRST] = pos - first, pos
		end
		if newest then
			local length = numbered and pcall('LLEN', key)
			if length and length ~= count then
				failed, why, done = length, 'it has not ' .. count .. ' entries', i - 1
				break
			end
			local reply = pcall('LSET', key, -1, pack(ENTRY, now, sum, entry, who))
			if reply.err then
				failed, done = reply, i - 1
				break
			end
			for column = HINT, COLUMNS do
				q[column] = 0
			end
		else
			if count == 0 and number > 0 then
				pcall('LTRIM', key, 1, 0)
			end
			local reply = pcall('RPUSH', key, pack(ENTRY, now, sum, entry, who))
			if reply ~= count + 1 then
				failed, why = reply, 'it has not ' .. count .. ' entries'
				if type(reply) ~= 'number' then
					done = i - 1
				end
				break
			end
			q[NUMBER] = number + 1
		end
		q[TOTAL], q[NEWEST] = q[TOTAL] + amount, now
		if count == 0 or q[EXPIRES] < renewed - RENEW then
			again = again or {}
			q[EXPIRES], again[i] = renewed, true
		end
		out[o] = entry
		set[s + 1], set[s + 2] = ARGV[3 + i], pack(POOL, unpack(q, 1, COLUMNS))
		s = s + 2
	end
	if i < pools then
		o = o + 4 + 3 * string.byte(ARGV[last + i], 8)
	end
end
local result = pack(format, unpack(out, 1, size))
if not failed then
	if numbered then
		set[s + 1], set[s + 2] = ARGV[last - 1], string.sub(head, 36, 49) .. result
		s = s + 2
	end
	if renew or learned or horizon ~= kept or numbered and not writer then
		local born, cursor = 0, 0
		if m then
			born, cursor = unpack_('>I7I4', m, 26)
		end
		if numbered and not writer then
			cursor = sweep(state_key, cursor, now - horizon, 1)
		end
		if renew then
			expires = renewed
		end
		set[s + 1], set[s + 2] = 'm', pack(META, MAGIC, VERSION, horizon, expires, spenders, generation, born, cursor)
		s = s + 2
	end
	if learned then
		set[s + 1], set[s + 2] = ARGV[3], pack('>I2', who)
		s = s + 2
	end
	local reply = pcall('HSET', state_key, unpack(set, 1, s))
	if type(reply) == 'table' then
		failed, failed_key = reply, state_key
	end
end
if failed then
	for i = 1, done do
		if merged and merged[i] then
			pcall('LSET', KEYS[1 + i], -1, merged[i])
		elseif p[2 + i][AMOUNT] > 0 then
			pcall('RPOP', KEYS[1 + i])
		end
	end
	return broken(failed_key, failed, why, numbered)
end

local lives = (horizon + KEEP) / 1000
lives = lives - lives % 1
if renew then
	redis.call('PEXPIRE', state_key, lives)
end
if again or drop then
	for i = 1, pools do
		if again and again[i] then
			redis.call('PEXPIRE', KEYS[1 + i], lives)
		end
		if drop and drop[i] and drop[i] > 0 then
			redis.call('LTRIM', KEYS[1 + i], drop[i], -1)
		end
	end
end
return result
