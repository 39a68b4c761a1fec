package quotatest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Model is the simplest correct ledger: a slice of spends that is never trimmed, and counted anew for every question.
// It finds a retry-after by trying each moment when anything could change. It ignores Precision, which only saves
// memory.
type Model struct {
	Now func() time.Time

	mu     sync.Mutex
	spends []spend
	drains map[[2]string]quota.Drain // by account and pool
}

var _ quota.Ledger = (*Model)(nil)

type spend struct {
	account, pool string
	at            time.Time
	amount        int64 // 0 once refunded
	number        int64
	who           quota.Who
}

// Take implements quota.Ledger.
func (m *Model) Take(_ context.Context, a quota.Ask) (quota.Decision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clock, now, err := m.now(a)
	if err != nil {
		return quota.Decision{}, err
	}
	d := quota.Decision{Allowed: true, At: now, Who: a.Who}
	for _, c := range a.Charges {
		d.Allowed = d.Allowed && m.fits(a, c, now)
	}
	if !d.Allowed {
		d.Refusal, d.RetryAt = m.refusal(a, now)
		d.RetryAfter = (d.RetryAt.Sub(clock) + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	charge := d.Allowed && !a.Peek
	for _, c := range a.Charges {
		if charge {
			m.record(a, c, now)
		}
	}
	for _, c := range a.Charges {
		d.Pools = append(d.Pools, m.state(a, c, now, charge))
	}
	return d, nil
}

// now returns the clock, or the newest entry of the pools asked for if that is later.
func (m *Model) now(a quota.Ask) (clock, _ time.Time, _ error) {
	now := m.Now().UTC().Truncate(time.Microsecond)
	newest := now
	for _, s := range m.spends {
		if s.at.After(newest) && s.account == a.Account && a.Charges != nil && charged(a, s.pool) {
			newest = s.at
		}
	}
	trusted := time.Minute
	if a.Gap > 0 && a.Gap < trusted {
		trusted = a.Gap
	}
	if newest.Sub(now) > trusted {
		return now, now, fmt.Errorf("%w: the clock was set back", quota.ErrUnavailable)
	}
	return now, newest, a.Check(newest)
}

func charged(a quota.Ask, pool string) bool {
	return slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Pool == pool })
}

// record writes the charges of c.
func (m *Model) record(a quota.Ask, c quota.Charge, at time.Time) {
	if c.Amount > 0 {
		m.spends = append(m.spends, spend{a.Account, c.Pool, at, c.Amount, int64(len(m.spends)) + 1, a.Who})
	}
}

// counting returns the spends that count in the window at t, if nothing else is spent until then.
func (m *Model) counting(a quota.Ask, pool string, w quota.Window, t time.Time) []spend {
	var out []spend
	for _, s := range m.spends {
		if s.account == a.Account && s.pool == pool && s.amount > 0 && counts(a, w, s.at, t) {
			out = append(out, s)
		}
	}
	return out
}

// counts is the definition of a window.
func counts(a quota.Ask, w quota.Window, at, t time.Time) bool {
	if !w.Day() {
		return t.Before(at.Add(w.Length).Add(a.Grace))
	}
	var begin time.Time
	for _, midnight := range a.Midnights {
		if !midnight.Add(a.Grace).After(t) {
			begin = midnight
		}
	}
	return !at.Add(a.Grace).Before(begin)
}

func (m *Model) uses(a quota.Ask, pool string, w quota.Window, t time.Time) int64 {
	sum := int64(0)
	for _, s := range m.counting(a, pool, w, t) {
		sum += s.amount
	}
	return sum
}

// fits reports whether the charge would be admitted at t.
func (m *Model) fits(a quota.Ask, c quota.Charge, t time.Time) bool {
	if c.Amount == 0 {
		return true
	}
	if m.drains[[2]string{a.Account, c.Pool}].Until.After(t) {
		return false
	}
	for _, b := range c.Bounds {
		if !m.fitsIn(a, c, b, t) {
			return false
		}
	}
	return true
}

func (m *Model) fitsIn(a quota.Ask, c quota.Charge, b quota.Bound, t time.Time) bool {
	return c.Amount == 0 || m.uses(a, c.Pool, b.Window, t)+c.Amount <= b.Ceiling
}

// moments returns, in order, the times after now when a reason for a refusal may end.
func (m *Model) moments(a quota.Ask, now time.Time) []time.Time {
	var out []time.Time
	for _, c := range a.Charges {
		out = append(out, m.drains[[2]string{a.Account, c.Pool}].Until)
		for _, b := range c.Bounds {
			for _, s := range m.counting(a, c.Pool, b.Window, now) {
				out = append(out, s.at.Add(b.Window.Length).Add(a.Grace))
			}
		}
	}
	for _, midnight := range a.Midnights {
		out = append(out, midnight.Add(a.Grace))
	}
	out = slices.DeleteFunc(out, func(t time.Time) bool { return !t.After(now) })
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// refusal finds when everything fits, in whole milliseconds of the clock, and the window that frees last.
func (m *Model) refusal(a quota.Ask, now time.Time) (*quota.Refusal, time.Time) {
	last := now
	for _, t := range m.moments(a, now) {
		all := true
		for _, c := range a.Charges {
			all = all && m.fits(a, c, t)
		}
		if all {
			return m.refusedUntil(a, now, last, t), t
		}
		last = t
	}
	panic("an ask never fits again, although its cost is below every ceiling")
}

// refusedUntil returns the first reason that refuses at the moment before t and not at t.
func (m *Model) refusedUntil(a quota.Ask, now, before, t time.Time) *quota.Refusal {
	for _, c := range a.Charges {
		if d := m.drains[[2]string{a.Account, c.Pool}]; c.Amount > 0 && d.Until.Equal(t) {
			r := &quota.Refusal{Pool: c.Pool, Window: protocol.DrainWindow, Used: d.Used, Ceiling: c.Bounds[0].Ceiling,
				Limit: c.Bounds[0].Window.Limit, Probe: d.Probe}
			if r.ByHand = d.At; d.By == quota.ByUnknown {
				r.ByHand, r.Unknown = time.Time{}, d.Until
			}
			return r
		}
		for _, b := range c.Bounds {
			if m.fitsIn(a, c, b, before) {
				continue
			}
			r := &quota.Refusal{Pool: c.Pool, Window: b.Window.Name, Used: m.uses(a, c.Pool, b.Window, now),
				Ceiling: b.Ceiling, Limit: b.Window.Limit, Purpose: a.Who.Purpose}
			for _, other := range c.Bounds {
				if m.fitsIn(a, c, other, now) {
					r.RoomIn = other.Window.Name
				}
			}
			return r
		}
	}
	return nil
}

func (m *Model) state(a quota.Ask, c quota.Charge, now time.Time, allowed bool) quota.PoolState {
	p := quota.PoolState{Pool: c.Pool, Remaining: quota.MaxLimit}
	if allowed && c.Amount > 0 {
		p.Charged, p.Entry = c.Amount, m.spends[len(m.spends)-1].number
		for _, s := range m.spends { // this charge is the newest entry of its pool
			if s.account == a.Account && s.pool == c.Pool && s.at.Equal(now) {
				p.Entry = s.number
			}
		}
	}
	for _, b := range c.Bounds {
		w := quota.WindowState{Window: b.Window, Ceiling: b.Ceiling, Used: m.uses(a, c.Pool, b.Window, now)}
		for _, s := range m.counting(a, c.Pool, b.Window, now) {
			if leaves := s.at.Add(b.Window.Length).Add(a.Grace); w.FreesAt.IsZero() || leaves.Before(w.FreesAt) {
				w.FreesAt = leaves
			}
		}
		if b.Window.Day() {
			i := slices.IndexFunc(a.Midnights, func(t time.Time) bool { return t.Add(a.Grace).After(now) })
			w.FreesAt = a.Midnights[i].Add(a.Grace)
		}
		p.Windows = append(p.Windows, w)
		p.Remaining = min(p.Remaining, max(b.Ceiling-w.Used, 0))
	}
	p.LastDrain = m.drains[[2]string{a.Account, c.Pool}]
	if p.LastDrain.Active(now) {
		p.Remaining, p.Drain = 0, p.LastDrain
	}
	return p
}

// Refund implements quota.Ledger.
func (m *Model) Refund(_ context.Context, account string, d quota.Decision) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !d.Allowed || m.Now().Sub(d.At) > protocol.RefundWithin {
		return quota.ErrNotRefundable
	}
	var found []*spend
	for _, p := range d.Pools {
		for i := range m.spends {
			s := &m.spends[i]
			if p.Charged > 0 && s.account == account && s.pool == p.Pool && s.number == p.Entry &&
				s.amount == p.Charged && s.at.Equal(d.At) {
				found = append(found, s)
			}
		}
	}
	charged := 0
	for _, p := range d.Pools {
		if p.Charged > 0 {
			charged++
		}
	}
	if len(found) != charged {
		return quota.ErrNotRefundable
	}
	for _, s := range found {
		s.amount = 0
	}
	return nil
}

// Post implements quota.Ledger.
func (m *Model) Post(_ context.Context, a quota.Ask, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, now, err := m.now(a)
	if err != nil {
		return err
	}
	at = at.UTC().Truncate(time.Microsecond)
	if at.After(now) {
		at = now
	}
	if now.Sub(at) >= a.Horizon {
		return nil
	}
	for _, c := range a.Charges {
		m.record(a, c, at)
	}
	return nil
}

// Drain implements quota.Ledger.
func (m *Model) Drain(_ context.Context, account, pool string, d quota.Drain) error {
	if err := d.Check(account, pool); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drains == nil {
		m.drains = map[[2]string]quota.Drain{}
	}
	key := [2]string{account, pool}
	m.drains[key] = d.Over(m.drains[key], m.Now())
	return nil
}

// Reset implements quota.Ledger.
func (m *Model) Reset(_ context.Context, account string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.spends { // their numbers are not reused
		if m.spends[i].account == account {
			m.spends[i].amount, m.spends[i].at = 0, time.Time{}
		}
	}
	for key := range m.drains {
		if key[0] == account {
			delete(m.drains, key)
		}
	}
	return quota.CheckAccount(account)
}

// Spent implements quota.Ledger.
func (m *Model) Spent(_ context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []quota.Spent
	for _, s := range m.spends {
		if s.account != account || s.at.Before(since) || s.amount == 0 {
			continue
		}
		part := protocol.Part(s.at.UnixMicro(), since.UnixMicro(), every)
		i := slices.IndexFunc(out, func(o quota.Spent) bool { return o.Pool == s.pool && o.Who == s.who && o.Part == part })
		if i < 0 {
			i, out = len(out), append(out, quota.Spent{Pool: s.pool, Who: s.who, Part: part})
		}
		out[i].Amount += s.amount
	}
	slices.SortFunc(out, quota.Spent.Compare)
	return out, nil
}

// Close implements quota.Ledger.
func (m *Model) Close() error { return nil }
