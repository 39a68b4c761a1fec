package youtube_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

// shared lists recorded answers, or skips the test if this checkout has none.
func shared(t *testing.T, pattern string) []string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data", "recorded")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("../shared absent: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// notOurs are the recorded answers of methods that the program has no call for, and of writes.
var notOurs = map[string]bool{
	"youtube#activityListResponse": true, "youtube#guideCategoryListResponse": true, "youtube#i18nLanguageListResponse": true,
	"youtube#videoGetRatingResponse": true, "youtube#video": true, "youtube#channel": true, "youtube#playlistItem": true,
}

// TestEveryRecordedAnswerKeepsEveryStoredField serves recorded answers and compares the calls' results with the JSON,
// decoded by other code.
func TestEveryRecordedAnswerKeepsEveryStoredField(t *testing.T) {
	type tally struct{ answers, items int }
	seen := map[string]tally{}
	passed := 0
	for _, name := range shared(t, "[^e]*/*.json") { // errors are elsewhere
		body := readFile(t, name)
		var raw map[string]any
		if err := json.Unmarshal([]byte(body), &raw); err != nil {
			t.Fatal(err)
		}
		kind := textAt(raw, "kind")
		if notOurs[kind] {
			passed++
			continue
		}
		c, _ := serve(t, respond(http.StatusOK, body))
		items := raw["items"].([]any)
		compareRecorded(t, c, filepath.Base(name), kind, raw, items)
		seen[kind] = tally{seen[kind].answers + 1, seen[kind].items + len(items)}
	}
	for kind, n := range seen {
		t.Logf("%-36s %2d answers, %2d items, every stored field equal", kind, n.answers, n.items)
	}
	t.Logf("%d answers of other methods were left out", passed)
	if len(seen) != 6 {
		t.Errorf("%d kinds of answers, want 6", len(seen))
	}
}

func compareRecorded(t *testing.T, c *youtube.Client, name, kind string, raw map[string]any, items []any) {
	t.Helper()
	equal := func(what string, got, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s: %v\n got %+v\nwant %+v", name, what, err, got, want)
		}
	}
	next, total := textAt(raw, "nextPageToken"), 0
	if n, ok := at(raw, "pageInfo.totalResults").(float64); ok {
		total = int(n)
	}
	switch kind {
	case "youtube#videoListResponse":
		got, err := c.Chart("US", "", "").Do(t.Context())
		equal("chart", got, ingest.Page{Videos: each(items, func(o any) ingest.Video { return videoOf(t, o) }), Next: next}, err)
	case "youtube#searchListResponse":
		got, err := c.Search(ingest.Query{Text: "a"}, "").Do(t.Context())
		equal("search", got, ingest.Found{IDs: each(items, func(o any) string { return textAt(o, "id.videoId") }), Next: next, Total: total, Newest: got.Newest}, err)
	case "youtube#playlistItemListResponse":
		got, err := c.Uploads("UU1", "").Do(t.Context())
		equal("uploads", got, ingest.Found{IDs: each(items, func(o any) string { return textAt(o, "snippet.resourceId.videoId") }), Next: next, Total: total}, err)
	case "youtube#channelListResponse":
		for _, o := range items {
			got, err := c.Channel(textAt(o, "id")).Do(t.Context())
			equal("channel", got, ingest.Channel{
				ID: textAt(o, "id"), Title: textAt(o, "snippet.title"), Videos: numberAt(t, o, "statistics.videoCount"),
				Uploads: textAt(o, "contentDetails.relatedPlaylists.uploads"),
			}, err)
		}
	case "youtube#videoCategoryListResponse":
		got, err := c.Categories("US").Do(t.Context())
		equal("categories", got, each(items, func(o any) ingest.Category {
			return ingest.Category{ID: textAt(o, "id"), Name: textAt(o, "snippet.title")}
		}), err)
	case "youtube#i18nRegionListResponse": // we do not ask for it
	default:
		t.Errorf("%s: no call for %s", name, kind)
	}
}

// each maps the items that are not nothing.
func each[T any](items []any, of func(any) T) []T {
	var out []T
	for _, o := range items {
		if v := of(o); !reflect.ValueOf(v).IsZero() {
			out = append(out, v)
		}
	}
	return out
}

// at follows a path such as "snippet.title" through generic JSON; nil if there is nothing.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func textAt(v any, path string) string {
	s, _ := at(v, path).(string)
	return s
}

func numberAt(t *testing.T, v any, path string) *int64 {
	t.Helper()
	s, ok := at(v, path).(string)
	if !ok {
		return nil
	}
	var n int64
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return &n
}

// videoOf reads a video from generic JSON.
func videoOf(t *testing.T, item any) ingest.Video {
	t.Helper()
	v := ingest.Video{
		ID: textAt(item, "id"), Title: textAt(item, "snippet.title"), Channel: textAt(item, "snippet.channelTitle"),
		ChannelID: textAt(item, "snippet.channelId"), Category: textAt(item, "snippet.categoryId"),
		Language: cmp.Or(textAt(item, "snippet.defaultLanguage"), textAt(item, "snippet.defaultAudioLanguage")),
		Views:    numberAt(t, item, "statistics.viewCount"), Likes: numberAt(t, item, "statistics.likeCount"),
		Comments:    numberAt(t, item, "statistics.commentCount"),
		Description: textAt(item, "snippet.description"),
	}
	for _, size := range []string{"default", "medium", "high", "standard", "maxres", "fhd", "qhd", "uhd"} {
		v.Thumbnail = cmp.Or(textAt(item, "snippet.thumbnails."+size+".url"), v.Thumbnail)
	}
	published, err := time.Parse("2006-01-02T15:04:05.999999999Z", textAt(item, "snippet.publishedAt"))
	if err != nil {
		t.Fatal(err)
	}
	v.PublishedAt = published
	if textAt(item, "contentDetails.duration") != "" {
		t.Fatal("a recorded duration: got one, want none; compare durations here too")
	}
	if tags, ok := at(item, "snippet.tags").([]any); ok {
		for _, tag := range tags {
			v.Tags = append(v.Tags, tag.(string))
		}
	}
	return v
}
