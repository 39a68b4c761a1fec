package quota_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// A no far below our own count closes the pool for minutes, and one cheap call asks again.
func TestANoFarBelowOurOwnCountIsDoubted(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	d.spend("units", 100)
	no := func(at quota.Decision) time.Duration {
		t.Helper()
		if err := d.Drain(t.Context(), at, "units"); err != nil {
			t.Fatal(err)
		}
		return d.pool("units").DrainedUntil.Sub(d.now)
	}
	within := func(got, about time.Duration) {
		t.Helper()
		if got < about*8/10 || got > about*12/10+time.Second {
			t.Errorf("closed for %v, want about %v", got, about)
		}
	}
	wait := no(d.take("videos.list", quota.Scheduled))
	within(wait, 5*time.Minute)
	if p := d.pool("units"); p.Probe != 1 {
		t.Errorf("probe %d, want 1", p.Probe)
	}
	refused := d.take("videos.list", quota.Scheduled)
	const want = "units: the provider said no at 101 used of 10,000: another tool may use this project, or its limit is lower; one call tries again (probe 1)"
	if refused.Allowed || refused.Refusal.String() != want {
		t.Errorf("while it is closed: %v, want %q", refused.Refusal, want)
	}

	d.now = d.now.Add(wait + time.Second)
	if got := d.take("search.list", quota.Scheduled); got.Allowed || d.pool("units").Windows[0].Used != 101 {
		t.Errorf("100 units asked whether one is there: %+v, %d used", got.Refusal, d.pool("units").Windows[0].Used)
	}
	probe := d.take("videos.list", quota.Scheduled)
	if !probe.Allowed || !probe.Probe {
		t.Fatalf("no probe: %+v", probe)
	}
	if got := d.take("videos.list", quota.Scheduled); got.Allowed {
		t.Error("a second call during the probe: got allowed, want refused")
	}
	if err := d.Answered(t.Context(), probe); err != nil {
		t.Fatal(err)
	}
	if got := d.take("search.list", quota.Scheduled); !got.Allowed || got.Probe || d.pool("units").Drift != 0 {
		t.Errorf("after the probe was answered: %+v", got.Refusal)
	}

	// Probes that are refused come every two hours in the end, until the day turns: a provider that lies for longer than
	// an hour does not cost the day.
	within(no(d.take("videos.list", quota.Scheduled)), 5*time.Minute)
	probes := 0
	for _, about := range []time.Duration{15 * time.Minute, time.Hour, 2 * time.Hour, 2 * time.Hour, 2 * time.Hour} {
		d.now = d.pool("units").DrainedUntil.Add(time.Second)
		probe := d.take("videos.list", quota.Scheduled)
		if !probe.Probe {
			t.Fatalf("no probe: %+v", probe.Refusal)
		}
		within(no(probe), about)
	}
	midnight := time.Date(2026, 2, 15, 8, 0, 0, 0, time.UTC)
	last := midnight.Add(-time.Second) // from then on the next probe would be on the next day; a lease may end after midnight
	for ; d.pool("units").Probe > 0 && d.pool("units").DrainedUntil.Before(last); probes++ {
		d.now = d.pool("units").DrainedUntil.Add(time.Second)
		no(d.take("videos.list", quota.Scheduled))
	}
	if p := d.pool("units"); probes < 3 || probes > 12 || p.DrainedUntil.Before(last) || p.DrainedUntil.After(midnight.Add(130*time.Second)) {
		t.Errorf("after %d more probes it is closed until %v, want the midnight", probes, p.DrainedUntil)
	}
	// The next day begins with nothing of that.
	d.at("2026-02-15 09:00:00")
	if got := d.take("videos.list", quota.Scheduled); !got.Allowed || got.Probe {
		t.Errorf("on the next day: %+v", got)
	}
	within(no(d.take("videos.list", quota.Scheduled)), 5*time.Minute)
}

// A pool that a person closes while the probe is under way stays closed when that is answered.
func TestAnAnsweredProbeOpensItsOwnDrain(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	if err := d.Drain(t.Context(), d.take("videos.list", quota.Scheduled), "units"); err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(10 * time.Minute)
	probe := d.take("videos.list", quota.Scheduled)
	if err := d.DrainByHand(t.Context(), "units", false); err != nil || !probe.Probe {
		t.Fatal(err, probe.Probe)
	}
	if err := d.Answered(t.Context(), probe); err != nil {
		t.Fatal(err)
	}
	if p := d.pool("units"); p.DrainedByHand.IsZero() {
		t.Errorf("closed until %v, by hand at %v", p.DrainedUntil, p.DrainedByHand)
	}
}

func TestANoNearOurOwnCountStands(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	d.spend("units", 9_000)
	if err := d.Drain(t.Context(), d.take("videos.list", quota.Scheduled), "units"); err != nil {
		t.Fatal(err)
	}
	if p := d.pool("units"); p.Probe != 0 || !p.DrainedUntil.Equal(time.Date(2026, 2, 15, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("closed until %v, probe %d", p.DrainedUntil, p.Probe)
	}
}

// together lets no caller close a pool before all of them have taken.
type together struct {
	quota.Ledger
	sync.WaitGroup
}

func (l *together) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	d, err := l.Ledger.Take(ctx, a)
	if a.Charges[0].Amount > 0 {
		l.Done()
	}
	return d, err
}

func (l *together) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	l.Wait()
	return l.Ledger.Drain(ctx, account, pool, d)
}

// However many ask at once, in however many processes, one call goes.
func TestOneProbeForAll(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	if err := d.Drain(t.Context(), d.take("videos.list", quota.Scheduled), "units"); err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(10 * time.Minute)
	var all sync.WaitGroup
	got := make([]quota.Decision, 16)
	together := &together{Ledger: d.Ledger}
	together.Add(len(got))
	d.Ledger = together
	for i := range got {
		all.Go(func() { got[i] = d.take("videos.list", quota.Scheduled) })
	}
	all.Wait()
	d.Ledger = together.Ledger
	probes := 0
	for _, g := range got {
		if g.Allowed != g.Probe {
			t.Errorf("allowed %v, probe %v: %v", g.Allowed, g.Probe, g.Refusal)
		}
		if g.Probe {
			probes++
		} else if !strings.Contains(g.Refusal.String(), "one call tries again") {
			t.Errorf("refused: %v, want \"one call tries again\" in it", g.Refusal)
		}
	}
	if used := d.pool("units").Windows[0].Used; probes != 1 || used != 2 {
		t.Errorf("%d probes, %d units used: want 1 and 2", probes, used)
	}
}

// A no that stood until its day turned is believed when it comes again near the same count, on the next days: also one
// whose fourth probe was to come in the day's last hours, when no run made it. One at quite another count is doubted.
func TestANoWhereOneStoodBeforeIsBelieved(t *testing.T) {
	midnight := time.Date(2026, 2, 15, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		last     quota.Drain
		used     int64
		believed bool
	}{
		{quota.Drain{Until: midnight}, 40, false},
		{quota.Drain{Until: midnight}, 80, true},
		{quota.Drain{Until: midnight}, 100, true},
		{quota.Drain{Until: midnight}, 900, false},
		{quota.Drain{Until: midnight.Add(-4 * time.Minute), Probe: 5}, 100, true},
		{quota.Drain{Until: midnight.Add(-4 * time.Minute), Probe: 2}, 100, false},
		{quota.Drain{Until: midnight.Add(-5 * time.Hour), Probe: 5}, 100, false},
	} {
		d := newTestGovernor(t, "2026-02-14 09:00:00")
		tt.last.Used = 100
		if err := d.Ledger.Drain(t.Context(), d.Account, "units", tt.last); err != nil {
			t.Fatal(err)
		}
		d.at("2026-02-16 09:00:00")
		d.spend("units", tt.used-1)
		if err := d.Drain(t.Context(), d.take("videos.list", quota.Scheduled), "units"); err != nil {
			t.Fatal(err)
		}
		if p := d.pool("units"); (p.Probe == 0) != tt.believed {
			t.Errorf("%+v, at %d: closed until %v, probe %d, want believed: %v", tt.last, tt.used, p.DrainedUntil, p.Probe, tt.believed)
		}
	}
}
