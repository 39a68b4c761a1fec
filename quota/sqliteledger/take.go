package sqliteledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Take implements quota.Ledger. A peek writes nothing and does not wait, unless there are late operations to enter.
func (l *Ledger) Take(ctx context.Context, a quota.Ask) (d quota.Decision, err error) {
	if a.Peek || !slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Amount > 0 }) {
		err = l.read(ctx, func(t *transaction) error { d, err = t.decide(a, false, false); return err })
		if errors.Is(err, errOwed) {
			err = l.write(ctx, func(t *transaction) error { d, err = t.decide(a, false, true); return err })
		}
		return d, err
	}
	// An ask that needs no file to be refused does not wait.
	if err := a.Check(l.Now()); err != nil {
		return quota.Decision{}, err
	}
	err = l.write(ctx, func(t *transaction) error { d, err = t.decide(a, true, true); return err })
	if err != nil {
		return quota.Decision{}, err
	}
	return d, nil
}

// decide answers the ask, and with charge writes the charges that it allows. errOwed: it must write but cannot.
func (t *transaction) decide(a quota.Ask, charge, mayWrite bool) (quota.Decision, error) {
	acc, err := t.account(a.Account)
	if err != nil {
		return quota.Decision{}, err
	}
	clock, now, err := t.advance(a, acc)
	if err != nil {
		return quota.Decision{}, err
	}
	if err := t.enterOwed(acc, a, now, mayWrite); err != nil {
		return quota.Decision{}, err
	}
	facts := make([]quota.PoolFacts, len(a.Charges))
	for i, c := range a.Charges {
		if facts[i], err = t.facts(acc.pool(c.Pool), a.Lookups(c, now)); err != nil {
			return quota.Decision{}, err
		}
	}
	d, err := a.Decide(clock, now, facts)
	if err != nil || !d.Allowed || !charge {
		return d, err
	}
	if err := t.ensureRows(acc, a); err != nil {
		return quota.Decision{}, err
	}
	for i, c := range a.Charges {
		if c.Amount == 0 {
			continue
		}
		if d.Pools[i].Entry, err = t.insert(acc, acc.pool(c.Pool), now, c.Amount, a); err != nil {
			return quota.Decision{}, err
		}
	}
	return d, nil
}

// advance returns the ledger's clock, and the time that it decides the ask by.
func (t *transaction) advance(a quota.Ask, acc *account) (clock, now time.Time, err error) {
	clock = t.ledger.Now().UTC().Truncate(time.Microsecond)
	var newest time.Time
	for _, c := range a.Charges {
		if p := acc.pool(c.Pool); p.newest.at != 0 && p.newest.at > newest.UnixMicro() {
			newest = protocol.Time(p.newest.at)
		}
	}
	if now, err = a.Advance(clock, newest); err != nil {
		return clock, now, fmt.Errorf("%s: %w", t.ledger.path, err)
	}
	return clock, now, nil
}

// facts looks up the facts that quota.Ask.Decide needs about a pool.
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

// window returns the sum of a pool's entries before a time, and the time of the first one after those, 0 if there is
// none. If that sum is below needs, leaves is the time of the first entry at which the running sum reaches it.
func (t *transaction) window(p *pool, start, needs int64) (before, first, leaves int64, err error) {
	if start > p.newest.at {
		return p.total, 0, 0, nil
	}
	err = t.row(sqlWindow, []any{p.id, start, needs}, &before, &first, &leaves)
	if errors.Is(err, sql.ErrNoRows) {
		return p.total, 0, 0, nil
	}
	return before, first, leaves, err
}

// rebaseAbove is a total above which sums are reduced, long before they overflow.
const rebaseAbove = 1 << 60

// rebase subtracts the sum before a pool's oldest entry from all its sums.
func (t *transaction) rebase(p *pool) error {
	if p.total <= rebaseAbove {
		return nil
	}
	var base int64
	if err := t.row(sqlOldest, []any{p.id}, &base); err != nil {
		return err
	}
	if err := t.run(sqlRebase, base, p.id); err != nil {
		return err
	}
	p.total -= base
	return nil
}

// forgetEvery is how many charges of a pool pass between two rounds of deleting entries older than the horizon.
// Until then the old entries change no decision.
const forgetEvery = 64

// insert adds an entry after the entries of the same time, updates the pool, and returns the entry's number. It
// changes no other entry if it is the last, so that posting many in order is cheap. With precision, the newest entry
// of the same spender and step is raised and moved instead: it then counts longer, never shorter.
func (t *transaction) insert(acc *account, p *pool, at time.Time, amount int64, a quota.Ask) (number int64, err error) {
	spender, err := t.spenderID(a.Who)
	if err != nil {
		return 0, err
	}
	us, newest := at.UnixMicro(), p.newest
	same := newest.number > p.carried && newest.spender == spender && newest.amount > 0
	if a.Precision > 0 && same && protocol.Time(newest.at).Truncate(a.Precision).Equal(at.Truncate(a.Precision)) {
		return newest.number, t.run(sqlRaise, us, amount, p.id, newest.at, newest.number)
	}
	number = newest.number + 1
	if us < newest.at || a.Who.Method == protocol.PostMethod { // so that a person's newest post has the largest number
		if err := t.row(sqlNext, []any{p.id}, &number); err != nil {
			return 0, err
		}
	}
	number = max(number, p.carried+1)
	if number%forgetEvery == 0 {
		if err := cmp.Or(t.run(sqlForget, p.id, us-acc.horizon, forgetAtMost), t.rebase(p)); err != nil {
			return 0, err
		}
	}
	before, _, _, err := t.window(p, us+1, 0)
	if err == nil && us < newest.at {
		err = cmp.Or(t.run(sqlShift, amount, p.id, us, number), t.run(sqlBehind, number, p.id))
	}
	if err == nil && us >= newest.at && newest.number > 0 && newest.amount == 0 { // given back
		err = t.run(sqlRemove, p.id, newest.at, newest.number)
	}
	if err != nil {
		return 0, err
	}
	p.total += amount
	if us >= newest.at {
		p.newest = entry{us, number, amount, spender}
	}
	return number, t.run(sqlInsert, p.id, us, number, before, amount, spender)
}

// forgetAtMost is how many entries one round deletes: too few to delay a take, but more than are added between two
// rounds.
const forgetAtMost = 256

// forgetIdle deletes an idle account or two. It runs for every new account, so that accounts used only once do not
// pile up.
func (t *transaction) forgetIdle(except int64) error {
	var idle []int64
	err := t.read(sqlIdle, []any{t.ledger.Now().UnixMicro(), except}, func(r *sql.Rows) error {
		idle = append(idle, 0)
		return r.Scan(&idle[len(idle)-1])
	})
	if err != nil {
		return err
	}
	for _, id := range idle {
		if err := t.drop(id); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes an account; of one with many entries only the oldest entries at a time.
func (t *transaction) drop(id int64) error {
	return cmp.Or(t.run(sqlDropEntries, id, forgetAtMost), t.run(sqlDropPools, id), t.run(sqlDropAccount, id))
}
