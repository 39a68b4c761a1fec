package store_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// plan is a backfill of kind videos, as a person makes one at noon.
func plan(name string) ingest.Backfill {
	return ingest.Backfill{Kind: ingest.BackfillVideos, Spec: ingest.BackfillSpec{IDs: name}, Table: "classic", Created: noon}
}

// numbered are n pieces of 50 ids each: "k00007" has "i0000350" to "i0000399".
func numbered(n int) iter.Seq2[ingest.Piece, error] {
	return func(yield func(ingest.Piece, error) bool) {
		for i := range n {
			p := ingest.Piece{Key: fmt.Sprintf("k%05d", i)}
			for j := range 50 {
				p.IDs = append(p.IDs, fmt.Sprintf("i%010d", i*50+j))
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// of are these pieces.
func of(pieces ...ingest.Piece) iter.Seq2[ingest.Piece, error] {
	return func(yield func(ingest.Piece, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func addBackfill(t testing.TB, s *store.Store, b ingest.Backfill, pieces iter.Seq2[ingest.Piece, error]) ingest.Backfill {
	t.Helper()
	b, added, err := s.AddBackfill(t.Context(), b, pieces)
	if err != nil || !added {
		t.Fatal(added, err)
	}
	return b
}

// piecesOf is a claim of pieces.
func piecesOf(b ingest.Backfill, owner string, now time.Time) ingest.Claim {
	c := by(owner, now)
	c.Backfill, c.Reversed = b.ID, b.Reversed()
	return c
}

func status(t testing.TB, s *store.Store, id string) store.BackfillStatus {
	t.Helper()
	b, err := s.FindBackfill(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parked(t testing.TB, s *store.Store, slot ingest.Slot) []string {
	t.Helper()
	ids, err := s.Queued(t.Context(), slot.SlotKey, 100, noon)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestABackfillIsKeptAsItWasPlanned(t *testing.T) {
	s, _ := newStore(t)
	want := ingest.Backfill{
		Kind: ingest.BackfillSearch, Table: "classic", Created: noon, Wait: true,
		Spec: ingest.BackfillSpec{
			Query: ingest.Query{Text: "cats", Region: "DE", After: noon.Add(-time.Hour), Before: noon, NewestFirst: true}, Order: ingest.Oldest,
		},
	}
	b := addBackfill(t, s, want, of(ingest.Slice(noon.Add(-time.Hour), noon)))
	want.ID = "bf-1"
	for _, name := range []string{b.ID, want.Identity()} {
		if got := status(t, s, name); fmt.Sprint(got.Backfill) != fmt.Sprint(want) || got.Pieces[ingest.Due] != 1 || got.Open() != 1 {
			t.Errorf("found by %s: %+v, want %+v", name, got, want)
		}
	}
	slot := claim(t, s, piecesOf(b, "a", noon))
	piece, err := s.Piece(t.Context(), slot.SlotKey)
	if err != nil || fmt.Sprint(piece) != fmt.Sprint(ingest.Slice(noon.Add(-time.Hour), noon)) || slot.Job != "backfill/bf-1" || slot.Kind != ingest.KindBackfill {
		t.Errorf("claimed %+v of %+v, %v", slot, piece, err)
	}
	if _, err := s.FindBackfill(t.Context(), "bf-2"); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("another is %v", err)
	}
	if err := s.SetWait(t.Context(), "bf-2", true); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("another waits: %v", err)
	}
}

func TestTheSameBackfillIsAddedOnceWhileItIsOpen(t *testing.T) {
	s, _ := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(1))
	again, added, err := s.AddBackfill(t.Context(), plan("x"), func(func(ingest.Piece, error) bool) { t.Error("its pieces are read") })
	if err != nil || added || again.ID != b.ID {
		t.Errorf("again: %v, %v, %v", again, added, err)
	}
	addBackfill(t, s, plan("y"), numbered(1))
	finish(t, s, claim(t, s, piecesOf(b, "a", noon)), ingest.Done, "")
	if b := addBackfill(t, s, plan("x"), numbered(1)); b.ID != "bf-3" || status(t, s, b.Identity()).ID != "bf-3" {
		t.Errorf("after its end it is %s", b.ID)
	}
	list, err := s.Backfills(t.Context())
	if err != nil || len(list) != 3 || list[0].ID != "bf-3" || list[2].Pieces[ingest.Done] != 1 {
		t.Errorf("listed %+v, %v", list, err)
	}
}

func TestAnErrorAmongThePiecesAddsNothing(t *testing.T) {
	s, _ := newStore(t)
	broken := errors.New("the file ends in the middle")
	for _, c := range []struct {
		pieces iter.Seq2[ingest.Piece, error]
		want   string
	}{
		{func(yield func(ingest.Piece, error) bool) {
			_ = yield(ingest.Piece{Key: "a"}, nil) && yield(ingest.Piece{}, broken)
		}, broken.Error()},
		{of(ingest.Piece{Key: "a"}, ingest.Piece{Key: "a"}), `two pieces are called "a"`},
	} {
		if _, added, err := s.AddBackfill(t.Context(), plan("x"), c.pieces); added || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("added %v, %v; want %s", added, err, c.want)
		}
	}
	if list, err := s.Backfills(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("there are %v, %v", list, err)
	}
}

func TestPiecesComeInTheirOrder(t *testing.T) {
	s, _ := newStore(t)
	var slices []ingest.Piece
	for _, h := range []int{3, 1, 2} {
		slices = append(slices, ingest.Slice(noon.Add(time.Duration(-h)*time.Hour), noon.Add(time.Duration(1-h)*time.Hour)))
	}
	for _, c := range []struct {
		kind  ingest.BackfillKind
		order ingest.Order
		want  []int
	}{
		{ingest.BackfillSearch, "", []int{1, 2, 0}},
		{ingest.BackfillSearch, ingest.Newest, []int{1, 2, 0}},
		{ingest.BackfillSearch, ingest.Oldest, []int{0, 2, 1}},
		{ingest.BackfillVideos, ingest.Newest, []int{0, 1, 2}},
	} {
		b := ingest.Backfill{Kind: c.kind, Spec: ingest.BackfillSpec{IDs: fmt.Sprint(c), Order: c.order}, Created: noon}
		if c.kind == ingest.BackfillSearch {
			b = addBackfill(t, s, b, of(slices...))
		} else {
			b = addBackfill(t, s, b, numbered(3))
		}
		for _, i := range c.want {
			want := fmt.Sprintf("k%05d", i)
			if c.kind == ingest.BackfillSearch {
				want = slices[i].Key
			}
			if got := claim(t, s, piecesOf(b, "a", noon)); got.Key != want {
				t.Errorf("%v: claimed %s, want %s", c, got.Key, want)
			}
		}
		claimNone(t, s, piecesOf(b, "a", noon))
	}
}

func TestTheScheduleNeverSeesAPiece(t *testing.T) {
	s, clock := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(3))
	stopped := claim(t, s, piecesOf(b, "a", noon))
	stopped.RetryAt = noon.Add(time.Hour)
	finish(t, s, stopped, ingest.Stopped, "units are spent")
	addDue(t, s, due("US", noon))
	if got := claim(t, s, by("a", noon)); got.Key != "US" {
		t.Errorf("the schedule claimed %s %s", got.Job, got.Key)
	}
	claimNone(t, s, by("a", clock.now()))
	if newest, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil || len(newest) != 1 {
		t.Errorf("known are %v, %v", newest, err)
	}
	wantStates(t, s, "US 12:00 claimed")
	if got := states(t, s, store.SlotFilter{Job: b.Job()}); !slices.Equal(got, []string{"k00000 12:00 stopped", "k00001 12:00 due", "k00002 12:00 due"}) {
		t.Errorf("by its job: %q", got)
	}
	if got := claim(t, s, piecesOf(b, "a", clock.now())); got.Key != "k00000" {
		t.Errorf("of the pieces claimed %s: a stopped one may be claimed again", got.Key)
	}
}

// However many pieces are open, no plan of what the schedule asks for touches one.
func TestAClaimOfTheScheduleIsAsFastBesideTwentyThousandPieces(t *testing.T) {
	pieces, tries := 20_000, 60
	if raced {
		pieces, tries = pieces/20, tries/4
	}
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

// Nor does a claim of a piece look at those that are done, or sort those that are not.
func TestAClaimOfAPieceSortsAndScansNothing(t *testing.T) {
	s, _ := newStore(t)
	b := addBackfill(t, s, plan("x"), numbered(100))
	for _, order := range []string{"", " DESC"} {
		got := queryPlan(t, s, store.ClaimablePieces+order, noon.UnixMilli(), b.ID)
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

func TestManyIDsArePlannedInLittleTimeAndMemory(t *testing.T) { planManyIDs(t, 4_000, 2*time.Second) }

func TestLongMillionIDsArePlannedInSecondsAndAHundredMegabytes(t *testing.T) {
	planManyIDs(t, 20_000, 4*time.Second) // two on a quiet machine
}

// planManyIDs plans so many pieces of 50 ids. Processor time too grows on a machine that is busy with other
// things, so that the best of three counts.
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
	for try := 0; try < 3 && took > soon && (try == 0 || !raced); try++ {
		s, _ := newStore(t)
		began := cpuTime(t)
		b := addBackfill(t, s, plan("x"), pieces)
		took = min(took, cpuTime(t)-began)
		if st := status(t, s, b.ID); st.Waiting != planned*50 || st.Pieces[ingest.Due] != planned {
			t.Errorf("%d ids wait in %d pieces", st.Waiting, st.Pieces[ingest.Due])
		}
	}
	t.Logf("%d ids: %v of CPU, heap %d MB at most", planned*50, took.Round(time.Millisecond), peak>>20)
	if took > soon && !raced || peak > 100<<20 {
		t.Errorf("%d ids took %v and %d MB", planned*50, took, peak>>20)
	}
}
