package youtubesim_test

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestPagingLosesAndDoublesNothing(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	short := 0
	for region := range strings.FieldsSeq(regions) {
		want := ids(s.chart(region))
		if distinct := slices.Compact(slices.Sorted(slices.Values(want))); len(distinct) != len(want) || len(want) < 188 || len(want) > 200 {
			t.Errorf("%s: %d videos, %d distinct", region, len(want), len(distinct))
		}
		for i, p := range s.all(chartPath(region)) {
			if len(p) < 47 || len(p) > 50 || i > 3 {
				t.Errorf("%s: page %d holds %d, want at least 47, at most 50 and at most 3", region, i+1, len(p))
			}
			if len(p) < 50 && i < 3 {
				short++
			}
		}
		sizes := []string{"13"}
		if region == "US" {
			sizes = []string{"13", "1"}
		}
		for _, size := range sizes {
			var got []string
			for _, p := range s.all("videos?part=id&fields=nextPageToken,items/id&chart=mostPopular&regionCode=" + region + "&maxResults=" + size) {
				got = append(got, ids(p)...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: pages of %s give another chart, want %v", region, size, want)
			}
		}
	}
	if short < 3 {
		t.Errorf("%d short pages that are not the last, want some", short)
	}
}

func TestPageTokensAreTheRealOnes(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	first := s.list("videos?part=id&chart=mostPopular") // 5 by default
	if got := first["nextPageToken"]; got != "CAUQAA" {
		t.Errorf("behind 5: %v, want CAUQAA", got)
	}
	if got := s.list(chartPath("US"))["nextPageToken"]; got != "CDIQAA" {
		t.Errorf("behind 50: %v, want CDIQAA", got)
	}
	third := s.list("videos?part=id&chart=mostPopular&pageToken=CAoQAA")
	if third["nextPageToken"] != "CA8QAA" || third["prevPageToken"] != "CAoQAQ" {
		t.Errorf("third page: next %v, previous %v, want \"CA8QAA\" and \"CAoQAQ\"", third["nextPageToken"], third["prevPageToken"])
	}
	second := s.list("videos?part=id&chart=mostPopular&pageToken=CAUQAA")
	if got := s.list("videos?part=id&chart=mostPopular&pageToken=CAoQAQ"); !slices.Equal(ids(items(got)), ids(items(second))) {
		t.Errorf("the page before the third: got %v, want the second %v", ids(items(got)), ids(items(second)))
	}
	for _, bad := range []string{"CAUQAg", "CAUQA", "CAUQAA==", "CAUQAB", "BAUQAA", "CDJQAA", "CMkBEAA", "CIUAEAA", "x", "CAUQAACA", "Cib3_fGxJP____8"} {
		if status, body := s.ask(oneVideo + "&pageToken=" + url.QueryEscape(bad)); status != 400 || reason(body) != "invalidPageToken" {
			t.Errorf("token %s: status %d, %v, want 400 and \"invalidPageToken\"", bad, status, body)
		}
	}
}

func TestAChartHoldsForAStepAndDriftsFromSlotToSlot(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	const step = 30 * time.Minute // the default interval of a chart
	start := noon.Truncate(step)
	read := func(after time.Duration) any {
		s.clock.set(start.Add(after))
		return withoutEtags(s.list(chartPath("FR")))
	}
	first := read(0)
	if !reflect.DeepEqual(first, read(step-time.Nanosecond)) {
		t.Errorf("the chart a nanosecond before the step ends: got %v, want %v", read(step-time.Nanosecond), first)
	}
	later := read(step)
	a, b := items(first.(map[string]any)), items(later.(map[string]any))
	if slices.Equal(ids(a), ids(b)) {
		t.Errorf("the order after a step: got the same %v", ids(b))
	}
	views := map[string]string{}
	for _, v := range a {
		views[at(v, "id")] = at(v, "statistics/viewCount")
	}
	moved, stayed := 0, 0
	for _, v := range b {
		if was, ok := views[at(v, "id")]; ok {
			stayed++
			if was != at(v, "statistics/viewCount") {
				moved++
			}
		}
	}
	if stayed < len(a)*3/4 || moved < stayed/2 {
		t.Errorf("half an hour later %d of %d videos are still there, %d with other views", stayed, len(a), moved)
	}
	if !reflect.DeepEqual(first, read(0)) {
		t.Errorf("the same step again: got %v, want %v", read(0), first)
	}
	s.clock.set(start.Add(20 * 24 * time.Hour))
	for _, id := range ids(s.chart("FR")) {
		if slices.Contains(ids(a), id) {
			t.Fatalf("%s is still charted after 20 days", id)
		}
	}
	if got := items(s.list("videos?part=id&id=" + ids(a)[0])); len(got) != 1 {
		t.Errorf("a video charted 20 days ago: got %d items, want 1", len(got))
	}
	s.clock.set(start.Add(60 * 24 * time.Hour))
	if got := items(s.list("videos?part=id&id=" + ids(a)[0])); len(got) != 0 {
		t.Errorf("a video charted 60 days ago: got %d items, want 0", len(got))
	}
}

func TestTheSameSeedGivesTheSameAnswersButEtags(t *testing.T) {
	a, b, other := newStand(t, youtubesim.Options{Seed: 7}), newStand(t, youtubesim.Options{Seed: 7}), newStand(t, youtubesim.Options{Seed: 8})
	b.list(oneVideo) // earlier requests make no difference
	b.clock.set(noon.Add(100 * 24 * time.Hour))
	b.list(oneSearch)
	b.clock.set(noon)
	for _, path := range []string{chartPath("IN"), chartPath("CA") + "&pageToken=CDIQAA", "search?part=snippet&q=the&maxResults=50", "search?part=snippet&order=viewCount"} {
		x, y := a.list(path), b.list(path)
		if x["etag"] == y["etag"] || items(x)[0]["etag"] == items(y)[0]["etag"] {
			t.Errorf("%s: the etag did not change", path)
		}
		if !reflect.DeepEqual(withoutEtags(x), withoutEtags(y)) {
			t.Errorf("%s: the same seed gives another answer", path)
		}
		if slices.Equal(ids(items(x)), ids(items(other.list(path)))) && path[0] == 'v' {
			t.Errorf("%s: another seed gives the same videos", path)
		}
	}
}

func TestIDsHaveTheRealForm(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	video, channel := regexp.MustCompile(`^[A-Za-z0-9_-]{11}$`), regexp.MustCompile(`^UC[A-Za-z0-9_-]{22}$`)
	for _, v := range s.chart("BR") {
		if !video.MatchString(at(v, "id")) || !channel.MatchString(at(v, "snippet/channelId")) {
			t.Errorf("video %q of channel %q", at(v, "id"), at(v, "snippet/channelId"))
		}
	}
}

// snapshots reads every region's chart on days so far apart that no video is in two of them.
func snapshots(t *testing.T, seed uint64, n int) (perDay [][]map[string]any) {
	s := newStand(t, youtubesim.Options{Seed: seed})
	for i := range n {
		s.clock.set(noon.Add(time.Duration(i) * 12 * 24 * time.Hour))
		var rows []map[string]any
		for region := range strings.FieldsSeq(regions) {
			path := chartPath(region) + "&prettyPrint=false&fields=nextPageToken,items(id,snippet(tags,liveBroadcastContent),statistics,contentDetails/duration)"
			for _, p := range s.all(path) {
				rows = append(rows, p...)
			}
		}
		perDay = append(perDay, rows)
	}
	return perDay
}

func TestContentIsAsIncompleteAsTheRealOne(t *testing.T) {
	missing := map[string]int{}
	seen := map[string]bool{}
	for _, rows := range snapshots(t, 1, 8) {
		for _, v := range rows {
			if seen[at(v, "id")] {
				continue
			}
			seen[at(v, "id")] = true
			for _, field := range []string{"statistics/viewCount", "statistics/likeCount", "statistics/commentCount"} {
				if at(v, field) == "" {
					missing[field]++
				}
			}
			if v["snippet"].(map[string]any)["tags"] == nil {
				missing["tags"]++
			}
			live, length := at(v, "snippet/liveBroadcastContent"), at(v, "contentDetails/duration")
			if (live != "none") != (length == "P0D" || length == "") || (live == "live" && length == "") {
				t.Errorf("%s: %s with duration %s", at(v, "id"), live, length)
			}
			if live != "none" {
				missing[live+" "+length]++
			}
		}
	}
	for field, want := range map[string][2]float64{
		"statistics/viewCount": {0.006, 0.014}, "statistics/likeCount": {0.010, 0.020}, "statistics/commentCount": {0.032, 0.048},
		"tags": {0.17, 0.22}, "live P0D": {0.012, 0.028}, "upcoming P0D": {0.001, 0.005}, "upcoming ": {0.001, 0.005},
	} {
		if got := float64(missing[field]) / float64(len(seen)); got < want[0] || got > want[1] {
			t.Errorf("%s is missing in %.2f %% of %d videos, want %.1f to %.1f %%", field, 100*got, len(seen), 100*want[0], 100*want[1])
		}
	}
}

func TestRegionsShareRowsAsTheRealOnesDo(t *testing.T) {
	for seed := range uint64(3) {
		for i, rows := range snapshots(t, seed, 2) {
			distinct := slices.Compact(slices.Sorted(slices.Values(ids(rows))))
			if shared := 1 - float64(len(distinct))/float64(len(rows)); shared < 0.26 || shared > 0.33 {
				t.Errorf("seed %d, snapshot %d: %.1f %% of the rows are repeats, want about 29 %%", seed, i, 100*shared)
			}
		}
	}
}

func TestCountsGrowSlowlyAndAgreeBetweenMethods(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	first := s.chart("GB")
	s.clock.set(noon.Add(6 * time.Hour))
	later := map[string]map[string]any{}
	for chunk := range slices.Chunk(ids(first), 50) {
		for _, v := range items(s.list("videos?part=statistics&id=" + strings.Join(chunk, ","))) {
			later[at(v, "id")] = v
		}
	}
	grown := 0
	for _, v := range first {
		was, _ := strconv.Atoi(at(v, "statistics/viewCount"))
		is, _ := strconv.Atoi(at(later[at(v, "id")], "statistics/viewCount"))
		if is > was && is < 1000*was {
			grown++
		}
	}
	if len(later) != len(first) || grown < len(first)*8/10 {
		t.Errorf("%d of %d videos found by id, %d with more views", len(later), len(first), grown)
	}
	some := ids(first)[:50]
	for _, v := range items(s.list("videos:batchGetStats?part=statistics,snippet,contentDetails&id=" + strings.Join(some, ","))) {
		for _, n := range []string{"viewCount", "likeCount", "commentCount"} {
			if got, want := at(v, "statistics/"+n), at(later[at(v, "id")], "statistics/"+n); got != want {
				t.Errorf("%s: batchGetStats says %q %s, videos.list %q", at(v, "id"), got, n, want)
			}
		}
	}
}
