package pgledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Ledger)(nil)

var noOperation sharedledger.Operation

// State implements sharedledger.Remote. If the server was promoted or restored, or is another one, since the generation
// began, or if some of what it must have is gone, State returns ErrLost together with what is left, every time until Renew.
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
	var here bool
	var lost string
	err := l.with(ctx, l.timeout, false, func(ctx context.Context, c *pgxpool.Conn) (err error) {
		here, lost, err = l.readState(ctx, c, name, writers, &s)
		return err
	})
	if errors.Is(err, errAbsent) {
		now, err := l.serverTime(ctx)
		return sharedledger.RemoteState{At: quota.FromMicros(now), Written: map[string]int64{}}, err
	}
	switch {
	case err != nil:
		return sharedledger.RemoteState{}, err
	case s.Generation != 0 && !here:
		return s, errMoved
	case s.Generation != 0 && lost != "":
		return s, errLost(name, lost)
	}
	return s, nil
}

// readState reads what the server knows as of one moment, whether the generation began on this server, and what is lost.
func (l *Ledger) readState(ctx context.Context, c *pgxpool.Conn, name string, writers []string, s *sharedledger.RemoteState) (here bool, lost string, err error) {
	rows, _ := c.Query(ctx, l.sql(`WITH a AS (SELECT * FROM {schema}.accounts WHERE name = $1)
		SELECT 'account', coalesce({schema}.lost(a.id), ''), {clock}, coalesce(a.generation, 0), coalesce(a.born, 0),
			coalesce(a.timeline = {timeline} AND a.system = (SELECT system_identifier::text FROM pg_control_system()), false)
			FROM (VALUES (1)) one LEFT JOIN a ON true
		UNION ALL SELECT 'writer', w.name, w.number, 0, 0, false FROM a JOIN {schema}.writers w ON w.account = a.id AND w.name = ANY ($2)
		UNION ALL SELECT 'host', h.host, h.at, 0, 0, false FROM a JOIN {schema}.hosts h ON h.account = a.id`), l.mode(), name, writers)
	var kind, text string
	var number, generation, born int64
	var same bool
	_, err = pgx.ForEachRow(rows, []any{&kind, &text, &number, &generation, &born, &same}, func() error {
		switch kind {
		case "account":
			s.At, s.Generation, here, lost = quota.FromMicros(number), sharedledger.Generation(generation), same, text
			if born > 0 {
				s.Born = quota.FromMicros(born)
			}
		case "writer":
			s.Written[text] = number
		case "host":
			var h sharedledger.Host
			if err := json.Unmarshal([]byte(text), &h); err != nil {
				return corrupt("a host that is not JSON: " + err.Error())
			}
			h.At = quota.FromMicros(number)
			s.Hosts = append(s.Hosts, h)
		}
		return nil
	})
	return here, lost, err
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
		err := t.whole(ctx)
		if errors.Is(err, sharedledger.ErrLost) {
			err = t.wipe(ctx)
		}
		if err == nil {
			_, err = t.exec(ctx, "DELETE FROM {schema}.hosts WHERE account = $1", t.account.id)
		}
		if err != nil {
			return err
		}
		born := t.now
		if r.First {
			born = 0
		}
		_, err = t.exec(ctx, `UPDATE {schema}.accounts SET generation = $2, born = $3, timeline = {timeline},
			system = (SELECT system_identifier::text FROM pg_control_system()) WHERE id = $1`, t.account.id, int64(r.Next), born)
		g = r.Next
		return err
	})
	if err != nil {
		return 0, err
	}
	return g, nil
}

// wipe forgets all that the account has left.
func (t *transaction) wipe(ctx context.Context) error {
	err := t.empty(ctx, "total = 0")
	if err == nil {
		_, err = t.exec(ctx, "DELETE FROM {schema}.raised WHERE pool IN (SELECT id FROM {schema}.pools WHERE account = $1)", t.account.id)
	}
	if err == nil {
		_, err = t.exec(ctx, "DELETE FROM {schema}.writers WHERE account = $1", t.account.id)
	}
	return cmp.Or(err, t.countWriters(ctx))
}
