-- Draws a cost from the pools of an account, all or nothing, in one round trip. The text is installed twice: as take,
-- which holds the account's lock and writes, and as look, which sees one snapshot and does neither.
--
-- It answers with facts, and quota.Decide repeats the decision from them. _windows is how many bounds each pool has;
-- _reach (length and grace; 0: the day) and _ceilings hold one value per bound. _days are the provider's midnights.
-- _number is the operation's number, 0 for none.
--
-- Result: 1 if admitted, else 0; the time of the decision; the clock; then for each pool its previous total, its drain
-- (five numbers), its previous number, the number of the new entry (0: none), and for each of its bounds the sum
-- before the window, the time of the window's first entry (0: none), and, if it refused, the time of the entry that
-- has to leave, or for a day the sum at which the next day begins. Or a negative code and its detail: see codes in
-- take.go.
--
-- Nothing is written unless the first number is 1 and an amount is above 0.
CREATE FUNCTION {schema}.{function}(
    _account text, _gap bigint, _asked bigint, _horizon bigint, _precision bigint, _offset bigint, _grace bigint, _days bigint[],
    _purpose text, _region text, _method text, _client text,
    _pools text[], _amounts bigint[], _windows integer[], _reach bigint[], _ceilings bigint[],
    _writer text, _number bigint, _nonce bigint, _generation bigint, _written bigint
) RETURNS bigint[] LANGUAGE plpgsql {volatility} AS $$
DECLARE
    _clock bigint; _now bigint;
    _id bigint; _kept bigint; _current bigint; _timeline text; _known bigint; _heard bigint;
    _last bigint; _mark bigint; _answer bigint[];
    _count integer := cardinality(_pools);
    _ids bigint[]; _totals bigint[]; _numbers bigint[]; _lengths bigint[]; _newests bigint[];
    _pool bigint; _total bigint; _last_number bigint; _length bigint; _newest bigint; _drain bigint[];
    _out bigint[] := ARRAY[0, 0, 0]; _o integer := 3; _b integer := 0; _places integer[];
    _day integer := 0; _allowed boolean := true;
    _start bigint; _gone bigint; _oldest bigint; _later bigint;
    _lo bigint; _hi bigint; _below bigint; _above bigint; _beside bigint; _step integer; _sum bigint; _next bigint; _at bigint;
    _moved bigint; _entry bigint;
BEGIN
    {lock}
    _clock := {clock};
    _now := _clock;
    IF _asked > 0 AND abs(_clock - _asked) > _gap THEN
        RETURN ARRAY[-5, _clock, _asked];
    END IF;
    SELECT a.id, a.horizon, a.generation, a.timeline, a.pools, a.writers INTO _id, _kept, _current, _timeline, _known, _heard
        FROM {schema}.accounts a WHERE a.name = _account;

    -- Operation numbers: the writer's last one shows whether this was asked before and whether anything was lost.
    IF _number > 0 THEN
        SELECT w.number, w.nonce, w.answer INTO _last, _mark, _answer
            FROM {schema}.writers w WHERE w.account = _id AND w.name = _writer;
        IF _current IS NULL OR _current = 0 THEN
            RETURN ARRAY[-1, 0];
        ELSIF _current <> _generation THEN
            RETURN ARRAY[-2, _current];
        ELSIF _timeline <> {timeline} THEN
            RETURN ARRAY[-7, 0];
        ELSIF _last IS NULL AND _written = 0 AND _heard <> (SELECT count(*) FROM {schema}.writers w WHERE w.account = _id) THEN
            RETURN ARRAY[-10, 0];
        ELSIF coalesce(_last, 0) < _written THEN
            RETURN ARRAY[-9, coalesce(_last, 0)];
        ELSIF _last > _number OR _last = _number AND _mark <> _nonce THEN
            RETURN ARRAY[-3, _last];
        ELSIF _last = _number AND _answer IS NULL THEN
            RETURN ARRAY[-4, _last];
        END IF;
    END IF;

    -- The pools. The time of the decision is never before an entry.
    FOR i IN 1 .. _count LOOP
        SELECT p.id, p.total, p.number, p.length, p.newest,
                ARRAY[p.drained_until, p.drained_used, p.drained_by, p.drained_at, p.drained_probe]
            INTO _pool, _total, _last_number, _length, _newest, _drain
            FROM {schema}.pools p WHERE p.account = _id AND p.name = _pools[i];
        IF _pool IS NULL THEN
            IF _known <> (SELECT count(*) FROM {schema}.pools p WHERE p.account = _id) THEN
                RETURN ARRAY[-8, i];
            END IF;
            _total := 0; _last_number := 0; _length := 0; _newest := 0; _drain := ARRAY[0, 0, 0, 0, 0];
        END IF;
        _ids[i] := _pool; _totals[i] := _total; _numbers[i] := _last_number; _lengths[i] := _length; _newests[i] := _newest;
        _out := _out || _total || _drain || _last_number || 0::bigint || array_fill(0::bigint, ARRAY[3 * _windows[i]]);
        _places[i] := _o;
        _o := _o + 8 + 3 * _windows[i];
        IF _newest > _now THEN
            _now := _newest;
        END IF;
    END LOOP;
    IF _now - _clock > _gap THEN
        RETURN ARRAY[-5, _clock, _now];
    END IF;

    -- The windows: each has used the pool's total less the sum before its first entry.
    FOR i IN 1 .. _count LOOP
        _pool := _ids[i]; _total := _totals[i]; _newest := _newests[i]; _o := _places[i];
        IF _lengths[i] > 0 THEN
            SELECT e.before + e.amount INTO _sum FROM {schema}.entries e WHERE e.pool = _pool ORDER BY e.at DESC, e.number DESC LIMIT 1;
            IF _sum IS DISTINCT FROM _total THEN
                RETURN ARRAY[-8, i];
            END IF;
        ELSIF _total > 0 AND _newest > _now - coalesce(_kept, 0) THEN -- only a log whose entries have all expired may be empty
            RETURN ARRAY[-8, i];
        END IF;
        IF _amounts[i] > 0 AND _out[_o + 2] > _now THEN
            _allowed := false;
        END IF;
        _o := _o + 8;
        FOR _w IN 1 .. _windows[i] LOOP
            _b := _b + 1;
            IF _reach[_b] > 0 THEN
                _start := _now - _reach[_b] + 1;
            ELSE
                IF _day = 0 THEN -- a day lasts until the grace after its end
                    WHILE _day < cardinality(_days) AND _days[_day + 1] + _grace <= _now LOOP
                        _day := _day + 1;
                    END LOOP;
                    IF _day < 2 OR _day + 2 > cardinality(_days) THEN
                        RETURN ARRAY[-6, _now];
                    END IF;
                END IF;
                _start := _days[_day] - _grace;
            END IF;
            _gone := _total; _oldest := 0; _later := 0;
            IF _start <= _newest THEN
                SELECT e.before, e.at INTO _gone, _oldest FROM {schema}.entries e
                    WHERE e.pool = _pool AND e.at >= _start ORDER BY e.at, e.number LIMIT 1;
                IF _oldest IS NULL THEN
                    _gone := _total; _oldest := 0;
                END IF;
            END IF;
            IF _amounts[i] > 0 AND _total - _gone + _amounts[i] > _ceilings[_b] THEN
                _allowed := false;
                IF _reach[_b] > 0 THEN
                    -- Search for the first time at which the sum reaches _at: alternately by interpolation, right
                    -- beside that, and by halves.
                    _at := _total + _amounts[i] - _ceilings[_b];
                    _lo := _oldest - 1; _below := _gone; _hi := _newest; _above := _total; _beside := _lo + 1; _step := 0;
                    WHILE _lo + 1 < _hi LOOP
                        _next := CASE _step % 3 WHEN 0 THEN _lo + floor((_hi - _lo)::float8 * (_at - _below) / (_above - _below))::bigint
                            WHEN 1 THEN _beside ELSE _lo + (_hi - _lo) / 2 END;
                        _next := least(greatest(_next, _lo + 1), _hi - 1);
                        _step := _step + 1;
                        SELECT e.before, e.at INTO _sum, _start FROM {schema}.entries e
                            WHERE e.pool = _pool AND e.at > _next ORDER BY e.at, e.number LIMIT 1;
                        _sum := coalesce(_sum, _total);
                        IF _sum >= _at THEN
                            _hi := _next; _above := _sum; _beside := _next - 1;
                        ELSE
                            _lo := greatest(_next, coalesce(_start - 1, _next)); _below := _sum; _beside := _lo + 1;
                        END IF;
                    END LOOP;
                    _later := _hi;
                ELSE
                    SELECT e.before INTO _later FROM {schema}.entries e
                        WHERE e.pool = _pool AND e.at >= _days[_day + 1] - _grace ORDER BY e.at, e.number LIMIT 1;
                    _later := coalesce(_later, _total);
                END IF;
            END IF;
            _out[_o + 1] := _gone; _out[_o + 2] := _oldest; _out[_o + 3] := _later;
            _o := _o + 3;
        END LOOP;
    END LOOP;
    IF _last = _number AND _number > 0 THEN
        RETURN _answer;
    END IF;
    _out[1] := _allowed::integer; _out[2] := _now; _out[3] := _clock;
    IF NOT _allowed OR NOT {writes} THEN
        RETURN _out;
    END IF;

    -- The charge.
    IF _id IS NULL THEN
        INSERT INTO {schema}.accounts (name, horizon, touched) VALUES (_account, _horizon, _now) RETURNING id, horizon INTO _id, _kept;
        PERFORM {schema}.forget(_id, _id, _now);
    ELSIF _horizon > _kept THEN
        UPDATE {schema}.accounts SET horizon = _horizon WHERE id = _id;
        _kept := _horizon;
    END IF;
    FOR i IN 1 .. _count LOOP
        CONTINUE WHEN _amounts[i] = 0;
        _pool := _ids[i]; _entry := _numbers[i] + 1; _total := _totals[i]; _moved := NULL;
        IF _pool IS NULL THEN
            INSERT INTO {schema}.pools (account, name) VALUES (_id, _pools[i]) RETURNING id INTO _pool;
            UPDATE {schema}.accounts SET pools = pools + 1 WHERE id = _id;
        END IF;
        -- With precision, the newest entry of the same spender and step is moved to now and raised: it then counts
        -- longer, never shorter.
        IF _precision > 0 THEN
            UPDATE {schema}.entries e SET at = _now, amount = e.amount + _amounts[i]
                WHERE (e.pool, e.at, e.number) = (SELECT n.pool, n.at, n.number FROM {schema}.entries n
                        WHERE n.pool = _pool ORDER BY n.at DESC, n.number DESC LIMIT 1)
                    AND e.synced IS NULL AND e.purpose = _purpose AND e.region = _region AND e.method = _method AND e.client = _client
                    AND (e.at + _offset) / _precision = (_now + _offset) / _precision
                RETURNING e.number INTO _moved;
        END IF;
        IF _moved IS NOT NULL THEN
            _numbers[i] := _entry; -- it grows with every charge
            _entry := _moved;
        ELSE
            INSERT INTO {schema}.entries (pool, at, number, before, amount, purpose, region, method, client)
                VALUES (_pool, _now, _entry, _total, _amounts[i], _purpose, _region, _method, _client);
            _lengths[i] := _lengths[i] + 1; _numbers[i] := _entry;
            IF _entry % 64 = 0 THEN -- every 64 entries, at most 1024 beyond the horizon are dropped
                DELETE FROM {schema}.entries WHERE ctid = ANY (ARRAY(SELECT e.ctid FROM {schema}.entries e
                    WHERE e.pool = _pool AND e.at <= _now - _kept ORDER BY e.at, e.number LIMIT 1024));
                GET DIAGNOSTICS _gone = ROW_COUNT;
                _lengths[i] := _lengths[i] - _gone;
                IF _total > 1::bigint << 60 THEN -- long before it overflows
                    SELECT e.before INTO _gone FROM {schema}.entries e WHERE e.pool = _pool ORDER BY e.at, e.number LIMIT 1;
                    UPDATE {schema}.entries e SET before = e.before - _gone WHERE e.pool = _pool;
                    _total := _total - _gone;
                END IF;
                PERFORM {schema}.forget(_entry / 64, _id, _now);
            END IF;
        END IF;
        UPDATE {schema}.pools p SET total = _total + _amounts[i], number = _numbers[i], length = _lengths[i], newest = _now
            WHERE p.account = _id AND p.name = _pools[i];
        _out[_places[i] + 8] := _entry;
    END LOOP;
    IF _number > 0 AND _last IS NOT NULL THEN
        UPDATE {schema}.writers w SET number = _number, nonce = _nonce, heard = _now, answer = _out
            WHERE w.account = _id AND w.name = _writer;
    ELSIF _number > 0 THEN
        INSERT INTO {schema}.writers (account, name, number, nonce, heard, answer) VALUES (_id, _writer, _number, _nonce, _now, _out);
        DELETE FROM {schema}.writers w WHERE w.account = _id AND w.heard < _now - _kept;
        UPDATE {schema}.accounts SET writers = (SELECT count(*) FROM {schema}.writers w WHERE w.account = _id) WHERE id = _id;
    END IF;
    RETURN _out;
END $$;
