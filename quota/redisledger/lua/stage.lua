-- Puts entries behind those that are to become a pool's log. sync.lua makes them that; else they are gone in a minute.
--
-- KEYS[1]  where they are staged
-- ARGV[1]  how many are there (0: it begins, and what is there goes), ARGV[2] the entries
-- Result   how many there are now
-- Errors   CHANGED: so many are not there.

local key, before, entries = KEYS[1], tonumber(ARGV[1]), {}
if before == 0 then
	redis.call('DEL', key)
elseif redis.call('LLEN', key) ~= before then
	return redis.error_reply('CHANGED ' .. key)
end
for pos = 1, #ARGV[2], ENTRY_SIZE do
	entries[#entries + 1] = string.sub(ARGV[2], pos, pos + ENTRY_SIZE - 1)
end
append(key, entries)
redis.call('PEXPIRE', key, 60000)
return before + #entries
