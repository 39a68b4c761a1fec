package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// liar is an archive that gives less than it has, or says that it has more.
type liar struct {
	*archive
	claims int64                 // how many videos the channel says it has; 0: as many as there are
	cycle  int                   // how many videos come repeatedly, with new tokens
	holes  int                   // how many empty pages follow each page
	ends   int                   // after how many videos the list ends; 0: with the last
	when   func(i int) time.Time // of publication
	cut    int                   // how many of the newest videos are deleted
	cutAt  int                   // before the page that begins there
	late   int                   // how many videos are published after the list was read
	asked  int                   // how often the channel was asked
}

func (l *liar) Channel(ref string) fetch.Call[ingest.Channel] {
	call := l.archive.Channel(ref)
	ask := call.Do
	call.Do = func(ctx context.Context) (ingest.Channel, error) {
		c, err := ask(ctx)
		if l.asked++; l.asked == 2 {
			l.videos += l.late
		}
		n := int64(l.videos)
		if l.claims > 0 {
			n = l.claims
		}
		if l.cutAt < 0 {
			n -= int64(l.cut)
		}
		c.Videos = &n
		return c, err
	}
	return call
}

// page returns the page at a token of the videos between from and to: "position.hole.round".
func (l *liar) page(from, to int, token string) ingest.Found {
	at, hole, round := from, 0, 0
	if token != "" {
		if _, err := fmt.Sscanf(token, "%d.%d.%d", &at, &hole, &round); err != nil {
			panic(err)
		}
	}
	f := ingest.Found{Total: to - from}
	end := min(at+50, to)
	if l.cycle > 0 {
		end = min(at+50, from+l.cycle)
	}
	for i := at; i < end && hole == 0; i++ {
		f.IDs = append(f.IDs, fmt.Sprintf("v%05d", i))
		if l.when != nil && l.when(i).After(f.Newest) {
			f.Newest = l.when(i)
		}
	}
	switch {
	case hole < l.holes:
		f.Next = fmt.Sprintf("%d.%d.%d", at, hole+1, round)
	case l.cycle > 0 && end == from+l.cycle:
		f.Next = fmt.Sprintf("%d.0.%d", from, round+1)
	case end < to:
		f.Next = fmt.Sprintf("%d.0.%d", end, round)
	}
	return f
}

func (l *liar) Uploads(list, token string) fetch.Call[ingest.Found] {
	return fetch.Call[ingest.Found]{Method: "playlistItems.list", Do: func(ctx context.Context) (ingest.Found, error) {
		if err := l.do(ctx, "uploads "+list+" "+token); err != nil {
			return ingest.Found{}, err
		}
		if l.cut > 0 && l.cutAt >= 0 && strings.HasPrefix(token, fmt.Sprint(l.cutAt, ".")) {
			l.cutAt = -1
			l.gone = map[string]bool{}
			for i := range l.cut {
				l.gone[fmt.Sprintf("v%05d", i)] = true
			}
		}
		to := l.videos
		if l.ends > 0 {
			to = l.ends
		}
		shift := 0 // of the newest that is in the list
		if l.cutAt < 0 {
			shift, to = l.cut, to-l.cut
		}
		if l.asked < 2 {
			shift += l.late
		}
		page := l.page(0, to, token)
		for i, id := range page.IDs {
			n := 0
			fmt.Sscanf(id, "v%d", &n)
			page.IDs[i] = fmt.Sprintf("v%05d", n+shift)
		}
		return page, nil
	}}
}

func (l *liar) Search(q ingest.Query, token string) fetch.Call[ingest.Found] {
	return fetch.Call[ingest.Found]{Method: "search.list", Do: func(ctx context.Context) (ingest.Found, error) {
		if err := l.do(ctx, fmt.Sprintf("search %s %s %s", q.After.Format("15:04:05"), q.Before.Format("15:04:05"), token)); err != nil {
			return ingest.Found{}, err
		}
		from, to := 0, l.videos
		for from < to && l.when(from).After(q.Before) { // the end is part of the time
			from++
		}
		for to > from && l.when(to-1).Before(q.After) {
			to--
		}
		f := l.page(from, min(to, from+500), token)
		f.Total = to - from
		return f, nil
	}}
}

func lies(t *testing.T, videos int, l *liar) *dig {
	t.Helper()
	d := newDig(t, videos)
	l.archive = d.archive
	d.run.Upstream = l
	return d
}

// lacks checks a backfill's missing videos.
func (d *dig) lacks(t *testing.T, b *ingest.Backfill, want ...string) {
	t.Helper()
	lacks, err := d.store.Lacks(t.Context(), b.ID, 0)
	if err != nil || len(lacks) != len(want) || d.status(t, b).Lacking != len(want) {
		t.Fatalf("it lacks %v, %d in the status (%v), want %q", lacks, d.status(t, b).Lacking, err, want)
	}
	for i, l := range lacks {
		if !strings.HasPrefix(l.String(), want[i]) {
			t.Errorf("it lacks %q, want %q", l, want[i])
		}
		if reasons := d.reasons(t, b); !strings.Contains(reasons, "incomplete, "+l.String()) {
			t.Errorf("the slot does not say it: %q", reasons)
		}
	}
}

// A channel's own count of videos is compared with its list, and missing videos are named.
func TestAChannelThatGivesLessThanItSaysIsIncomplete(t *testing.T) {
	for name, c := range map[string]shortChannel{
		"it has what it says":   {130, liar{}, 7, "done 1; 130 videos", nil},
		"its pages repeat":      {1000, liar{cycle: 200}, 18, "done 1; 200 videos", []string{"200 of about 1000: its pages repeat"}},
		"it says too many":      {250, liar{claims: 1000}, 13, "done 1; 250 videos", []string{"250 of about 1000: its list ends there"}},
		"its list ends early":   {1000, liar{ends: 250}, 13, "done 1; 250 videos", []string{"250 of about 1000: its list ends there"}},
		"empty pages":           {130, liar{holes: 2}, 13, "done 1; 130 videos", nil},
		"empty pages to no end": {130, liar{holes: 1000}, 12, "done 1; 50 videos", []string{"50 of about 130: its pages repeat, or are empty"}},
		"uploads meanwhile":     {250, liar{claims: 270, late: 20}, 14, "done 1; 270 videos", nil},
		"deletions meanwhile":   {1000, liar{cut: 120, cutAt: 500}, 61, "done 1; 880 videos", nil},
	} {
		t.Run(name, c.isIncomplete)
	}
}

func TestLongAChannelOfMoreThanAListShowsIsIncomplete(t *testing.T) {
	shortChannel{20_000, liar{claims: 25_000}, 801, "done 1; 20000 videos", []string{"20000 of about 25000: a list of uploads shows 20000"}}.isIncomplete(t)
}

type shortChannel struct {
	videos int
	liar   liar
	units  int64 // at most
	want   string
	lack   []string
}

func (c shortChannel) isIncomplete(t *testing.T) {
	d := lies(t, c.videos, &c.liar)
	if c.videos > 5000 {
		d.run.Lease = time.Hour // the clock stands
	}
	b := d.plan(t, ingest.BackfillUploads, wholeChannel)
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	if c.liar.cut > 0 { // videos that were deleted after they were fetched count as fetched
		if st := d.status(t, b); st.Videos < 880 || st.Open() > 0 {
			t.Errorf("%d videos, %d pieces open, want at least 880 and none", st.Videos, st.Open())
		}
	} else {
		d.want(t, b, c.want)
	}
	d.lacks(t, b, c.lack...)
	if used := d.used(t); used > c.units {
		t.Errorf("it cost %d units, want at most %d", used, c.units)
	}
}

// A search in order of time goes on from its last result: half the calls of halving, and no video is lost. Only
// videos of one second that a search does not list are missing, and their ids are given.
func TestASearchInOrderOfTimeGoesOnFromItsLastResult(t *testing.T) {
	minutes := func(i int) time.Time { return start.Add(-time.Duration(i+1) * time.Minute) }
	burst := func(i int) time.Time { // 300 a minute apart, 1500 in one second, the rest a minute apart
		switch {
		case i < 300:
			return minutes(i)
		case i < 1800:
			return minutes(300)
		default:
			return minutes(i - 1499)
		}
	}
	for name, c := range map[string]struct {
		videos, stored, searches int
		liar                     liar
		lack                     []string
	}{
		"few":                    {130, 130, 3, liar{when: minutes}, nil},
		"dense":                  {2000, 2000, 52, liar{when: minutes}, nil},
		"a burst":                {2200, 1200, 52, liar{when: burst}, []string{"500 of about "}},
		"nothing but a burst":    {1500, 500, 31, liar{when: func(int) time.Time { return minutes(300) }}, []string{"500 of about 1500: the search lists no more of the second "}},
		"empty pages":            {192, 192, 12, liar{when: minutes, holes: 2}, nil},
		"empty pages to no end":  {192, 50, 4, liar{when: minutes, holes: 100}, []string{"50 of about 192: its pages repeat, or are empty"}},
		"pages that repeat":      {192, 100, 5, liar{when: minutes, cycle: 100}, []string{"100 of about 192: its pages repeat"}},
		"dense with empty pages": {1000, 1000, 64, liar{when: minutes, holes: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := lies(t, c.videos, &c.liar)
			b := d.plan(t, ingest.BackfillSearch, hours(72, 0))
			b.Spec.Query.NewestFirst = true
			if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
				t.Fatal(err)
			}
			if st := d.status(t, b); st.Videos != c.stored || st.Open() > 0 {
				t.Errorf("%d videos are stored, want %d: %+v", st.Videos, c.stored, st.Pieces)
			}
			if n := d.archive.asked("search"); n > c.searches {
				t.Errorf("%d searches, want at most %d", n, c.searches)
			}
			d.lacks(t, b, c.lack...)
		})
	}
}

// A run that dies inside a call has paid for it: the piece counts that as the ledger does, and names it as lost.
func TestADeadRunsPaidCallsAreCounted(t *testing.T) {
	d := newDig(t, 130)
	b := d.plan(t, ingest.BackfillVideos, d.ids(2)...)
	ctx, cancel := context.WithCancel(t.Context())
	sink := &deadSink{Sink: d.store}
	d.run.Sink, d.run.Slots = sink, deadSlots{d.run.Slots, sink}
	d.archive.before = func(string) error {
		sink.dead.Store(true)
		cancel()
		return nil
	}
	_, _ = d.run.Run(ctx, fetch.RunOptions{Backfill: b})
	d.archive.before = nil
	d.run.Sink, d.run.Slots, d.run.Owner = d.store, d.store, "another"
	d.now = d.now.Add(time.Hour)
	// A call that was about to be paid for when it died may be counted too, and was given back.
	if st := d.status(t, b); st.Units < d.used(t) || st.Units > d.used(t)+1 || st.Lost != st.Units || st.Units == 0 {
		t.Errorf("the pieces have %d units, %d of them lost, and the ledger %d", st.Units, st.Lost, d.used(t))
	}
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	if st := d.status(t, b); st.Units < d.used(t) || st.Units > d.used(t)+1 || st.Lost != st.Units-2 || st.Charges["units"] != st.Units {
		t.Errorf("the pieces have %d units (%v), %d of them lost, and the ledger %d", st.Units, st.Charges, st.Lost, d.used(t))
	}
}

// deadSink writes nothing any more once it is dead.
type deadSink struct {
	fetch.Sink
	dead atomic.Bool
}

func (s *deadSink) SaveFound(ctx context.Context, slot ingest.Slot, asked ingest.Asked, page ingest.Page) (ingest.Slot, ingest.Absences, error) {
	if s.dead.Load() {
		return slot, ingest.Absences{}, context.Canceled
	}
	return s.Sink.SaveFound(ctx, slot, asked, page)
}

type deadSlots struct {
	fetch.Slots
	sink *deadSink
}

func (s deadSlots) Finish(ctx context.Context, slot ingest.Slot) error {
	if s.sink.dead.Load() {
		return context.Canceled
	}
	return s.Slots.Finish(ctx, slot)
}

// A channel that counts no videos and whose list does not exist is empty. If it counts some, or the upstream fails in
// the middle of a list, the piece waits and is not failed for good.
func TestAListThatIsNotThereIsEmptyOrWaits(t *testing.T) {
	missing := &fetch.Error{Verdict: fetch.Rejected, Status: 404, Method: "playlistItems.list", Err: errors.New("playlistNotFound")}
	broken := &fetch.Error{Verdict: fetch.Broken, Status: 400, Method: "playlistItems.list", Err: errors.New("processingFailure")}
	for name, c := range map[string]struct {
		videos int
		fail   string // the calls that begin so
		err    error
		after  ingest.State
		calls  int
	}{
		"no videos and no list":        {0, "uploads", missing, ingest.Done, 2},
		"videos and no list":           {100, "uploads", missing, ingest.Due, 2},
		"a failure inside the list":    {100, "uploads UU/all 50", broken, ingest.Due, 7},
		"a page inside is not there":   {100, "uploads UU/all 50", missing, ingest.Due, 4},
		"no videos, and a broken list": {0, "uploads", broken, ingest.Due, 5},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDig(t, 1000)
			up := &liar{archive: d.archive}
			up.videos = c.videos
			failing := true
			up.before = func(call string) error {
				if failing && strings.HasPrefix(call, c.fail) {
					return c.err
				}
				return nil
			}
			d.run.Upstream = up
			b := d.plan(t, ingest.BackfillUploads, wholeChannel)
			_, _ = d.run.Run(t.Context(), fetch.RunOptions{Backfill: b})
			if st := d.status(t, b); st.Pieces[c.after] != 1 || len(up.calls) != c.calls {
				t.Errorf("%v after %d calls, want 1 and %v", st.Pieces, len(up.calls), c.calls)
			}
			failing = false
			d.now = d.now.Add(time.Hour)
			if _, err := d.run.CarryOn(t.Context(), []ingest.Backfill{*b}); err != nil {
				t.Fatal(err)
			}
			if st := d.status(t, b); st.Pieces[ingest.Done] != 1 || st.Videos != c.videos {
				t.Errorf("an hour later: %+v, want 1 and %v", st, c.videos)
			}
		})
	}
}
