package youtube_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

var verdicts = []fetch.CallVerdict{
	fetch.Spent, fetch.Burst, fetch.BadKey, fetch.NoChart, fetch.BadToken, fetch.BadRegion, fetch.Broken, fetch.Rejected,
}

// FuzzAnAnswerIsUnderstoodWholeOrNotAtAll gives any status and body to every call.
func FuzzAnAnswerIsUnderstoodWholeOrNotAtAll(f *testing.F) {
	for _, body := range []string{
		"", "{}", "<html>", `{"items":[]}`, `{"items":[{"id":"v"}],"nextPageToken":"T"}`, `{"items":[{"id":{"videoId":"v"}}]}`,
		`{"items":[{"id":"v","snippet":{"publishedAt":"2026-02-14T01:02:03Z","tags":["a"],"thumbnails":{"uhd":{"url":"https://i"}},` +
			`"liveBroadcastContent":"upcoming"},"contentDetails":{"duration":"PT1H"},"statistics":{"viewCount":"1","likeCount":"-1"}}]}`,
		`{"kind":"youtube#channelListResponse","items":[{"id":"UC1","snippet":{"title":"\u0000\ud800"},"statistics":{"videoCount":"7"}}]}`,
		`{"items":[{"snippet":{"gl":"US","title":"x","resourceId":{"videoId":"v"}},"id":"1"}]}`,
		envelope(403, "quotaExceeded", "", ""), envelope(429, "rateLimitExceeded", "RATE_LIMIT_EXCEEDED", `"quota_unit":"1/d/{project}"`),
		envelope(400, canary, "API_KEY_INVALID", ""), "{\"items\":[{\"id\":\"\xff\"}]}", `{"items":` + strings.Repeat("[", 200),
	} {
		for _, status := range []uint16{200, 400, 403, 404, 429, 502} {
			f.Add(status, []byte(body))
		}
	}
	c := clientOf(f, "http://127.0.0.1:1/", time.Second)
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		for name, call := range everyCall(c) {
			got, err := youtube.Understand(c, name, int(status), body)
			if err == nil {
				if status != http.StatusOK || !json.Valid(body) {
					t.Fatalf("%s understands %d %q", name, status, body)
				}
				soundAnswer(t, got)
				continue
			}
			fe, ok := errors.AsType[*fetch.Error](err)
			switch {
			case !ok:
				t.Fatalf("%s: %T: %v", name, err, err)
			case !slices.Contains(verdicts, fe.Verdict) || fe.Method != call.Method || (fe.Pool != "" && fe.Verdict != fetch.Spent):
				t.Fatalf("%s: %+v, want a known verdict of %s, and a pool only if it is spent", name, fe, call.Method)
			case !reflect.ValueOf(got).IsZero():
				t.Fatalf("%s: an error came with %+v", name, got)
			case strings.Contains(err.Error(), canary) || len(err.Error()) > 4*600 || strings.ContainsFunc(err.Error(), unicode.IsControl):
				t.Fatalf("%s: %q, want a short text without secrets and control characters", name, err)
			}
		}
	})
}

// soundAnswer checks the promises of an answer from any source.
func soundAnswer(t *testing.T, answer any) {
	t.Helper()
	sound := func(ok bool, what string) {
		t.Helper()
		if !ok {
			t.Fatalf("%s: %+v", what, answer)
		}
	}
	count := func(n *int64) { t.Helper(); sound(n == nil || *n >= 0, "a negative count") }
	switch a := answer.(type) {
	case ingest.Page:
		sound(len(a.Videos) <= 50 && len(a.Next) <= 1024, "too much")
		for _, v := range a.Videos {
			sound(v.ID != "", "no id")
			sound(v.Duration >= 0 && v.Duration%time.Second == 0 && (!v.Live || v.Duration == 0), "a duration")
			sound(v.Thumbnail == "" || strings.HasPrefix(v.Thumbnail, "https://"), "a thumbnail")
			sound(v.PublishedAt.Location() == time.UTC, "a time zone")
			count(v.Views)
			count(v.Likes)
			count(v.Comments)
		}
	case ingest.Found:
		sound(len(a.IDs) <= 50 && len(a.Next) <= 1024 && !slices.Contains(a.IDs, ""), "what was found")
	case []ingest.Counts:
		sound(len(a) <= 50, "too much")
		for _, v := range a {
			sound(v.ID != "", "no id")
			count(v.Views)
			count(v.Likes)
			count(v.Comments)
		}
	case ingest.Channel:
		sound(a.ID != "", "no id")
		count(a.Videos)
	case []ingest.Category:
		sound(len(a) <= 300 && !slices.ContainsFunc(a, func(c ingest.Category) bool { return c.ID == "" || c.Name == "" }), "a category")
	case []ingest.Region:
		sound(len(a) <= 300 && !slices.ContainsFunc(a, func(r ingest.Region) bool { return len(r) != 2 }), "a region")
	default:
		t.Fatalf("%T", answer)
	}
}
