package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// tick is when the n-th slot of a schedule of every half hour is due.
func tick(n int) time.Time { return noon.Add(time.Duration(n) * 30 * time.Minute) }

// since returns the slots that a run adds at tick now, if the newest slot of US is of tick last.
func since(last, now int) (slots []ingest.Slot) {
	for n := last + 1; n <= now; n++ {
		slot := due("US", tick(n))
		if n < now {
			slot.State, slot.Reason = ingest.Missed, "nothing ran"
		}
		slots = append(slots, slot)
	}
	return slots
}

// rows are the slots as "1-3 missed" by their ticks, newest first.
func rows(t *testing.T, s *store.Store, f store.SlotFilter) (out []string) {
	t.Helper()
	slots, err := s.ListSlots(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, slot := range slots {
		line := fmt.Sprint(int(slot.DueAt.Sub(noon)/(30*time.Minute)), " ", slot.State)
		if slot.Count > 0 || !slot.FirstDueAt.IsZero() {
			line = fmt.Sprint(int(slot.FirstDueAt.Sub(noon)/(30*time.Minute)), "-", line, " ", slot.Count)
		}
		out = append(out, line)
	}
	return out
}

func TestMissedTicksInARowAreOneSlot(t *testing.T) {
	s, clock := newStore(t)
	addDue(t, s, since(-1, 0)...)
	clock.move(tick(6).Sub(noon))
	slots := since(0, 6)
	slots[2].Reason = "the clock was ahead"
	slices.Reverse(slots) // in any order
	addDue(t, s, slots...)
	want := []string{"6 due", "4-5 missed 2", "3 missed", "1-2 missed 2", "0 skipped"}
	if got := rows(t, s, store.SlotFilter{}); !slices.Equal(got, want) {
		t.Errorf("slots are %q, want %q", got, want)
	}
	changed := dataVersion(t, s)
	addDue(t, s, since(0, 6)...)
	addDue(t, s, since(3, 5)...)
	if changed() {
		t.Error("recorded ticks added again: got a write, want none")
	}
	if got := rows(t, s, store.SlotFilter{Since: tick(5)}); !slices.Equal(got, []string{"6 due", "5 missed"}) {
		t.Errorf("rows since tick 5: got %q, want 6 due and 5 missed", got)
	}
	between := due("US", tick(2).Add(time.Minute)) // of another schedule, before it changed
	addDue(t, s, between)
	if n := scalar[int](t, raw(t, s.Path()), `SELECT count(*) FROM slots WHERE due_at = ?`, between.DueAt.Unix()); n != 1 {
		t.Errorf("slots at a tick between two others: got %d, want 1", n)
	}
	if found, err := s.CheckOpen(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("CheckOpen: got %v and error %v, want no finding", found, err)
	}
}

// Runs that begin at the same time know different newest slots, and add theirs in any order.
func TestEveryTickIsRecordedOnceHoweverManyRunsMissIt(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		s, clock := newStore(t)
		addDue(t, s, since(-1, 0)...)
		known := []int{0, 0, 0} // by each of three
		for now := 0; now < 60; {
			passed := 1 + random.IntN(4)*random.IntN(4)
			now += passed
			clock.move(time.Duration(passed) * 30 * time.Minute)
			of := random.IntN(3)
			addDue(t, s, since(known[of], now-random.IntN(2))...)
			if random.IntN(3) > 0 {
				known[of] = newestTick(t, s)
			}
		}
		slots, err := s.ListSlots(t.Context(), store.SlotFilter{})
		if err != nil {
			t.Fatal(err)
		}
		times := map[time.Time]int{}
		for _, slot := range slots {
			for _, at := range slot.Ticks() {
				times[at]++
			}
			if slot.State != ingest.Due && slot.Reason == "" {
				t.Errorf("round %d: %v is %s without a reason", round, slot.DueAt, slot.State)
			}
		}
		for n := range newestTick(t, s) + 1 {
			if times[tick(n)] != 1 {
				t.Fatalf("round %d: tick %d is recorded %d times in %q, want 1", round, n, times[tick(n)], rows(t, s, store.SlotFilter{}))
			}
		}
		if len(slots) >= len(times) {
			t.Errorf("round %d: %d slots for %d ticks", round, len(slots), len(times))
		}
	}
}

func newestTick(t *testing.T, s *store.Store) int {
	t.Helper()
	known, err := s.Newest(t.Context(), noon.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return int(known[ingest.Series{Job: "chart", Key: "US"}].Sub(noon) / (30 * time.Minute))
}

// A clock that was ahead is set right: every tick missed meanwhile comes again, except the last one, which ends the row
// of missed slots.
func TestTicksMissedByAClockThatWasAheadComeAgain(t *testing.T) {
	s, clock := newStore(t)
	addDue(t, s, since(-1, 0)...)
	clock.move(10 * time.Hour)
	addDue(t, s, since(0, 20)...)
	clock.move(-9*time.Hour - 15*time.Minute)
	for n := 1; n < 19; n++ {
		known, err := s.Newest(t.Context(), clock.now())
		if err != nil {
			t.Fatal(err)
		}
		addDue(t, s, since(int(known[ingest.Series{Job: "chart", Key: "US"}].Sub(noon)/(30*time.Minute)), n)...)
		if k, err := s.Claimable(t.Context(), clock.now()); err != nil || len(k) != 1 || !k[0].DueAt.Equal(tick(n)) {
			t.Fatalf("at tick %d, %v is to be claimed: %v", n, k, err)
		}
		clock.move(30 * time.Minute)
	}
}
