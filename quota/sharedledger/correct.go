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
	return s.on(ctx, account, func() error {
		if err := s.checkBreaker(ctx, false); err != nil {
			return err
		}
		if err := s.Remote.Refund(ctx, account, d); err != nil {
			return err
		}
		if d.Row != 0 {
			s.notes.Verdicts = append(s.notes.Verdicts, RowVerdict{ID: d.Row, State: RowVoid})
		}
		for _, p := range d.Pools {
			if u := s.state.snapshot(p.Pool); u.Pool != "" && !u.At.Before(d.At) {
				s.noteSnapshot(u.refunded(p.Charged))
			}
		}
		return s.flush(context.WithoutCancel(ctx)) // otherwise another process might sync it as spent
	})
}

// Post implements quota.Ledger. Once the amount is in the journal, it is synced into the remote now or later.
func (s *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	return s.on(ctx, a.Account, func() error {
		if err := a.Check(s.Now()); err != nil {
			return err
		}
		row := Row{Account: a.Account, Who: a.Who, Amounts: quota.Cost{}, State: RowOwed}
		for _, c := range a.Charges {
			row.Amounts[c.Pool] = c.Amount
		}
		s.ensureWriter()
		if _, err := s.begin(ctx, row, at); err != nil {
			return err
		}
		s.syncOwed(ctx)
		return nil
	})
}

// Drain implements quota.Ledger. Once the drain is in the journal, it is synced into the remote now or later.
func (s *Ledger) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	if err := d.Check(account, pool); err != nil {
		return err
	}
	return s.on(ctx, account, func() error {
		if err := errors.Join(s.flush(ctx), s.load(ctx)); err != nil {
			return err
		}
		u := s.state.snapshot(pool)
		if u.Pool == "" {
			u = UsageSnapshot{Pool: pool, Generation: s.state.Generation, At: time.UnixMicro(1)}
		}
		if d.By != quota.ByUnknown && !d.Until.IsZero() && !d.Until.After(u.Drain.Until) {
			return nil
		}
		if own, ok := s.Journal.(OwnLog); ok && d.Until.IsZero() {
			if err := own.Lift(ctx, account, pool); err != nil {
				return err
			}
		}
		if d.By == quota.ByUnknown || u.Drain.By == quota.ByUnknown {
			u.Drain = d.Over(u.Drain, s.Now())
		} else {
			u.Drain = d // the remote decides which call is the probe
		}
		u.Owed = true
		s.noteSnapshot(u)
		if err := s.flush(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		if d.Until.IsZero() { // a sync can drain a pool, but not open one
			if err := s.checkBreaker(ctx, false); err != nil {
				return err
			}
			if err := s.Remote.Drain(ctx, account, pool, d); err != nil {
				return err
			}
		}
		s.syncOwed(ctx)
		return nil
	})
}

// Reset implements quota.Ledger: it always refuses. Every data directory's journal has the spends, and would sync them
// into the remote again after the next loss.
func (s *Ledger) Reset(_ context.Context, account string) error {
	return fmt.Errorf("%w: account %s is not reset: "+
		"the journals of its hosts would bring the spends back when the ledger is lost next. "+
		"Set another account: in the config of each host, which begins at 0", quota.ErrShared, account)
}

// Spent implements quota.Ledger. The knowledge of this data directory counts, also after a loss of the remote: it is
// synced first.
func (s *Ledger) Spent(ctx context.Context, account string, since time.Time,
	every time.Duration) (spent []quota.Spent, err error) {
	err = s.on(ctx, account, func() error {
		if err := s.loadOnce(ctx); err != nil {
			return err
		}
		if s.comparedIn == 0 && s.state.Generation != 0 || s.state.owes() {
			if err := s.sync(ctx); err != nil && !errors.Is(err, errSettling) && !errors.Is(err, errNew) {
				return err
			}
		}
		if err := s.checkBreaker(ctx, false); err != nil {
			return err
		}
		spent, err = s.Remote.Spent(ctx, account, since, every)
		return err
	})
	return spent, err
}

// Spend implements quota.EmergencyAccount. It is an operation of its own, even after one without a known answer: that
// operation is void, and another process may already have taken it back.
func (s *Ledger) Spend(ctx context.Context, e quota.Emergency, budgets []quota.EmergencyBudget) (id int64, err error) {
	err = s.on(ctx, e.Account, func() error {
		if err := s.loadOnce(ctx); err != nil {
			return err
		}
		s.ensureWriter()
		s.number++
		row := Row{
			Account: e.Account, Writer: s.writer, Number: s.number, Nonce: random(), At: s.state.afterSnapshots(e.At),
			Who: e.Who, Amounts: e.Amounts, State: RowOwed, Emergency: true,
		}
		if id, err = s.Journal.Allow(ctx, row, s.ownPart(budgets)); err == nil && id != 0 {
			s.state.Owed = true
		}
		return err
	})
	return id, err
}

// RefundEmergency implements quota.EmergencyAccount. Operations that the remote has stay there: a sync does not say
// which entries it made.
func (s *Ledger) RefundEmergency(ctx context.Context, account string, row int64) error {
	return s.on(ctx, account, func() error { return s.Journal.RefundEmergency(ctx, account, row) })
}

// ownPart returns the budgets with this data directory's part of shared ones.
func (s *Ledger) ownPart(budgets []quota.EmergencyBudget) []quota.EmergencyBudget {
	budgets = slices.Clone(budgets)
	for i, b := range budgets {
		if b.Shared {
			budgets[i].Amount = b.Amount / int64(max(s.hosts, len(s.state.Hosts)))
		}
	}
	return budgets
}

// Left implements quota.EmergencyAccount.
func (s *Ledger) Left(ctx context.Context, account string, at time.Time,
	budgets []quota.EmergencyBudget) (left []int64, err error) {
	err = s.on(ctx, account, func() error {
		if err := s.loadOnce(ctx); err != nil {
			return err
		}
		left, err = s.Journal.Left(ctx, account, s.state.afterSnapshots(at), s.ownPart(budgets))
		return err
	})
	return left, err
}

// LastUsage implements quota.EmergencyAccount.
func (s *Ledger) LastUsage(ctx context.Context, account string) ([]quota.LastUsage, error) {
	var last []quota.LastUsage
	err := s.on(ctx, account, func() error {
		err := errors.Join(s.flush(ctx), s.load(ctx)) // another process may have closed a pool
		last = s.state.LastUsage()
		return err
	})
	return last, err
}

// Close implements quota.Ledger. It closes the remote; the caller that opened the journal closes the journal.
func (s *Ledger) Close() error {
	s.stopping()
	return s.on(context.Background(), s.Account, func() error {
		if s.probing != nil {
			<-s.probing //nolint:errcheck // nobody waits for its answer any more
		}
		err := s.flush(context.Background())
		if err == nil {
			s.signOff(context.Background())
		}
		if err := errors.Join(err, s.Remote.Close()); err != nil {
			return fmt.Errorf("close the ledger: %w", err)
		}
		return nil
	})
}

// signOff tells the other hosts not to wait for this data directory after a loss, if it was new to this process and
// owes nothing, as in a container. If it fails, they wait as for a host that was killed.
func (s *Ledger) signOff(ctx context.Context) {
	if !s.isFresh || !s.isListed || s.load(ctx) != nil || s.state.owes() || len(s.state.Asked) > 0 ||
		!s.state.Breaker.Until.IsZero() {
		return
	}
	host := s.host()
	host.Left = true
	_, _ = s.Remote.Sync(ctx, Batch{Account: s.Account, Generation: s.state.Generation, Horizon: s.horizon,
		Gap: s.gap, Host: host})
}
