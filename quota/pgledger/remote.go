package pgledger

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Ledger)(nil)

// State implements sharedledger.Remote. If the server was promoted, restored or replaced since the generation began,
// or data are missing, State returns ErrLost together with the rest, every time until Renew.
func (l *Ledger) State(ctx context.Context, name string, writers []string) (sharedledger.RemoteState, error) {
	s := sharedledger.RemoteState{Written: map[string]int64{}}
	if err := sharedledger.CheckState(name, writers); err != nil {
		return s, err
	}
	var lost string
	var now, born int64
	var here bool
	err := l.with(ctx, l.timeout, false, func(ctx context.Context, c *pgxpool.Conn) error {
		return c.QueryRow(ctx, l.sql(`WITH a AS (SELECT * FROM {schema}.accounts WHERE name = $1)
			SELECT {clock}, coalesce(a.generation, 0), coalesce(a.born, 0), coalesce(a.hosts, '[]'),
				coalesce({schema}.lost(a.id), ''),
				coalesce(a.timeline = {timeline} AND a.system = (SELECT system_identifier::text FROM pg_control_system()), false),
				coalesce((SELECT json_object_agg(w.name, w.number) FROM {schema}.writers w WHERE w.account = a.id
					AND w.name = ANY ($2)), '{}')
			FROM (VALUES (1)) one LEFT JOIN a ON true`), l.mode(), name, writers).
			Scan(&now, &s.Generation, &born, &s.Hosts, &lost, &here, &s.Written)
	})
	if errors.Is(err, errAbsent) {
		now, err = l.serverTime(ctx)
	}
	if err != nil {
		return sharedledger.RemoteState{}, err
	}
	if s.At = protocol.Time(now); born > 0 {
		s.Born = protocol.Time(born)
	}
	switch {
	case s.Generation != 0 && !here:
		return s, errMoved
	case s.Generation != 0 && lost != "":
		return s, errLost(name, lost)
	}
	return s, nil
}

// Renew implements sharedledger.Remote.
func (l *Ledger) Renew(ctx context.Context, r sharedledger.Renewal) (g sharedledger.Generation, err error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	err = l.in(ctx, l.timeout, r.Account, func(ctx context.Context, t *transaction) error {
		if g = sharedledger.Generation(t.account.generation); g != r.Was {
			return nil
		}
		if err := t.ensure(ctx, micros.Of(r.Horizon)); err != nil {
			return err
		}
		err := t.whole(ctx)
		if errors.Is(err, sharedledger.ErrLost) {
			err = t.each(ctx, append(slices.Clone(emptyPools),
				"DELETE FROM {schema}.raised WHERE pool IN (SELECT id FROM {schema}.pools WHERE account = $1)",
				"DELETE FROM {schema}.writers WHERE account = $1", countWriters)...)
		}
		if err != nil {
			return err
		}
		born := t.now
		if r.First {
			born = 0
		}
		err = t.exec(ctx, `UPDATE {schema}.accounts SET generation = $2, born = $3, hosts = '[]', timeline = {timeline},
			system = (SELECT system_identifier::text FROM pg_control_system()) WHERE id = $1`, t.account.id, int64(r.Next), born)
		g = r.Next
		return err
	})
	if err != nil {
		return 0, err
	}
	return g, nil
}
