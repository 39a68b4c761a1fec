package pgledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Ledger)(nil)

var noOperation sharedledger.Operation

func checkOperation(op sharedledger.Operation) error {
	if err := checkWriter(op.Writer); err != nil {
		return err
	}
	switch highest := int64(sharedledger.MaxGeneration); {
	case op.Generation < 0 || op.Generation > sharedledger.MaxGeneration,
		op.Number < 1 || op.Number > highest, op.Nonce < 0 || op.Nonce > highest, op.Written < 0 || op.Written > highest:
		return fmt.Errorf("%w: operation %+v", quota.ErrUnknown, op)
	}
	return nil
}

func checkWriter(s string) error {
	ok := len(s) >= 1 && len(s) <= 32
	for _, r := range s {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}
	if !ok {
		return fmt.Errorf("%w: writer %q: 1 to 32 letters and digits", quota.ErrUnknown, s)
	}
	return nil
}

// State implements sharedledger.Remote. For a server that was promoted or restored, or is another one, since the
// generation began it returns ErrLost together with what that server knows, every time until Renew.
func (l *Ledger) State(ctx context.Context, name string, writers []string) (sharedledger.RemoteState, error) {
	s := sharedledger.RemoteState{Written: map[string]int64{}}
	if err := quota.CheckAccount(name); err != nil {
		return s, err
	}
	for _, w := range writers {
		if err := checkWriter(w); err != nil {
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
		return sharedledger.RemoteState{}, firstOf(err, bad)
	case s.Generation != 0 && !here:
		return s, errMoved
	}
	return s, nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// maxPools is how many a delivery or a renewal may name.
const maxPools = 256

// Renew implements sharedledger.Remote.
func (l *Ledger) Renew(ctx context.Context, r sharedledger.Renewal) (g sharedledger.Generation, err error) {
	if r.Was < 0 || r.Was > sharedledger.MaxGeneration || r.Next < 1 || r.Next > sharedledger.MaxGeneration || r.Next == r.Was ||
		r.Horizon < 0 || r.Horizon > maxHorizon || len(r.Pools) > maxPools {
		return 0, fmt.Errorf("%w: renewal %+v", quota.ErrUnknown, r)
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

func checkDelivery(d sharedledger.Delivery) error {
	if len(d.Rows) > sharedledger.MaxRows || d.Generation < 0 || d.Generation > sharedledger.MaxGeneration || d.Horizon < 0 || d.Horizon > maxHorizon {
		return fmt.Errorf("%w: a delivery of %d rows in generation %d for %v", quota.ErrUnknown, len(d.Rows), d.Generation, d.Horizon)
	}
	writers, pools := map[string]bool{}, map[string]bool{}
	for _, r := range d.Rows {
		writers[r.Writer] = true
		if err := checkWriter(r.Writer); err != nil {
			return err
		}
		if highest := int64(sharedledger.MaxGeneration); r.Number < 1 || r.Number > highest || r.Nonce < 0 || r.Nonce > highest {
			return fmt.Errorf("%w: row %d of writer %s with nonce %d", quota.ErrUnknown, r.Number, r.Writer, r.Nonce)
		}
		for pool, n := range r.Amounts {
			pools[pool] = true
			if pool == "" || n < 0 || n > quota.MaxLimit {
				return fmt.Errorf("%w: row %d of writer %s: %d of pool %q", quota.ErrUnknown, r.Number, r.Writer, n, pool)
			}
		}
	}
	for _, u := range d.Snapshots {
		pools[u.Pool] = true
		outside := u.Pool == "" || u.Generation < 0 || u.Generation > sharedledger.MaxGeneration || u.DrainedUsed < 0 || len(u.Windows) > quota.MaxWindows
		for _, w := range u.Windows {
			outside = outside || w.Used < 0 || w.Used > math.MaxInt64/4
		}
		if outside {
			return fmt.Errorf("%w: snapshot of pool %q, out of bounds", quota.ErrUnknown, u.Pool)
		}
	}
	if len(writers) > sharedledger.MaxWriters || len(pools) > maxPools {
		return fmt.Errorf("%w: a delivery of %d writers and %d pools: at most %d and %d", quota.ErrUnknown, len(writers), len(pools), sharedledger.MaxWriters, maxPools)
	}
	return nil
}
