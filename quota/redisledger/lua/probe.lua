-- Tries every command of the other scripts, harmlessly, as the calling user.
--
-- KEYS[1]  an unused key
-- Result   the names of the commands that the user may not run on it
-- It removes the one key that it writes.

local key, refused = KEYS[1], {}
for _, c in ipairs({
	{ 'rpush', key, 'x' }, { 'llen', key }, { 'lindex', key, 0 }, { 'lrange', key, 0, 0 }, { 'lset', key, 0, 'y' }, { 'pexpire', key, 1000 },
	{ 'ltrim', key, 0, 0 }, { 'hmget', key, 'f' }, { 'hset', key, 'f', 'v' }, { 'hgetall', key }, { 'hscan', key, 0 }, { 'hdel', key, 'f' },
	{ 'rpop', key }, { 'rename', key, key }, { 'del', key }, { 'time' }, { 'info', 'replication' },
}) do
	local reply = redis.pcall(unpack(c))
	local err = type(reply) == 'table' and reply.err or ''
	if string.find(err, 'NOPERM', 1, true) or string.find(err, 'The user executing the script', 1, true) or string.find(err, 'ACL', 1, true) then
		refused[#refused + 1] = c[1]
	end
end
return refused
