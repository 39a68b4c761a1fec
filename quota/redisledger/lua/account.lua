-- What the scripts share that look at more of an account than its pools.

-- fields is the state's fields named by ARGV[from] to ARGV[to]: an unpack of more than 8000 fails.
local function fields(key, from, to)
	local all = {}
	for low = from, to, 1000 do
		local high = math.min(low + 999, to)
		local some = got(key, pcall('HMGET', key, unpack(ARGV, low, high)))
		for k = 1, high - low + 1 do
			all[low - from + k] = some[k]
		end
	end
	return all
end

-- server is the replication id of this server, or an error; '' where it has none.
local function server()
	local info = redis.pcall('INFO', 'replication')
	return type(info) == 'string' and (string.match(info, 'master_replid:(%x+)') or '') or info
end

-- known is a field's value as a sync compares it: '' for none, and no more than WRITER of a writer.
local function known(key, field, value)
	if value and string.byte(field) == 111 then
		if #value < WRITER_SIZE then
			corrupt(key, 'it holds a writer that is none')
		end
		return string.sub(value, 1, WRITER_SIZE)
	end
	return value or ''
end

-- append puts the entries from one to another behind a list.
local function append(key, entries, from, to)
	for low = from, to, 1000 do
		redis.call('RPUSH', key, unpack(entries, low, math.min(low + 999, to)))
	end
end
