package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// After any history, Claimable returns what repeated claims would, and a claim of one series its slot.
func testClaimableIsWhatClaimsWouldGive(t *testing.T, open Open) {
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
