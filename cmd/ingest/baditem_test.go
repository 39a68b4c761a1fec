package main_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/dailymotionsim"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// badItem replaces a part of the first video of every page.
type badItem struct {
	name, part, by string // part is a pattern
	reason         string // which the slot's reason names
	lost           int    // videos of a page
}

const text = `"(?:[^"\\]|\\.)*"`

// One bad item per page costs a field or a video, never the page: all pages come with one call each, the slot's
// reason names the omitted parts, and the ledger equals the upstream's count.
func TestOneBadItemIsOneBadItem(t *testing.T) {
	sim, err := youtubesim.New(youtubesim.Options{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	spoilPages(t, "youtube", sim, func() int64 { return sim.Ledger().Units["units"] }, 4, []badItem{
		{"none", `"items"`, `"items"`, "", 0},
		{"a number for an id", `"id":\s*` + text, `"id":7`, "left out, without a usable id: 4", 1},
		{"a number for a title", `"title":\s*` + text, `"title":7`, "snippet.title of 4", 0},
		{"bytes for a title", `"title":\s*` + text, "\"title\":\"\xff\xfe\"", "text that is not UTF-8 of 4", 1},
		{"null for an object", `"contentDetails":\s*\{[^{}]*\}`, `"contentDetails":null`, "", 0},
		{"a number for an object", `"contentDetails":\s*\{[^{}]*\}`, `"contentDetails":7`, "contentDetails of 4", 0},
		{"a bad date", `"publishedAt":\s*` + text, `"publishedAt":"yesterday"`, "snippet.publishedAt of 4", 0},
		{"a count that overflows", `"viewCount":\s*` + text, `"viewCount":"99999999999999999999"`, "statistics.viewCount of 4", 0},
	})
	other, err := dailymotionsim.New(dailymotionsim.Options{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_UPSTREAM", "dailymotion")
	spoilPages(t, "dailymotion", other, func() int64 { return other.Ledger().Units["calls"] }, 2, []badItem{
		{"none", `"list"`, `"list"`, "", 0},
		{"a comma in an id", `"id":\s*` + text, `"id":"a,b"`, "left out, without a usable id: 2", 1},
		{"an object for a title", `"title":\s*` + text, `"title":{}`, "title of 2", 0},
		{"a count that overflows", `"views_total":\s*\d+`, `"views_total":99999999999999999999`, "views_total of 2", 0},
	})
}

// spoilPages runs a region's chart of the given number of pages once for each item. The first item changes nothing:
// the others are compared with it.
func spoilPages(t *testing.T, upstream string, sim http.Handler, charged func() int64, pages int, items []badItem) {
	t.Helper()
	var spoil atomic.Pointer[badItem]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		sim.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		at := regexp.MustCompile(spoil.Load().part).FindIndex(body)
		switch {
		case r.Method != http.MethodGet:
		case at == nil || answer.Code != http.StatusOK:
			t.Errorf("%s, %s: %d has nothing to spoil: %.200s", upstream, spoil.Load().name, answer.Code, body)
		default:
			body = append(append(append([]byte{}, body[:at[0]]...), spoil.Load().by...), body[at[1]:]...)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	videos := 0
	for _, item := range items {
		spoil.Store(&item)
		t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
		before := charged()
		slot := ingestJSON[runDocument](t, exitOK, "run", "--region", "US").Regions[0]
		if item.name == "none" {
			videos = slot.Videos
		}
		if slot.Outcome != ingest.Done || slot.Pages != pages || slot.Videos != videos-pages*item.lost || videos < pages*20 {
			t.Errorf("%s, %s: %s with %d pages and %d videos, of %d", upstream, item.name, slot.Outcome, slot.Pages, slot.Videos, videos)
		}
		if !strings.Contains(slot.Reason, item.reason) || item.reason == "" && slot.Reason != "" {
			t.Errorf("%s, %s: the reason is %q", upstream, item.name, slot.Reason)
		}
		used, counted := ingestJSON[quotaDocument](t, exitOK, "quota").Pools, charged()-before
		most := int64(0)
		for _, pool := range used {
			most = max(most, pool.Windows[0].Used)
		}
		if most != counted || counted != int64(pages) {
			t.Errorf("%s, %s: %d by the ledger, %d by the upstream, for %d pages", upstream, item.name, most, counted, pages)
		}
	}
}
