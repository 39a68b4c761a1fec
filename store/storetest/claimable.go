package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// After any history, Claimable returns what repeated claims would.
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
		slot, ok, err := s.Claim(t.Context(), By("last", now))
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
