package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// forgetful answers look-ups without the videos that lack names, and blank while blank.
type forgetful struct {
	*upstream
	lack  func(id string) bool
	asked [][]string
}

func (f *forgetful) Videos(ids []string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(context.Context) (page ingest.Page, _ error) {
		f.asked = append(f.asked, ids)
		for _, id := range ids {
			if !f.lack(id) {
				page.Videos = append(page.Videos, ingest.Video{ID: id, Title: "title"})
			}
		}
		return page, nil
	}}
}

// refreshDays runs the refresh on days after the start, and returns the reasons of its slots.
func refreshDays(t *testing.T, b *bench, days ...int) (reasons []string) {
	t.Helper()
	for _, day := range days {
		b.now = start.AddDate(0, 0, day)
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{{Job: "refresh"}}})
		if err != nil || len(worked) != 1 || worked[0].State != ingest.Done {
			t.Fatalf("day %d: %s, %v, want 1 and %v", day, states(worked), err, ingest.Done)
		}
		reasons = append(reasons, worked[0].Reason)
	}
	return reasons
}

func TestABlankLookUpDeletesNothing(t *testing.T) {
	b := newBench(t, 1000)
	s := b.onStore(t)
	b.upstream.pages = 20
	lost := true
	up := &forgetful{upstream: b.upstream, lack: func(string) bool { return lost }}
	b.run.Upstream = up
	if _, err := b.run.Run(t.Context(), fetch.RunOptions{Pages: 20}); err != nil { // 160 videos
		t.Fatal(err)
	}
	said := refreshDays(t, b, 26)
	if kept, err := s.Kept(t.Context()); err != nil || kept.Videos != 160 || len(up.asked) != 2 {
		t.Fatalf("after a blank refresh %d of 160 videos are kept, %d calls, %v, want 160 and 2", kept.Videos, len(up.asked), err)
	}
	if want := "2 answers suspect: 100 videos missing"; !strings.HasPrefix(said[0], want) {
		t.Errorf("the slot says %q, want %q", said[0], want)
	}
	lost = false
	refreshDays(t, b, 27)
	if ids, err := s.VideosToRefresh(t.Context(), b.now, 0, 999); err != nil || len(ids) != 0 {
		t.Errorf("a day later %d still wait, %v, want 0", len(ids), err)
	}
	if ids, err := s.VideosInDoubt(t.Context(), b.now, 999); err != nil || len(ids) != 0 {
		t.Errorf("a day later %d are in doubt, %v, want 0", len(ids), err)
	}
}

func TestGoneVideosAreDeletedAfterTwoLookups(t *testing.T) {
	b := newBench(t, 1000)
	s := b.onStore(t)
	b.upstream.pages = 20
	up := &forgetful{upstream: b.upstream, lack: func(id string) bool { return strings.HasPrefix(id, "US") }}
	b.run.Upstream = up
	if _, err := b.run.Run(t.Context(), fetch.RunOptions{Pages: 20}); err != nil {
		t.Fatal(err)
	}
	var deleted []int
	for day := 26; day < 29; day++ {
		for _, reason := range refreshDays(t, b, day) {
			n := 0
			for part := range strings.SplitSeq(reason, "; ") {
				if strings.HasSuffix(part, "deleted: gone at the upstream") {
					if _, err := fmt.Sscan(part, &n); err != nil {
						t.Fatal(err)
					}
				}
			}
			deleted = append(deleted, n)
		}
	}
	kept, err := s.Kept(t.Context())
	if err != nil || kept.Videos != 140 || deleted[0] != 0 || deleted[1]+deleted[2] != 20 {
		t.Errorf("deleted on days 26 to 28: %v; %d videos are kept, want 140, %v", deleted, kept.Videos, err)
	}
	chart, err := s.Chart(t.Context(), "US", start.Add(time.Hour), true)
	if err != nil || len(chart.Items) != 20 {
		t.Errorf("the chart has lost places: %d of 20, %v, want 20", len(chart.Items), err)
	}
}

func TestABlankLookUpLosesNoIDOfABackfill(t *testing.T) {
	d := newDig(t, 1000)
	b := d.plan(t, ingest.BackfillRefresh, d.ids(2)...)
	blank := true
	d.run.Upstream = &forgetful{upstream: &upstream{}, lack: func(string) bool { return blank }}
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	st := d.status(t, b)
	if st.Vanished != 0 || st.Waiting != 100 || st.Pieces[ingest.Done] != 0 || st.Pieces[ingest.Failed] != 0 {
		t.Fatalf("after blank answers: %+v", st)
	}
	if worked, err := d.run.CarryOn(t.Context(), []ingest.Backfill{*b}); err != nil || len(worked) != 0 {
		t.Errorf("within the hour %d pieces were asked for again, %v, want 0", len(worked), err)
	}
	blank = false
	d.now = d.now.Add(time.Hour)
	if _, err := d.run.CarryOn(t.Context(), []ingest.Backfill{*b}); err != nil {
		t.Fatal(err)
	}
	if st = d.status(t, b); st.Vanished != 0 || st.Videos != 100 || st.Open() != 0 {
		t.Errorf("an hour later: %+v, want 0, 100 and 0", st)
	}
}

func TestAHalfGoneListOfIDsCostsThePlannedAmount(t *testing.T) {
	d := newDig(t, 1000)
	b := d.plan(t, ingest.BackfillVideos, d.ids(1)...)
	gone := map[string]bool{}
	up := &forgetful{upstream: &upstream{}, lack: func(id string) bool { return gone[id] }}
	for i, id := range d.ids(1)[0].IDs {
		gone[id] = i%2 == 0
	}
	d.run.Upstream = up
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	if st := d.status(t, b); st.Vanished != 25 || st.Videos != 25 || st.Open() != 0 || len(up.asked) != 1 {
		t.Errorf("%+v after %d calls", st, len(up.asked))
	}
}

// Eight charts under a limit of calls a minute: in the end all are whole, no page is paid for twice, after the first
// refusals the calls come no faster than the upstream takes them, and no pass gives up because others go before it.
func TestALimitPerMinuteIsAPause(t *testing.T) {
	for _, limit := range []int{6, 10, 30} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { pauseForALimit(t, limit) })
		})
	}
}

func pauseForALimit(t *testing.T, limit int) {
	t.Helper()
	time.Sleep(time.Until(start))
	b := newBench(t, 1000, "US", "GB", "DE", "FR", "IN", "JP", "KR", "BR")
	b.run.Now, b.governor.Now, b.ledger.Now, b.run.Pause, b.run.Workers = time.Now, time.Now, time.Now, nil, 4
	var mu sync.Mutex
	var answered, refused []time.Time
	within := func(times []time.Time) (n int) {
		for _, at := range times {
			if time.Since(at) < time.Minute {
				n++
			}
		}
		return n
	}
	most := 0
	b.upstream.answer = func(context.Context, int) error {
		mu.Lock()
		defer mu.Unlock()
		if within(answered) < limit {
			answered = append(answered, time.Now())
			return nil
		}
		refused = append(refused, time.Now())
		most = max(most, within(refused))
		return &fetch.Error{Verdict: fetch.Burst, Sure: true, Method: "videos.list", Err: fmt.Errorf("%d a minute", limit)}
	}
	all, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, slot := range all {
		if slot.State == ingest.Done && slot.Pages == 4 {
			done++
		} else {
			t.Errorf("%s ended as %s: %s", slot.Key, slot.State, slot.Reason)
		}
	}
	if done != 8 || len(answered) != 32 || most > 4 || len(refused) > 4 { // four calls were in flight
		t.Errorf("%d charts, %d pages answered, %d refused, at most %d a minute, in %v: %s", done, len(answered), len(refused), most, time.Since(start), states(all))
	}
}

// One region that is forbidden fails alone. Two of them, and no answer at all, come from the key or the project: the
// run ends, and all slots but the first stay due.
func TestRegionsThatAreAllForbiddenAreOneCondition(t *testing.T) {
	forbid := func(calls int) func(context.Context, int) error {
		return func(_ context.Context, n int) error {
			if n > calls {
				return nil
			}
			return &fetch.Error{Verdict: fetch.Rejected, Status: 403, Vague: true, Method: "videos.list", Err: errors.New("403 forbidden")}
		}
	}
	b := newBench(t, 1000, "US", "GB", "DE", "FR")
	b.upstream.answer = forbid(99)
	var verdicts []string
	b.run.OnCall = func(_, verdict string, _ time.Duration) { verdicts = append(verdicts, verdict) }
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if e, ok := errors.AsType[*fetch.Error](err); !ok || e.Verdict != fetch.BadKey || !strings.Contains(err.Error(), "every call of any kind is forbidden") {
		t.Errorf("the run ended with %v", err)
	}
	if states(worked) != "US failed 0; GB due 0; " || fmt.Sprint(verdicts) != "[rejected bad_key]" {
		t.Errorf("%s, calls %v, want \"US failed 0; GB due 0; \" and \"[rejected bad_key]\"", states(worked), verdicts)
	}
	b = newBench(t, 1000, "US", "GB", "DE", "FR")
	b.upstream.pages, b.upstream.answer = 1, forbid(1)
	if worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); err != nil ||
		states(worked) != "US failed 0; GB done 1; DE done 1; FR done 1; " {
		t.Errorf("one region alone: %s, %v, want \"US failed 0; GB done 1; DE done 1; FR done 1; \"", states(worked), err)
	}
}

func TestAPassWaitsAsLongAsTheUpstreamAsks(t *testing.T) {
	for asks, want := range map[time.Duration]struct {
		state  ingest.State
		paused time.Duration
	}{40 * time.Second: {ingest.Done, 80 * time.Second}, 50 * time.Second: {ingest.Stopped, 50 * time.Second}, time.Hour: {ingest.Stopped, 0}} {
		b := newBench(t, 1000, "US")
		b.upstream.pages = 1
		b.upstream.answer = func(_ context.Context, n int) error {
			if n <= 2 {
				return &fetch.Error{Verdict: fetch.Burst, Method: "videos.list", Wait: asks, Err: context.DeadlineExceeded}
			}
			return nil
		}
		var paused time.Duration
		b.run.Pause = func(_ context.Context, d time.Duration) error {
			paused += d
			return nil
		}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
		if err != nil || len(worked) != 1 || worked[0].State != want.state || paused != want.paused {
			t.Errorf("asked to wait %v: %s after %v, %v, want 1, %v and %v", asks, states(worked), paused, err, want.state, want.paused)
		}
	}
}
