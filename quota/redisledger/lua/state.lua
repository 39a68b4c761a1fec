-- Returns fields of an account's state. It writes nothing.
--
-- KEYS[1]  the account's state
-- ARGV[1]  'm', ARGV[2] 's', then any others
-- Result   the clock; 1 where the generation began on this very server, 2 where this server was restarted since with
--          its own data, else 0; then the fields but for 's', of a writer its WRITER, and '' for one that is not there
-- Errors   CORRUPT.  NEWER.

-- restarted returns whether this server was started after the newest entry, and has no history of another server. Then
-- its data are its own, up to some moment before it stopped.
local function restarted(key, now)
	local uptime = tonumber(string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)'))
	local _, logs = everything(key, now)
	local newest = 0
	for _, q in pairs(logs) do
		newest = math.max(newest, q[NEWEST])
	end
	local alone = string.find(redis.call('INFO', 'replication'), 'master_replid2:0+%s')
	return alone and uptime and newest <= now - (uptime - 1) * 1000000 -- uptime is in whole seconds
end

local key = KEYS[1]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local state = fields(key, 1, #ARGV)
meta(key, state[1])
local here = server()
if type(here) == 'table' then
	return here
end
local found = { now, (state[2] or here) == here and 1 or 0, state[1] or '' }
if found[2] == 0 and restarted(key, now) then
	found[2] = 2
end
for i = 3, #ARGV do
	if state[i] and not state[1] then
		corrupt(key, 'it has no field m')
	end
	found[i + 1] = known(key, ARGV[i], state[i])
end
return found
