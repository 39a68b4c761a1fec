package sqliteledger

import (
	"database/sql"
	"errors"

	"github.com/trendvidstream/ingest/quota"
)

// facts looks up what quota.Decide has to know about a pool.
func (t *transaction) facts(p *pool, lookups []quota.Lookup) (quota.PoolFacts, error) {
	f := quota.PoolFacts{Total: p.total, Drain: p.drain, Windows: make([]quota.WindowFacts, len(lookups))}
	for i, l := range lookups {
		w := &f.Windows[i]
		var err error
		if w.Before, w.First, err = t.sumBefore(p, l.Start); err != nil {
			return f, err
		}
		if !l.Refuses(p.total, w.Before) {
			continue
		}
		if l.Next > 0 {
			w.NextStart, _, err = t.sumBefore(p, l.Next)
		} else {
			w.Leaves, err = t.timeOfSum(p, l.Needs(p.total), w.First-1, w.Before)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// sumBefore returns the sum of a pool's entries that are older than a time, and the time of the first that is not: 0
// when there is none.
func (t *transaction) sumBefore(p *pool, at int64) (sum, first int64, err error) {
	if at > p.newest.at {
		return p.total, 0, nil
	}
	err = t.sql.before.row([]any{p.id, at}, &sum, &first)
	if errors.Is(err, sql.ErrNoRows) {
		return p.total, 0, nil
	}
	if err != nil {
		return 0, 0, t.ledger.explain("read", err)
	}
	return sum, first, nil
}

// timeOfSum is the time of the first entry with which the sum is at least c: what is not later than lo sums to below,
// which is less. It looks where a straight line between two known sums has c, then right beside that, then in the
// middle, so that the number of entries hardly matters.
func (t *transaction) timeOfSum(p *pool, c, lo, below int64) (int64, error) {
	hi, above := p.newest.at, p.total // what is not later than hi is enough
	for step, beside := 0, lo+1; lo+1 < hi; step++ {
		at := beside
		switch step % 3 {
		case 0:
			at = lo + int64(float64(hi-lo)*float64(c-below)/float64(above-below))
		case 2:
			at = lo + (hi-lo)/2
		}
		at = min(max(at, lo+1), hi-1)
		sum, next, err := t.sumBefore(p, at+1)
		if err != nil {
			return 0, err
		}
		if sum >= c {
			hi, above, beside = at, sum, at-1
		} else {
			lo, below = max(at, next-1), sum
			beside = lo + 1
		}
	}
	return hi, nil
}

// rebaseAbove is a total that is made smaller, long before it overflows.
const rebaseAbove = 1 << 60

// rebase takes what is before a pool's oldest entry off all its sums.
func (t *transaction) rebase(p *pool) error {
	if p.total <= rebaseAbove {
		return nil
	}
	var base int64
	err := t.conn.once(`SELECT before FROM entries WHERE pool = ? ORDER BY at, number LIMIT 1`, func(s *stmt) error { return s.row([]any{p.id}, &base) })
	if err != nil {
		return t.ledger.explain("read", err)
	}
	err = t.conn.once(`UPDATE entries SET before = before - ? WHERE pool = ?`, func(s *stmt) error { return t.run(s, base, p.id) })
	if err != nil {
		return err
	}
	p.total -= base
	return nil
}
