-- Appends entries to a pool's staged log. sync.lua puts it in place; otherwise it expires in a minute.
--
-- KEYS[1]  where they are staged
-- ARGV[1]  how many are there (0: it begins, and older entries go); then the entries
-- Result   how many there are now
-- Errors   CHANGED: so many are not there.

local key, before = KEYS[1], tonumber(ARGV[1])
if before == 0 then
	redis.call('DEL', key)
elseif redis.call('LLEN', key) ~= before then
	return redis.error_reply('CHANGED ' .. key)
end
append(key, ARGV, 2, #ARGV)
redis.call('PEXPIRE', key, 60000)
return before + #ARGV - 1
