-- Lists a page of an account's pools and spenders. It writes nothing.
--
-- KEYS[1]  the account's state
-- ARGV[1]  'm', ARGV[2] the cursor: '0' at first
-- Result   the next cursor ('0': it was all), then fields of pools and of spenders, each with the id of the spender
--          behind it
-- Errors   CORRUPT.  NEWER.

local key = KEYS[1]
meta(key, fields(key, 1, 1)[1])
local page = got(key, pcall('HSCAN', key, ARGV[2], 'MATCH', '[pw]*', 'COUNT', 1000))
local found = { page[1] }
for k = 1, #page[2], 2 do
	local field, value = page[2][k], page[2][k + 1]
	if string.byte(field) == 119 and #value ~= 2 then
		corrupt(key, 'it holds a spender without an id')
	end
	found[k + 1], found[k + 2] = field, string.byte(field) == 119 and value or ''
end
return found
