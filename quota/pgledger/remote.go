package pgledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Ledger)(nil)

var noOperation sharedledger.Operation

// State implements sharedledger.Remote. For a server that was promoted or restored, or is another one, since the
// generation began it returns ErrLost together with what that server knows, every time until Renew.
func (l *Ledger) State(ctx context.Context, name string, writers []string) (sharedledger.RemoteState, error) {
	s := sharedledger.RemoteState{Written: map[string]int64{}}
	if err := quota.CheckAccount(name); err != nil {
		return s, err
	}
	for _, w := range writers {
		if err := sharedledger.CheckWriter(w); err != nil {
			return s, err
		}
	}
	found, err := l.ask(ctx, l.sql(`WITH a AS (SELECT * FROM {schema}.accounts WHERE name = $1)
		SELECT 'account', NULL, {clock}, a.generation, a.born,
			a.timeline = {timeline} AND a.system = (SELECT system_identifier::text FROM pg_control_system())
			FROM (VALUES (1)) one LEFT JOIN a ON true
		UNION ALL SELECT 'writer', w.name, w.number, 0, 0, NULL FROM a JOIN {schema}.writers w ON w.account = a.id AND w.name = ANY ($2)
		UNION ALL SELECT 'host', h.host, h.at, 0, 0, NULL FROM a JOIN {schema}.hosts h ON h.account = a.id`),
		args(name, append([]string{}, writers...)), false, false)
	if errors.Is(err, errAbsent) {
		now, err := l.serverTime(ctx)
		s.At = quota.FromMicros(now)
		return s, err
	}
	if err != nil {
		return s, err
	}
	here, bad := true, error(nil)
	err = rows(found).each(func(r row) {
		switch r.text(0) {
		case "account":
			s.At, s.Generation = quota.FromMicros(r.int(2)), sharedledger.Generation(r.int(3))
			if born := r.int(4); born > 0 {
				s.Born = quota.FromMicros(born)
			}
			here = r.text(5) == "t"
		case "writer":
			s.Written[r.text(1)] = r.int(2)
		case "host":
			var h sharedledger.Host
			if err := json.Unmarshal([]byte(r.text(1)), &h); err != nil {
				bad = corrupt("a host that is not JSON: " + err.Error())
			}
			h.At = quota.FromMicros(r.int(2))
			s.Hosts = append(s.Hosts, h)
		}
	})
	switch {
	case err != nil || bad != nil:
		return sharedledger.RemoteState{}, cmp.Or(err, bad)
	case s.Generation != 0 && !here:
		return s, errMoved
	}
	return s, nil
}

// Renew implements sharedledger.Remote.
func (l *Ledger) Renew(ctx context.Context, r sharedledger.Renewal) (g sharedledger.Generation, err error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	err = l.in(ctx, r.Account, func(ctx context.Context, t *transaction) error {
		if g = sharedledger.Generation(t.account.generation); g != r.Was {
			return nil
		}
		if err := t.ensure(ctx, micros.Of(r.Horizon)); err != nil {
			return err
		}
		pools, err := t.pools(ctx)
		if err != nil {
			return err
		}
		short, err := t.short(ctx, pools)
		if err != nil {
			return err
		}
		if short != "" {
			err = t.empty(ctx, "total = 0")
			if err == nil {
				_, err = t.query(ctx, "DELETE FROM {schema}.writers WHERE account = $1", t.account.id)
			}
			if err == nil {
				_, err = t.query(ctx, "DELETE FROM {schema}.raised WHERE pool IN (SELECT id FROM {schema}.pools WHERE account = $1)", t.account.id)
			}
			if err != nil {
				return err
			}
		}
		if _, err := t.query(ctx, "DELETE FROM {schema}.hosts WHERE account = $1", t.account.id); err != nil {
			return err
		}
		born := t.now
		if r.First {
			born = 0
		}
		_, err = t.query(ctx, `UPDATE {schema}.accounts SET generation = $2, born = $3, timeline = {timeline},
			system = (SELECT system_identifier::text FROM pg_control_system()) WHERE id = $1`, t.account.id, int64(r.Next), born)
		g = r.Next
		return err
	})
	if err != nil {
		return 0, err
	}
	return g, nil
}

// short names a pool whose log has not as many entries as its state says; "": none.
func (t *transaction) short(ctx context.Context, pools map[string]*pool) (string, error) {
	found, err := t.query(ctx, `SELECT e.pool, count(*) FROM {schema}.entries e
		WHERE e.pool IN (SELECT id FROM {schema}.pools WHERE account = $1) GROUP BY 1`, t.account.id)
	if err != nil {
		return "", err
	}
	counts := map[int64]int64{}
	if err := found.each(func(r row) { counts[r.int(0)] = r.int(1) }); err != nil {
		return "", err
	}
	for name, p := range pools {
		if counts[p.id] != p.length {
			return name, nil
		}
	}
	return "", nil
}
