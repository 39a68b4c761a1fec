-- The tables of quota.db, version 1. Times are microseconds since 1970, UTC. Amounts are in the provider's units.
--
-- The file is a ledger (accounts, pools, entries), and a journal of this data directory's operations with a ledger
-- elsewhere or without one (operations, journals).

-- This file. host names the data directory among all directories that share a ledger. writes counts the transactions
-- that changed the file; quota.lock has the count too, so that an older copy is recognized. store names the store
-- that the last run filled; '': none was there yet.
CREATE TABLE file (
    host   TEXT NOT NULL,
    writes INTEGER NOT NULL,
    store  TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO file (host, writes) VALUES (lower(hex(randomblob(12))), 0);

-- An account is whose quota it is. horizon is how long entries are kept; it only grows.
CREATE TABLE accounts (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    horizon INTEGER NOT NULL
) STRICT;

-- Pools, each with its last quota.Drain.
CREATE TABLE pools (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    account       INTEGER NOT NULL REFERENCES accounts,
    name          TEXT NOT NULL,
    drained_until INTEGER NOT NULL DEFAULT 0, -- 0: there was none
    drained_used  INTEGER NOT NULL DEFAULT 0,
    drained_by    INTEGER NOT NULL DEFAULT 0, -- 0 the provider, 1 a person, 2 a reset of the account
    drained_at    INTEGER NOT NULL DEFAULT 0, -- by a person; 0: by the provider
    probe         INTEGER NOT NULL DEFAULT 0,
    carried       INTEGER NOT NULL DEFAULT 0, -- entries up to this number are in the journal too
    behind        INTEGER NOT NULL DEFAULT 0, -- the number of the last entry that came before the newest one
    UNIQUE (account, name)
) STRICT;

-- Who spends.
CREATE TABLE spenders (
    id      INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    region  TEXT NOT NULL,
    method  TEXT NOT NULL,
    client  TEXT NOT NULL, -- a client of the gateway; '': none
    UNIQUE (purpose, region, method, client)
) STRICT;

-- The log: one row per charge, in order of time, then number. before is the sum of all earlier entries of the pool,
-- forgotten ones included: a window has used the sum up to the newest entry less before of its first entry. The newest
-- entry, which has the total, is never forgotten.
CREATE TABLE entries (
    pool    INTEGER NOT NULL REFERENCES pools,
    at      INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    before  INTEGER NOT NULL,
    amount  INTEGER NOT NULL,
    spender INTEGER NOT NULL REFERENCES spenders,
    PRIMARY KEY (pool, at, number)
) STRICT, WITHOUT ROWID;
-- Sums grow with time, which SQLite does not know. This finds the entry at which a sum is reached.
CREATE INDEX entries_by_sum ON entries (pool, before);

-- The journal: one row per operation, in the order of writing. The newest is never forgotten, so that no id is used
-- twice. An account here need not be in accounts, as its ledger may be elsewhere.
CREATE TABLE operations (
    id        INTEGER PRIMARY KEY,
    account   TEXT NOT NULL,
    writer    TEXT NOT NULL,    -- '': none: owed to the ledger in this file
    number    INTEGER NOT NULL, -- of the writer
    nonce     INTEGER NOT NULL,
    at        INTEGER NOT NULL, -- of the charge, by the ledger's clock once known
    spender   INTEGER NOT NULL REFERENCES spenders,
    amounts   TEXT NOT NULL,    -- {"pool": amount}
    state     INTEGER NOT NULL, -- 0 asked, 1 charged, 2 owed, 3 synced, 4 void, 5 unused: see sharedledger.RowState
    emergency INTEGER NOT NULL, -- 1: made because the ledger could not answer
    seen      INTEGER NOT NULL DEFAULT 0, -- when a clock first saw this emergency in the future; 0: never
    synced    TEXT NOT NULL DEFAULT '', -- since/until;since/until;since: see sharedledger.Sync
    entered   INTEGER NOT NULL DEFAULT 0 -- 1: the log in this file has it too, if it was spent
) STRICT;
CREATE INDEX operations_by_time   ON operations (account, at);
CREATE INDEX operations_written   ON operations (account, writer, number) WHERE state IN (1, 3) AND writer <> '';
CREATE INDEX operations_asked     ON operations (account) WHERE state = 0;
CREATE INDEX operations_owed      ON operations (account, writer) WHERE state = 2;
CREATE INDEX operations_unused    ON operations (account) WHERE state = 5;
CREATE INDEX operations_elsewhere ON operations (account) WHERE entered = 0 AND writer <> '';
CREATE INDEX operations_emergency ON operations (account, at, amounts) WHERE emergency AND state <> 4;

-- Further data of accounts whose ledger is elsewhere.
CREATE TABLE journals (
    account       TEXT PRIMARY KEY,
    generation    INTEGER NOT NULL, -- of the ledger, last synced to; 0: none
    breaker_until INTEGER NOT NULL, -- the ledger is not asked before; 0: closed
    failures      INTEGER NOT NULL, -- of the ledger, in a row
    why           TEXT NOT NULL,    -- the ledger's last error: {"text", "cause", "cure"}, see quota.ServerError
    snapshots     TEXT NOT NULL,    -- [sharedledger.UsageSnapshot]: the last seen use of each pool
    entered       TEXT NOT NULL DEFAULT '[]', -- the snapshots that the log in this file was last raised to
    hosts         TEXT NOT NULL DEFAULT '[]' -- [id]: the hosts that had synced when a generation last decided
) STRICT, WITHOUT ROWID;

-- The zone of the provider's day at an account's last use, and the long day around its last change: protocol.ZoneChange.
CREATE TABLE zones (
    account TEXT PRIMARY KEY,
    zone    TEXT NOT NULL,
    begins  INTEGER NOT NULL, -- 0: the zone has never changed
    ends    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
