package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
)

var search = quota.Request{Method: "search.list", Purpose: quota.Scheduled} // 1 of the 95 searches that may be used

func TestFitsChargesNothingAndGivesTakesAnswer(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	for taken := range 96 {
		fits, err := d.Fits(t.Context(), search)
		if err != nil || fits != (taken < 95) {
			t.Fatalf("after %d of 95: %t, %v", taken, fits, err)
		}
		if got, err := d.Take(t.Context(), search); err != nil || got.Allowed != fits {
			t.Fatalf("fits %t, and then %+v, %v", fits, got, err)
		}
	}
	if _, err := d.Fits(t.Context(), quota.Request{Method: "none", Purpose: quota.Manual}); !errors.Is(err, quota.ErrUnknown) {
		t.Errorf("a method without a price: %v", err)
	}
}

func TestTakeUpToTakesAFittingAmount(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	for _, c := range []struct{ most, want int64 }{{0, 0}, {1, 1}, {40, 40}, {60, 54}, {3, 0}} {
		calls, got, err := d.TakeUpTo(t.Context(), search, c.most)
		if err != nil || calls != c.want || got.Allowed != (c.want > 0) {
			t.Fatalf("at most %d: %d (%+v, %v), want %d", c.most, calls, got, err, c.want)
		}
		if c.want > 0 && (got.Pools[0].Charged != c.want || got.Pools[1].Charged != 100*c.want) {
			t.Errorf("%d calls charged %+v", calls, got.Pools)
		}
	}
	if used := d.pool("search").Windows[0].Used; used != 95 {
		t.Errorf("%d used, want 95", used)
	}
}

// K10 and K9 hold for several calls at once as for one: a take whose process was stopped before it saw the answer is
// given back, and a take with an unknown outcome is no call.
func TestTakeUpToThatIsAnsweredTooLateIsVoid(t *testing.T) {
	for _, stopped := range []int{0, 1, 2} { // at the look, at the take, at the take after that
		d := newTestGovernor(t, "2026-06-01 12:00:00")
		stops := make([]time.Duration, stopped+1)
		stops[stopped] = 90 * time.Second
		d.Ledger = &stopping{d.Ledger, d, stops}
		calls, got, err := d.TakeUpTo(t.Context(), search, 40)
		if late := d.now.Sub(got.At); err != nil || calls != 40 || late > d.SendWithin() {
			t.Errorf("stopped at %d: %d calls leave %v after their take, %v", stopped, calls, late, err)
		}
		if used := d.pool("search").Windows[0].Used; used != 40 {
			t.Errorf("stopped at %d: %d used, want 40", stopped, used)
		}
	}
}

func TestTakeUpToWithoutAnAnswerIsATakeOfOne(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	d.Ledger = &silent{Ledger: d.Ledger, answers: 1}
	calls, got, err := d.TakeUpTo(t.Context(), search, 40)
	if !errors.Is(err, quota.ErrClosed) || calls != 0 || got.Allowed {
		t.Errorf("%d calls, %+v, %v: want none, failed closed", calls, got, err)
	}
}

// silent is a ledger that answers so often.
type silent struct {
	quota.Ledger

	answers int
}

func (l *silent) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if l.answers--; l.answers < 0 {
		return quota.Decision{}, quota.ErrUnavailable
	}
	return l.Ledger.Take(ctx, a)
}

func TestWaitTakesAsSoonAsItFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		window := quota.Window{Name: "100ms", Length: 100 * time.Millisecond, Limit: 1}
		g := &quota.Governor{Account: "default", Now: time.Now, Ledger: &memledger.Ledger{Now: time.Now}, Tariff: &quota.Tariff{
			Zone: time.UTC, Pools: []quota.Pool{{Name: "calls", Windows: []quota.Window{window}}},
			Methods: map[string]quota.Cost{"get": {"calls": 1}}, Ceilings: map[quota.Purpose]quota.Share{quota.Manual: 1_000_000}}}
		r := quota.Request{Method: "get", Purpose: quota.Manual}
		began := time.Now()
		for range 11 {
			if d, err := g.Wait(t.Context(), r); err != nil || !d.Allowed {
				t.Fatalf("%+v, %v, want it admitted", d, err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("eleven calls of one per 100 ms took %v, want 1s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 99*time.Millisecond)
		defer cancel()
		if d, err := g.Wait(ctx, r); !errors.Is(err, context.DeadlineExceeded) || d.Refusal == nil || time.Since(began) != time.Second {
			t.Errorf("a deadline that is too early: %+v, %v, after %v", d, err, time.Since(began))
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, stop)
		if d, err := g.Wait(ctx, r); !errors.Is(err, context.Canceled) || d.Refusal == nil {
			t.Errorf("cancelled: %+v, %v", d, err)
		}
	})
}

// A cost that would be counted only in part must not be taken for a smaller one.
func TestCostOfAPoolThatIsNotCountedIsAnError(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	d.Tariff.Methods["search.list"] = quota.Cost{"units": 100, "serach": 1}
	if got, err := d.Take(t.Context(), search); !errors.Is(err, quota.ErrUnknown) {
		t.Errorf("%+v, %v, want error %v", got, err, quota.ErrUnknown)
	}
	d.Tariff.Methods["search.list"] = quota.Cost{"units": 100, "search": 1}
	if used := d.pool("units").Windows[0].Used; used != 0 {
		t.Errorf("%d used, want 0", used)
	}
}

// A tariff that was made by hand is checked whenever it is asked by, and so many calls that they overflow never fit.
func TestATariffMadeByHandIsChecked(t *testing.T) {
	for name, change := range map[string]func(*quota.Tariff){
		"a negative grace":  func(t *quota.Tariff) { t.Grace = -12 * time.Hour },
		"a negative window": func(t *quota.Tariff) { t.Pools[0].Windows[0].Length = -time.Hour },
		"no limit":          func(t *quota.Tariff) { t.Pools[0].Windows[0].Limit = 0 },
		"no zone":           func(t *quota.Tariff) { t.Zone = nil },
		"no pools":          func(t *quota.Tariff) { t.Pools = nil },
		"a cost of nothing": func(t *quota.Tariff) { t.Methods["videos.list"] = quota.Cost{"units": 0} },
		"a negative cost":   func(t *quota.Tariff) { t.Methods["videos.list"] = quota.Cost{"units": -1} },
	} {
		d := newTestGovernor(t, "2026-06-01 12:00:00")
		change(d.Tariff)
		r := quota.Request{Method: "videos.list", Purpose: quota.Scheduled}
		_, takeErr := d.Take(t.Context(), r)
		_, fitsErr := d.Fits(t.Context(), r)
		_, _, upToErr := d.TakeUpTo(t.Context(), r, 5)
		_, reportErr := d.Report(t.Context())
		postErr := d.Post(t.Context(), quota.Who{Purpose: quota.Manual}, quota.Cost{"units": 1}, d.now)
		for what, err := range map[string]error{"take": takeErr, "fits": fitsErr, "take up to": upToErr, "report": reportErr, "post": postErr} {
			if !errors.Is(err, quota.ErrUnknown) {
				t.Errorf("%s: %s: %v, want error %v", name, what, err, quota.ErrUnknown)
			}
		}
	}
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	for _, calls := range []int{1 << 62, quota.MaxLimit + 1, quota.MaxLimit/100 + 1} {
		got, err := d.Take(t.Context(), quota.Request{Method: "search.list", Purpose: quota.Scheduled, Calls: calls})
		if !errors.Is(err, quota.ErrNeverFits) {
			t.Errorf("%d calls: %+v, %v, want error %v", calls, got, err, quota.ErrNeverFits)
		}
	}
	if used := d.pool("units").Windows[0].Used; used != 0 {
		t.Errorf("%d used, want 0", used)
	}
}
