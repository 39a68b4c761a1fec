package youtubesim_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

const regions = "US GB DE FR IN BR AU CA"

// noon is a quiet moment: no day ends near it.
var noon = time.Date(2026, 11, 21, 20, 10, 0, 0, time.UTC)

// clock is a hand-moved time.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

// stand is a server under test, asked without a network.
type stand struct {
	*youtubesim.Server
	t     *testing.T
	clock *clock
}

func newStand(t *testing.T, o youtubesim.Options) *stand {
	t.Helper()
	c := &clock{t: noon}
	if o.Now == nil {
		o.Now = c.now
	}
	s, err := youtubesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &stand{s, t, c}
}

// ask sends a GET below /youtube/v3/ and decodes the answer.
func (s *stand) ask(path string) (int, map[string]any) {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/youtube/v3/"+path, nil))
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		s.t.Fatalf("%s: %v in %q", path, err, w.Body.String())
	}
	return w.Code, body
}

// list sends a call that must succeed.
func (s *stand) list(path string) map[string]any {
	s.t.Helper()
	status, body := s.ask(path)
	if status != http.StatusOK {
		s.t.Fatalf("%s: status %d: %v, want %v", path, status, body, http.StatusOK)
	}
	return body
}

func items(body map[string]any) []map[string]any {
	var out []map[string]any
	list, _ := body["items"].([]any)
	for _, i := range list {
		out = append(out, i.(map[string]any))
	}
	return out
}

// all follows the page tokens; path has no pageToken.
func (s *stand) all(path string) (pages [][]map[string]any) {
	s.t.Helper()
	token := ""
	for {
		body := s.list(path + token)
		pages = append(pages, items(body))
		next, more := body["nextPageToken"].(string)
		if !more {
			return pages
		}
		token = "&pageToken=" + url.QueryEscape(next)
	}
}

func (s *stand) chart(region string) (all []map[string]any) {
	s.t.Helper()
	for _, p := range s.all(chartPath(region) + "&prettyPrint=false") {
		all = append(all, p...)
	}
	return all
}

func chartPath(region string) string {
	return "videos?part=snippet,statistics,contentDetails&chart=mostPopular&maxResults=50&regionCode=" + region
}

// at follows a path such as "snippet/title" into nested objects; "" if there is nothing.
func at(o map[string]any, path string) string {
	parts := strings.Split(path, "/")
	for _, p := range parts[:len(parts)-1] {
		o, _ = o[p].(map[string]any)
	}
	s, _ := o[parts[len(parts)-1]].(string)
	return s
}

func ids(items []map[string]any) (out []string) {
	for _, i := range items {
		out = append(out, at(i, "id"))
	}
	return out
}

// reason returns the first reason of an error body.
func reason(body map[string]any) string {
	e, _ := body["error"].(map[string]any)
	list, _ := e["errors"].([]any)
	if len(list) == 0 {
		return ""
	}
	return at(list[0].(map[string]any), "reason")
}

// shared returns the path of recorded data that lies next to a checkout, or skips.
func shared(t *testing.T, path string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("../shared absent: recorded answers and charts are not compared")
	}
	return filepath.Join(dir, path)
}

// withoutEtags drops every etag, in place.
func withoutEtags(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "etag")
		for _, e := range v {
			withoutEtags(e)
		}
	case []any:
		for _, e := range v {
			withoutEtags(e)
		}
	}
	return v
}
