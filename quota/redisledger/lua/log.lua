-- A page of a pool's log. It writes nothing.
--
-- KEYS[1]  the account's state, KEYS[2] the log
-- ARGV[1]  'm', ARGV[2] the field of the pool
-- ARGV[3]  a time, or 0 and a position; how many entries at most, packed, seven bytes each
-- Result   the pool's total, the position behind its newest entry and behind the page, packed, seven bytes each; a list of
--          the entries from one before that time, or from that position, on
-- Errors   LOST: it is not as long as its state says.  CORRUPT.  NEWER.

local log = KEYS[2]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local state = fields(KEYS[1], 1, 2)
meta(KEYS[1], state[1])
local q = pool(KEYS[1], state[1], state[2], now)
local is, length = whole(log, q)
if not is then
	broken(log, length, 'it has ' .. length .. ' entries', true)
end
local since, pos, most = unpack_('>I7I7I7', ARGV[3])
if since > 0 then
	pos = q[NUMBER]
	if since <= q[NEWEST] then
		pos = find(log, q, since, q[NUMBER] - 1)
	end
	pos = pos - 1
end
pos = math.max(pos, q[FIRST])
local page = pos < q[NUMBER] and got(log, pcall('LRANGE', log, pos - q[FIRST], pos - q[FIRST] + most - 1)) or {}
return { pack('>I7I7I7', q[TOTAL], q[NUMBER], pos), page }
