package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// After any history, Claimable returns the slots that repeated claims would return, and a claim of one series its
// slot.
func testClaimableEqualsRepeatedClaims(t *testing.T, open Open) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	s, clock := newStore(t, open)
	ends := []ingest.State{ingest.Done, ingest.Stopped, ingest.Failed}
	for range 40 {
		now := clock.move(time.Duration(r.IntN(120)) * time.Second)
		if r.IntN(3) == 0 {
			AddDue(t, s, Due([]string{"US", "GB", "DE", "FR"}[r.IntN(4)], now))
			continue
		}
		slot, ok, err := s.Claim(t.Context(), By("works", now))
		if err != nil {
			t.Fatal(err)
		}
		if ok && r.IntN(2) == 0 { // else it has died
			Finish(t, s, slot, ends[r.IntN(len(ends))], "as it is")
		}
	}
	now := clock.now()
	want, err := s.Claimable(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	var got []ingest.SlotKey
	for {
		claim := By("last", now)
		if n := len(got); n < len(want) && r.IntN(2) == 0 {
			claim.Series = map[ingest.Series]bool{want[n].Series(): true, {Job: "chart", Key: "never"}: true}
		}
		slot, ok, err := s.Claim(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, slot.SlotKey)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("seed %d: claimable are %v, claimed were %v", seed, want, got)
	}
}

// A retry that is to be more than an hour away was noted by a clock that was ahead.
func testASlotGivenBackWaitsForItsRetryAnHourAtMost(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	AddDue(t, s, Due("US", noon), Due("GB", noon))
	for _, wait := range []time.Duration{30 * time.Minute, 100 * time.Hour} {
		slot := Claim(t, s, By("a", clock.now()))
		slot.RetryAt = clock.now().Add(wait)
		Finish(t, s, slot, ingest.Due, "its call failed")
	}
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {29 * time.Minute, 1}, {31 * time.Minute, 2}} {
		now := clock.now().Add(tt.after)
		if open, err := s.Claimable(t.Context(), now); err != nil || len(open) != tt.want {
			t.Errorf("after %v: %v, %v, want %d", tt.after, open, err, tt.want)
		}
	}
	if slot, ok, err := s.Claim(t.Context(), By("a", clock.now())); err != nil || !ok || slot.Key != "US" {
		t.Errorf("claimed %v %v %v, want the slot whose retry is 100 hours away", slot.Series(), ok, err)
	}
}
