-- What those scripts share that do not run for every call: they stop with error() where take.lua, for
-- speed, returns.

local pcall = redis.pcall

local function corrupt(key, why)
	error({ err = 'CORRUPT ' .. key .. ': ' .. why })
end

-- got passes on a reply to a command on key, unless it is an error.
local function got(key, reply)
	if type(reply) == 'table' and reply.err then
		error(broken(key, reply))
	end
	return reply
end

-- meta is horizon, expiry, spenders, generation, birth and cursor of the state m, which the hash at
-- key holds.
local function meta(key, m)
	if not m then
		return 0, 0, 0, 0, 0, 0
	end
	local magic, version = string.byte(m, 1, 2)
	if magic == MAGIC and version and version > VERSION then
		error({ err = 'NEWER ' .. key .. ': version ' .. version })
	end
	if magic ~= MAGIC or version ~= VERSION or #m ~= META_SIZE then
		corrupt(key, 'field m is not a state')
	end
	return select(3, unpack_(META, m))
end

-- pool is the columns of a pool's state s. One whose log's key has expired by now is empty.
local function pool(key, m, s, now)
	if not s then
		return { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
	end
	if not m or #s ~= POOL_SIZE then
		corrupt(key, 'it holds a pool that is not a state')
	end
	local p = { unpack_(POOL, s) }
	if p[FIRST] > p[NUMBER] or p[TOTAL] > EXACT then
		corrupt(key, 'it holds a pool that is not a state')
	end
	if now >= p[EXPIRES] then
		p[FIRST], p[NEWEST] = p[NUMBER], 0
	end
	return p
end

-- find is seek, or an error.
local function find(key, q, x, guess)
	local pos, at, sum = seek(key, q[FIRST], true, x, q[FIRST], q[NUMBER], guess, 0, 0, q[TOTAL])
	if not pos then
		got(key, at)
		corrupt(key, 'entry ' .. sum .. ' is missing or not an entry')
	end
	return pos, sum
end

-- intact says whether a log is as long as its columns say, and how long it is.
local function intact(key, q)
	local count, length = q[NUMBER] - q[FIRST], got(key, pcall('LLEN', key))
	return length == count or count == 0 and q[NUMBER] > 0, length
end

-- read is the state's fields from ARGV[from] on, for the meta field, then others, then the pools;
-- it fails before anything is written when one of them, or the length of a log, is not as it
-- should be.
local function read(from, others, now)
	local state_key, pools = KEYS[1], #KEYS - 1
	local state = got(state_key, pcall('HMGET', state_key, unpack(ARGV, from, from + others + pools)))
	local p = {}
	for i = 1, pools do
		local q, key = pool(state_key, state[1], state[1 + others + i], now), KEYS[1 + i]
		local whole, length = intact(key, q)
		if not whole then
			corrupt(key, 'it has ' .. length .. ' entries instead of ' .. q[NUMBER] - q[FIRST])
		end
		p[i] = q
	end
	return state, p
end

-- tail is the log's entries from position pos on.
local function tail(key, q, pos)
	local all = {}
	for from = pos - q[FIRST], q[NUMBER] - q[FIRST] - 1, 1000 do
		for _, e in ipairs(got(key, pcall('LRANGE', key, from, from + 999))) do
			if #e ~= ENTRY_SIZE then
				corrupt(key, 'it holds something that is not an entry')
			end
			all[#all + 1] = e
		end
	end
	return all
end

-- shift adds delta to the sums of entries[from] and all behind it, which start at position pos, and
-- writes them there, behind the entry extra where there is one.
local function shift(key, q, pos, entries, from, delta, extra)
	local at = pos - q[FIRST]
	for k = from, #entries do
		local t, sum, n, w = unpack_(ENTRY, entries[k])
		local e = pack(ENTRY, t, sum + delta, n, w)
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
	for h = HINT, COLUMNS do
		q[h] = 0
	end
end
