-- Shared by scripts that read more of an account than its pools.

-- fields returns the state's fields named by ARGV[from] to ARGV[to]; an unpack of more than 8000 would fail.
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

-- server returns this server's replication id ('' if it has none), or an error.
local function server()
	local info = redis.pcall('INFO', 'replication')
	return type(info) == 'string' and (string.match(info, 'master_replid:(%x+)') or '') or info
end

-- known returns a field's value as a sync compares it: '' if missing, and only the WRITER part of a writer.
local function known(key, field, value)
	if value and string.byte(field) == 111 then
		if #value < WRITER_SIZE then
			corrupt(key, 'it holds a writer that is none')
		end
		return string.sub(value, 1, WRITER_SIZE)
	end
	return value or ''
end

-- append adds entries from one index to another at the end of a list.
local function append(key, entries, from, to)
	for low = from, to, 1000 do
		redis.call('RPUSH', key, unpack(entries, low, math.min(low + 999, to)))
	end
end
