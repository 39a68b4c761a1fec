package fetch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// A clock that is a year ahead for one run, as on a machine whose battery is empty, neither adds slots nor deletes
// data that are then too old. A clock counts as ahead only if neither the newest slot nor the upstream's clock
// confirms it: a machine that was off for a week is right.
func TestAClockThatIsAheadChangesNothing(t *testing.T) {
	unreached := &fetch.Error{Verdict: fetch.Unsent, Err: errors.New("no route to host")}
	for _, tt := range []struct {
		name    string
		ahead   time.Duration // this machine's clock is ahead of start, when the newest stored slot was due
		date    time.Duration // the upstream's clock is ahead of start
		unasked error
		refused bool
		swept   int
		calls   int
	}{
		{"right", time.Hour, time.Hour, nil, false, 1, 8},
		{"off for a week", 7 * 24 * time.Hour, 7 * 24 * time.Hour, nil, false, 1, 8},
		{"a year ahead", 365 * 24 * time.Hour, time.Hour, nil, true, 0, 0},
		{"eleven minutes ahead of both", time.Hour + 11*time.Minute, time.Hour, nil, true, 0, 0},
		{"nine minutes ahead", time.Hour + 9*time.Minute, time.Hour, nil, false, 1, 8},
		{"eleven minutes behind the upstream, and no slot near", time.Hour, time.Hour + 11*time.Minute, nil, true, 0, 0},
		{"nine minutes behind", time.Hour, time.Hour + 9*time.Minute, nil, false, 1, 8},
		{"the upstream does not answer: nothing is deleted", 365 * 24 * time.Hour, 0, unreached, false, 0, 8},
	} {
		b := newBench(t, 1000, "US", "GB")
		slots := b.run.Schedule.(schedule)
		if err := b.table.AddDue(t.Context(), []ingest.Slot{{SlotKey: ingest.SlotKey{Job: "chart", Key: "DE", DueAt: start}, State: ingest.Done}}); err != nil {
			t.Fatal(err)
		}
		for i := range slots {
			slots[i].DueAt = start.Add(tt.ahead)
		}
		b.run.Schedule = append(slots, ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: start.Add(tt.ahead)}, Kind: ingest.KindRefresh, State: ingest.Due})
		b.now = start.Add(tt.ahead)
		asked := 0
		b.run.Date = func(context.Context) (time.Time, error) { asked++; return start.Add(tt.date), tt.unasked }
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
		if errors.Is(err, ingest.ErrClock) != tt.refused || !tt.refused && err != nil || b.table.swept != tt.swept ||
			len(b.upstream.calls) != tt.calls || asked == 0 {
			t.Errorf("%s: %v: swept %d times, %d calls, asked for the date %d times: %s", tt.name, err, b.table.swept, len(b.upstream.calls), asked, states(worked))
		}
		if tt.refused && (len(b.table.slots) != 1 || !strings.Contains(err.Error(), "timedatectl")) {
			t.Errorf("%s: %d slots, %v", tt.name, len(b.table.slots), err)
		}
	}
}

// While slots come as they should, the upstream's clock is not asked for.
func TestTheUpstreamsClockIsAskedForOnlyInDoubt(t *testing.T) {
	b := newBench(t, 1000, "US")
	if err := b.table.AddDue(t.Context(), []ingest.Slot{{SlotKey: ingest.SlotKey{Job: "chart", Key: "GB", DueAt: start.Add(-5 * time.Minute)}, State: ingest.Done}}); err != nil {
		t.Fatal(err)
	}
	b.run.Date = func(context.Context) (time.Time, error) {
		t.Error("a question for the upstream's time: got one, want none")
		return start, nil
	}
	if worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); err != nil || states(worked) != "US done 4; " {
		t.Errorf("%s %v, want \"US done 4; \"", states(worked), err)
	}
}

// A machine whose clock differs from the clock of the shared database adds no slots, claims none and makes no call, for
// the schedule and for a backfill.
func TestAMachineWithAWrongClockLeavesTheSlotsAlone(t *testing.T) {
	apart := &ingest.ClockApart{From: "the database", Ahead: -20 * time.Minute}
	for _, o := range []fetch.RunOptions{{}, {DueScan: &fetch.DueScan{}}, {Backfill: &ingest.Backfill{ID: "bf-1", Kind: ingest.BackfillVideos}}} {
		b := newBench(t, 1000, "US", "GB")
		b.run.CheckClock = func(context.Context) error { return apart }
		ended, err := b.run.Run(t.Context(), o)
		if !errors.Is(err, ingest.ErrClock) || !errors.Is(err, error(apart)) || len(ended) > 0 || len(b.upstream.calls) > 0 {
			t.Errorf("%d slots ended, %d calls: %v", len(ended), len(b.upstream.calls), err)
		}
		if known, err := b.table.Newest(t.Context(), start); err != nil || len(known) > 0 {
			t.Errorf("it added slots of %d series, %v, want none", len(known), err)
		}
	}
}
