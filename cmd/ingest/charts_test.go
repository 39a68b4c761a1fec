package main_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/regions"
)

func TestAChartMatchesTheUpstreamsChart(t *testing.T) {
	dir := charts(t)
	for _, day := range []string{"2025-12-10"} {
		t.Run(day, func(t *testing.T) {
			sim := standIn(t, youtubesim.Options{ChartsDir: dir, Day: day})
			at(t, day+"T12:00:00Z")
			run := ingestJSON[runDocument](t, exitOK, "run")
			if run.Units != 8 || len(run.Regions) != 8 {
				t.Errorf("%d units for %d regions, want 8 and 8", run.Units, len(run.Regions))
			}
			for _, region := range regions.Default() {
				got := ingestJSON[chartDocument](t, exitOK, "chart", string(region))
				compareChart(t, got, recorded(t, dir, string(region), day))
			}
			sameCount(t, sim)
			if again := ingestJSON[runDocument](t, exitOK, "run"); again.Units != 0 {
				t.Errorf("a second run of the slots spent %d, want 0", again.Units)
			}
		})
	}
}

func compareChart(t *testing.T, got chartDocument, want []map[string]string) {
	t.Helper()
	if len(got.Items) != len(want) {
		t.Fatalf("%s: %d videos, want %d", got.Region, len(got.Items), len(want))
	}
	for i, row := range want {
		item := got.Items[i]
		published, err := time.Parse(time.RFC3339, strings.Replace(row["published_at"], " ", "T", 1))
		if err != nil {
			t.Fatal(err)
		}
		have := []string{strconv.Itoa(item.Rank), item.VideoID, item.Title, item.Channel, item.ChannelID, item.Category,
			item.PublishedAt.Format(time.RFC3339), strconv.FormatInt(item.DurationS, 10), tagSet(item.Tags), count(item.Views), count(item.Likes), count(item.Comments)}
		wants := []string{row["rank"], row["video_id"], row["title"], row["channel_title"], row["channel_id"], row["category_id"],
			published.UTC().Format(time.RFC3339), row["duration"], tagSet(strings.Split(row["tags"], ", ")), row["views"], row["likes"], row["comments"]}
		if !slices.Equal(have, wants) {
			t.Fatalf("%s rank %d:\n have %q\n want %q", got.Region, i+1, have, wants)
		}
	}
}

func tagSet(tags []string) string {
	tags = slices.DeleteFunc(slices.Clone(tags), func(s string) bool { return s == "" })
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ", ")
}

func count(n *int64) string {
	if n == nil {
		return "0" // the charts have 0 for a withheld count
	}
	return strconv.FormatInt(*n, 10)
}

// sameCount compares the ledger with the upstream's own count.
func sameCount(t *testing.T, sim *youtubesim.Server) {
	t.Helper()
	counted := sim.Ledger()
	for _, p := range ingestJSON[quotaDocument](t, exitOK, "quota").Pools {
		for _, w := range p.Windows {
			if w.Used != counted.Units[p.Pool] {
				t.Errorf("pool %s, window %s: %d used by the ledger, %d counted by the upstream", p.Pool, w.Window, w.Used, counted.Units[p.Pool])
			}
		}
	}
}

func TestThreeDaysLoseAndDoubleNothing(t *testing.T) {
	loseAndDoubleNothing(t, "2026-02-12", "2026-02-13", "2026-02-14")
}

func TestLongTenDaysLoseAndDoubleNothing(t *testing.T) {
	loseAndDoubleNothing(t, "2026-02-05", "2026-02-06", "2026-02-07", "2026-02-08", "2026-02-09",
		"2026-02-10", "2026-02-11", "2026-02-12", "2026-02-13", "2026-02-14")
}

func loseAndDoubleNothing(t *testing.T, days ...string) {
	t.Helper()
	dir := charts(t)
	data := ""
	for _, day := range days {
		standIn(t, youtubesim.Options{ChartsDir: dir, Day: day})
		if data == "" {
			data = t.TempDir()
		}
		t.Setenv("INGEST_DATA", data)
		// The stand-in of each day has a port of its own; the store must take them for one upstream.
		at(t, day+"T12:00:00Z")
		ingestJSON[runDocument](t, exitOK, "run")
	}
	for _, day := range days {
		for _, region := range regions.Default() {
			got := ingestJSON[chartDocument](t, exitOK, "chart", string(region), "--at", day+"T12:00:00Z")
			want := recorded(t, dir, string(region), day)
			if len(got.Items) != len(want) {
				t.Fatalf("%s on %s: %d placements, want %d", region, day, len(got.Items), len(want))
			}
			for i, row := range want {
				if got.Items[i].VideoID != row["video_id"] || count(got.Items[i].Views) != row["views"] {
					t.Fatalf("%s on %s, rank %d: %s with %s views, want %s with %s", region, day, i+1,
						got.Items[i].VideoID, count(got.Items[i].Views), row["video_id"], row["views"])
				}
			}
		}
	}
}

func TestACutRunGoesOnWithTheRegionsThatWereCut(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 7})
	at(t, "2026-02-14T09:40:00Z")
	t.Setenv("INGEST_PACING", "off") // it would begin no chart that it cannot finish
	t.Setenv("INGEST_COSTS", limits(t, "20"))
	first := ingestJSON[runDocument](t, exitStopped, "run")
	if first.RetryAt == nil || first.Units != 19 { // 95 % of 20
		t.Errorf("%d units, retry at %v; want 19 and a time", first.Units, first.RetryAt)
	}
	if n := sim.Ledger().Units["units"]; n > 20 {
		t.Errorf("the upstream saw %d, above the limit of 20", n)
	}
	sameCount(t, sim)
	var done, cut []string
	for _, r := range first.Regions {
		if r.Outcome == "done" {
			done = append(done, r.Region)
		} else {
			cut = append(cut, r.Region)
		}
	}
	kept := ingestJSON[chartDocument](t, exitOK, "chart", cut[0], "--partial")
	if len(kept.Items) != first.Regions[len(done)].Videos {
		t.Errorf("%d videos of the cut chart are kept, the run said %d", len(kept.Items), first.Regions[len(done)].Videos)
	}

	t.Setenv("INGEST_COSTS", limits(t, "40"))
	before := len(sim.Log())
	ingestJSON[runDocument](t, exitOK, "run")
	var order []string
	for _, call := range sim.Log()[before:] {
		order = append(order, call.Region)
	}
	if order = slices.Compact(order); !sameElements(order, cut) {
		t.Errorf("the second run called for %v, want the regions that were cut, %v", order, cut)
	}
	if n := sim.Ledger().Units["units"]; n != 32 {
		t.Errorf("%d units in all, want 32: no page was fetched twice", n)
	}
}

func sameElements(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// The upstream refuses at 20 although the ledger expects 10,000: that is doubted, and probed by one call each, in the
// end every two hours. Near midnight its refusal closes the pool.
func TestTheUpstreamsOwnLimitIsFinal(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 7, Limits: map[string]int64{"units": 20}})
	now := at(t, "2026-02-14T20:00:00Z") // far from the provider's midnight
	run := ingestJSON[runDocument](t, exitStopped, "run")
	counted := sim.Ledger()
	learned := counted.Refused["units"] // four regions are fetched at once
	if counted.Units["units"] != 20 || learned < 1 || learned > 4 {
		t.Errorf("%d units and %d refusals: want 20, and one call of each region at work to learn it", counted.Units["units"], learned)
	}
	for probe, closed := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 2 * time.Hour} {
		if run.RetryAt == nil || run.RetryAt.Before(now.Add(closed*7/10)) || run.RetryAt.After(now.Add(closed*13/10)) {
			t.Fatalf("retry at %v, want one in about %v from %v", run.RetryAt, closed, now)
		}
		ingestJSON[runDocument](t, exitStopped, "run")
		if again := sim.Ledger(); again.Refused["units"] != learned+int64(probe) {
			t.Errorf("a run before that asked a spent upstream: %d refusals", again.Refused["units"])
		}
		now = at(t, run.RetryAt.Add(2*time.Second).Format(time.RFC3339))
		run = ingestJSON[runDocument](t, exitStopped, "run")
		if again := sim.Ledger(); again.Refused["units"] != learned+int64(probe)+1 {
			t.Errorf("probe %d: %d refusals, want %d", probe+1, again.Refused["units"], learned+int64(probe)+1)
		}
	}
	for probe := 0; run.RetryAt != nil && run.RetryAt.In(pacific(t)).Hour() != 0 && probe < 6; probe++ {
		at(t, run.RetryAt.Add(2*time.Second).Format(time.RFC3339))
		run = ingestJSON[runDocument](t, exitStopped, "run")
	}
	if run.RetryAt == nil || run.RetryAt.In(pacific(t)).Hour() != 0 {
		t.Errorf("retry at %v, want the provider's midnight", run.RetryAt)
	}
	if q := ingestJSON[quotaDocument](t, exitOK, "quota"); q.Pools[2].DrainedUntil == nil || q.Pools[2].Drift == 0 {
		t.Errorf("the report does not name the drain: %+v", q.Pools[2])
	}
}

func pacific(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestTheLongestWordOfATitleFindsIt(t *testing.T) {
	dir := charts(t)
	for _, day := range []string{"2026-01-20", "2026-02-14"} {
		standIn(t, youtubesim.Options{ChartsDir: dir, Day: day})
		at(t, day+"T12:00:00Z")
		ingestJSON[runDocument](t, exitOK, "run")
		for _, region := range regions.Default() {
			top := recorded(t, dir, string(region), day)[0]
			findsVideo(t, longest(strings.Fields(top["title"])), top["video_id"])
		}
	}
}

func TestIndianScriptsAreFoundByTheirWords(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 3})
	ingestJSON[runDocument](t, exitOK, "run")
	for _, script := range []*unicode.RangeTable{unicode.Devanagari, unicode.Tamil} {
		found := 0
		for _, item := range ingestJSON[chartDocument](t, exitOK, "chart", "IN").Items {
			words := strings.FieldsFunc(item.Title, func(r rune) bool { return !unicode.Is(script, r) })
			if word := longest(words); utf8.RuneCountInString(word) > 3 && found < 5 {
				findsVideo(t, word, item.VideoID)
				found++
			}
		}
		if found == 0 {
			t.Errorf("the generated chart of India has no title in %v", script)
		}
	}
}

func findsVideo(t *testing.T, word, id string) {
	t.Helper()
	items := ingestJSON[searchDocument](t, exitOK, "search", "--", word).Items
	for _, item := range items[:min(20, len(items))] {
		if item.VideoID == id {
			return
		}
	}
	found, _ := json.Marshal(items)
	t.Errorf("%q does not find %s in its first 20: %s", word, id, found)
}

func longest(words []string) string {
	return slices.MaxFunc(append([]string{""}, words...), func(a, b string) int {
		return utf8.RuneCountInString(a) - utf8.RuneCountInString(b)
	})
}
