-- Begins a new generation.
--
-- KEYS[1]  the account's state; KEYS[1 + i] the log of the i-th pool that may be left over
-- ARGV[1]  the generation that is over (0: none), the next, 1 for a first start else 0, the horizon
-- ARGV[2]  'h', ARGV[3] 's'
-- Result   the generation that is now: another than the next one where nothing was changed
-- Errors   CORRUPT.  NEWER.
-- Where a log is not as long as its state says, all there is is wiped, up to the horizon, which only grows.

local key = KEYS[1]
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2] -- clock
local was, next_, first, horizon = unpack_('>I7I7I7I7', ARGV[1])

local state, logs = everything(key, now)
for i = 2, #KEYS do
	logs[KEYS[i]] = logs[KEYS[i]] or pool(key, nil, nil, now)
end
local kept, expires, spenders, generation, _, cursor = meta(key, state.m)
if generation ~= was then
	return generation
end
local all, drained = true, 0
for log, q in pairs(logs) do
	all = whole(log, q) and all
	drained = math.max(drained, q[DRAINED])
end

local here = server()
if type(here) == 'table' then
	return here
end
local longer = math.max(kept, horizon)
if not all then
	redis.call('DEL', key)
	for log in pairs(logs) do
		redis.call('DEL', log)
	end
	expires, spenders, cursor, drained = 0, 0, 0, 0
end
local until_ = math.max(expires, now + life(longer), drained > 0 and drained + KEEP or 0)
keep(key, { ARGV[2], '', ARGV[3], here }, now, until_, kept, longer, spenders, next_, first == 1 and 0 or now, cursor)
return next_
