-- Shared by scripts that read whole pools. take.lua has its own code, since functions would slow it down.

-- got returns a reply to a command on key, unless it is an error.
local function got(key, reply)
	if type(reply) == 'table' and reply.err then
		broken(key, reply)
	end
	return reply
end

-- meta returns horizon, expiry, spenders, generation, birth and cursor from the packed state m of the hash at key.
local function meta(key, m)
	if not m then
		return 0, 0, 0, 0, 0, 0
	end
	local magic, version = string.byte(m, 1, 2)
	if magic == MAGIC and version and version > VERSION then
		error({ err = 'NEWER ' .. key .. ': version ' .. version })
	elseif magic ~= MAGIC or version ~= VERSION or #m ~= META_SIZE then
		broken(key, m, 'field m is not a state')
	end
	return unpack_('>I7I7I2I7I7I4', m, 3)
end

-- pool returns the columns of a pool's packed state s. If the log's key has expired by now, the pool is empty, but
-- keeps the time of its newest entry.
local function pool(key, m, s, now)
	if not s then
		return { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
	end
	local q = m and #s == POOL_SIZE and { unpack_(POOL, s) }
	if not q or q[FIRST] > q[NUMBER] or q[TOTAL] > EXACT then
		broken(key, s, 'it holds a pool that is not a state')
	elseif now >= q[EXPIRES] then
		q[FIRST], q[TOTAL] = q[NUMBER], 0
	end
	return q
end

-- whole returns whether a log is as long as its columns say, and its length. An empty log must have no total.
local function whole(key, q)
	local count, length = q[NUMBER] - q[FIRST], got(key, redis.pcall('LLEN', key))
	if count == 0 and q[NUMBER] > 0 then
		return q[TOTAL] == 0, length
	end
	return length == count, length
end

-- other returns the error for a state of another generation than wanted, of none, or begun on another server; nil if
-- there is no error.
local function other(key, generation, wanted, began, stray)
	if generation ~= wanted and generation > 0 then
		return redis.error_reply(string.format('GENERATION %.0f', generation))
	elseif generation ~= wanted then
		broken(key, stray, 'it has no generation', true)
	end
	local info = began and redis.pcall('INFO', 'replication')
	if type(info) == 'table' then
		return info
	elseif began and began ~= '' and not string.find(info, 'master_replid:' .. began, 1, true) then
		return redis.error_reply('LOST ' .. key .. ': this server has taken its data from another since')
	end
end

-- life returns how long keys live after a charge.
local function life(horizon)
	return horizon + (horizon < DAY and SOON or KEEP)
end

-- clocks returns the error for two clocks too far apart.
local function clocks(now, other)
	return redis.error_reply(string.format('CLOCK %.0f %.0f', now, other))
end

-- prolong extends the expiry of all pools' logs to a longer horizon. They share the state's hash tag.
local function prolong(key, horizon, now)
	local all = redis.call('HGETALL', key)
	for k = 1, #all, 2 do
		local field, q = all[k], #all[k + 1] == POOL_SIZE and { unpack_(POOL, all[k + 1]) }
		if string.byte(field) == 112 and q and q[EXPIRES] > now then
			q[EXPIRES] = now + life(horizon)
			redis.call('HSET', key, field, pack(POOL, unpack(q, 1, COLUMNS)))
			redis.call('PEXPIRE', key .. ':' .. string.sub(field, 2), math.ceil(life(horizon) / 1000))
		end
	end
end
