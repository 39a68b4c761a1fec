package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// lyingAnswer changes a true answer of the upstream into one that no upstream should give.
type lyingAnswer struct {
	name   string
	change func(status int, h http.Header, body []byte) (int, []byte)
}

func rewritten(pattern, text string) func(int, http.Header, []byte) (int, []byte) {
	re := regexp.MustCompile(pattern)
	return func(status int, _ http.Header, body []byte) (int, []byte) {
		return status, re.ReplaceAll(body, []byte(text))
	}
}

func instead(status int, body string, header ...string) func(int, http.Header, []byte) (int, []byte) {
	return func(_ int, h http.Header, _ []byte) (int, []byte) {
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return status, []byte(body)
	}
}

// items changes the list of items.
func items(change func([]any) any) func(int, http.Header, []byte) (int, []byte) {
	return func(status int, _ http.Header, body []byte) (int, []byte) {
		var doc map[string]any
		if err := json.Unmarshal(body, &doc); err != nil {
			return status, body
		}
		all, _ := doc["items"].([]any)
		doc["items"] = change(all)
		body, _ = json.Marshal(doc)
		return status, body
	}
}

func eachItem(change func(item map[string]any) any) func(int, http.Header, []byte) (int, []byte) {
	return items(func(all []any) any {
		for i, item := range all {
			all[i] = change(item.(map[string]any))
		}
		return all
	})
}

// lyingAnswers are all lies. The last one makes up videos in charts, which later answers would rightly take away.
var lyingAnswers = []lyingAnswer{
	{"a JSON that is cut, at its declared length", func(status int, _ http.Header, body []byte) (int, []byte) { return status, body[:len(body)*2/3] }},
	{"items: null", items(func([]any) any { return nil })},
	{"items: a text", items(func([]any) any { return "videos" })},
	{"items: [1, 2]", items(func([]any) any { return []any{1, 2} })},
	{"items: [null, null]", items(func([]any) any { return []any{nil, nil} })},
	{"items of another kind", eachItem(func(map[string]any) any { return map[string]any{"kind": "youtube#activity", "id": "x"} })},
	{"items without ids", eachItem(func(i map[string]any) any { delete(i, "id"); delete(i, "contentDetails"); return i })},
	{"ids that are numbers", eachItem(func(i map[string]any) any { i["id"] = 7; return i })},
	{"ids with a space", eachItem(func(i map[string]any) any { i["id"] = " " + fmt.Sprint(i["id"]); return i })},
	{"ids of 5,000 characters", eachItem(func(i map[string]any) any { i["id"] = strings.Repeat("a", 5000); return i })},
	{"one item many times", items(func(all []any) any {
		for i := range all {
			all[i] = all[0]
		}
		return all
	})},
	{"each item twice", items(func(all []any) any { return append(all, all...) })},
	{"200 with an error", instead(200, `{"error":{"code":403,"message":"The request cannot be completed because you have exceeded your quota.","errors":[{"reason":"quotaExceeded"}]}}`)},
	{"200 with an error beside the items", rewritten(`^\s*\{`, `{"error":{"code":500,"message":"Internal error"},`)},
	{"gzip that is none", instead(200, `{"items": []}`, "Content-Encoding", "gzip")},
	{"an unknown encoding", func(s int, h http.Header, b []byte) (int, []byte) { h.Set("Content-Encoding", "zstd"); return s, b }},
	{"304", instead(304, "")},
	{"204", instead(204, "")},
	{"206, a part", func(s int, h http.Header, b []byte) (int, []byte) {
		h.Set("Content-Range", "bytes 0-99/9999")
		return 206, b
	}},
	{"203, changed by a proxy", func(s int, _ http.Header, b []byte) (int, []byte) { return 203, b }},
	{"a redirect to http", instead(302, "", "Location", "http://portal.example/login")},
	{"a redirect to itself", instead(307, "", "Location", "/youtube/v3/videos?part=id&chart=mostPopular")},
	{"a portal's page with 200", instead(200, "<!DOCTYPE html><html><title>Welcome to Free WiFi</title><form>Accept the terms</form></html>", "Content-Type", "text/html")},
	{"{}", instead(200, "{}")},
	{"null", instead(200, "null")},
	{"[]", instead(200, "[]")},
	{"a list in an array", func(s int, _ http.Header, b []byte) (int, []byte) { return s, append(append([]byte("["), b...), ']') }},
	{"the list of another method", instead(200, `{"kind":"youtube#channelListResponse","pageInfo":{"totalResults":0,"resultsPerPage":5}}`)},
	{"two documents", func(s int, _ http.Header, b []byte) (int, []byte) {
		return s, append(bytes.Clone(b), `{"items": []}`...)
	}},
	{"a byte order mark", func(s int, _ http.Header, b []byte) (int, []byte) { return s, append([]byte("\ufeff"), b...) }},
	{"bytes that are no UTF-8", func(s int, _ http.Header, b []byte) (int, []byte) {
		return s, bytes.ReplaceAll(b, []byte(`"title": "`), []byte("\"title\": \"\xff\xfe\xc3"))
	}},
	{"items given twice, empty at last", rewritten(`\}\s*$`, `,"items":[]}`)},
	{"counts beyond int64", rewritten(`"viewCount": ?"\d+"`, `"viewCount":"99999999999999999999"`)},
	{"no statistics", eachItem(func(i map[string]any) any { delete(i, "statistics"); return i })},
	{"dates that are none", rewritten(`"publishedAt": ?"[^"]*"`, `"publishedAt":"yesterday"`)},
	{"a next page that is a number", rewritten(`^\s*\{`, `{"nextPageToken": 5,`)},
	{"the same next page for ever", rewritten(`"nextPageToken": ?"[^"]*"`, `"nextPageToken":"CAUQAA"`)},
	{"deeply nested", instead(200, `{"items":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`)},
	{"ids in other case", eachItem(func(i map[string]any) any { i["id"] = strings.ToLower(fmt.Sprint(i["id"])); return i })},
}

// between answers as the upstream does, except for videos.list while lie is set.
type between struct {
	sim http.Handler
	lie atomic.Pointer[lyingAnswer]
}

func (b *between) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lie := b.lie.Load()
	if lie == nil || !strings.HasSuffix(r.URL.Path, "/videos") {
		b.sim.ServeHTTP(w, r)
		return
	}
	r.Header.Del("Accept-Encoding")
	rec := httptest.NewRecorder()
	b.sim.ServeHTTP(rec, r)
	rec.Header().Del("Content-Length")
	status, body := lie.change(rec.Code, rec.Header(), rec.Body.Bytes())
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// TestLongNoLyingAnswerIsBelieved gives each lie to a run, and then to look-ups of all known videos: nothing is deleted,
// the chart that is shown is whole, and each unit that arrived is in the ledger, and in a slot or a backfill.
func TestLongNoLyingAnswerIsBelieved(t *testing.T) {
	clock := at(t, "2026-02-14T09:10:00Z")
	sim := standIn(t, youtubesim.Options{Seed: 7, Now: func() time.Time { return clock }})
	front := &between{sim: sim}
	server := httptest.NewServer(front)
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	configured(t, "concurrency: 1\njobs: [{name: chart, kind: chart, regions: [US], every: 15m, pages: 1}]\n")
	ingestCode(t, exitOK, "run")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(os.Getenv("INGEST_DATA"), "ingest.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	count := func(what string, args ...any) (n int64) {
		if err := db.QueryRow(what, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const videos, places = "SELECT count(*) FROM videos", "SELECT count(*) FROM placements"
	const paid = "SELECT (SELECT sum(charges ->> 'units') FROM slots WHERE kind <> 'backfill') + (SELECT coalesce(sum(charged ->> 'units'), 0) FROM backfills)"
	units := func() int64 { return sim.Ledger().Units["units"] }
	var steps []struct {
		began time.Time
		units int64 // at its end
	}
	step := func(by time.Duration) {
		steps = append(steps, struct {
			began time.Time
			units int64
		}{clock, units()})
		clock = clock.Add(by)
		at(t, clock.Format(time.RFC3339))
	}
	for _, lie := range lyingAnswers {
		t.Run(lie.name, func(t *testing.T) {
			step(61 * time.Minute)
			hadVideos, hadPlaces, arrived := count(videos), count(places), units()
			front.lie.Store(&lie)
			code, _, errs := unpaused("run")
			plan := ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "refresh", "--older-than", "1h", "--again")
			again, _, _ := unpaused("--json", "backfill", "run", plan.ID, "--yes")
			front.lie.Store(nil)
			if code != exitOK && code != exitPartial || again != exitOK && again != exitPartial && again != exitStopped || strings.Contains(errs, "panic") {
				t.Errorf("run ends with %d, the backfill with %d: %s", code, again, errs)
			}
			if count(videos) < hadVideos || count(places) < hadPlaces {
				t.Errorf("%d videos of %d are left, %d places of %d", count(videos), hadVideos, count(places), hadPlaces)
			}
			before := int64(0) // the count a day ago
			for _, s := range steps {
				if clock.Sub(s.began) >= 24*time.Hour+30*time.Second {
					before = s.units
				}
			}
			if more := units(); more == arrived || count(paid) != more || usedUnits(t) != more-before {
				t.Errorf("%d units arrived, %d before, %d a day ago; the ledger has %d, slots and backfills %d", more, arrived, before, usedUnits(t), count(paid))
			}
			chart := ingestJSON[chartDocument](t, exitOK, "chart", "US", "--json")
			if len(chart.Items) < 40 {
				t.Errorf("the chart of US is shown with %d videos, want at least 40", len(chart.Items))
			}
			if step(15 * time.Minute); code != exitOK { // else a few more lies, and nothing is asked
				ingestCode(t, exitOK, "run")
			}
		})
	}
}

// usedUnits is the ledger's count of the units of the last day.
func usedUnits(t *testing.T) int64 {
	t.Helper()
	for _, p := range ingestJSON[quotaDocument](t, exitOK, "quota").Pools {
		if p.Pool == "units" {
			return p.Windows[0].Used
		}
	}
	t.Fatal("there is no pool of units")
	return 0
}
