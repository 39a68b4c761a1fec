package sqliteledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Refund implements quota.Ledger.
func (l *Ledger) Refund(ctx context.Context, name string, d quota.Decision) error {
	if age := l.Now().Sub(d.At); !d.Allowed || age > protocol.RefundWithin {
		return fmt.Errorf("%w: a take of %s", quota.ErrNotRefundable, d.At.UTC().Format(time.DateTime+"Z"))
	}
	return l.writeAccount(ctx, name, func(t *transaction, acc *account) error {
		for _, s := range d.Pools {
			if s.Charged == 0 {
				continue
			}
			p := acc.pool(s.Pool)
			var amount int64
			err := t.row(sqlEntry, []any{p.id, d.At.UnixMicro(), s.Entry}, &amount)
			if errors.Is(err, sql.ErrNoRows) || err == nil && amount != s.Charged {
				return fmt.Errorf("%w: pool %s has no such entry", quota.ErrNotRefundable, s.Pool)
			}
			if err != nil {
				return err
			}
			if s.Entry <= p.carried {
				return fmt.Errorf("%w: pool %s: another ledger of the account counts it too", quota.ErrNotRefundable, s.Pool)
			}
			if err := t.removeEntry(p, entry{at: d.At.UnixMicro(), number: s.Entry, amount: amount}); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeEntry deletes an entry, so that no window waits for it. The newest is only emptied until another follows: it
// has the total, and the ledger's clock must not fall behind it.
func (t *transaction) removeEntry(p *pool, e entry) error {
	if p.newest.at == e.at && p.newest.number == e.number {
		return t.run(sqlRaise, e.at, -e.amount, p.id, e.at, e.number)
	}
	if err := t.run(sqlRemove, p.id, e.at, e.number); err != nil {
		return err
	}
	return t.run(sqlShift, -e.amount, p.id, e.at, e.number)
}

// Post implements quota.Ledger.
func (l *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	return l.writeAccount(ctx, a.Account, func(t *transaction, acc *account) error {
		_, now, err := t.advance(a, acc)
		if err != nil {
			return err
		}
		return t.post(acc, a, at, now)
	})
}

// post inserts charges at their own time, or at now if that is earlier.
func (t *transaction) post(acc *account, a quota.Ask, at, now time.Time) error {
	if at.After(now) {
		at = now
	}
	a.Precision = 0 // keep each entry's own time
	if err := t.ensureRows(acc, a); err != nil {
		return err
	}
	if now.UnixMicro()-at.UnixMicro() >= acc.horizon {
		return nil
	}
	for _, c := range a.Charges {
		if c.Amount == 0 {
			continue
		}
		if _, err := t.insert(acc, acc.pool(c.Pool), at, c.Amount, a); err != nil {
			return err
		}
	}
	return nil
}

// Unpost takes back the last amount that a person posted of a pool, and returns it; amount and at, unless zero, select
// the post. ErrNotRefundable: there is no such post.
func (l *Ledger) Unpost(ctx context.Context, name, poolName string, amount int64,
	at time.Time) (posted int64, when time.Time, err error) {
	err = l.writeAccount(ctx, name, func(t *transaction, acc *account) error {
		spender, err := t.spenderID(quota.Who{Purpose: quota.Manual, Method: protocol.PostMethod})
		if err != nil {
			return err
		}
		p, e := acc.pool(poolName), entry{}
		err = t.row(sqlPosted, []any{p.id, spender, amount, microsOrZero(at)}, &e.at, &e.number, &e.amount)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: no such post of %s is counted", quota.ErrNotRefundable, poolName)
		}
		if err != nil {
			return err
		}
		if e.number <= p.carried {
			return fmt.Errorf("%w: another ledger of the account counts that post of %s too", quota.ErrNotRefundable, poolName)
		}
		posted, when = e.amount, protocol.Time(e.at)
		return cmp.Or(t.removeEntry(p, e), t.run(sqlBehind, 0, p.id))
	})
	return posted, when, err
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(ctx context.Context, name, poolName string, d quota.Drain) error {
	if err := d.Check(name, poolName); err != nil {
		return err
	}
	return l.writeAccount(ctx, name, func(t *transaction, acc *account) error {
		if err := t.ensureRows(acc,
			quota.Ask{Account: name, Horizon: quota.MinHorizon, Charges: []quota.Charge{{Pool: poolName}}}); err != nil {
			return err
		}
		if d.Until.IsZero() {
			if err := t.liftInJournal(name, poolName); err != nil {
				return err
			}
		}
		return t.drainOver(acc.pool(poolName), d)
	})
}

// liftInJournal lifts the drain in a pool's snapshot, which would close the pool again.
func (t *transaction) liftInJournal(name, poolName string) error {
	s, err := t.journal(name)
	for _, u := range s.Snapshots {
		if err == nil && u.Pool == poolName && !u.Drain.Until.IsZero() && u.Drain.By != quota.ByUnknown {
			u.Drain, u.At = quota.Drain{}, u.At.Add(time.Microsecond)
			_, err = t.note(name, sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{u}})
		}
	}
	return err
}

// drainOver puts a drain over the pool's last one.
func (t *transaction) drainOver(p *pool, d quota.Drain) error {
	return t.drain(p, d.Over(p.drain, t.ledger.Now()))
}

func (t *transaction) drain(p *pool, d quota.Drain) error {
	return t.run(sqlDrain, p.id, microsOrZero(d.Until), d.Used, d.By, microsOrZero(d.At), d.Probe)
}

// Reset implements quota.Ledger. It keeps each pool's newest entry, emptied and not in the future, so that numbers
// continue. Emergencies still count against the emergency budget.
func (l *Ledger) Reset(ctx context.Context, name string) error {
	if err := quota.CheckAccount(name); err != nil {
		return err
	}
	return l.writeAccount(ctx, name, func(t *transaction, acc *account) error {
		for _, p := range acc.pools {
			err := t.run(sqlForget, p.id, p.newest.at, math.MaxInt64)
			if err == nil && p.newest.number > 0 {
				err = t.run(sqlRaise, min(p.newest.at, l.Now().UnixMicro()), -p.newest.amount, p.id, p.newest.at, p.newest.number)
			}
			if err == nil {
				err = t.drain(p, quota.Drain{})
			}
			if err != nil {
				return err
			}
		}
		owed, err := t.operations(sqlOwedHere, name)
		if err != nil {
			return err
		}
		var verdicts []sharedledger.RowVerdict
		for _, row := range owed {
			verdicts = append(verdicts, sharedledger.RowVerdict{ID: row.ID, State: sharedledger.RowSynced})
		}
		if err := t.applyVerdicts(verdicts, 0); err != nil {
			return err
		}
		return t.markEntered(name)
	})
}

// Spent implements quota.Ledger, including operations owed to this ledger.
func (l *Ledger) Spent(ctx context.Context, name string, since time.Time,
	every time.Duration) (out []quota.Spent, err error) {
	if err := quota.CheckAccount(name); err != nil {
		return nil, err
	}
	err = l.read(ctx, func(t *transaction) error {
		out, err = list(t, sqlSpent, []any{name, since.UnixMicro(), every.Microseconds()},
			func(r *sql.Rows) (s quota.Spent, err error) {
				err = r.Scan(&s.Pool, &s.Who.Purpose, &s.Who.Region, &s.Who.Method, &s.Who.Client, &s.Part, &s.Amount)
				return s, err
			})
		return err
	})
	slices.SortFunc(out, quota.Spent.Compare)
	return out, err
}

// Store returns the store that FillsStore named last; "" if none was there yet.
func (l *Ledger) Store(ctx context.Context) (name string, err error) {
	err = l.read(ctx, func(t *transaction) error { return t.row(`SELECT store AS "" FROM file`, nil, &name) })
	return name, err
}

// FillsStore records the name of the store that this data directory's calls for regions fill.
func (l *Ledger) FillsStore(ctx context.Context, name string) error {
	if before, err := l.Store(ctx); err != nil || before == name {
		return err
	}
	return l.write(ctx, func(t *transaction) error { return t.run(`UPDATE file SET store = ?`, name) })
}

// OtherAccounts returns the other accounts that have spent of these pools since a time, from this data directory. It
// waits for no writer.
func (l *Ledger) OtherAccounts(ctx context.Context, name string, pools []string,
	since time.Time) (others []string, err error) {
	names, err := json.Marshal(pools)
	if err != nil {
		return nil, err
	}
	err = l.read(ctx, func(t *transaction) error {
		others, err = list(t, sqlOtherAccounts, []any{name, since.UnixMicro(), string(names)},
			func(r *sql.Rows) (other string, err error) {
				err = r.Scan(&other)
				return other, err
			})
		return err
	})
	return others, err
}

// longestDrain is the longest drain by the provider: a day of 25 hours and the grace.
const longestDrain = quota.MinHorizon

// MoveBack moves entries that a fast clock left in the future to now, so that they count, and lifts drains by the
// provider that last longer than any day. It returns the number of changed entries; entries ahead by at most
// quota.MaxClockGap stay.
func (l *Ledger) MoveBack(ctx context.Context) (moved int, err error) {
	err = l.write(ctx, func(t *transaction) error {
		now := l.Now()
		names, err := list(t, sqlCarriedAccounts, nil,
			func(r *sql.Rows) (name string, err error) { return name, r.Scan(&name) })
		for _, name := range names { // moved entries get new numbers
			err = cmp.Or(err, t.carry(name))
		}
		if err != nil {
			return err
		}
		entries, _, err := t.change(sqlMoveBack, now.Add(quota.MaxClockGap).UnixMicro(), now.UnixMicro())
		if err != nil {
			return err
		}
		drains, _, err := t.change(sqlLiftAhead, now.Add(longestDrain).UnixMicro())
		for _, name := range names {
			err = cmp.Or(err, t.run(sqlCarried, name))
		}
		moved = int(entries + drains)
		return err
	})
	return moved, err
}
