-- A quota.db of version 1: its schema as it was released, and rows of every kind in it.
PRAGMA application_id = 1902929252; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;
BEGIN TRANSACTION;
CREATE TABLE accounts (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    horizon INTEGER NOT NULL
) STRICT;
INSERT INTO "accounts" VALUES(1,'default',93600000000);
CREATE TABLE entries (
    pool    INTEGER NOT NULL REFERENCES pools,
    at      INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    before  INTEGER NOT NULL,
    amount  INTEGER NOT NULL,
    spender INTEGER NOT NULL REFERENCES spenders,
    PRIMARY KEY (pool, at, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "entries" VALUES(1,1772535600000000,4,0,7,1);
INSERT INTO "entries" VALUES(1,1772539200000000,1,7,7,1);
INSERT INTO "entries" VALUES(1,1772539200000000,2,14,7,1);
INSERT INTO "entries" VALUES(1,1772539200000000,3,21,7,1);
CREATE TABLE file (
    host   TEXT NOT NULL,
    writes INTEGER NOT NULL
) STRICT;
INSERT INTO "file" VALUES('744303cf6b6f62f6cb201a48',3);
CREATE TABLE journals (
    account       TEXT PRIMARY KEY,
    generation    INTEGER NOT NULL, -- of the ledger that was last delivered to; 0: none
    breaker_until INTEGER NOT NULL, -- the ledger is not asked before; 0: it is
    failures      INTEGER NOT NULL, -- of the ledger, in a row
    why           TEXT NOT NULL,    -- what it answered last
    looks         TEXT NOT NULL     -- [sharedledger.UsageSnapshot]: what each pool had used when it was last seen
) STRICT, WITHOUT ROWID;
INSERT INTO "journals" VALUES('default',77,1772539200000000,2,'connection refused','[{"pool":"units","generation":77,"at":"2026-03-03T12:00:00Z","windows":[{"window":{"Name":"24h","Length":86400000000000,"Limit":10000},"start":"2026-03-02T12:00:00Z","used":28}],"drained_until":"0001-01-01T00:00:00Z","drained_used":0}]');
CREATE TABLE operations (
    id        INTEGER PRIMARY KEY,
    account   TEXT NOT NULL,
    writer    TEXT NOT NULL,    -- '': none, it is owed to the ledger in this file
    number    INTEGER NOT NULL, -- of the writer
    nonce     INTEGER NOT NULL,
    at        INTEGER NOT NULL, -- of the charge by the ledger's clock once that is known
    spender   INTEGER NOT NULL REFERENCES spenders,
    amounts   TEXT NOT NULL,    -- {"pool": amount}
    state     INTEGER NOT NULL, -- 0 asked, 1 charged, 2 owed, 3 delivered, 4 void: see sharedledger.RowState
    emergency INTEGER NOT NULL  -- 1: it went on because the ledger could not answer
) STRICT;
INSERT INTO "operations" VALUES(1,'default','writer',1,9,1772539200000000,1,'{"search":1,"units":1}',0,0);
INSERT INTO "operations" VALUES(2,'default','writer',2,9,1772539201000000,1,'{"search":1,"units":2}',1,0);
INSERT INTO "operations" VALUES(3,'default','writer',3,9,1772539202000000,1,'{"search":1,"units":3}',2,0);
INSERT INTO "operations" VALUES(4,'default','writer',4,9,1772539203000000,1,'{"search":1,"units":4}',3,0);
INSERT INTO "operations" VALUES(5,'default','writer',5,9,1772539204000000,1,'{"search":1,"units":5}',4,0);
CREATE TABLE pools (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- not used twice: see writes
    account       INTEGER NOT NULL REFERENCES accounts,
    name          TEXT NOT NULL,
    drained_until INTEGER NOT NULL DEFAULT 0, -- 0: not drained
    drained_used  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account, name)
) STRICT;
INSERT INTO "pools" VALUES(1,1,'units',1772542800000000,5);
CREATE TABLE spenders (
    id      INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    region  TEXT NOT NULL,
    method  TEXT NOT NULL,
    UNIQUE (purpose, region, method)
) STRICT;
INSERT INTO "spenders" VALUES(1,'scheduled','US','videos.list');
CREATE INDEX operations_by_time   ON operations (account, at);
CREATE INDEX operations_told      ON operations (account) WHERE state IN (1, 3) AND writer <> '';
CREATE INDEX operations_asked     ON operations (account) WHERE state = 0;
CREATE INDEX operations_owed      ON operations (account, writer) WHERE state = 2;
CREATE INDEX operations_emergency ON operations (account, at, amounts) WHERE emergency AND state <> 4;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('pools',1);
COMMIT;
