package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Refund implements quota.Ledger.
func (s *Ledger) Refund(ctx context.Context, account string, d quota.Decision) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := errors.Join(s.mine(account), s.reach(ctx, false)); err != nil {
		return err
	}
	if err := s.Remote.Refund(ctx, account, d); err != nil {
		return err
	}
	if d.Row != 0 {
		s.notes.Verdicts = append(s.notes.Verdicts, Verdict{ID: d.Row, State: RowVoid})
	}
	for _, p := range d.Pools {
		for _, l := range s.state.Snapshots {
			if l.Pool == p.Pool && !l.At.Before(d.At) {
				s.keep(l.without(p.Charged))
			}
		}
	}
	return nil
}

// without is the look as it would be now that an amount it had seen was given back.
func (l UsageSnapshot) without(amount int64) UsageSnapshot {
	l.Windows = slices.Clone(l.Windows)
	for i := range l.Windows {
		l.Windows[i].Used = max(l.Windows[i].Used-amount, 0)
	}
	return l
}

// Post implements quota.Ledger. Once it is in the journal it will be told to the remote, now or later.
func (s *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.mine(a.Account); err != nil {
		return err
	}
	if err := a.Check(s.Now()); err != nil {
		return err
	}
	row := Row{Account: a.Account, Who: a.Who, Amounts: quota.Cost{}, State: RowOwed}
	for _, c := range a.Charges {
		row.Amounts[c.Pool] = c.Amount
	}
	s.name()
	if _, err = s.begin(ctx, row, at); err != nil {
		return err
	}
	return s.pass(ctx)
}

// Drain implements quota.Ledger. Once it is in the journal it will be told to the remote, now or later.
func (s *Ledger) Drain(ctx context.Context, account, pool string, until time.Time, used int64) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.mine(account); err != nil {
		return err
	}
	if err := errors.Join(s.flush(ctx), s.load(ctx)); err != nil {
		return err
	}
	l := UsageSnapshot{Pool: pool, Generation: s.state.Generation, At: time.UnixMicro(1)}
	for _, known := range s.state.Snapshots {
		if known.Pool == pool {
			l = known
		}
	}
	if !until.IsZero() && !until.After(l.DrainedUntil) {
		return nil
	}
	l.DrainedUntil, l.DrainedUsed, l.Owed = until, used, true
	s.keep(l)
	if err := s.flush(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if until.IsZero() { // a delivery only ever drains
		if err := s.reach(ctx, false); err != nil {
			return err
		}
		if err := s.Remote.Drain(ctx, account, pool, until, used); err != nil {
			return err
		}
	}
	return s.pass(ctx)
}

// pass delivers what is owed, if the remote can be reached.
func (s *Ledger) pass(ctx context.Context) error {
	err := s.reach(ctx, false)
	if err == nil {
		err = s.ready(ctx, Row{})
	}
	if errors.Is(err, quota.ErrUnavailable) {
		s.warn(ctx, "the ledger cannot answer: it is told later: "+err.Error())
		return nil
	}
	return err
}

// Spent implements quota.Ledger.
func (s *Ledger) Spent(ctx context.Context, account string, since time.Time) ([]quota.Spent, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := errors.Join(s.mine(account), s.reach(ctx, false)); err != nil {
		return nil, err
	}
	return s.Remote.Spent(ctx, account, since)
}

// Spend implements quota.Reserve: an operation whose answer is not known becomes the emergency itself, so
// that it is counted once whatever became of it.
func (s *Ledger) Spend(ctx context.Context, e quota.Emergency, budgets []quota.Budget) (bool, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if err := errors.Join(s.mine(e.Account), s.once(ctx)); err != nil {
		return false, err
	}
	s.name()
	row := Row{Account: e.Account, At: s.after(e.At), Who: e.Who, Amounts: e.Amounts, State: RowOwed, Emergency: true}
	var doubt *doubtError
	if errors.As(e.Cause, &doubt) && doubt.row == s.doubt {
		row.ID = doubt.row
	} else {
		s.number++
		row.Writer, row.Number, row.Nonce = s.writer, s.number, random()
	}
	s.notes.Verdicts = slices.DeleteFunc(s.notes.Verdicts, func(v Verdict) bool { return row.ID != 0 && v.ID == row.ID })
	ok, err := s.Journal.Allow(ctx, row, budgets)
	if !ok || err != nil {
		return false, err
	}
	s.doubt, s.state.Owed = 0, true
	return true, nil
}

// LastUsage implements quota.Reserve.
func (s *Ledger) LastUsage(ctx context.Context, account string) ([]quota.LastUsage, error) {
	state, err := s.journalState(ctx, account)
	return state.LastUsage(), err
}

// Replays implements quota.Reserve.
func (s *Ledger) Replays(ctx context.Context, account string) (bool, error) {
	state, err := s.journalState(ctx, account)
	return state.Generation != 0, err
}

func (s *Ledger) journalState(ctx context.Context, account string) (JournalState, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return JournalState{}, err
	}
	defer leave()
	err = errors.Join(s.mine(account), s.once(ctx))
	return s.state, err
}

// Close implements quota.Ledger. It closes the remote; the journal is its opener's.
func (s *Ledger) Close() error {
	s.stopping()
	leave, err := s.enter(context.Background())
	if err != nil {
		return err
	}
	defer leave()
	if s.probing != nil {
		<-s.probing //nolint:errcheck // nobody waits for its answer any more
	}
	if err := errors.Join(s.flush(context.Background()), s.Remote.Close()); err != nil {
		return fmt.Errorf("close the ledger: %w", err)
	}
	return nil
}
