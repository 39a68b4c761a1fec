-- What the ledger knows about an account. It writes nothing.
--
-- KEYS[1]  the account's state
-- ARGV[1]  'm', ARGV[2] 'h', ARGV[3] 's', ARGV[3 + i] the field of the i-th writer
-- Result   the clock, the generation (0: none), its birth, 1 where it began on this very server, else 0, and the
--          number of each writer (0: not known), packed, seven bytes each; then the field h
-- Errors   CORRUPT.  NEWER.

local key = KEYS[1]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local state = fields(key, 1, #ARGV)
local _, _, _, generation, born = meta(key, state[1])
local here = server()
if type(here) == 'table' then
	return here
end
local packed = { pack('>I7I7I7I7', now, generation, born, (state[3] or here) == here and 1 or 0) }
for i = 4, #ARGV do
	packed[i - 2] = pack('>I7', (written(key, state[i])))
end
return { table.concat(packed), state[2] or '' }
