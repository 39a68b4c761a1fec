-- The tables of quota.db, version 1. Times are microseconds since 1970, UTC. Amounts are whole
-- numbers of whatever the provider counts.

-- Whose quota it is. The horizon is how long entries are kept; it only grows.
CREATE TABLE accounts (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    horizon INTEGER NOT NULL
) STRICT;

-- What is counted, and the provider's own word about it.
CREATE TABLE pools (
    id            INTEGER PRIMARY KEY,
    account       INTEGER NOT NULL REFERENCES accounts,
    name          TEXT NOT NULL,
    drained_until INTEGER NOT NULL DEFAULT 0, -- 0: not drained
    drained_used  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account, name)
) STRICT;

-- Who spends.
CREATE TABLE spenders (
    id      INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    region  TEXT NOT NULL,
    method  TEXT NOT NULL,
    UNIQUE (purpose, region, method)
) STRICT;

-- The log: one row per charge, in order of time, then number. before is the sum of all earlier
-- entries of the pool, forgotten ones included, so that what a window has used is the sum of the
-- newest entry less what stands before the window's first. The newest entry is never forgotten: it
-- holds the sum of them all.
CREATE TABLE entries (
    pool    INTEGER NOT NULL REFERENCES pools,
    at      INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    before  INTEGER NOT NULL,
    amount  INTEGER NOT NULL,
    spender INTEGER NOT NULL REFERENCES spenders,
    PRIMARY KEY (pool, at, number)
) STRICT, WITHOUT ROWID;

-- Calls that went on while the ledger could not answer (this one, or the Redis that this file stands
-- beside): amounts is {"pool": amount}. They are posted to the ledger once it answers again.
CREATE TABLE emergencies (
    id      INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    at      INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    region  TEXT NOT NULL,
    method  TEXT NOT NULL,
    amounts TEXT NOT NULL,
    posted  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX emergencies_unposted ON emergencies (account) WHERE NOT posted;
