package storetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func testABackfillIsKeptAsItWasPlanned(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	want := ingest.Backfill{
		Kind: ingest.BackfillSearch, Table: "classic", Created: noon, Wait: true,
		Spec: ingest.BackfillSpec{
			Query: ingest.Query{Text: "cats", Region: "DE", After: noon.Add(-time.Hour), Before: noon, NewestFirst: true},
			Order: ingest.Oldest,
		},
	}
	b := AddBackfill(t, s, want, Of(ingest.Slice(noon.Add(-time.Hour), noon)))
	want.ID = "bf-1"
	for _, name := range []string{b.ID, want.Identity()} {
		if got := Status(t, s, name); fmt.Sprint(got.Backfill) != fmt.Sprint(want) ||
			got.Pieces[ingest.Due] != 1 || got.Open() != 1 {
			t.Errorf("found by %s: %+v, want %+v", name, got, want)
		}
	}
	slot := Claim(t, s, PiecesOf(b, "a", noon))
	piece, err := s.Piece(t.Context(), slot.SlotKey)
	if err != nil || fmt.Sprint(piece) != fmt.Sprint(ingest.Slice(noon.Add(-time.Hour), noon)) ||
		slot.Job != "backfill/bf-1" || slot.Kind != ingest.KindBackfill {
		t.Errorf("claimed %+v of %+v, %v", slot, piece, err)
	}
	if _, err := s.FindBackfill(t.Context(), "bf-2"); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("another is %v, want error %v", err, store.ErrNoBackfill)
	}
	if err := s.SetWait(t.Context(), "bf-2", true); !errors.Is(err, store.ErrNoBackfill) {
		t.Errorf("another waits: %v, want error %v", err, store.ErrNoBackfill)
	}
}

func testTheSameBackfillIsAddedOnceWhileItIsOpen(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	b := AddBackfill(t, s, Plan("x"), Numbered(1))
	again, added, err := s.AddBackfill(t.Context(), Plan("x"),
		func(func(ingest.Piece, error) bool) {
			t.Error("the pieces of a plan that is stored: got them read, want them left alone")
		})
	if err != nil || added || again.ID != b.ID {
		t.Errorf("again: %v, %v, %v", again, added, err)
	}
	AddBackfill(t, s, Plan("y"), Numbered(1))
	Finish(t, s, Claim(t, s, PiecesOf(b, "a", noon)), ingest.Done, "")
	if b := AddBackfill(t, s, Plan("x"), Numbered(1)); b.ID != "bf-3" || Status(t, s, b.Identity()).ID != "bf-3" {
		t.Errorf("after its end it is %s, want \"bf-3\" and \"bf-3\"", b.ID)
	}
	list, err := s.Backfills(t.Context())
	if err != nil || len(list) != 3 || list[0].ID != "bf-3" || list[2].Pieces[ingest.Done] != 1 {
		t.Errorf("listed %+v, %v, want 3, \"bf-3\" and 1", list, err)
	}
}

func testAnErrorAmongThePiecesAddsNothing(t *testing.T, open Open) {
	s, _ := newStore(t, open)
	broken := errors.New("the file ends in the middle")
	for _, c := range []struct {
		pieces iter.Seq2[ingest.Piece, error]
		want   string
	}{
		{func(yield func(ingest.Piece, error) bool) {
			_ = yield(ingest.Piece{Key: "a"}, nil) && yield(ingest.Piece{}, broken)
		}, broken.Error()},
		{Of(ingest.Piece{Key: "a"}, ingest.Piece{Key: "a"}), `two pieces are called "a"`},
	} {
		if _, added, err := s.AddBackfill(t.Context(), Plan("x"), c.pieces); added || err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("added %v, %v; want %s", added, err, c.want)
		}
	}
	if list, err := s.Backfills(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("there are %v, %v, want none", list, err)
	}
}

func testPiecesComeInTheirOrder(t *testing.T, open Open) {
	s, _ := newStore(t, open)
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
			b = AddBackfill(t, s, b, Of(slices...))
		} else {
			b = AddBackfill(t, s, b, Numbered(3))
		}
		for _, i := range c.want {
			want := fmt.Sprintf("k%05d", i)
			if c.kind == ingest.BackfillSearch {
				want = slices[i].Key
			}
			if got := Claim(t, s, PiecesOf(b, "a", noon)); got.Key != want {
				t.Errorf("%v: claimed %s, want %s", c, got.Key, want)
			}
		}
		ClaimNone(t, s, PiecesOf(b, "a", noon))
	}
}

func testTheScheduleNeverSeesAPiece(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	b := AddBackfill(t, s, Plan("x"), Numbered(3))
	stopped := Claim(t, s, PiecesOf(b, "a", noon))
	stopped.RetryAt = noon.Add(time.Hour)
	Finish(t, s, stopped, ingest.Stopped, "units are spent")
	AddDue(t, s, Due("US", noon))
	if got := Claim(t, s, By("a", noon)); got.Key != "US" {
		t.Errorf("the schedule claimed %s %s, want \"US\"", got.Job, got.Key)
	}
	ClaimNone(t, s, By("a", clock.now()))
	if newest, err := s.Newest(t.Context(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil || len(newest) != 1 {
		t.Errorf("known are %v, %v, want one", newest, err)
	}
	WantStates(t, s, "US 12:00 claimed")
	if got := states(t, s, store.SlotFilter{Job: b.Job()}); !slices.Equal(got,
		[]string{"k00000 12:00 stopped", "k00001 12:00 due", "k00002 12:00 due"}) {
		t.Errorf("by its job: %q", got)
	}
	if got := Claim(t, s, PiecesOf(b, "a", clock.now())); got.Key != "k00000" {
		t.Errorf("of the pieces claimed %s: a stopped one may be claimed again, want \"k00000\"", got.Key)
	}
}
