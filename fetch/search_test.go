package fetch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

// searches schedules a search of the given number of pages for two regions, over an archive of 130 videos.
func searches(t *testing.T, pages int) (*dig, []ingest.Series) {
	t.Helper()
	d := newDig(t, 130)
	job := ingest.Job{Name: "cats", Kind: ingest.KindSearch, Query: "cats", Pages: pages, Regions: []ingest.Region{"US", "GB"}}
	d.run.Jobs = map[string]ingest.Job{job.Name: job}
	var due schedule
	var series []ingest.Series
	for _, r := range job.Regions {
		slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: job.Name, Key: string(r), DueAt: d.now}, Kind: job.Kind, State: ingest.Due}
		due, series = append(due, slot), append(series, slot.Series())
	}
	d.run.Schedule = due
	return d, series
}

func TestAScheduledSearchKeepsItsFinds(t *testing.T) {
	d, series := searches(t, 2)
	worked, err := d.run.Run(t.Context(), fetch.RunOptions{Series: series})
	if err != nil || states(worked) != "GB done 2; US done 2; " {
		t.Fatalf("%s %v, want \"GB done 2; US done 2; \"", states(worked), err)
	}
	// Two pages each, and a hundred videos that are looked up once.
	if worked[0].Videos != 100 || worked[1].Videos != 0 || d.used(t) != 4*100+2 || d.archive.asked("videos") != 2 {
		t.Errorf("%d and %d videos, %d units, %d calls for videos", worked[0].Videos, worked[1].Videos, d.used(t), d.archive.asked("videos"))
	}
	report, err := d.governor.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range report.Spent {
		if s.Who.Purpose != quota.Scheduled {
			t.Errorf("spent as %+v, want %v", s, quota.Scheduled)
		}
	}
}

func TestAScheduledSearchThatWasStoppedGoesOnAtItsToken(t *testing.T) {
	d, series := searches(t, 3)
	d.limit(150)
	if worked, err := d.run.Run(t.Context(), fetch.RunOptions{Series: series[:1]}); err != nil || states(worked) != "US stopped 1; " {
		t.Fatalf("%s %v, want \"US stopped 1; \"", states(worked), err)
	}
	d.limit(1000)
	d.now = d.now.Add(12 * time.Hour)
	worked, err := d.run.Run(t.Context(), fetch.RunOptions{Series: series[:1]})
	if err != nil || states(worked) != "US done 3; " || worked[0].Videos != 130 {
		t.Fatalf("%s %v, want \"US done 3; \" and 130", states(worked), err)
	}
	if twice := d.archive.twice(); twice != nil {
		t.Errorf("paid for twice: %q", twice)
	}
}

func TestASearchThatTheUpstreamHasNoWayToDoIsSkipped(t *testing.T) {
	d, series := searches(t, 3)
	d.run.Upstream = d.upstream
	worked, err := d.run.Run(t.Context(), fetch.RunOptions{Series: series[:1]})
	if err != nil || states(worked) != "US skipped 0; " || !strings.Contains(worked[0].Reason, "cannot be searched") {
		t.Errorf("%+v %v, want \"US skipped 0; \" and \"cannot be searched\" in it", worked, err)
	}
}

func TestAChartIsClaimedBesideABackfillAsEver(t *testing.T) {
	d, series := searches(t, 1)
	b := d.plan(t, ingest.BackfillVideos, d.ids(2)...)
	worked, err := d.run.Run(t.Context(), fetch.RunOptions{Series: series})
	if err != nil || states(worked) != "GB done 1; US done 1; " {
		t.Errorf("the schedule's run: %s %v, want \"GB done 1; US done 1; \"", states(worked), err)
	}
	d.want(t, b, "due 2; 0 videos")
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	d.want(t, b, "done 2; 50 videos") // 50 were found by the search
	if st := d.status(t, b); st.Known != 50 {
		t.Errorf("%d known, want 50", st.Known)
	}
}

// A search is expensive: an upstream that answers nothing is found out by one piece at a time, with few calls.
func TestAnOutageCostsABackfillOfSearchesLittle(t *testing.T) {
	for verdict, most := range map[fetch.CallVerdict]int{fetch.Broken: 4, fetch.Rejected: 2} {
		d := newDig(t, 400)
		d.run.Workers = 4
		d.archive.before = func(string) error { return fails(verdict) }
		b := d.plan(t, ingest.BackfillSearch, hours(3, 0), hours(2, 0), hours(4, 0), hours(5, 0), hours(6, 0))
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err == nil || !strings.Contains(err.Error(), "2 pieces in a row") {
			t.Errorf("%s: %v", verdict, err)
		}
		if n := d.archive.asked("search"); n > most {
			t.Errorf("%s: it cost %d searches, want at most %v", verdict, n, most)
		}
	}
}

// An upstream whose pages never end, and bring nothing new, is not split down to the second.
func TestPagesThatRepeatThemselvesSplitNothing(t *testing.T) {
	d := newDig(t, 1)
	d.archive.endless = true
	b := d.plan(t, ingest.BackfillSearch, hours(24, 0))
	if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
		t.Fatal(err)
	}
	if n := d.archive.asked("search"); n != 4 || d.status(t, b).Open() != 0 || d.status(t, b).Lacking != 1 {
		t.Errorf("%d searches, %v, want 4, 0 and 1", n, d.status(t, b).Pieces)
	}
}

// After 500 results the upstream ends a search, whether there are more or not: a search with that many counts as cut
// off.
func TestASliceOfAsManyAsASearchBringsIsSplit(t *testing.T) {
	for _, c := range []struct{ videos, searches int }{
		{489, 10},      // the last page is not full
		{500, 10 + 10}, // for nothing, which cannot be known: two halves of five pages
		{501, 10 + 11},
	} {
		d := newDig(t, c.videos)
		b := d.plan(t, ingest.BackfillSearch, hours(10, 0))
		if _, err := d.run.Run(t.Context(), fetch.RunOptions{Backfill: b}); err != nil {
			t.Fatal(err)
		}
		if st := d.status(t, b); d.archive.asked("search") != c.searches || st.Videos != c.videos || st.Open() != 0 {
			t.Errorf("%d videos in a slice: %d were fetched by %d searches, want %d", c.videos, st.Videos, d.archive.asked("search"), c.searches)
		}
	}
}
