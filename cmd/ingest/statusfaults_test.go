package main_test

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	program "github.com/trendvidstream/ingest/cmd/ingest"

	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// tenPercent are faults that hit every tenth call. None of them ends the provider's day.
var tenPercent = []string{
	"500:1%", "503:1%", "502:1%", "502html:1%", "429min:1%", "drop:1%", "reset:1%", "truncate:1%", "empty:1%", "badtoken:1%",
}

// A simulated day of the real client, store and ledger, with every tenth call failing: the ledger equals the
// upstream's charges, to the unit. If an upstream does not charge for its failures, the ledger is too high by exactly
// those calls, and never too low.
func TestLongADayOfStatusFaultsIsCountedToTheUnit(t *testing.T) {
	for _, upstream := range []struct {
		name  string
		every time.Duration
		free  bool
	}{
		{"that charges every call", time.Hour, false},
		{"that charges no call that it fails", 3 * time.Hour, true},
	} {
		t.Run(upstream.name, func(t *testing.T) {
			d := startFaultyDay(t, upstream.every, upstream.free)
			for at := d.start; at.Before(d.start.Add(23*time.Hour + 30*time.Minute)); at = at.Add(upstream.every / 2) {
				d.run(at)
			}
			d.judge(upstream.free)
		})
	}
}

// faultyDay is a day of the provider, from its midnight.
type faultyDay struct {
	*testing.T

	start time.Time
	every time.Duration
	now   atomic.Pointer[time.Time]
	sim   *youtubesim.Server
	ended map[ingest.State]int
}

func startFaultyDay(t *testing.T, every time.Duration, free bool) *faultyDay {
	t.Helper()
	d := &faultyDay{T: t, every: every, start: at(t, "2026-02-14T08:00:00Z"), ended: map[ingest.State]int{}}
	d.now.Store(&d.start)
	o := youtubesim.Options{Seed: 2, Now: func() time.Time { return *d.now.Load() }, FreeFaults: free, Faults: faultsOf(t, tenPercent...), ChargePerMinute: !free}
	d.sim = standIn(t, o)
	configured(t, fmt.Sprintf("jobs: [{name: chart, kind: chart, every: %s, pages: 2}]\n", every))
	return d
}

// wait moves the clock ahead; passes that wait at once wait beside each other.
func (d *faultyDay) wait(_ context.Context, pause time.Duration) error {
	now := d.now.Load()
	later := now.Add(pause)
	for later.After(*now) && !d.now.CompareAndSwap(now, &later) {
		now = d.now.Load()
	}
	return nil
}

// run fetches the slots due at a time, or a little later if a run before it took longer.
func (d *faultyDay) run(at time.Time) {
	d.Helper()
	if d.now.Load().Before(at) {
		d.now.Store(&at)
	}
	d.Setenv("INGEST_NOW", d.now.Load().Format(time.RFC3339))
	var out, messages bytes.Buffer
	code := program.Run([]string{"run", "--json"}, &out, &messages, func(r *fetch.Reconciler) { r.Pause = d.wait })
	var doc runDocument
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || code != exitOK && code != exitPartial {
		d.Fatalf("exit %d, %v\n%s%s", code, err, out.String(), messages.String())
	}
	for _, slot := range doc.Regions {
		d.ended[slot.Outcome]++
	}
}

func (d *faultyDay) judge(free bool) {
	d.Helper()
	log, faults, uncharged := d.sim.Log(), map[string]int{}, int64(0)
	hit := 0
	for _, call := range log {
		if call.Fault != "" {
			faults[strings.SplitN(call.Fault, ":", 2)[0]]++
			hit++
		}
		if call.Charges["units"] == 0 {
			uncharged++
		}
	}
	d.Setenv("INGEST_NOW", d.now.Load().Format(time.RFC3339))
	pools := ingestJSON[quotaDocument](d.T, exitOK, "quota").Pools
	units := pools[slices.IndexFunc(pools, func(p poolDocument) bool { return p.Pool == "units" })]
	charged := d.sim.Ledger().Units["units"]
	for _, w := range units.Windows {
		if w.Used != charged+uncharged || w.Used != int64(len(log)) || !free && uncharged != 0 {
			d.Errorf("window %s: %d by the ledger, %d by the stand-in, which did not charge %d of %d calls", w.Window, w.Used, charged, uncharged, len(log))
		}
	}
	if hit < len(log)/20 || !free && len(faults) < len(tenPercent)-2 {
		d.Errorf("only %d of %d calls were faults, of %d kinds", hit, len(log), len(faults))
	}
	// A refused token may fail a slot that is not to blame; nothing else may, and none is lost.
	if want := 8 * int(23*time.Hour/d.every); d.ended[ingest.Done]+d.ended[ingest.Failed] < want || d.ended[ingest.Failed] > faults["badtoken"] {
		d.Errorf("%v slots ended, want %d and done", d.ended, want)
	}
	kinds := ""
	for _, kind := range slices.Sorted(maps.Keys(faults)) {
		kinds += fmt.Sprintf(" %s %d", kind, faults[kind])
	}
	d.Logf("units by the ledger %d, by the stand-in %d, calls %d, faults %d (%s); slots %v",
		units.Windows[0].Used, charged, len(log), hit, strings.TrimSpace(kinds), d.ended)
}
