package sqliteledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// One file holds the log of this ledger and the journal of a ledger elsewhere. Both count one account, so each charge
// of one is carried to the other before that one decides. pools.carried and operations.entered mark how far both
// agree: no charge is carried twice, however often the ledger changes.

var _ sharedledger.OwnLog = (*Ledger)(nil)

// Owe implements sharedledger.OwnLog. It writes only if there is something to owe.
func (l *Ledger) Owe(ctx context.Context, account string) error {
	owes := false
	err := l.read(ctx, func(t *transaction) (err error) {
		owes, err = t.hasUncarried(account)
		return err
	})
	if err != nil || !owes {
		return err
	}
	return l.write(ctx, func(t *transaction) error { return t.carry(account) })
}

// Lift implements sharedledger.OwnLog. It writes only if the pool is closed.
func (l *Ledger) Lift(ctx context.Context, account, pool string) error {
	return l.write(ctx, func(t *transaction) error {
		acc, err := t.account(account)
		if err != nil {
			return err
		}
		for _, p := range acc.pools {
			if p.name == pool && p.drain.Active(l.Now()) {
				return t.drainOver(p, quota.Drain{})
			}
		}
		return nil
	})
}

// Known returns the spends of an account since a time that this file shows, for quota.Governor.Known of a program that
// opens another ledger: the charges of its own log, of the journal, and of the last snapshots of ledgers elsewhere.
func (l *Ledger) Known(name string) func(ctx context.Context, since time.Time) ([]quota.Spent, error) {
	return func(ctx context.Context, since time.Time) ([]quota.Spent, error) {
		now := l.Now().UTC().Truncate(time.Microsecond)
		err := l.writeAccount(ctx, name, func(t *transaction, acc *account) error {
			return t.enterOwed(acc, quota.Ask{Account: name, Horizon: quota.MinHorizon}, now, true)
		})
		if err != nil {
			return nil, err
		}
		return l.Spent(ctx, name, since, 0)
	}
}

// hasUncarried reports whether the journal lacks entries of the log, or the log lacks emergencies of the journal.
func (t *transaction) hasUncarried(account string) (has bool, err error) {
	if err := t.row(sqlUncarried, []any{account, t.ledger.Now().UnixMicro()}, &has); err != nil || has {
		return has, err
	}
	owed, err := t.operations(sqlOwedHere, account)
	if err != nil || len(owed) > 0 {
		return true, err
	}
	acc, err := t.account(account)
	if err != nil {
		return false, err
	}
	drains, err := t.uncarriedDrains(acc, account)
	return len(drains) > 0, err
}

// uncarriedDrains returns snapshots with the log's current drains that the journal lacks, for a sync.
func (t *transaction) uncarriedDrains(acc *account, account string) (drains []sharedledger.UsageSnapshot, err error) {
	s, err := t.journal(account)
	now := t.ledger.Now()
	for _, p := range acc.pools {
		u := sharedledger.UsageSnapshot{Pool: p.name, Generation: s.Generation, At: time.UnixMicro(1)}
		for _, seen := range s.Snapshots {
			if seen.Pool == p.name {
				u = seen
			}
		}
		matters := p.drain.By == quota.ByUnknown || p.drain.Active(now) && p.drain.By != quota.ByReset
		if d := p.drain.Over(u.Drain, now); matters && !d.Equal(u.Drain) {
			u.Drain, u.Owed, u.At = d, true, u.At.Add(time.Microsecond)
			drains = append(drains, u)
		}
	}
	return drains, err
}

// carry copies the log's entries and drains to the journal, for other ledgers to sync.
func (t *transaction) carry(account string) error {
	acc, err := t.account(account)
	if err != nil {
		return err
	}
	now := t.ledger.Now()
	if err := t.enterEmergencies(acc, quota.Ask{Account: account, Horizon: quota.MinHorizon}, now); err != nil {
		return err
	}
	drains, err := t.uncarriedDrains(acc, account)
	if err == nil && len(drains) > 0 {
		_, err = t.note(account, sharedledger.Notes{Snapshots: drains})
	}
	if err != nil {
		return err
	}
	writer := fmt.Sprintf("%013x%s", max(now.UnixMicro(), 0), rand.Text()[:16])
	return cmp.Or(t.run(sqlCarry, account, now.UnixMicro(), writer), t.run(sqlCarried, account))
}

// errOwed means that owed operations must be entered before a decision, which a peek must not do.
var errOwed = errors.New("operations to be entered")

// enterOwed enters the operations that the log lacks: operations that the Governor admitted while this ledger could
// not decide, and operations of a ledger elsewhere. Entry and mark are one transaction, so that each counts exactly
// once.
func (t *transaction) enterOwed(acc *account, a quota.Ask, now time.Time, mayWrite bool) error {
	if !acc.owed {
		return nil
	}
	elsewhere, err := t.operations(sqlElsewhere, a.Account)
	if err != nil {
		return err
	}
	unseen := 0
	if err := t.row(sqlUnenteredSeen, []any{a.Account}, &unseen); err != nil {
		return err
	}
	if !mayWrite {
		owed, err := t.operations(sqlOwedHere, a.Account)
		if err == nil && len(owed)+len(elsewhere)+unseen > 0 {
			err = errOwed
		}
		return err
	}
	if err := t.enterEmergencies(acc, a, now); err != nil {
		return err
	}
	if len(elsewhere) > 0 || unseen > 0 {
		return t.enterElsewhere(acc, a, now, elsewhere)
	}
	return nil
}

// enterEmergencies enters the operations that this ledger lacks.
func (t *transaction) enterEmergencies(acc *account, a quota.Ask, now time.Time) error {
	owed, err := t.operations(sqlOwedHere, a.Account)
	if err != nil {
		return err
	}
	var verdicts []sharedledger.RowVerdict
	for _, row := range owed {
		if err := t.enter(acc, a, row, now); err != nil {
			return err
		}
		verdicts = append(verdicts, sharedledger.RowVerdict{ID: row.ID, State: sharedledger.RowSynced})
	}
	return t.applyVerdicts(verdicts, 0)
}

func (t *transaction) enter(acc *account, a quota.Ask, row sharedledger.Row, now time.Time) error {
	spent := quota.Ask{Account: a.Account, Who: row.Who, Horizon: a.Horizon}
	for pool, amount := range row.Amounts {
		spent.Charges = append(spent.Charges, quota.Charge{Pool: pool, Amount: amount})
	}
	return t.post(acc, spent, row.At, now)
}

// enterElsewhere enters the operations of a ledger elsewhere, then raises each pool to its snapshot: other hosts spend
// there too. A snapshot reaches the ledger elsewhere as a snapshot, so that its charge here is not carried.
func (t *transaction) enterElsewhere(acc *account, a quota.Ask, now time.Time, rows []sharedledger.Row) error {
	err := t.carry(a.Account)
	for _, row := range rows {
		if err == nil {
			err = t.enter(acc, a, row, now)
		}
	}
	if err != nil {
		return err
	}
	s, err := t.journal(a.Account)
	if err != nil {
		return err
	}
	for _, u := range s.Snapshots {
		if err := t.raise(acc, a, u, now); err != nil {
			return err
		}
	}
	if err := cmp.Or(t.run(sqlCarried, a.Account), t.markEntered(a.Account)); err != nil {
		return err
	}
	read, err := t.account(a.Account) // the next entry's number is above the carried entries' numbers
	if err == nil {
		*acc = *read
	}
	return err
}

// raise enters the missing part of a snapshot, for each window, the shortest first, at the latest time that the
// snapshot allows, and its drain.
func (t *transaction) raise(acc *account, a quota.Ask, u sharedledger.UsageSnapshot, now time.Time) error {
	slices.SortFunc(u.Windows, func(a, b sharedledger.WindowUsage) int { return b.Start.Compare(a.Start) })
	seen := u.At
	if seen.After(now) {
		seen = now
	}
	at := seen
	if err := t.ensureRows(acc,
		quota.Ask{Account: a.Account, Horizon: a.Horizon, Charges: []quota.Charge{{Pool: u.Pool}}}); err != nil {
		return err
	}
	p := acc.pool(u.Pool)
	counted, err := t.countedBy(a.Account, p, u, seen)
	if err != nil {
		return err
	}
	for i, w := range u.Windows {
		if i > 0 && w.Start.Before(u.Windows[i-1].Start) { // the shorter window has not counted it
			at = u.Windows[i-1].Start.Add(-time.Microsecond)
		}
		lacks := w.Used - counted(w.Start)
		if lacks <= 0 {
			continue
		}
		row := sharedledger.Row{Who: sharedledger.Unattributed, Amounts: quota.Cost{u.Pool: lacks}, At: at}
		if err := t.enter(acc, a, row, now); err != nil {
			return err
		}
		if counted, err = t.countedBy(a.Account, p, u, seen); err != nil {
			return err
		}
	}
	if u.Drain.Active(now) || u.Drain.By == quota.ByUnknown {
		return t.drainOver(p, u.Drain)
	}
	return nil
}

// countedBy returns how much of the log the snapshot had counted since a time: the journal's rows, and unattributed
// charges.
func (t *transaction) countedBy(account string, p *pool, u sharedledger.UsageSnapshot,
	seen time.Time) (since func(time.Time) int64, err error) {
	oldest := seen
	for _, w := range u.Windows {
		oldest = w.Start // the windows are sorted
	}
	rows, err := t.operations(sqlRows, account, oldest.UnixMicro())
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r sharedledger.Row) bool {
		return !r.CountedAt(u.At, u.Generation) || r.Who == sharedledger.Unattributed
	})
	unattributed, err := list(t, sqlUnattributed, []any{p.id, sharedledger.Unattributed.Purpose, seen.UnixMicro()},
		func(r *sql.Rows) (e entry, err error) { return e, r.Scan(&e.at, &e.amount) })
	return func(start time.Time) (sum int64) {
		for _, r := range rows {
			if !r.At.Before(start) {
				sum += r.Amounts[u.Pool]
			}
		}
		for _, e := range unattributed {
			if e.at >= start.UnixMicro() {
				sum += e.amount
			}
		}
		return sum
	}, err
}

// markEntered notes that the log has every operation of the journal.
func (t *transaction) markEntered(account string) error {
	return cmp.Or(t.run(sqlEntered, account), t.run(sqlEnteredSeen, account))
}
