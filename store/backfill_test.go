package store_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// However many pieces are open, no query plan of the schedule touches one.
func TestLongAClaimIsAsFastBesideTwentyThousandPieces(t *testing.T) {
	alone(t)
	pieces, tries := 20_000, 60
	few, clock := newStore(t)
	many, _ := newStore(t)
	addBackfill(t, many, plan("x"), numbered(pieces))
	for _, s := range []*store.Store{few, many} {
		addDue(t, s, crowd(noon)[:100]...)
	}
	once := func(s *store.Store) time.Duration {
		began := time.Now()
		slot, ok, err := s.Claim(t.Context(), by("a", clock.now()))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if _, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ListSlots(t.Context(), store.SlotFilter{Limit: 20}); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		finish(t, s, slot, ingest.Due, "again")
		return took
	}
	var alone, beside []time.Duration
	for range tries {
		alone, beside = append(alone, once(few)), append(beside, once(many))
	}
	slices.Sort(alone)
	slices.Sort(beside)
	a, b := alone[len(alone)/2], beside[len(beside)/2]
	t.Logf("median of %d: %v alone, %v beside %d pieces", tries, a, b, pieces)
	if b > 2*a {
		t.Errorf("beside %d open pieces it takes %v, alone %v", pieces, b, a)
	}
}

// Claiming a piece does not scan done pieces, or sort open ones.
func TestAClaimOfAPieceSortsAndScansNothing(t *testing.T) {
	s, _ := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(100))
	for _, order := range []string{"", " DESC"} {
		got := queryPlan(t, s, store.ClaimablePieces+order, b.ID, noon.UnixMilli())
		for _, bad := range []string{"TEMP B-TREE", "SCAN", "AUTOMATIC"} {
			if strings.Contains(got, bad) {
				t.Errorf("the plan%s has %s:\n%s", order, bad, got)
			}
		}
		if want := "SEARCH series USING INDEX series_backfill (backfill=? AND open=?)"; !strings.Contains(got, want) {
			t.Errorf("the plan%s lacks %s:\n%s", order, want, got)
		}
	}
}

func TestManyIDsArePlannedInLittleTimeAndMemory(t *testing.T) {
	alone(t)
	planManyIDs(t, 4_000, 2*time.Second)
}

func TestLongMillionIDsArePlannedInSecondsAndAHundredMegabytes(t *testing.T) {
	planManyIDs(t, 20_000, 4*time.Second) // two on a quiet machine
}

// planManyIDs plans the given number of pieces of 50 ids. The best of three counts: CPU time too grows on a machine
// that is busy with other things.
func planManyIDs(t *testing.T, planned int, soon time.Duration) {
	t.Helper()
	var mem runtime.MemStats
	peak, took := uint64(0), time.Hour
	pieces := func(yield func(ingest.Piece, error) bool) {
		n := 0
		for p := range numbered(planned) {
			if n++; n%1000 == 0 {
				runtime.ReadMemStats(&mem)
				peak = max(peak, mem.HeapInuse)
			}
			if !yield(p, nil) {
				return
			}
		}
	}
	runtime.GC()
	for try := 0; try < 3 && took > soon; try++ {
		s, _ := newStore(t)
		began := cpuTime(t)
		b := addBackfill(t, s, plan("x"), pieces)
		took = min(took, cpuTime(t)-began)
		if st := status(t, s, b.ID); st.Waiting != planned*50 || st.Pieces[ingest.Due] != planned {
			t.Errorf("%d ids wait in %d pieces", st.Waiting, st.Pieces[ingest.Due])
		}
	}
	t.Logf("%d ids: %v of CPU, heap %d MB at most", planned*50, took.Round(time.Millisecond), peak>>20)
	if took > soon || peak > 100<<20 {
		t.Errorf("%d ids took %v and %d MB", planned*50, took, peak>>20)
	}
}
