package quotatest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// noon is when most cases begin: far from every midnight.
var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// pacific is where the clocks change between two provider days.
var pacific = mustZone("America/Los_Angeles")

func mustZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

// rig is a store under test with one account on it, with a configuration that a case may change at any time.
type rig struct {
	testing.TB

	backend Backend
	clock   *Clock
	store   Store
	ledger  quota.Ledger

	account   string
	accounts  int
	who       quota.Who
	zone      *time.Location
	grace     time.Duration
	gap       time.Duration // the largest gap between clocks; 0: the grace
	horizon   time.Duration // 0: as long as the asked windows need
	precision time.Duration
	skew      time.Duration // of the caller's clock
	bounds    []quota.Bound // of the pool "units", for take and its kin
	about     string        // the present trial, for messages
}

func newRig(t testing.TB, b Backend) *rig {
	t.Helper()
	clock := NewClock(noon)
	store := b.Open(t, clock)
	r := &rig{TB: t, backend: b, clock: clock, store: store, ledger: store.Ledger,
		who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}, zone: time.UTC}
	r.fresh(noon)
	return r
}

// fresh continues with an account that was never used, at the given time.
func (r *rig) fresh(now time.Time, bounds ...quota.Bound) {
	r.accounts++
	r.account = fmt.Sprintf("account-%d", r.accounts)
	r.clock.Set(now)
	r.bounds = bounds
}

// per returns a sliding window without a ceiling below its limit; daily returns the provider's day.
func per(length time.Duration, limit int64) quota.Bound {
	return quota.Bound{Window: quota.Window{Name: length.String(), Length: length, Limit: limit}, Ceiling: limit}
}

func daily(limit int64) quota.Bound {
	return quota.Bound{Window: quota.Window{Name: "day", Limit: limit}, Ceiling: limit}
}

// under returns b for a purpose that must stop earlier.
func under(b quota.Bound, ceiling int64) quota.Bound {
	b.Ceiling = ceiling
	return b
}

func charge(pool string, amount int64, bounds ...quota.Bound) quota.Charge {
	return quota.Charge{Pool: pool, Amount: amount, Bounds: bounds}
}

const second = time.Second

// ask returns the request that a governor would send now.
func (r *rig) ask(charges ...quota.Charge) quota.Ask {
	now := r.clock.Now().Add(r.skew)
	return quota.Ask{Account: r.account, Who: r.who, Charges: charges, Midnights: quota.Midnights(now, r.zone),
		Grace: r.grace, Horizon: max(r.horizon, quota.MinHorizon, longest(charges)+r.grace), Precision: r.precision,
		Now: now, Gap: cmp.Or(r.gap, r.grace)}
}

// longest returns the longest window of the charges; a day has at most 25 hours.
func longest(charges []quota.Charge) time.Duration {
	length := time.Duration(0)
	for _, c := range charges {
		for _, b := range c.Bounds {
			if b.Window.Day() {
				length = max(length, 25*time.Hour)
			}
			length = max(length, b.Window.Length)
		}
	}
	return length
}

// try asks and returns the answer, after checking the promises of every decision.
func (r *rig) try(charges ...quota.Charge) (quota.Decision, error) {
	r.Helper()
	a := r.ask(charges...)
	d, err := r.ledger.Take(r.Context(), a)
	if err == nil {
		r.sound(a, d)
	}
	return d, err
}

// draw asks for charges and wants a decision.
func (r *rig) draw(charges ...quota.Charge) quota.Decision {
	r.Helper()
	d, err := r.try(charges...)
	if err != nil {
		r.Fatalf("take: %v", err)
	}
	return d
}

// take draws from the pool "units".
func (r *rig) take(amount int64) quota.Decision {
	r.Helper()
	return r.draw(charge("units", amount, r.bounds...))
}

// admits takes, and wants the amount and the rest.
func (r *rig) admits(amount, remaining int64) quota.Decision {
	r.Helper()
	d := r.take(amount)
	if !d.Allowed {
		r.Fatalf("%s: %d refused (%s, retry after %v), want it admitted", r.at(), amount, d.Refusal, d.RetryAfter)
	}
	if got := d.Pools[0].Remaining; got != remaining {
		r.Fatalf("%s: %d remain after %d, want %d", r.at(), got, amount, remaining)
	}
	return d
}

// refuses takes, and wants a refusal that shows the rest.
func (r *rig) refuses(amount, remaining int64) quota.Decision {
	r.Helper()
	d := r.take(amount)
	if d.Allowed {
		r.Fatalf("%s: %d admitted, want it refused", r.at(), amount)
	}
	if got := d.Pools[0].Remaining; got != remaining {
		r.Fatalf("%s: %d remain after %d was refused, want %d", r.at(), got, amount, remaining)
	}
	return d
}

// retries wants a refusal with this retry-after, and the window it names.
func (r *rig) retries(amount int64, after time.Duration, window string) quota.Decision {
	r.Helper()
	d := r.take(amount)
	if d.Allowed || d.RetryAfter != after || d.Refusal.Window != window {
		r.Fatalf("%s: %d: allowed %t, retry after %v by %v, want %v by window %s", r.at(), amount,
			d.Allowed, d.RetryAfter, d.Refusal, after, window)
	}
	return d
}

// fails wants an error of this kind, and nothing changed by it.
func (r *rig) fails(want error, do func() error) {
	r.Helper()
	before, err := r.ledger.Take(r.Context(), r.ask(charge("units", 0, r.bounds...)))
	if err != nil {
		r.Fatalf("peek: %v", err)
	}
	if err := do(); !errors.Is(err, want) {
		r.Fatalf("%s: %v, want an error that is %q", r.at(), err, want)
	}
	after, err := r.ledger.Take(r.Context(), r.ask(charge("units", 0, r.bounds...)))
	if err != nil || !reflect.DeepEqual(before, after) {
		r.Fatalf("%s: a failed ask changed the ledger from\n%+v to\n%+v (%v)", r.at(), before, after, err)
	}
}

// used checks that the pool "units" has this much used in each of the windows.
func (r *rig) used(want ...int64) {
	r.Helper()
	for i, w := range r.take(0).Pools[0].Windows {
		if w.Used != want[i] {
			r.Fatalf("%s: window %s has %d used, want %d", r.at(), w.Window.Name, w.Used, want[i])
		}
	}
}

// at returns the present trial and the time of the clock, for messages.
func (r *rig) at() string { return r.about + r.clock.Now().UTC().Format("2006-01-02T15:04:05.000000") }

// pass moves the clock.
func (r *rig) pass(d time.Duration) { r.clock.Advance(d) }

// sound checks the rules that every decision keeps.
func (r *rig) sound(a quota.Ask, d quota.Decision) {
	r.Helper()
	if err := sound(a, d); err != nil {
		r.Fatalf("%s: %v:\nasked   %+v\nanswered %+v", r.at(), err, a, d)
	}
}

func sound(a quota.Ask, d quota.Decision) error {
	if d.Allowed != (d.Refusal == nil) || d.Degraded || d.Who != a.Who || len(d.Pools) != len(a.Charges) {
		return errors.New("allowed, refusal, who or pools do not fit")
	}
	drained := false
	for i, c := range a.Charges {
		p := d.Pools[i]
		drained = drained || !p.Drain.Until.IsZero()
		want := int64(0)
		if d.Allowed && !a.Peek {
			want = c.Amount
		}
		if p.Pool != c.Pool || p.Charged != want || len(p.Windows) != len(c.Bounds) {
			return fmt.Errorf("pool %s: charged %d, want %d", p.Pool, p.Charged, want)
		}
		free := int64(-1)
		for j, b := range c.Bounds {
			w := p.Windows[j]
			if w.Window != b.Window || w.Ceiling != b.Ceiling || w.Used < 0 {
				return fmt.Errorf("pool %s: window %s is not the one asked about", p.Pool, w.Window.Name)
			}
			if left := max(w.Ceiling-w.Used, 0); free < 0 || left < free {
				free = left
			}
		}
		if !p.Drain.Until.IsZero() {
			free = 0
		}
		if p.Remaining != free {
			return fmt.Errorf("pool %s: %d remain, but its windows have %d free", p.Pool, p.Remaining, free)
		}
	}
	return soundRetry(a, d, drained)
}

// soundRetry is C3.
func soundRetry(a quota.Ask, d quota.Decision, drained bool) error {
	most := longest(a.Charges) + 2*a.Grace // a day ends a grace later
	switch r := d.RetryAfter; {
	case d.Allowed && (r != 0 || !d.RetryAt.IsZero()):
		return fmt.Errorf("admitted with a retry-after of %v, want 0", r)
	case d.Allowed:
	case d.RetryAt.Add(-r).After(d.At) || !d.RetryAt.After(d.At):
		return fmt.Errorf("decided at %s with a retry-after of %v, but retry at %s", d.At, r, d.RetryAt)
	case r < time.Millisecond || r%time.Millisecond != 0:
		return fmt.Errorf("retry after %v: want whole milliseconds, at least one", r)
	case d.RetryAt.Sub(d.At) > most && !drained:
		return fmt.Errorf("retry at %s, beyond the longest window of %v", d.RetryAt, most)
	}
	return nil
}

// exact is C1: the same charges are refused 1 ms before the retry-after of d is over, and admitted
// then. It leaves the clock there and the charges taken.
func (r *rig) exact(d quota.Decision, charges ...quota.Charge) {
	r.Helper()
	if d.Allowed {
		r.Fatalf("%s: admitted, want a refusal to wait for", r.at())
	}
	r.clock.Set(d.RetryAt.Add(-time.Millisecond))
	if early := r.draw(charges...); early.Allowed {
		r.Fatalf("%s: admitted 1 ms before the retry-after of %v is over", r.at(), d.RetryAfter)
	}
	r.clock.Set(d.RetryAt)
	if due := r.draw(charges...); !due.Allowed {
		r.Fatalf("%s: refused (%s) after waiting the retry-after of %v", r.at(), due.Refusal, d.RetryAfter)
	}
}
