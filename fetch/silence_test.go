package fetch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// notes keeps one note in memory.
type notes struct{ text string }

func (n *notes) Note(context.Context, string) (string, error) { return n.text, nil }
func (n *notes) SetNote(_ context.Context, _, text string) error {
	n.text = text
	return nil
}

// Eight charts are due, and for 70 minutes no call is answered: two charts are tried, then one call after 5 min, 10 min and
// each 20 min asks for all. Where the upstream's clock cannot be asked either, no unit is spent on asking.
func TestAnUpstreamThatIsAwayIsProbed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		clock error // the result of asking for the upstream's clock
		asked []time.Duration
	}{
		{"its API alone", nil, []time.Duration{5 * time.Minute, 15 * time.Minute, 35 * time.Minute, 55 * time.Minute}},
		{"its host", errors.New("no route"), nil},
	} {
		b := newBench(t, 1000, "US", "GB", "DE", "FR", "IN", "BR", "AU", "CA")
		b.run.Notes = &notes{}
		b.run.Date = func(context.Context) (time.Time, error) { return time.Time{}, tt.clock }
		b.upstream.answer = on(fetch.Broken, 1_000)
		b.now = start.Add(time.Hour)
		away := b.now
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
		if got := states(worked); err != nil || got != "US failed 0; GB failed 0; " || len(b.upstream.calls) != 5 {
			t.Fatalf("%s: %s, %d calls, %v, want \"US failed 0; GB failed 0; \" and 5", tt.name, got, len(b.upstream.calls), err)
		}
		var asked []time.Duration
		for b.now = away.Add(time.Minute); b.now.Before(away.Add(70 * time.Minute)); b.now = b.now.Add(time.Minute) {
			before := len(b.upstream.calls)
			var call *fetch.Error
			worked, err = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
			if calls := len(b.upstream.calls) - before; calls == 1 {
				asked = append(asked, b.now.Sub(away))
			} else if calls > 1 || !errors.As(err, &call) {
				t.Fatalf("%s: after %v %d calls, %v", tt.name, b.now.Sub(away), calls, err)
			}
		}
		if !slices.Equal(asked, tt.asked) {
			t.Errorf("%s: asked again after %v, want %v", tt.name, asked, tt.asked)
		}
		b.upstream.answer, tt.clock = nil, nil
		for len(worked) == 0 || worked[len(worked)-1].State != "done" {
			if b.now = b.now.Add(time.Minute); b.now.After(away.Add(100 * time.Minute)) {
				t.Fatalf("%s: nothing is fetched since the upstream is back: %v", tt.name, err)
			}
			worked, err = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
		}
		if err != nil || len(b.run.Notes.(*notes).text) == 0 {
			t.Errorf("%s: %v, want a note and no error", tt.name, err)
		}
		for _, s := range worked {
			if s.State != "done" {
				t.Errorf("%s: once it is back, %s is %s, want \"done\"", tt.name, s.Key, s.State)
			}
		}
	}
}

// From 200 units a day on, six hours of an API that is away cost at most 3 % of them, and its charts are soon asked for
// again: at least every three hours, which is less than a round of eight charts takes then.
func TestAnAPIThatIsAwayCostsAFewUnits(t *testing.T) {
	for _, limit := range []int64{200, 300, 600, 1000, 10_000} {
		b := newBench(t, limit, "US", "GB", "DE", "FR", "IN", "BR", "AU", "CA")
		b.run.Notes = &notes{}
		b.run.Date = func(context.Context) (time.Time, error) { return time.Time{}, nil }
		b.upstream.answer = on(fetch.Broken, 1_000)
		b.now = start.Add(time.Hour)
		newest, longest := b.now, time.Duration(0)
		for ends := b.now.Add(6 * time.Hour); b.now.Before(ends); b.now = b.now.Add(5 * time.Minute) {
			before := len(b.upstream.calls)
			_, _ = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
			if open, _ := b.run.Slots.Claimable(t.Context(), b.now); len(b.upstream.calls) > before || len(open) == 0 {
				newest = b.now
			}
			longest = max(longest, b.now.Sub(newest))
		}
		if calls := int64(len(b.upstream.calls)); calls*100 > 3*limit || longest > 3*time.Hour+5*time.Minute {
			t.Errorf("of %d units a day: %d calls, at most %v apart", limit, calls, longest)
		}
	}
}

// A person who forces a chart is not kept from it.
func TestAForcedChartIsTriedWhileTheUpstreamIsAway(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.run.Notes = &notes{`{"slots":2,"next":"2026-02-14T10:20:00Z"}`}
	b.now = start.Add(time.Hour)
	if _, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); err == nil {
		t.Fatal("a run during the probe: got no error, want it to wait until the context ends")
	}
	if worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series, Force: true}); err != nil || len(worked) == 0 || worked[0].State != "done" {
		t.Errorf("%s, %v, want a slot done", states(worked), err)
	}
}
