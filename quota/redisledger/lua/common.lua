-- The beginning of every script of this package.
--
--   ingest:{account}          a hash, the state; all fields are packed, big-endian:
--     m           'q', the version, the horizon, the key's expiry, the number of spenders, the generation (0: none), its
--                 birth (0: a first start), where the next sweep begins: META
--     p<pool>     a pool and its log: POOL
--     w<who>      the 2-byte id of a spender
--     o<writer>   number and nonce of its last operation, then the answer, take.lua's result; if it was synced, only 0 and
--                 the time: WRITER
--     r<pool>     the snapshots that raised it: sharedledger.Raised as JSON
--     h           the hosts that have synced in this generation: sharedledger.Host as JSON
--     s           the replication id of the server where the generation began: a master that was turned into a replica
--                 and back has a new one, and may have an older state
--   ingest:{account}:<pool>   a list, the log of a pool: ENTRY, in order of time, then of arrival; NOTE follows in an entry
--                 from a sync that needs it
--
--     position   FIRST                                    NUMBER - 1
--     time         t0        t1        t2        t3           t4 = NEWEST    now
--     sum          s0        s1        s2        s3           s4             TOTAL
--                                                |<--------- a window ------->|
--
-- The window has used TOTAL - s3. An entry's sum is the sum of all entries before it, even dropped ones. Positions do not
-- change when the head is dropped. Times are microseconds since 1970.
--
-- A key with any other content is answered with the error CORRUPT, before anything is written.

local MAGIC, VERSION = 113, 1
local META = '>BBI7I7I2I7I7I4'
local META_SIZE = 36
local ENTRY = '>I7I7I4I2' -- time, sum, number, who
local ENTRY_SIZE = 20
local NOTE = '>I7I7I7' -- Synced, Since and Generation of sharedledger.Entry
local POOL = '>I7I6I7I6I7I7I7BI7BI6I7I7I7I6I7I7I7'
local POOL_SIZE = 110
local WRITER = '>I7I7I7I7' -- number, nonce, 1 with an answer or 0, when
local WRITER_SIZE = 28
-- The columns of POOL. EXPIRES is when the log's key expires. A HINT is the last result of a window's search:
-- a position, the time of the entry before it, its own time (0: no hint) and its sum.
local TOTAL, NUMBER, NEWEST, FIRST, EXPIRES = 1, 2, 3, 4, 5
local DRAINED, DRAINED_USED, DRAINED_BY, DRAINED_AT, PROBE = 6, 7, 8, 9, 10 -- a quota.Drain; until when: 0 for none
local UNKNOWN = 3 -- quota.ByUnknown
local HINT, HINT_SIZE, COLUMNS = 11, 4, 18

local EXACT = 9007199254740992 -- integers up to this are exact
local KEEP, RENEW = 7200000000, 600000000 -- keys outlive the horizon by 2 h, or up to 10 min less, so that not every take renews them
local DAY = 93600000000 -- quota.MinHorizon: an account with a shorter horizon counts a client, not a provider's days:
local SOON, OFTEN = 2000000, 1000000 -- its keys outlive the horizon by 2 s, or up to 1 s less
local SPENDERS = 65534 -- ids of spenders are 1 to this; 0 is for all further ones, without names
local UNATTRIBUTED = 65535 -- sharedledger.Unattributed: units that snapshots counted and no row accounts for
local NUMBERS = 4294967296 -- entry numbers wrap around here

local unpack_, pack = struct.unpack, struct.pack

-- broken fails for a reply that key should not have, with the reply itself if that is an error other than a wrong
-- type. With lost, a missing value or a wrong length is a loss.
local function broken(key, reply, what, lost)
	local word = 'CORRUPT '
	if type(reply) == 'table' and reply.err then
		if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then
			error(reply)
		end
		what = 'it is of another type'
	elseif lost and type(reply) ~= 'string' then
		word = 'LOST '
	end
	error({ err = word .. key .. ': ' .. what })
end
