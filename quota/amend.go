package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Refund implements Ledger.
func (s *Shared) Refund(ctx context.Context, account string, d Decision) error {
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
		for _, l := range s.state.Looks {
			if l.Pool == p.Pool && !l.At.Before(d.At) {
				s.keep(l.without(p.Charged))
			}
		}
	}
	return nil
}

// without is the look as it would be now that an amount it had seen was given back.
func (l Look) without(amount int64) Look {
	l.Windows = slices.Clone(l.Windows)
	for i := range l.Windows {
		l.Windows[i].Used = max(l.Windows[i].Used-amount, 0)
	}
	return l
}

// Post implements Ledger. Once it is in the journal it will be told to the remote, now or later.
func (s *Shared) Post(ctx context.Context, a Ask, at time.Time) error {
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
	row := Row{Account: a.Account, Who: a.Who, Amounts: Cost{}, State: RowOwed}
	for _, c := range a.Charges {
		row.Amounts[c.Pool] = c.Amount
	}
	s.name()
	if _, err = s.begin(ctx, row, at); err != nil {
		return err
	}
	return s.pass(ctx)
}

// Drain implements Ledger. Once it is in the journal it will be told to the remote, now or later.
func (s *Shared) Drain(ctx context.Context, account, pool string, until time.Time, used int64) error {
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
	l := Look{Pool: pool, Generation: s.state.Generation, At: time.UnixMicro(1)}
	for _, known := range s.state.Looks {
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
func (s *Shared) pass(ctx context.Context) error {
	err := s.reach(ctx, false)
	if err == nil {
		err = s.ready(ctx, Row{})
	}
	if errors.Is(err, ErrUnavailable) {
		s.warn(ctx, "the ledger cannot answer: it is told later: "+err.Error())
		return nil
	}
	return err
}

// Spent implements Ledger.
func (s *Shared) Spent(ctx context.Context, account string, since time.Time) ([]Spent, error) {
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

// Allow implements Reserve: an operation whose answer is not known becomes the emergency itself, so
// that it is counted once whatever became of it.
func (s *Shared) Allow(ctx context.Context, row Row, budgets []Budget) (bool, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	if err := errors.Join(s.mine(row.Account), s.once(ctx)); err != nil {
		return false, err
	}
	s.name()
	if row.ID == 0 || row.ID != s.doubt {
		s.number++
		row.ID, row.Writer, row.Number, row.Nonce = 0, s.writer, s.number, random()
	}
	row.At = s.after(row.At)
	s.notes.Verdicts = slices.DeleteFunc(s.notes.Verdicts, func(v Verdict) bool { return row.ID != 0 && v.ID == row.ID })
	ok, err := s.Journal.Allow(ctx, row, budgets)
	if !ok || err != nil {
		return false, err
	}
	s.doubt, s.state.Owed = 0, true
	return true, nil
}

// State implements Reserve.
func (s *Shared) State(ctx context.Context, account string) (JournalState, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return JournalState{}, err
	}
	defer leave()
	if err := errors.Join(s.mine(account), s.once(ctx)); err != nil {
		return JournalState{}, err
	}
	return s.state, nil
}

// Close implements Ledger. It closes the remote; the journal is its opener's.
func (s *Shared) Close() error {
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
