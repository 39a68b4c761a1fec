package fetch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// flights adds up how many calls are under way, over time.
type flights struct {
	mu     sync.Mutex
	each   time.Duration
	now    int
	most   int
	since  time.Time     // of the last change
	began  time.Time     // the first call
	last   time.Time     // the last call began
	total  time.Duration // of all calls
	atLast time.Duration // total, when the last call began
}

func (f *flights) change(by int) {
	now := time.Now()
	if f.began.IsZero() {
		f.began = now
	} else {
		f.total += time.Duration(f.now) * now.Sub(f.since)
	}
	f.since, f.now = now, f.now+by
	f.most = max(f.most, f.now)
	if by > 0 {
		f.last, f.atLast = now, f.total
	}
}

func (f *flights) around(ctx context.Context) (func(), error) {
	f.mu.Lock()
	f.change(1)
	f.mu.Unlock()
	select {
	case <-time.After(f.each):
	case <-ctx.Done():
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.change(-1)
	}, nil
}

// rate is how many calls were under way on average, until there were none to begin.
func (f *flights) rate() float64 { return float64(f.atLast) / float64(f.last.Sub(f.began)) }

// A real store and a real clock: the writes between two calls must fit behind the other calls.
func TestFourCallsAreUnderWayNearlyAlways(t *testing.T) {
	d := newDig(t, 6000)
	d.run.Workers, d.run.Now, d.governor.Now, d.ledger.Now = 4, time.Now, time.Now, time.Now
	b := d.plan(t, ingest.BackfillVideos, d.ids(80)...)
	f := &flights{each: 100 * time.Millisecond}
	d.archive.around = f.around
	if _, err := d.run.Run(t.Context(), fetch.Wish{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	d.want(t, b, "done 80; 4000 videos")
	t.Logf("%.2f of 4 calls under way (%.1f %%)", f.rate(), 100*f.rate()/4)
	if f.rate() < 4*0.95 || f.most != 4 {
		t.Errorf("%.2f calls were under way on average and %d at most, want 3.80 and 4", f.rate(), f.most)
	}
}

// Videos that are known, and whose text is as it was, are what most calls bring.
func TestACallOfFiftyTakesLittleTime(t *testing.T) {
	const calls = 60
	for _, known := range []bool{false, true} {
		d := newDig(t, calls*50)
		d.run.Workers = 4
		run := func() time.Duration {
			b := d.plan(t, ingest.BackfillVideos, d.ids(calls)...)
			began := cpuTime(t)
			if _, err := d.run.Run(t.Context(), fetch.Wish{Backfill: b}); err != nil {
				t.Fatal(err)
			}
			took := cpuTime(t) - began
			d.want(t, b, fmt.Sprintf("done %d; %d videos", calls, calls*50))
			return took / calls
		}
		took := run()
		if known {
			d.now = d.now.Add(48 * time.Hour)
			took = run()
		}
		t.Logf("known %v: %v of CPU for a call of 50", known, took.Round(10*time.Microsecond))
	}
}
