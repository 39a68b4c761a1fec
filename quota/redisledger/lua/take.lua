-- Draws a cost from the pools of an account, all or nothing. common.lua pictures the data.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool
-- ARGV[1]  how far clocks may be apart, the caller's clock (0: do not compare), horizon, precision (0: never merge), the
--          offset of its steps (1 with precision 0: a peek, which charges nothing), grace, the number of the operation (0:
--          none), its nonce (0: it is only decided), its generation and the highest number known to be written; how many of
--          the provider's midnights follow, and these; then for each pool amount and number of bounds; for each bound its
--          reach (length and grace; 0: the day) and ceiling
-- ARGV[2]  the spender's field, ARGV[2 + i] the field of the i-th pool; with a number the writer's field at the end
-- Result   packed, seven bytes each: the number, the nonce; 1 when admitted, else 0; the ledger's clock, or the newest
--          entry if that is later; for each pool its total before, its drain, its NUMBER, the number of the entry written
--          (0: none; if it refused, of one that was not); for each bound the sum
--          before the window, the time of its first entry (0: none), and if it refused the time of the entry that has to
--          leave, or for a day the sum at which the next one begins; then, if it refused, the clock itself
-- Errors   CLOCK clock other: too far apart.  DAYS clock: outside the midnights.  CORRUPT.  NEWER.
--          With a number also LOST, GENERATION now, CLONE and SYNCED, as sharedledger.Remote has them.
-- Nothing is written unless the first number is 1, and an amount and the nonce are above 0. A number's result is
-- stored with its writes, and asking again under it returns only that. Steps that can fail precede writes, or the
-- writes are undone. Functions and tables are few, as Redis makes them anew for every call.

local RECENT = 1000

local KEYS, ARGV, pcall = KEYS, ARGV, redis.pcall
local pools, key, head = #KEYS - 1, KEYS[1], ARGV[1]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local gap, asked, horizon, precision, offset, grace, operation, nonce, wanted, written, charges, days = unpack_('>I7I7I7I7I7I7I7I7I7I7I7', head)
local clock, numbered = now, operation > 0
charges = days + 7 * charges
if asked > 0 and (now - asked > gap or asked - now > gap) then
	return redis.error_reply(string.format('CLOCK %.0f %.0f', now, asked))
end

-- The state: one HMGET of all fields needed, except 's'.

local state = pcall('HMGET', key, 'm', unpack(ARGV, 2))
if state.err then
	broken(key, state)
end
local m, who, writer, heard = state[1], state[2], numbered and state[3 + pools], 0
local magic, version, kept, expires, spenders, generation, born, cursor = 0, 0, 0, 0, 0, 0, 0, 0
if m and #m == META_SIZE then
	magic, version, kept, expires, spenders, generation, born, cursor = unpack_(META, m)
end
if m and (magic ~= MAGIC or version ~= VERSION) then
	rare()(key, m)
end
if who and #who ~= 2 then
	broken(key, who, 'a spender has no id')
end

if numbered then
	if generation ~= wanted and generation > 0 then
		return redis.error_reply(string.format('GENERATION %.0f', generation))
	elseif generation ~= wanted then
		broken(key, not m and (who or writer or state[3]), 'it has no generation', true)
	end
	local number, mark, _ = 0, 0, nil
	if writer then
		if #writer < WRITER_SIZE then
			broken(key, writer, 'it holds a writer that is none')
		end
		number, mark, _, heard = unpack_(WRITER, writer)
	end
	if number < written then
		broken(key, number, string.format('its writer has written %.0f, here %.0f', written, number), true)
	elseif number > operation or number == operation and mark ~= nonce then
		return redis.error_reply(string.format('CLONE %.0f', number))
	elseif number == operation and #writer == WRITER_SIZE then
		return redis.error_reply(string.format('SYNCED %.0f', number))
	elseif number == operation then
		local _, pool, whole = rare()
		for i = 1, pools do
			local is, length = whole(KEYS[1 + i], pool(key, m, state[2 + i], clock))
			if not is then
				broken(KEYS[1 + i], length, 'it has ' .. length .. ' entries', true)
			end
		end
		return writer
	end
end

-- The spender's id.

local set, s, learned = { nil, nil, nil, nil }, 0, not who and spenders < SPENDERS
if who then
	who = unpack_('>I2', who)
elseif learned then
	who, spenders = spenders + 1, spenders + 1
	set[1], set[2], s = ARGV[2], pack('>I2', who), 2
else
	who = 0 -- no spender: the ids are used up
end
local longer, spends = kept > 0 and horizon > kept, (precision > 0 or offset == 0) and not (numbered and nonce == 0)
if kept > horizon then
	horizon = kept
end
local lives, slack = horizon + KEEP, RENEW
if horizon < DAY then
	lives, slack = horizon + SOON, OFTEN
end

-- Pool by pool, the windows: each has used the pool's total less the sum before its first entry. A hint says where
-- that was last time. While nothing has refused, the writes of a charge are collected: in set the fields; in logs the
-- list, the entry, the length with it (0: it replaces the newest), how many of the first to drop, whether to renew
-- the expiry, and whether the log has expired entries. The clock must not be before an entry: if it is, the loop
-- begins again.

local out = { operation, nonce, 1, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil } -- room for a pool of two windows: to grow is slow
local logs, own, o, allowed, l, more, again, renewed, today, tonight, at = { nil, nil, nil, nil, nil, nil }, s, nil, nil, nil, nil, nil, nil, 0, 0, nil
repeat
	out[4], o, allowed, s, l, more, again, renewed, at = now, 4, true, own, 0, false, false, now + lives, charges
	for i = 1, pools do
		local log, amount, bounds = KEYS[1 + i], nil, nil
		local total, number, newest, first, alive, drained, used, by, since, probe = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
		local pos1, prev1, at1, sum1, pos2, prev2, at2, sum2 = 0, 0, 0, 0, 0, 0, 0, 0
		local q = state[2 + i]
		if q then
			if m and #q == POOL_SIZE then
				total, number, newest, first, alive, drained, used, by, since, probe, pos1, prev1, at1, sum1, pos2, prev2, at2, sum2 = unpack_(POOL, q)
			end
			if not m or #q ~= POOL_SIZE or first > number or total > EXACT then
				broken(key, q, 'it holds a pool that is not a state')
			elseif clock >= alive then
				first, newest = number, 0
			elseif first == number and total > 0 and newest > 0 then
				broken(log, 0, 'it has no entries', numbered)
			elseif newest > now then
				if newest - clock > gap then
					return redis.error_reply(string.format('CLOCK %.0f %.0f', clock, newest))
				end
				now, again = newest, true
				break
			end
		end
		amount, bounds, at = unpack_('>I7B', head, at)
		allowed = allowed and (amount == 0 or drained <= now)
		out[o + 1], out[o + 2], out[o + 3], out[o + 4], out[o + 5], out[o + 6], out[o + 7], out[o + 8] = total, drained, used, by, since, probe, number, 0
		o = o + 8
		local mine, near, last_pos = o, nil, nil
		for b = 1, bounds do
			local reach, ceiling, start
			reach, ceiling, at = unpack_('>I7I7', head, at)
			if reach > 0 then
				start = now - reach + 1
			else
				local turned = now - grace -- a day holds until the grace after its end
				while tonight <= turned and days + 34 < charges do -- neither the first nor the last of the days
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
			if start > newest then -- this charge will be the window's first
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
					pos, oldest, gone, prev = find()(log, numbered, first, true, start, lo, hi, guess, before, oldest, gone, below, newest)
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
				if reach > 0 then
					-- The window's oldest entries have to leave until the sum before the next one is x; if all cost
					-- the same, the guess is exact.
					local x = total + amount - ceiling
					local guess = pos + math.ceil((x - gone) * (number - pos) / (total - gone)) -- in this order: a quotient is rounded
					_, _, _, later = find()(log, numbered, first, false, x, pos + 1, number, guess, oldest, 0, 0, gone, total)
				elseif tonight - grace > newest then
					later = total
				else
					_, _, later = find()(log, numbered, first, true, tonight - grace, pos, number, number - 1, 0, 0, total)
				end
			end
			out[o + 1], out[o + 2], out[o + 3] = gone, oldest, later
			o = o + 3
		end

		local writes = allowed and spends and amount > 0
		if not writes or precision > 0 then
			local length = pcall('LLEN', log)
			if length ~= number - first and (number > first or number == 0) then
				broken(log, length, type(length) == 'number' and 'it has ' .. length .. ' entries', numbered)
			end
		end
		if writes then
			local entry, sum, length, drop = (number + 1) % NUMBERS, total, number - first + 1, 0
			if precision > 0 and number > first then
				-- With precision, the newest entry of the same spender and step is moved to now and raised: it counts
				-- longer, never shorter. A refunded one is not, as it could be refunded again.
				local e = pcall('LINDEX', log, -1)
				if type(e) ~= 'string' or #e < ENTRY_SIZE then
					broken(log, e, 'its last entry is not one')
				end
				local t, before, n, w = unpack_(ENTRY, e)
				if w == who and before < total and #e == ENTRY_SIZE and math.floor((t + offset) / precision) == math.floor((now + offset) / precision) then
					entry, sum, length, at1, at2 = n, before, 0, 0, 0
				end
			end
			if length == 0 then
				first = first + 1 -- positions move, so that NUMBER grows with every charge
			elseif length > 1 and (number + 1) % 64 == 0 then -- entries beyond the horizon are dropped now and then, at most 16384
				drop = find()(log, numbered, first, true, now - horizon + 1, first, first + 16384 < number and first + 16384 or number, first, 0, 0, 0) - first
			end
			number = number + 1
			local renew = length - drop == 1 or alive < renewed - slack
			out[mine] = entry
			logs[l + 1], logs[l + 2], logs[l + 3], logs[l + 4], logs[l + 5], logs[l + 6] = log, pack(ENTRY, now, sum, entry, who), length, drop, renew, length == 1 and number > 1
			l, more = l + 6, more or renew or length == 0 or drop > 0
			set[s + 1], set[s + 2] = ARGV[2 + i], pack(POOL, total + amount, number, now, first + drop, renew and renewed or alive,
				drained, used, by, since, probe, pos1, prev1, at1, sum1, pos2, prev2, at2, sum2)
			s = s + 2
		end
	end
until not again
local format = o == 18 and '>I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7' or '>' .. string.rep('I7', o)
if not allowed then
	out[3] = 0
	return pack(format, unpack(out, 1, o)) .. pack('>I7', clock)
end

-- A master that was turned into a replica and back may have older data, and has another replication id. That is not
-- checked if the server has data that this writer wrote less than RECENT ago: it would have had to change roles and
-- data since then. A refusal does not check, as it spends nothing.

if numbered and (clock < heard or clock - heard >= RECENT) then
	local info, began = pcall('INFO', 'replication'), pcall('HMGET', key, 's')[1]
	if type(info) == 'table' then
		return info
	elseif began and began ~= '' and not string.find(info, 'master_replid:' .. began, 1, true) then
		return redis.error_reply('LOST ' .. key .. ': this server has taken its data from another since')
	end
end
if l == 0 then
	return pack(format, unpack(out, 1, o))
end

-- The charge: entries first, which are undone if a log is not as long as its state says.

for n = 1, l, 6 do
	local log, length = logs[n], logs[n + 2]
	if logs[n + 5] then
		pcall('LTRIM', log, 1, 0)
	end
	local now_ = length > 0 and pcall('RPUSH', log, logs[n + 1]) or 0
	if now_ ~= length then
		for back = type(now_) == 'number' and n or n - 6, 1, -6 do
			if logs[back + 2] > 0 then
				redis.call('RPOP', logs[back])
			end
		end
		broken(log, now_, type(now_) == 'number' and 'it has ' .. now_ - 1 .. ' entries', numbered)
	end
end
local renew = longer or expires < renewed - slack
for n = 1, more and l or 0, 6 do
	local log, length, drop = logs[n], logs[n + 2], logs[n + 3]
	if length == 0 then
		redis.call('LSET', log, -1, logs[n + 1])
	end
	if drop > 0 then
		redis.call('LTRIM', log, drop, -1)
	end
	if logs[n + 4] then
		redis.call('PEXPIRE', log, math.floor(lives / 1000))
		renew = true -- or the log would outlive its state
	end
end
local result = pack(format, unpack(out, 1, o))
if numbered then
	set[s + 1], set[s + 2] = ARGV[3 + pools], result
	s = s + 2
end
if renew or learned or horizon ~= kept or numbered and not writer then
	if numbered and not writer then
		local _, _, _, _, sweep = rare()
		cursor = sweep(key, cursor, now - horizon, 1)
	end
	set[s + 1], set[s + 2] = 'm', pack(META, MAGIC, VERSION, horizon, renew and renewed or expires, spenders, generation, born, cursor)
	s = s + 2
end
redis.call('HSET', key, unpack(set, 1, s))
if renew then
	redis.call('PEXPIRE', key, math.floor(lives / 1000))
end
if longer then
	local _, _, _, prolong = rare()
	prolong(key, horizon, now)
end
return result
