-- The tables of a ledger, version 1. Times are microseconds since 1970, UTC; amounts are in the provider's units.
-- {schema} is the schema's name. There are no foreign keys: every change of an account holds its lock.

CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE {schema}.ledger (version integer NOT NULL);
INSERT INTO {schema}.ledger VALUES ({version});

-- An account is whose quota it is. horizon is how long entries are kept; it only grows. generation (0: none), born,
-- and the server on which the generation began (system identifier and timeline) belong to sharedledger.Remote. touched
-- is when anything but a take last changed the account. pools and writers count rows: if some are missing, they were
-- lost.
CREATE TABLE {schema}.accounts (
    id         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name       text COLLATE "C" PRIMARY KEY,
    horizon    bigint NOT NULL,
    pools      bigint NOT NULL DEFAULT 0, -- their number
    writers    bigint NOT NULL DEFAULT 0, -- their number
    touched    bigint NOT NULL,
    generation bigint NOT NULL DEFAULT 0,
    born       bigint NOT NULL DEFAULT 0, -- 0: a first start
    system     text   NOT NULL DEFAULT '',
    timeline   text   NOT NULL DEFAULT '',
    hosts      json   NOT NULL DEFAULT '[]' -- synced in this generation: a list of sharedledger.Host
);

-- total is the sum of all entries ever written, number the last entry number given, length how many entries there are,
-- newest the time of the newest, even if it was refunded. The free space keeps an update on its page, so that no index
-- is written.
CREATE TABLE {schema}.pools (
    id            bigint GENERATED ALWAYS AS IDENTITY,
    account       bigint NOT NULL,
    name          text COLLATE "C" NOT NULL,
    total         bigint NOT NULL DEFAULT 0,
    number        bigint NOT NULL DEFAULT 0,
    length        bigint NOT NULL DEFAULT 0,
    newest        bigint NOT NULL DEFAULT 0,
    drained_until bigint NOT NULL DEFAULT 0, -- these five hold the last quota.Drain; 0: none
    drained_used  bigint NOT NULL DEFAULT 0,
    drained_by    bigint NOT NULL DEFAULT 0,
    drained_at    bigint NOT NULL DEFAULT 0,
    drained_probe bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account, name)
) WITH (fillfactor = 50);

-- The log, in order of time, then number. before is the sum of all earlier entries of the pool, forgotten ones
-- included: a window has used the pool's total less before of the window's first entry.
CREATE TABLE {schema}.entries (
    pool       bigint NOT NULL,
    at         bigint NOT NULL,
    number     bigint NOT NULL,
    before     bigint NOT NULL,
    amount     bigint NOT NULL,
    purpose    text   NOT NULL,
    region     text   NOT NULL,
    method     text   NOT NULL,
    client     text   NOT NULL, -- a client of the gateway; '': none
    synced     bigint, -- snapshots include it from this time on, if later than at
    since      bigint, -- for an unattributed charge: the start of the window that lacked it
    generation bigint, -- and the generation of the snapshot that had included it
    PRIMARY KEY (pool, at, number)
);

-- The last operation of each writer, with its answer as take returned it; NULL: it was synced.
CREATE TABLE {schema}.writers (
    account bigint NOT NULL,
    name    text COLLATE "C" NOT NULL,
    number  bigint NOT NULL,
    nonce   bigint NOT NULL,
    heard   bigint NOT NULL,
    answer  bigint[],
    PRIMARY KEY (account, name)
) WITH (fillfactor = 50);

-- The youngest snapshot of each generation that a pool was raised to: a list of sharedledger.Raised.
CREATE TABLE {schema}.raised (
    pool      bigint PRIMARY KEY,
    snapshots json NOT NULL
);

-- lost names the first data of an account that are missing or inconsistent; NULL: nothing is.
CREATE FUNCTION {schema}.lost(_account bigint) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT 'one of its pools' FROM {schema}.accounts a
            WHERE a.id = _account AND a.pools <> (SELECT count(*) FROM {schema}.pools p WHERE p.account = _account)),
        (SELECT 'its writers' FROM {schema}.accounts a
            WHERE a.id = _account AND a.writers <> (SELECT count(*) FROM {schema}.writers w WHERE w.account = _account)),
        (SELECT 'the log of pool ' || p.name FROM {schema}.accounts a, {schema}.pools p, LATERAL (
                SELECT count(*) AS length, min(e.before) + sum(e.amount) AS total FROM {schema}.entries e WHERE e.pool = p.id) e
            WHERE a.id = _account AND p.account = a.id AND (e.length <> p.length OR e.total <> p.total
                OR p.length = 0 AND p.total > 0 AND p.newest + a.horizon > {clock}) ORDER BY p.name LIMIT 1))
$$;

-- forget checks up to eight accounts, different ones for each step, and deletes those unused for their horizon and an
-- hour, or a second if the horizon is shorter than quota.MinHorizon: such an account counts a client. It skips account _but and accounts that are locked, and deletes at most 1000 entries of each.
CREATE FUNCTION {schema}.forget(_step bigint, _but bigint, _now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _low  bigint := (SELECT a.id FROM {schema}.accounts a ORDER BY a.id LIMIT 1);
    _high bigint := (SELECT a.id FROM {schema}.accounts a ORDER BY a.id DESC LIMIT 1);
    _a    {schema}.accounts;
    _gone bigint;
    _kept bigint;
BEGIN
    _low := _low + (hashint8(_step)::bigint + 2147483648) % (_high - _low + 1); -- after the last account it starts again at the first
    FOR _a IN (SELECT * FROM {schema}.accounts a WHERE a.id >= _low ORDER BY a.id LIMIT 8)
        UNION ALL (SELECT * FROM {schema}.accounts a WHERE a.id < _low ORDER BY a.id LIMIT 8) LIMIT 8 LOOP
        _kept := _a.horizon + CASE WHEN _a.horizon < 93600000000 THEN 1000000 ELSE 3600000000 END;
        CONTINUE WHEN _a.id = _but OR _a.touched + _kept > _now
            OR NOT pg_try_advisory_xact_lock(hashtextextended(_a.name, {seed}));
        CONTINUE WHEN EXISTS (SELECT FROM {schema}.pools p WHERE p.account = _a.id
            AND (p.newest + _kept > _now OR p.drained_until > _now));
        DELETE FROM {schema}.entries WHERE ctid = ANY (ARRAY(SELECT e.ctid FROM {schema}.entries e
            JOIN {schema}.pools p ON p.id = e.pool WHERE p.account = _a.id LIMIT 1000));
        GET DIAGNOSTICS _gone = ROW_COUNT;
        CONTINUE WHEN _gone = 1000;
        DELETE FROM {schema}.raised r USING {schema}.pools p WHERE p.account = _a.id AND r.pool = p.id;
        DELETE FROM {schema}.pools WHERE account = _a.id;
        DELETE FROM {schema}.writers WHERE account = _a.id;
        DELETE FROM {schema}.accounts WHERE id = _a.id;
    END LOOP;
END $$;
