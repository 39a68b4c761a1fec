-- What every script of this package begins with.
--
-- The state of an account is one hash. Its fields, all of them packed, big-endian:
--   m           'q', the version, the horizon, when the key expires, how many spenders it knows, the
--               generation (0: none), its birth (0: a first start), where the next sweep begins
--   p<pool>     see POOL
--   w<who>      the 2-byte id of a spender
--   o<writer>   number and nonce of what it wrote last, then the answer, take.lua's result; of what was
--               delivered no more than 0 and when, see WRITER
--   r<pool>     generation and time, packed, seven bytes each, of the snapshots that it was raised to
--   h           the hosts that have delivered in this generation, see HOST
--   s           the replication id of the server on which the generation began: a server that was made a
--               replica of another, and a master again, has a new one, and may have an older state
-- The log of a pool is a list of ENTRY, in order of time, then of arrival. An entry's sum is that of
-- all entries before it, those dropped since included, so that what a window used is the pool's
-- total less the sum of the window's first entry. Entries have positions that never change when the
-- head is dropped: the first one in the list has position FIRST, the last NUMBER - 1. Its number is
-- below NUMBERS. An entry with a number above that has none, but says how far something is from its time, in
-- steps of STEP: of a row that earlier snapshots cannot have counted, how much later it was delivered; of an
-- unattributed charge, how much earlier the window began that it is part of.
-- Times are microseconds since 1970.
--
-- A key that holds anything else is answered with the error CORRUPT, before anything is written.
--
-- The functions here capture nothing: Redis makes them again for every call of a script, and captured
-- locals cost a tenth of a take.

local MAGIC, VERSION = 113, 1
local META = '>BBI7I7I2I7I7I4'
local META_SIZE = 36
local ENTRY = '>I7I7I4I2' -- time, sum, number, who
local ENTRY_SIZE = 20
local POOL = '>I7I6I7I6I7I7I7I6I7I7I7I6I7I7I7'
local POOL_SIZE = 101
local WRITER = '>I7I7I7I7' -- number, nonce, 1 with an answer or 0, when
local WRITER_SIZE = 28
-- The columns of POOL. EXPIRES is when the log's key expires. A HINT is what a window's search found
-- last: a position, the time of the entry before it, its own time (0: no hint) and its sum.
local TOTAL, NUMBER, NEWEST, FIRST, EXPIRES, DRAINED, DRAINED_USED, HINT, HINT_SIZE, HINTS, COLUMNS, AMOUNT =
	1, 2, 3, 4, 5, 6, 7, 8, 4, 2, 15, 16

local EXACT = 9007199254740992 -- integers up to here are exact
local KEEP = 7200000000 -- keys outlive the horizon by 2 h
local RENEW = 600000000 -- or up to 10 min less, so that not every take has to renew them
local GAP = 60000000 -- clocks further apart than this are not to be trusted
local SPENDERS = 65534 -- ids of spenders are 1 to this; 0 is for all beyond, whose names are not kept
local UNATTRIBUTED = 65535 -- sharedledger.Unattributed: what snapshots counted and no row accounts for
local NUMBERS, STEP = 2147483648, 2000

local unpack_, pack = struct.unpack, struct.pack

-- broken is the error for a reply that is not what key ought to hold: the reply itself when it is an
-- error other than a wrong type. With lost, what is missing, or a length, is a loss.
local function broken(key, reply, what, lost)
	if lost and type(reply) ~= 'string' and not (type(reply) == 'table' and reply.err) then
		return redis.error_reply('LOST ' .. key .. ': ' .. what)
	end
	if type(reply) == 'table' and reply.err then
		if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then
			return reply
		end
		what = 'it is of another type'
	end
	return redis.error_reply('CORRUPT ' .. key .. ': ' .. what)
end

-- server is the replication id of this server, or an error; '' where it has none.
local function server()
	local info = redis.pcall('INFO', 'replication')
	return type(info) == 'string' and (string.match(info, 'master_replid:(%x+)') or '') or info
end

-- moved is the error for a state that began where the replication id was another than here.
local function moved(key, here)
	return type(here) == 'table' and here or redis.error_reply('LOST ' .. key .. ': this server has taken its data from another since')
end

-- clocks is the error for a clock too far from another.
local function clocks(now, other)
	return redis.error_reply(string.format('CLOCK %.0f %.0f', now, other))
end

-- seek is the first position in [lo, hi) whose time (or, without by_time, sum) is at least x, with
-- its time, its sum, and the time of the entry before it; false, the reply and its index when an
-- entry is not one. The caller knows that everything before lo is less (prev is the time there), and
-- from hi on is not (at and sum are those of hi); it may know what stands there, below and above x.
-- It looks at guess first, then ever further from it. Once x is between two that are known, it looks
-- where a straight line between them has x, and in the middle when that did not halve what is left,
-- which bounds how often. first is the position of the head of the log.
local function seek(key, first, by_time, x, lo, hi, guess, prev, at, sum, below, above)
	local step, width = 1, nil
	while lo < hi do
		if guess < lo then
			guess = lo
		elseif guess >= hi then
			guess = hi - 1
		end
		local e = redis.pcall('LINDEX', key, guess - first)
		if type(e) ~= 'string' or #e ~= 20 then
			return false, e, guess - first
		end
		local t, s = struct.unpack('>I7I7', e)
		local v = by_time and t or s
		if v >= x then
			hi, at, sum, above = guess, t, s, v
			guess = guess - step
		else
			lo, prev, below = guess + 1, t, v
			guess = guess + step
		end
		if not (below and above) then
			step = step * 2
		elseif width and hi - lo > width / 2 then
			guess, width = math.floor((lo + hi) / 2), nil
		else
			width = hi - lo
			guess = lo + math.floor(width * (x - below) / (above - below))
		end
	end
	return hi, at, sum, prev
end
