package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

// halfHourly is a schedule of two regions, each due every half hour.
func halfHourly() regions.Schedule {
	schedule, err := regions.NewJobSchedule(ingest.Job{Name: "chart", Regions: []ingest.Region{"US", "DE"}, Every: 30 * time.Minute})
	if err != nil {
		panic(err)
	}
	return regions.Schedule{schedule}
}

// memory is slots in memory.
type memory struct {
	done, ended map[ingest.Series]ingest.Slot
	err         error
	reads       int
}

func (s *memory) facts(context.Context) standing.Facts {
	s.reads++
	return standing.Facts{Now: noon, Pace: budget.PacedSchedule{Schedule: halfHourly()}, StaleAfter: 3, Latest: ingest.Latest{Done: s.done, Ended: s.ended}, StoreErr: s.err}
}

// amend changes the facts that a site reads.
func amend(site *web.Site, change func(context.Context, *standing.Facts)) {
	read := site.Facts
	site.Facts = func(ctx context.Context) standing.Facts {
		f := read(ctx)
		change(ctx, &f)
		return f
	}
	if site.Status != nil {
		site.Status.Facts = site.Facts
	}
}

// again is the site with nothing read yet.
func again(s *web.Site) *web.Site {
	return &web.Site{Now: s.Now, Alive: s.Alive, Facts: s.Facts}
}

// factsOf is the facts of a document.
func factsOf(d report.QuotaDocument) standing.Facts {
	f := standing.Facts{Pace: budget.PacedSchedule{Schedule: halfHourly()}, Forecast: d.Forecast, Next: upcoming()}
	if d.Degraded {
		f.Report.Degraded = quota.ErrUnavailable
	}
	for _, l := range d.EmergencyLeft {
		f.Report.EmergencyLeft = append(f.Report.EmergencyLeft, quota.EmergencyLeft{Pool: l.Pool, Remaining: l.Remaining})
	}
	return f
}

var us, de = ingest.Series{Job: "chart", Key: "US"}, ingest.Series{Job: "chart", Key: "DE"}

// fresh returns a site where all is well: two regions, done half an hour ago.
func fresh() (*web.Site, *memory) {
	slot := func(of ingest.Series) ingest.Slot {
		return ingest.Slot{SlotKey: ingest.SlotKey{Job: of.Job, Key: of.Key, DueAt: noon.Add(-30 * time.Minute)}, State: ingest.Done, FetchedAt: noon.Add(-29 * time.Minute)}
	}
	s := &memory{
		done:  map[ingest.Series]ingest.Slot{us: slot(us), de: slot(de)},
		ended: map[ingest.Series]ingest.Slot{us: slot(us), de: slot(de)},
	}
	return &web.Site{
		Now: func() time.Time { return noon }, Alive: func() error { return nil }, Facts: s.facts,
	}, s
}

// get requests a path from the site, and returns the answer with its body.
func get(t *testing.T, s *web.Site, target string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

func TestLivezLooksAtTheHeartOnly(t *testing.T) {
	s, slots := fresh()
	slots.err = errors.New("the disk is gone")
	if resp, body := get(t, s, "/livez"); resp.StatusCode != 200 || body != "ok\n" {
		t.Errorf("%d %q, want 200 ok: only the process counts", resp.StatusCode, body)
	}
	if slots.reads > 0 {
		t.Errorf("/livez read the store %d times, want 0", slots.reads)
	}
	s.Alive = func() error { return errors.New("the scheduler has not moved for 2m0s") }
	if resp, body := get(t, s, "/livez"); resp.StatusCode != 503 || !strings.Contains(body, "has not moved") {
		t.Errorf("%d %q without a heart beat, want 503 and why", resp.StatusCode, body)
	}
}

func TestReadyzNamesEveryCheck(t *testing.T) {
	s, _ := fresh()
	var down error
	amend(s, func(_ context.Context, f *standing.Facts) {
		f.StorePath, f.LedgerAge, f.LedgerWithin, f.LedgerErr = "/data/ingest.db", 9*time.Second, 70*time.Second, down
		f.Report.Pools = []quota.PoolReport{{Pool: "units", Remaining: map[quota.Purpose]int64{quota.Scheduled: 9468}}}
	})
	resp, body := get(t, s, "/readyz")
	const others = "ok    key        not known\nok    workers    can go on\nok    freshness  DE is late: nothing has run since 11:31\n"
	if want := "ready\nok    store      /data/ingest.db\nok    ledger     9,468 units left, 9s ago\n" + others; resp.StatusCode != 200 || body != want {
		t.Errorf("%d\n%s\nwant 200\n%s", resp.StatusCode, body, want)
	}
	s, down = again(s), errors.New("connection refused")
	resp, body = get(t, s, "/readyz")
	if want := "not ready\nok    store      /data/ingest.db\nFAIL  ledger     connection refused\n" + others; resp.StatusCode != 503 || body != want {
		t.Errorf("%d\n%s\nwant 503\n%s", resp.StatusCode, body, want)
	}
	for _, ask := range [][]string{{"/readyz?format=json"}, {"/readyz", "Accept", "application/json, */*"}} {
		resp, body = get(t, s, ask[0], ask[1:]...)
		if want := `{"ready":false,"checks":[{"check":"store","ok":true,"detail":"/data/ingest.db"},{"check":"ledger","ok":false,"detail":"connection refused"},{"check":"key","ok":true,"detail":"not known"},{"check":"workers","ok":true,"detail":"can go on"},{"check":"freshness","ok":true,"detail":"DE is late: nothing has run since 11:31"}]}` + "\n"; resp.StatusCode != 503 ||
			body != want {
			t.Errorf("%v: %d\n%s\nwant 503\n%s", ask, resp.StatusCode, body, want)
		}
	}
}

func TestAStoreThatCannotBeReadIsNotReady(t *testing.T) {
	s, slots := fresh()
	slots.err = errors.New("the disk is gone")
	if resp, body := get(t, s, "/readyz"); resp.StatusCode != 503 || !strings.Contains(body, "FAIL  freshness  not known: the disk is gone") {
		t.Errorf("%d, want 503, the store not known\n%s", resp.StatusCode, body)
	}
	if resp, body := get(t, s, "/freshness"); resp.StatusCode != 503 || !strings.Contains(body, "the disk is gone") {
		t.Errorf("%d, want 503, the disk gone\n%s", resp.StatusCode, body)
	}
}

// TestAServerThatHangsIsAnAnswer: net/http would otherwise end the connection without one.
func TestAServerThatHangsIsAnAnswer(t *testing.T) {
	for path, status := range map[string]int{"/readyz": 503, "/freshness": 503, "/": 200, "/status": 200, "/charts/US": 503} {
		synctest.Test(t, func(t *testing.T) {
			s, source := paged()
			hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			amend(s, func(ctx context.Context, f *standing.Facts) { f.StoreErr = hangs(ctx) })
			source.Slots = func(ctx context.Context, _ time.Time) ([]report.SlotDocument, error) { return nil, hangs(ctx) }
			source.Kept = func(ctx context.Context) (ingest.Kept, error) { return ingest.Kept{}, hangs(ctx) }
			s.Pages.Documents = func() (*report.Documents, error) {
				return &report.Documents{Regions: func(context.Context) (report.RegionsDocument, error) {
					return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "US", Name: "United States"}}}, nil
				}, Chart: func(ctx context.Context, _ string, _ url.Values) (report.MovesDocument, error) {
					return report.MovesDocument{}, hangs(ctx)
				}}, nil
			}
			began := time.Now()
			if resp, body := get(t, s, path); resp.StatusCode != status || time.Since(began) > 6*time.Second {
				t.Errorf("%s: %d after %v\n%s", path, resp.StatusCode, time.Since(began), body)
			}
		})
	}
}

func TestARegionIsStaleAfterItsIntervals(t *testing.T) {
	tests := []struct {
		name  string
		age   time.Duration
		after int
		stale bool
	}{
		{"just done", 0, 3, false},
		{"three intervals old", 90 * time.Minute, 3, false},
		{"older than three", 90*time.Minute + time.Second, 3, true},
		{"one interval, of one", 30 * time.Minute, 1, false},
		{"older than one", 31 * time.Minute, 1, true},
		{"done ahead of our clock", -time.Minute, 1, false},
	}
	for _, tt := range tests {
		s, slots := fresh()
		amend(s, func(_ context.Context, f *standing.Facts) { f.StaleAfter = tt.after })
		slot := slots.done[de]
		slot.DueAt = noon.Add(-tt.age)
		slots.done[de] = slot
		got := report.NewFreshness(s.Standing(t.Context())).Series[1]
		if got.Stale != tt.stale || *got.AgeS != int64(tt.age.Seconds()) || got.IntervalS != 1800 {
			t.Errorf("%s: stale %v, age %d s of %d s; want stale %v", tt.name, got.Stale, *got.AgeS, got.IntervalS, tt.stale)
		}
		if resp, body := get(t, s, "/readyz"); (resp.StatusCode == 503) != tt.stale || tt.stale && !strings.Contains(body, "1 of 2 are stale: chart DE (") {
			t.Errorf("%s: %d, want stale %v\n%s", tt.name, resp.StatusCode, tt.stale, body)
		}
	}
}

func TestWorkThatWasNeverDoneIsStale(t *testing.T) {
	s, slots := fresh()
	delete(slots.done, de)
	slots.ended[de] = ingest.Slot{State: ingest.Stopped, Reason: "units: 9,500 of 9,500 used"}
	resp, body := get(t, s, "/freshness")
	var doc struct {
		StaleAfter int `json:"stale_after"`
		Series     []map[string]any
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %v, want 200\n%s", resp.StatusCode, err, body)
	}
	if doc.StaleAfter != 3 || len(doc.Series) != 2 {
		t.Fatalf("%s, want stale_after 3 and 2 series", body)
	}
	got := doc.Series[1]
	for field, want := range map[string]any{"job": "chart", "region": "DE", "slot": nil, "age_s": nil, "stale": true, "outcome": "stopped", "reason": "units: 9,500 of 9,500 used"} {
		if have, ok := got[field]; !ok || have != want {
			t.Errorf("%s is %v, want %v", field, have, want)
		}
	}
	if first := doc.Series[0]; first["stale"] != false || first["slot"] != "2026-02-14T11:30:00Z" ||
		first["fetched_at"] != "2026-02-14T11:31:00Z" || first["age_s"] != 1800.0 {
		t.Errorf("%v, want the slot of 11:30, fetched at 11:31, not stale", first)
	}
}

func TestManyProbesReadTheStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a second there is as long on a busy machine
		s, slots := fresh()
		for range 50 {
			get(t, s, "/readyz")
			get(t, s, "/freshness")
		}
		if slots.reads != 1 {
			t.Errorf("%d reads within a second, want 1", slots.reads)
		}
	})
}

func TestTheSiteOnlyReads(t *testing.T) {
	s, _ := fresh()
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		for _, path := range []string{"/livez", "/readyz", "/freshness"} {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, strings.NewReader("x")))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, allowed %q, want %v and \"GET, HEAD\"", method, path, w.Code, w.Header().Get("Allow"), http.StatusMethodNotAllowed)
			}
		}
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodHead, "http://localhost/readyz", nil))
	if w.Code != 200 {
		t.Errorf("HEAD /readyz: %d, want 200", w.Code)
	}
	if resp, _ := get(t, s, "/"); resp.StatusCode != 404 {
		t.Errorf("/: %d, want 404", resp.StatusCode)
	}
}

// An upstream's words may end up in a reason, which browsers and terminals show.
func TestTextIsHarmless(t *testing.T) {
	const hostile = "<script>\x1b[2J\u202eevil\r\nX: y\x00"
	s, slots := fresh()
	amend(s, func(_ context.Context, f *standing.Facts) { f.StorePath, f.KeyErr = hostile, errors.New(hostile) })
	slots.ended[us] = ingest.Slot{State: ingest.Failed, Reason: hostile}
	for _, path := range []string{"/readyz", "/readyz?format=json", "/freshness"} {
		resp, body := get(t, s, path)
		if strings.ContainsAny(strings.TrimSuffix(body, "\n"), "\x1b\u202e\r\x00") || strings.Contains(body, "\nX:") {
			t.Errorf("%s: %q, want no control characters and no forged line", path, body)
		}
		if path != "/readyz" && strings.Contains(body, "<") {
			t.Errorf("%s holds markup: %s", path, body)
		}
		kind := resp.Header.Get("Content-Type")
		if kind != "application/json" && kind != "text/plain; charset=utf-8" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be taken for something else: %v", path, resp.Header)
		}
	}
}

// serve answers at a port of its own until the test ends it.
func serve(t *testing.T) (addr string, end func() error) {
	s, _ := fresh()
	return serveSite(t, s)
}

func serveSite(t *testing.T, s *web.Site) (addr string, end func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, l, s.Handler(), slog.New(slog.DiscardHandler)) }()
	t.Cleanup(cancel)
	return l.Addr().String(), func() error { cancel(); return <-ended }
}

func TestServeEndsWithItsContext(t *testing.T) {
	addr, end := serve(t)
	resp, err := http.Get("http://" + addr + "/livez")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	idle, err := net.Dial("tcp", addr) // says nothing, and must not hold up the end
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	began := time.Now()
	if err := end(); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestAHugeHeaderIsRefused(t *testing.T) {
	addr, end := serve(t)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\nX-Much: "+strings.Repeat("a", 64<<10)+"\r\n\r\n")
	}()
	answer := make([]byte, 64)
	n, _ := conn.Read(answer)
	if !strings.Contains(string(answer[:n]), " 431 ") {
		t.Errorf("%q, want 431", answer[:n])
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestServeSaysWhyItCannotAnswer(t *testing.T) {
	s, _ := fresh()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := web.Serve(t.Context(), l, s.Handler(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("%v", err)
	}
}
