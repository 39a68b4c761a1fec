package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// hours returns a slice of the search that covers the hours before start.
func hours(from, to int) ingest.Piece {
	return ingest.Slice(start.Add(-time.Duration(from)*time.Hour), start.Add(-time.Duration(to)*time.Hour))
}

var wholeChannel = ingest.Piece{Key: "@all", Spec: ingest.PieceSpec{Channel: "@all"}}

func TestEachKindFetchesEveryVideoOnce(t *testing.T) {
	for _, c := range []struct {
		kind   ingest.BackfillKind
		pieces []ingest.Piece
		want   string
		calls  map[string]int
		units  int64
	}{
		{ingest.BackfillVideos, nil, "done 3; 150 videos", map[string]int{"videos": 3}, 3},
		{ingest.BackfillUploads, []ingest.Piece{wholeChannel}, "done 1; 130 videos", map[string]int{"channel": 1, "uploads": 3, "videos": 3}, 7},
		{ingest.BackfillSearch, []ingest.Piece{hours(3, 1), hours(1, 0)}, "done 2; 130 videos", map[string]int{"search": 4, "videos": 4}, 404},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			d := newDig(t, 130)
			if c.pieces == nil {
				c.pieces = d.ids(3)
			}
			b := d.plan(t, c.kind, c.pieces...)
			worked, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b})
			if err != nil {
				t.Fatal(err)
			}
			d.want(t, b, c.want)
			for prefix, n := range c.calls {
				if got := d.archive.asked(prefix); got != n {
					t.Errorf("%d calls of %s, want %d", got, prefix, n)
				}
			}
			spent := int64(0)
			for _, w := range worked {
				spent += w.Spent
			}
			if used := d.used(t); used != c.units || spent != c.units || d.status(t, b).Units != c.units {
				t.Errorf("%d units used, %d in the slots, %d told: want %d", used, d.status(t, b).Units, spent, c.units)
			}
			if twice := d.archive.twice(); twice != nil {
				t.Errorf("paid for twice: %q", twice)
			}
			if worked, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil || len(worked) != 0 {
				t.Errorf("again: %s %v, want none", states(worked), err)
			}
		})
	}
}

// doom ends a run at its nth step: as a signal does, or as if the process had died there.
type doom struct {
	left  atomic.Int64
	end   context.CancelFunc
	dies  bool
	dead  atomic.Bool
	where atomic.Value
}

var errDead = errors.New("the process is dead")

func (d *doom) at(where string) error {
	if d.left.Add(-1) == 0 {
		d.where.Store(where)
		d.dead.Store(d.dies)
		d.end()
	}
	if d.dead.Load() {
		return errDead
	}
	return nil
}

// doomed puts a doom around the parts of a pass.
type doomed struct {
	fetch.Slots
	fetch.Sink
	fetch.Quota
	*doom
}

func (d doomed) Claim(ctx context.Context, c ingest.Claim) (slot ingest.Slot, ok bool, err error) {
	if err := d.at("before the claim"); err != nil {
		return slot, false, err
	}
	if slot, ok, err = d.Slots.Claim(ctx, c); err == nil {
		err = d.at("after the claim")
	}
	return slot, ok && err == nil, err
}

func (d doomed) Finish(ctx context.Context, slot ingest.Slot) error {
	if err := d.at("before the end"); err != nil {
		return err
	}
	return d.Slots.Finish(ctx, slot)
}

func (d doomed) Enqueue(ctx context.Context, slot ingest.Slot, ids []string, since time.Time, halves ...ingest.Piece) (ingest.Slot, error) {
	if err := d.at("before ids are queued"); err != nil {
		return slot, err
	}
	slot, err := d.Sink.Enqueue(ctx, slot, ids, since, halves...)
	return slot, errors.Join(err, d.at("after ids are queued"))
}

func (d doomed) SaveFound(ctx context.Context, slot ingest.Slot, asked ingest.Asked, page ingest.Page) (ingest.Slot, ingest.Absences, error) {
	if err := d.at("before videos are saved"); err != nil {
		return slot, ingest.Absences{}, err
	}
	slot, absences, err := d.Sink.SaveFound(ctx, slot, asked, page)
	return slot, absences, errors.Join(err, d.at("after videos are saved"))
}

func (d doomed) Take(ctx context.Context, r quota.Request) (quota.Decision, error) {
	if err := d.at("before the take"); err != nil {
		return quota.Decision{}, err
	}
	return d.Quota.Take(ctx, r)
}

func TestLongABackfillThatIsInterruptedAnywhereGoesOnWhereItWas(t *testing.T) {
	for _, kind := range []ingest.BackfillKind{ingest.BackfillUploads, ingest.BackfillSearch} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s dies %v", kind, dies), func(t *testing.T) {
				t.Parallel()
				each := int64(1)
				if raced {
					each = 7
				}
				for n := int64(1); interruptedAt(t, kind, dies, n); n += each {
				}
			})
		}
	}
}

// interruptedAt reports whether the run was still going at its nth step.
func interruptedAt(t *testing.T, kind ingest.BackfillKind, dies bool, n int64) bool {
	t.Helper()
	d := newDig(t, 70)
	piece := wholeChannel
	if kind == ingest.BackfillSearch {
		piece = hours(2, 0)
	}
	b := d.plan(t, kind, piece)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	trap := &doom{end: cancel, dies: dies}
	trap.left.Store(n)
	whole := *d.run
	d.run.Slots, d.run.Sink, d.run.Quota = doomed{Slots: d.store, doom: trap}, doomed{Sink: d.store, doom: trap}, doomed{Quota: d.governor, doom: trap}
	d.archive.before = func(string) error { return trap.at("before the answer") }
	_, err := d.run.Run(ctx, fetch.RunOptions{Backfill: b})
	d.archive.before = nil
	if trap.left.Load() > 0 {
		if err != nil {
			t.Errorf("without a doom: %v", err)
		}
		return false
	}
	*d.run = whole
	d.run.Owner = "the next"
	if dies {
		d.now = d.now.Add(fetch.DefaultLease + time.Second)
	} else {
		d.now = d.now.Add(time.Hour) // a token of a piece has no age
	}
	worked, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b})
	if err != nil {
		t.Errorf("%s: %s %v", trap.where.Load(), states(worked), err)
	}
	d.want(t, b, "done 1; 70 videos")
	twice := d.archive.twice()
	if !dies && len(twice) > 0 || len(twice) > 1 {
		t.Errorf("%s: paid for twice: %q", trap.where.Load(), twice)
	}
	return true
}

func TestARefusalStopsTheRunAndTheNextGoesOn(t *testing.T) {
	d := newDig(t, 600)
	d.limit(3)
	d.run.Workers = 2
	b := d.plan(t, ingest.BackfillVideos, d.ids(12)...)
	worked, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b})
	if err != nil || len(d.archive.calls) != 3 {
		t.Fatalf("%s %v, %d calls, want 3", states(worked), err, len(d.archive.calls))
	}
	st := d.status(t, b)
	if stopped := st.Pieces[ingest.Stopped]; stopped < 1 || stopped > 4 || st.Pieces[ingest.Done] != 3 || st.Pieces[ingest.Due] != 9-stopped {
		t.Errorf("pieces are %v: the rest was to be left alone", st.Pieces)
	}
	if want := start.Add(24*time.Hour + 30*time.Second); !st.RetryAt.Equal(want) {
		t.Errorf("come back at %s, want %s", st.RetryAt, want)
	}
	for range 6 { // asking again costs nothing, however often
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Fatal(err)
		}
	}
	slots, err := d.store.ListSlots(t.Context(), store.SlotFilter{Job: b.Job(), State: ingest.Stopped})
	again := 0
	for _, s := range slots {
		again = max(again, s.Attempt)
		if s.Tries != 0 {
			t.Errorf("a refusal counts as a try that brought nothing: %+v", s)
		}
	}
	if err != nil || again < 2 {
		t.Errorf("no run asked again: %+v, %v, want at least 2", slots, err)
	}
	for day := 1; d.status(t, b).Open() > 0 && day < 10; day++ {
		d.now = d.now.Add(24*time.Hour + time.Minute)
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Fatal(err)
		}
	}
	d.want(t, b, "done 12; 600 videos")
	if twice := d.archive.twice(); twice != nil || len(d.archive.calls) != 12 {
		t.Errorf("%d calls, twice %q", len(d.archive.calls), twice)
	}
}

func TestABackfillDoesNotFetchNewerVideosAgain(t *testing.T) {
	d := newDig(t, 100)
	old := d.plan(t, ingest.BackfillVideos, d.ids(2)...)
	d.now = d.now.Add(time.Hour)
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: d.plan(t, ingest.BackfillUploads, wholeChannel)}); err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(72 * time.Hour)
	calls := len(d.archive.calls)
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: old}); err != nil || len(d.archive.calls) != calls {
		t.Errorf("%d more calls, %v, want %v", len(d.archive.calls)-calls, err, calls)
	}
	d.want(t, old, "done 2; 0 videos")
}

func TestARunSpendsNoMoreThanItMay(t *testing.T) {
	for _, c := range []struct {
		most, used int64
		workers    int
	}{{4, 4, 1}, {4, 4, 3}, {30, 8, 2}} {
		d := newDig(t, 400)
		d.run.Workers = c.workers
		b := d.plan(t, ingest.BackfillVideos, d.ids(8)...)
		_, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b, MaxUnits: c.most})
		if errors.Is(err, fetch.ErrMaxUnits) != (c.most < 8) || d.used(t) != c.used {
			t.Errorf("with at most %d units: %d used, %v", c.most, d.used(t), err)
		}
		if st := d.status(t, b); st.Pieces[ingest.Claimed]+st.Pieces[ingest.Failed] > 0 || int64(st.Pieces[ingest.Done]) != c.used {
			t.Errorf("with at most %d units pieces are %v", c.most, st.Pieces)
		}
	}
	d := newDig(t, 1000) // a call of 100 units is not begun with 50 left
	b := d.plan(t, ingest.BackfillSearch, hours(3, 0))
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b, MaxUnits: 150}); !errors.Is(err, fetch.ErrMaxUnits) || d.used(t) != 101 {
		t.Errorf("of a search: %d used, %v, want error %v and 101", d.used(t), err, fetch.ErrMaxUnits)
	}
}

func TestTheScheduleKeepsTheQuotaThatItNeeds(t *testing.T) {
	d := newDig(t, 1000)
	d.limit(10)
	var asked atomic.Int64 // passes ask side by side
	d.run.Reserve = func(context.Context) quota.Reserve {
		return quota.Reserve{Today: quota.Cost{"units": asked.Add(1)}}
	}
	b := d.plan(t, ingest.BackfillVideos, d.ids(20)...)
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	if d.used(t) != 5 || asked.Load() < 6 { // 5 takes, each asked for before
		t.Errorf("%d used, asked %d times, want 5 and at least 6", d.used(t), asked.Load())
	}
}

func TestATokenThatIsRefusedBeginsThePieceAgainOnce(t *testing.T) {
	for _, c := range []struct {
		kind  ingest.BackfillKind
		piece ingest.Piece
		fails string // the call that refuses its token, at first
		note  string
		pages int   // paid for nothing
		units int64 // 4 pages, 3 calls for 130 videos, and those paid for nothing
	}{
		{ingest.BackfillSearch, hours(3, 0), "search 06:00:00 09:00:00 50", "1 page and the refused call were paid for nothing (200 units)", 1, 3*100 + 3 + 200},
		{ingest.BackfillUploads, wholeChannel, "uploads UU/all 50", "1 page and the refused call were paid for nothing (2 units)", 1, 1 + 3 + 3 + 2},
		{ingest.BackfillSearch, hours(3, 0), "search 06:00:00 09:00:00 100", "2 pages and the refused call were paid for nothing (300 units)", 2, 3*100 + 3 + 300},
		{ingest.BackfillUploads, wholeChannel, "uploads UU/all 100", "2 pages and the refused call were paid for nothing (3 units)", 2, 1 + 3 + 3 + 3},
	} {
		d := newDig(t, 130)
		refused := false
		d.archive.before = func(call string) error {
			if call == c.fails && !refused {
				refused = true
				return fails(fetch.BadToken)
			}
			return nil
		}
		b := d.plan(t, c.kind, c.piece)
		worked, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b})
		if err != nil || len(worked) != 1 || !strings.Contains(worked[0].Reason, c.note) {
			t.Errorf("%s: %+v %v, want 1 and %v in it", c.kind, worked, err, c.note)
		}
		d.want(t, b, "done 1; 130 videos")
		if d.used(t) != c.units || d.status(t, b).PaidTwice != c.pages || d.archive.asked("videos") != 3 {
			t.Errorf("%s: %d units, want %d; %d pages again, %d calls for videos", c.kind, d.used(t), c.units, d.status(t, b).PaidTwice, d.archive.asked("videos"))
		}
	}
	d := newDig(t, 130)
	d.archive.before = func(call string) error {
		if strings.HasSuffix(call, " 50") {
			return fails(fetch.BadToken)
		}
		return nil
	}
	b := d.plan(t, ingest.BackfillSearch, hours(3, 0))
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil || d.archive.asked("search") != 4 {
		t.Errorf("always refused: %d calls, %v, want 4", d.archive.asked("search"), err)
	}
	if st := d.status(t, b); st.Pieces[ingest.Failed] != 1 {
		t.Errorf("always refused: %v, want 1", st.Pieces)
	}
}

func TestASliceOfMoreThanASearchBringsIsSplit(t *testing.T) {
	d := newDig(t, 620) // ten hours
	b := d.plan(t, ingest.BackfillSearch, hours(11, 0))
	most := 0
	d.archive.before = func(string) error { most = max(most, d.status(t, b).Waiting); return nil }
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	d.want(t, b, "done 3; 620 videos")
	if twice := d.archive.twice(); twice != nil {
		t.Errorf("paid for twice: %q", twice)
	}
	if n := d.archive.asked("videos"); n < 13 || n > 13+3 {
		t.Errorf("%d calls for 620 videos: what was found twice is looked up once", n)
	}
	if most == 0 || most > 2*99 { // of the two pieces at hand
		t.Errorf("%d ids waited at once", most)
	}
	if !strings.Contains(d.reasons(t, b), "was split in two") {
		t.Errorf("reasons are %q, want \"was split in two\" in it", d.reasons(t, b))
	}
}

func TestASecondWithTooManyResultsIsReported(t *testing.T) {
	d := newDig(t, 1000)
	d.run.Upstream = crowded{d.archive}
	b := d.plan(t, ingest.BackfillSearch, ingest.Slice(start, start.Add(4*time.Second)))
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	if got := d.reasons(t, b); strings.Count(got, "or more, and was split in two") != 3 || strings.Count(got, "the search lists no more of a second") != 4 {
		t.Errorf("reasons are %q, want 3 and 4", got)
	}
	d.want(t, b, "done 7; 500 videos")
}

// crowded finds the same 500 videos in every second.
type crowded struct{ *archive }

func (c crowded) Search(_ ingest.Query, token string) fetch.Call[ingest.Found] {
	return fetch.Call[ingest.Found]{Method: "search.list", Do: func(context.Context) (ingest.Found, error) {
		return c.pageOf(0, 500, token)
	}}
}

func TestTheNewestSliceComesFirstUnlessThePersonSaysOtherwise(t *testing.T) {
	for order, want := range map[ingest.Order]string{"": "08:00 07:00 06:00", ingest.Oldest: "06:00 07:00 08:00"} {
		d := newDig(t, 10)
		b := d.plan(t, ingest.BackfillSearch, hours(2, 1), hours(3, 2), hours(1, 0))
		b.Spec.Order = order
		claims := &claimed{Slots: d.store}
		d.run.Slots = claims
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(claims.keys, " "); got != want {
			t.Errorf("order %q: %v, want %s", order, got, want)
		}
	}
}

// claimed records the hour of every slice that is claimed.
type claimed struct {
	fetch.Slots
	keys []string
}

func (c *claimed) Claim(ctx context.Context, want ingest.Claim) (ingest.Slot, bool, error) {
	slot, ok, err := c.Slots.Claim(ctx, want)
	if ok {
		c.keys = append(c.keys, slot.Key[11:16])
	}
	return slot, ok, err
}

func TestAPoisonousIDIsGivenUpAndTheRestGoesOn(t *testing.T) {
	for _, c := range []struct {
		verdict fetch.CallVerdict
		poison  []string
		most    int // calls, for 3 pieces
	}{
		{fetch.Rejected, []string{"v00007"}, 3 + 12},
		{fetch.Broken, []string{"v00000"}, 3 + 3 + 13},
		{fetch.Broken, []string{"v00003", "v00049"}, 3 + 3 + 24},
		{fetch.Rejected, []string{"v00003", "v00060", "v00061"}, 3 + 2*24},
	} {
		d := newDig(t, 150)
		d.archive.poison = map[string]fetch.CallVerdict{}
		for _, id := range c.poison {
			d.archive.poison[id] = c.verdict
		}
		b := d.plan(t, ingest.BackfillVideos, d.ids(3)...)
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		d.want(t, b, fmt.Sprintf("done 3; %d videos", 150-len(c.poison)))
		failures, err := d.store.FailedPieces(t.Context(), b.ID, 0)
		if err != nil || len(failures) != len(c.poison) {
			t.Fatalf("%v: failures %v, %v", c, failures, err)
		}
		for i, f := range failures {
			if f.ID != c.poison[i] || !strings.Contains(f.Reason, "no good: "+f.ID) {
				t.Errorf("%v: failure %+v", c, f)
			}
		}
		if n := len(d.archive.calls); n > c.most {
			t.Errorf("%v: %d calls, want at most %d", c, n, c.most)
		}
	}
}

func TestAnOutageEndsTheRunEarlyAndFailsNoPieceAtOnce(t *testing.T) {
	for _, verdict := range []fetch.CallVerdict{fetch.Broken, fetch.Rejected} {
		d := newDig(t, 400)
		d.archive.before = func(string) error { return fails(verdict) }
		b := d.plan(t, ingest.BackfillVideos, d.ids(8)...)
		worked, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b})
		var e *fetch.Error
		if !errors.As(err, &e) || e.Verdict != verdict || !strings.Contains(err.Error(), "3 pieces in a row") {
			t.Fatalf("%s %v, want %v after 3 pieces in a row", states(worked), err, verdict)
		}
		if n := len(d.archive.calls); n > 5*10 { // 3 pieces, and the pieces under way
			t.Errorf("%s: the outage cost %d calls", verdict, n)
		}
		if st := d.status(t, b); st.Pieces[ingest.Due] != 8 {
			t.Errorf("%s: pieces are %v, want 8", verdict, st.Pieces)
		}
		d.archive.before = nil
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Fatal(err)
		}
		d.want(t, b, "done 8; 400 videos")
	}
}

func TestAPieceThatBringsNothingWaitsAndFailsAfter25Tries(t *testing.T) {
	d := newDig(t, 100)
	d.archive.poison = map[string]fetch.CallVerdict{"alone": fetch.Broken}
	b := d.plan(t, ingest.BackfillVideos, append(d.ids(1), ingest.Piece{Key: "p", IDs: []string{"alone"}})...)
	for i := range 27 {
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Fatal(err)
		}
		if st := d.status(t, b); st.Pieces[ingest.Failed] == 1 != (i >= 25) {
			t.Errorf("after run %d pieces are %v", i+1, st.Pieces)
		}
	}
	if n := d.archive.asked("videos alone"); n != 25*4 {
		t.Errorf("it cost %d calls", n)
	}

	if _, err := d.store.RetryBackfill(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	for range 25 { // claimed by runs that die
		if _, ok, err := d.store.Claim(t.Context(), ingest.Claim{Owner: "dies", Now: d.now, Lease: time.Second, Backfill: b.ID}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		d.now = d.now.Add(time.Minute)
	}
	calls := len(d.archive.calls)
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil || len(d.archive.calls) != calls {
		t.Errorf("%d more calls, %v, want %v", len(d.archive.calls)-calls, err, calls)
	}
	if got := d.reasons(t, b); !strings.Contains(got, "25 runs in a row brought nothing") {
		t.Errorf("reasons are %q, want \"25 runs in a row brought nothing\" in it", got)
	}
}

func TestACallThatHangsCostsThePieceATryOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDig(t, 100)
		d.live()
		hangs := true
		d.archive.around = func(ctx context.Context) (func(), error) {
			if hangs {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return func() {}, nil
		}
		b := d.plan(t, ingest.BackfillVideos, d.ids(2)...)
		if worked, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil || !strings.Contains(states(worked), "due 0") {
			t.Errorf("%s %v, want \"due 0\" in it", states(worked), err)
		}
		if st := d.status(t, b); st.Pieces[ingest.Due] != 2 {
			t.Errorf("pieces are %v: %s, want 2", st.Pieces, d.reasons(t, b))
		}
		hangs = false
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Error(err)
		}
		d.want(t, b, "done 2; 100 videos")
	})
}

func TestVanishedVideosAndUnknownChannelsAreRecorded(t *testing.T) {
	d := newDig(t, 100)
	d.archive.gone = map[string]bool{"v00003": true, "v00077": true}
	b := d.plan(t, ingest.BackfillUploads, wholeChannel, ingest.Piece{Key: "@nobody", Spec: ingest.PieceSpec{Channel: "@nobody"}})
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	d.want(t, b, "done 1, failed 1; 98 videos")
	if st := d.status(t, b); st.Vanished != 2 {
		t.Errorf("%d vanished, want 2", st.Vanished)
	}
	failures, err := d.store.FailedPieces(t.Context(), b.ID, 10)
	if err != nil || len(failures) != 1 || !strings.Contains(failures[0].Reason, "there is no channel @nobody") {
		t.Errorf("failures %v, %v, want 1 and \"there is no channel @nobody\" in it", failures, err)
	}
}

func TestTwoRunsShareThePieces(t *testing.T) {
	d := newDig(t, 1000)
	b := d.plan(t, ingest.BackfillVideos, d.ids(20)...)
	other := *d.run
	other.Owner = "other"
	both := make(chan struct{})
	var first sync.Once
	waiting := atomic.Int32{}
	d.archive.around = func(context.Context) (func(), error) { // no call is answered before both have asked
		if waiting.Add(1) == 2 {
			first.Do(func() { close(both) })
		}
		<-both
		return func() {}, nil
	}
	var wg sync.WaitGroup
	counts := make([]int, 2)
	for i, r := range []*fetch.Reconciler{d.run, &other} {
		wg.Go(func() {
			worked, err := r.Run(t.Context(), fetch.RunOptions{Backfill: b})
			if err != nil {
				t.Error(err)
			}
			counts[i] = len(worked)
		})
	}
	wg.Wait()
	d.want(t, b, "done 20; 1000 videos")
	if twice := d.archive.twice(); twice != nil || len(d.archive.calls) != 20 || counts[0]+counts[1] != 20 || slices.Min(counts) == 0 {
		t.Errorf("%d calls, twice %q, shared %v", len(d.archive.calls), twice, counts)
	}
}

func TestAnUpstreamThatCannotSearchIsReportedBeforeAClaim(t *testing.T) {
	d := newDig(t, 10)
	b := d.plan(t, ingest.BackfillSearch, hours(1, 0))
	d.run.Upstream = d.upstream
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err == nil || !strings.Contains(err.Error(), "cannot be searched") {
		t.Errorf("%v", err)
	}
	d.want(t, b, "due 1; 0 videos")
}

func TestBackfillsThatWaitAreCarriedOnOneAfterAnother(t *testing.T) {
	d := newDig(t, 500)
	search, videos := d.plan(t, ingest.BackfillSearch, hours(3, 0)), d.plan(t, ingest.BackfillVideos, d.ids(2)...)
	if err := d.store.SetWait(t.Context(), videos.ID, true); err != nil {
		t.Fatal(err)
	}
	waiting, err := d.store.WaitingBackfills(t.Context())
	if err != nil || len(waiting) != 1 || waiting[0].ID != videos.ID {
		t.Fatalf("%v wait, %v, want 1 and %v", waiting, err, videos.ID)
	}
	d.limit(50) // less than a search costs: cheaper calls go on
	d.governor.Tariff.Methods["search.list"] = quota.Cost{"units": 40}
	if _, err := d.run.CarryOn(t.Context(), []ingest.Backfill{*search, *videos}); err != nil {
		t.Fatal(err)
	}
	d.want(t, search, "stopped 1; 50 videos")
	d.want(t, videos, "done 2; 50 videos") // the other 50 have just been fetched
}
