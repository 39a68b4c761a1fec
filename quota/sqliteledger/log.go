package sqliteledger

import (
	"database/sql"
	"errors"

	"github.com/trendvidstream/ingest/quota"
)

// facts looks up the facts that quota.Decide needs about a pool.
func (t *transaction) facts(p *pool, lookups []quota.Lookup) (quota.PoolFacts, error) {
	f := quota.PoolFacts{Total: p.total, Drain: p.drain, Windows: make([]quota.WindowFacts, len(lookups))}
	for i, l := range lookups {
		w, needs := &f.Windows[i], int64(0)
		if l.Next == 0 {
			needs = l.Needs(p.total)
		}
		var err error
		if w.Before, w.First, w.Leaves, err = t.window(p, l.Start, needs); err != nil {
			return f, err
		}
		if l.Next > 0 && l.Refuses(p.total, w.Before) {
			if w.NextStart, _, _, err = t.window(p, l.Next, 0); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

// window returns the sum of a pool's entries that are older than a time, and the time of the first that is not: 0 when
// there is none. If that sum is below needs, leaves is the time of the first entry with which it is not.
func (t *transaction) window(p *pool, start, needs int64) (before, first, leaves int64, err error) {
	if start > p.newest.at {
		return p.total, 0, 0, nil
	}
	err = t.row(sqlWindow, []any{p.id, start, needs}, &before, &first, &leaves)
	if errors.Is(err, sql.ErrNoRows) {
		return p.total, 0, 0, nil
	}
	if err != nil {
		return 0, 0, 0, t.ledger.explain("read", err)
	}
	return before, first, leaves, nil
}

// rebaseAbove is a total that is made smaller, long before it overflows.
const rebaseAbove = 1 << 60

// rebase takes what is before a pool's oldest entry off all its sums.
func (t *transaction) rebase(p *pool) error {
	if p.total <= rebaseAbove {
		return nil
	}
	var base int64
	if err := t.row(sqlOldest, []any{p.id}, &base); err != nil {
		return t.ledger.explain("read", err)
	}
	if err := t.run(sqlRebase, base, p.id); err != nil {
		return err
	}
	p.total -= base
	return nil
}
