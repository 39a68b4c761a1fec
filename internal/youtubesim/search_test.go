package youtubesim_test

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestSearchEndsAtFiveHundredWithRepeatsAndLooseTotals(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	var all []string
	totals := map[any]bool{}
	token := ""
	for range 11 {
		body := s.list("search?part=snippet&type=video&maxResults=50" + token)
		totals[body["pageInfo"].(map[string]any)["totalResults"]] = true
		for _, i := range items(body) {
			if i["statistics"] != nil || at(i, "id/videoId") == "" || at(i, "snippet/title") == "" {
				t.Fatalf("item %v", i)
			}
			all = append(all, at(i, "id/videoId"))
		}
		next, more := body["nextPageToken"].(string)
		if !more {
			break
		}
		token = "&pageToken=" + next
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(all)))
	if len(all) != 500 || len(distinct) == 500 || len(distinct) < 450 || len(totals) < 3 {
		t.Errorf("%d results, %d distinct, totals %v", len(all), len(distinct), totals)
	}
	if body := s.list("search?part=id&maxResults=0"); len(items(body)) != 0 || body["nextPageToken"] != nil {
		t.Errorf("maxResults=0 gives %v", body)
	}
}

func TestSearchFilters(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	one := s.chart("DE")[0]
	id, channel, title := at(one, "id"), at(one, "snippet/channelId"), at(one, "snippet/title")
	after, before := noon.Add(-50*time.Hour).Format(time.RFC3339), noon.Add(-20*time.Hour).Format(time.RFC3339)
	find := func(q string) []map[string]any {
		t.Helper()
		return items(s.list("search?part=snippet&maxResults=50&" + q))
	}
	has := func(list []map[string]any, id string) bool {
		return slices.ContainsFunc(list, func(i map[string]any) bool { return at(i, "id/videoId") == id })
	}
	word := url.QueryEscape(longestWord(title))
	if !has(find("q="+word), id) || !has(find("type=video&regionCode=DE&q="+strings.ToUpper(word)), id) {
		t.Errorf("%q is not found by %q", title, word)
	}
	if has(find("q="+word+"+-"+word), id) || !has(find("q=nothinglikethis%7C"+word), id) || len(find("q=nothinglikethis")) != 0 {
		t.Errorf("%q and its id %s with - and |: got other results than their meaning", word, id)
	}
	for _, i := range find("type=video&channelId=" + channel) {
		if at(i, "snippet/channelId") != channel {
			t.Errorf("channelId gives %v, want %v", i, channel)
		}
	}
	inRange := find("type=video&publishedAfter=" + after + "&publishedBefore=" + before)
	for _, i := range inRange {
		if p := at(i, "snippet/publishedAt"); p < after || p > before {
			t.Errorf("published %s is not in %s..%s", p, after, before)
		}
	}
	if len(inRange) != 50 {
		t.Errorf("%d results in 30 hours, want 50", len(inRange))
	}
	if got := dates(find("type=video&order=date")); !slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(b, a) }) {
		t.Errorf("order=date gives %v", got)
	}
	channels := find("type=channel&q=a")
	if len(channels) == 0 || at(channels[0], "id/channelId") == "" {
		t.Errorf("type=channel gives %v", channels)
	}
	if got := find("type=playlist&q=a"); len(got) != 0 {
		t.Errorf("type=playlist gives %v, want none", got)
	}
}

// dates returns the dates of every video's first occurrence: results may repeat.
func dates(list []map[string]any) (out []string) {
	seen := map[string]bool{}
	for _, i := range list {
		if id := at(i, "id/videoId"); !seen[id] {
			seen[id] = true
			out = append(out, at(i, "snippet/publishedAt"))
		}
	}
	return out
}

func TestUploadsOfAChannelAreFoundByWayOfItsPlaylist(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	v := s.chart("FR")[3]
	channel := at(v, "snippet/channelId")
	c := items(s.list("channels?part=snippet,contentDetails,statistics&id=" + channel))
	if len(c) != 1 || at(c[0], "snippet/title") != at(v, "snippet/channelTitle") {
		t.Fatalf("channel %v", c)
	}
	uploads := at(c[0], "contentDetails/relatedPlaylists/uploads")
	if uploads != "UU"+strings.TrimPrefix(channel, "UC") {
		t.Errorf("uploads %q of channel %q", uploads, channel)
	}
	handle := url.QueryEscape(at(c[0], "snippet/customUrl"))
	if got := items(s.list("channels?part=id&forHandle=" + handle)); len(got) != 1 || at(got[0], "id") != channel {
		t.Errorf("handle %s gives %v, want 1 and %v", handle, got, channel)
	}
	var found []string
	for _, p := range s.all("playlistItems?part=snippet,contentDetails&maxResults=7&playlistId=" + uploads) {
		for _, i := range p {
			found = append(found, at(i, "contentDetails/videoId"))
			if at(i, "snippet/channelId") != channel {
				t.Errorf("item %v, want %v", i, channel)
			}
		}
	}
	if !slices.Contains(found, at(v, "id")) || len(found) != len(slices.Compact(slices.Sorted(slices.Values(found)))) {
		t.Errorf("uploads %v lack %s or repeat", found, at(v, "id"))
	}
	if body := s.list("channels?part=id&id=UCnone"); body["items"] != nil {
		t.Errorf("an unknown channel gives %v", body)
	}
}

func TestCategoryChartsHoldThatCategoryOnly(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	for _, v := range items(s.list(chartPath("US") + "&videoCategoryId=20")) {
		if at(v, "snippet/categoryId") != "20" {
			t.Errorf("%s is of category %s, want \"20\"", at(v, "id"), at(v, "snippet/categoryId"))
		}
	}
	if status, body := s.ask(chartPath("US") + "&videoCategoryId=19"); status != 404 || reason(body) != "notFound" {
		t.Errorf("a category without a chart: %d %v", status, body)
	}
	if got, want := len(items(s.list(chartPath("US")+"&videoCategoryId=0"))), len(items(s.list(chartPath("US")))); got != want {
		t.Errorf("category 0 has %d, the whole chart %d", got, want)
	}
	if got := items(s.list("videoCategories?part=snippet&id=10,20")); len(got) != 2 || at(got[0], "snippet/title") != "Music" {
		t.Errorf("categories %v, want 2 and \"Music\"", got)
	}
	if got := items(s.list("i18nRegions?part=snippet")); len(got) < 100 || at(got[0], "snippet/gl") != "AE" {
		t.Errorf("%d regions, want 100 or more, AE first", len(got))
	}
}
