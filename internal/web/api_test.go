package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
)

const hostile = "<script>alert(1)</script>\u202e\x1b[31m\"'&"

// testLibrary is a library of a few documents, hostile ones among them.
type testLibrary struct{ calls atomic.Int64 }

func (s *testLibrary) library() (*report.Documents, error) {
	views := int64(12)
	return &report.Documents{
		Search: func(_ context.Context, p url.Values) (report.SearchDocument, error) {
			s.calls.Add(1)
			if p.Get("q") == "broken" {
				return report.SearchDocument{}, errors.New("the disk is gone")
			}
			return report.SearchDocument{Query: p.Get("q"), Items: []report.SearchItem{{VideoDocument: report.VideoDocument{VideoID: "a", Title: hostile + strings.Repeat(" long", 400), Tags: []string{}, Views: &views}, Highlight: [][2]int{{0, 2}}, Regions: []ingest.Region{"US"}}}}, nil
		},
		Kept: func(context.Context, ingest.Region, string) ([]time.Time, error) { return nil, nil },
		Chart: func(_ context.Context, region string, _ url.Values) (report.MovesDocument, error) {
			switch region {
			case "ZZ":
				return report.MovesDocument{}, fmt.Errorf("%w: no region ZZ", report.ErrBadRequest)
			case "FR":
				return report.MovesDocument{}, fmt.Errorf("%w: no chart is stored", report.ErrNotFound)
			}
			return report.MovesDocument{ChartDocument: report.ChartDocument{
				Region: ingest.Region(region), Job: "chart", Slot: noon, Items: []report.ChartItem{{Rank: 1, VideoDocument: report.VideoDocument{VideoID: "a", Title: hostile, Tags: []string{}}}},
			}}, nil
		},
		Regions: func(context.Context) (report.RegionsDocument, error) {
			return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "US", Name: "United States", Jobs: []report.ChartJobDocument{{Job: "chart", Slot: &noon}}}}}, nil
		},
		Video: func(_ context.Context, id string, _ url.Values) (report.HistoryDocument, error) {
			if id == "none" {
				return report.HistoryDocument{}, fmt.Errorf("%w: no such video", report.ErrNotFound)
			}
			d := report.HistoryDocument{VideoDocument: report.VideoDocument{VideoID: id, Title: hostile, Tags: []string{}}}
			for i := range 45 {
				d.Sightings = append(d.Sightings, report.SightingDocument{Region: "US", Job: "chart", Slot: noon.Add(time.Duration(i) * time.Hour), Rank: new(i + 1)})
			}
			return d, nil
		},
		Slots: func(_ context.Context, p url.Values) (out []report.SlotDocument, err error) {
			if p.Get("outcome") == "lost" {
				return nil, fmt.Errorf("%w: outcome \"lost\"", report.ErrBadRequest)
			}
			for i := range 30 {
				at := noon.Add(-time.Duration(i) * time.Hour)
				out = append(out, report.NewSlotDocument(ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: "US", DueAt: at}, State: ingest.Stopped, RetryAt: at, Reason: "no more\x1b[2J"}))
			}
			return out, nil
		},
	}, nil
}

// newAPI returns a site with an API, over a test library.
func newAPI(t testing.TB, limits ...httplimit.Limit) (*web.Site, *testLibrary) {
	t.Helper()
	site, _ := fresh()
	docs := &testLibrary{}
	site.Hosts = []string{"api.example.com"}
	site.API = &web.API{Documents: docs.library, Origins: []string{"https://www.example.com"}}
	site.Status = &web.Status{Source: func() (*web.Source, error) {
		return &web.Source{Quota: func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
			tariff := &quota.Tariff{Zone: time.UTC, Table: "classic"}
			day := quota.WindowState{Window: quota.Window{Name: "day", Limit: 100}, FreesAt: noon}
			long := quota.WindowState{Window: quota.Window{Name: "24h", Limit: 100, Length: 24 * time.Hour}, Used: 1}
			d := report.NewQuotaDocument(quota.Report{At: noon, Account: "default", Pools: []quota.PoolReport{{Pool: "units", Limit: 100, Windows: []quota.WindowState{day, long}}}}, tariff,
				budget.Forecast{Until: noon, Scheduled: map[string]int64{"units": 4}})
			d.Data = "/home/ann/secret-place"
			return d, standing.Facts{}, nil
		}}, nil
	}}
	if limits != nil {
		var err error
		site.API.Limiter, err = httplimit.New(httplimit.Config{
			Ledger: &memledger.Ledger{}, Limits: limits, Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.66/32")},
			Plans: map[string][]httplimit.Limit{"starter": {{Quota: 3000, Window: time.Minute}}}, Tokens: []httplimit.Token{{Client: "acme", Plan: "starter", SHA256: httplimit.HashToken("token-of-acme")}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return site, docs
}

// ask sends a request to a site by the name localhost, unless the header says otherwise.
func ask(site http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "localhost:8080"
	for i := 0; i < len(header); i += 2 {
		switch header[i] {
		case "Host":
			r.Host = header[i+1]
		case "From":
			r.RemoteAddr = header[i+1]
		case "Body":
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(header[i+1])), int64(len(header[i+1]))
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPagesShowEveryItemOnce(t *testing.T) {
	site, _ := newAPI(t)
	var ranks []int
	for after := ""; ; {
		var page struct {
			Sightings []struct{ Rank int }
			Next      *string
		}
		if err := json.Unmarshal([]byte(body(t, ask(site.Handler(), "GET", "/v1/videos/abc?limit=7&after="+after))), &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sightings {
			ranks = append(ranks, s.Rank)
		}
		if page.Next == nil {
			break
		}
		after = *page.Next
	}
	for i, rank := range ranks {
		if rank != i+1 {
			t.Fatalf("item %d has rank %d", i, rank)
		}
	}
	if len(ranks) != 45 {
		t.Errorf("%d items, want 45", len(ranks))
	}
}

func TestAnAnswerAskedForTwiceIsMadeOnce(t *testing.T) {
	site, docs := newAPI(t)
	h := site.Handler()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if resp := ask(h, "GET", "/v1/search?limit=5&q=cup"); resp.StatusCode != 200 {
				t.Errorf("%d, want 200", resp.StatusCode)
			}
		})
	}
	all.Wait()
	ask(h, "GET", "/v1/search?q=cup&limit=5") // the same question
	if n := docs.calls.Load(); n != 1 {
		t.Errorf("searched %d times, want once", n)
	}
	for range 3 {
		if resp := ask(h, "GET", "/v1/search?q=broken"); resp.StatusCode != 503 {
			t.Errorf("%d, want 503", resp.StatusCode)
		}
	}
	if n := docs.calls.Load(); n != 4 {
		t.Errorf("searched %d times, want 4: an error is not remembered", n)
	}
	for i := range 3000 {
		ask(h, "GET", fmt.Sprintf("/v1/search?q=word%d", i)) // more than it remembers
	}
}

func TestAnswersAreCompressedAndConditional(t *testing.T) {
	site, _ := newAPI(t)
	h := site.Handler()
	plain := ask(h, "GET", "/v1/search?q=cup", "Accept-Encoding", "identity, gzip;q=0")
	packed := ask(h, "GET", "/v1/search?q=cup", "Accept-Encoding", "br, gzip;q=0.5")
	z, err := gzip.NewReader(packed.Body)
	if err != nil || packed.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%v %v: %v, want \"gzip\" and \"\"", plain.Header, packed.Header, err)
	}
	unpacked, err := io.ReadAll(z)
	if want := body(t, plain); err != nil || string(unpacked) != want {
		t.Errorf("%v: %s\nwant\n%s", err, unpacked, want)
	}
	etag := plain.Header.Get("ETag")
	if resp := ask(h, "GET", "/v1/search?q=cup", "If-None-Match", etag); resp.StatusCode != 304 || body(t, resp) != "" {
		t.Errorf("%d for an answer that the client has, want 304 and \"\"", resp.StatusCode)
	}
	if resp := ask(h, "GET", "/v1/search?q=other", "If-None-Match", etag); resp.StatusCode != 200 {
		t.Errorf("%d for an answer that the client does not have, want 200", resp.StatusCode)
	}
	if cc := plain.Header.Get("Cache-Control"); cc != "public, max-age=10" {
		t.Errorf("Cache-Control %q, want \"public, max-age=10\"", cc)
	}
	if resp := ask(h, "HEAD", "/v1/search?q=cup"); resp.StatusCode != 200 || resp.Header.Get("ETag") != etag {
		t.Errorf("HEAD: %d %v, want 200 and %v", resp.StatusCode, resp.Header, etag)
	}
}

func TestTheApiRefusesRequestsNoFrontEndSends(t *testing.T) {
	site, _ := newAPI(t)
	h := site.Handler()
	for _, tt := range []struct {
		method, target, host string
		want                 int
	}{
		{"GET", "/v1/quota", "127.0.0.1:8080", 200}, {"GET", "/v1/quota", "[::1]:8080", 200}, {"GET", "/v1/quota", "localhost", 200},
		{"GET", "/v1/quota", "API.example.com.:443", 200}, {"GET", "/v1/quota", "rebound.attacker.example", 421}, {"GET", "/v1/quota", "", 421},
		{"GET", "/v1/quota", "localhost.attacker.example", 421}, {"GET", "/v1/quota", "127.0.0.1.attacker.example:80", 421},
		{"POST", "/v1/quota", "localhost", 405}, {"DELETE", "/v1/none", "localhost", 405}, {"GET", "/v1/none", "localhost", 404}, {"GET", "/v1/", "localhost", 404},
		{"GET", "/v1/search?q=a&q=b", "localhost", 400}, {"GET", "/v1/search?q=%zz", "localhost", 400}, {"GET", "/v1/search", "localhost", 400},
		{"GET", "/v1/search?q=" + strings.Repeat("a", 3000), "localhost", 400}, {"GET", "/v1/search?q=a&limit=101", "localhost", 400}, {"GET", "/v1/search?q=a&limit=x", "localhost", 400},
		{"GET", "/v1/slots?after=AAAA", "localhost", 400}, {"GET", "/v1/slots?after=%00", "localhost", 400}, {"GET", "/v1/slots?outcome=lost", "localhost", 400},
		{"GET", "/v1/quota?pool=units", "localhost", 400}, {"GET", "/v1/regions?job=chart", "localhost", 400}, {"GET", "/v1/openapi.json?v=2", "localhost", 400},
		{"GET", "/v1/quota?token=s3cret", "localhost", 400}, {"GET", "/v1/quota?a=%zz;api-KEY=s3cret", "localhost", 400},
	} {
		resp := ask(h, tt.method, tt.target, "Host", tt.host)
		text := body(t, resp)
		if resp.StatusCode != tt.want || resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s %s of %q: %d %v, want %d", tt.method, tt.target, tt.host, resp.StatusCode, resp.Header, tt.want)
		}
		if strings.Contains(text, "s3cret") {
			t.Errorf("%s: the answer repeats the token: %s", tt.target, text)
		}
		if tt.want != 200 && resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s, want application/problem+json", tt.target, resp.Header.Get("Content-Type"))
		}
	}
}

// A page that points its own name at this address sends that name as Host with any request.
func TestAForgedHostReadsNothing(t *testing.T) {
	site, _ := paged()
	docs := &testLibrary{}
	site.API, site.Hosts = &web.API{Documents: docs.library}, []string{"api.example.com"}
	for _, path := range []string{"/", "/?format=json", "/events", "/metrics", "/freshness", "/readyz", "/v1/quota", "/none"} {
		for host, ours := range map[string]bool{
			"localhost:8080": true, "127.0.0.1": true, "[::1]:8080": true, "192.0.2.7:80": true, "api.example.com": true, "app.localhost": true,
			"rebound.attacker.example": false, "127.0.0.1.attacker.example:8080": false, "localhost.attacker.example": false, "": false,
		} {
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
			r.Host = host
			cancel() // so that /events ends
			w := httptest.NewRecorder()
			site.Handler().ServeHTTP(w, r)
			if got := w.Code != http.StatusMisdirectedRequest; got != ours {
				t.Errorf("%s of %q: %d, is it ours: %v", path, host, w.Code, ours)
			}
			if !ours && strings.Contains(w.Body.String(), "US") {
				t.Errorf("%s of %q shows a region:\n%s", path, host, w.Body)
			}
		}
	}
	if resp := ask(site.Handler(), "GET", "/livez", "Host", "ingest.internal"); resp.StatusCode != http.StatusOK {
		t.Errorf("a probe of /livez by another name: %d, want %v", resp.StatusCode, http.StatusOK)
	}
}

func TestHostileTextAndPlacesStayWhereTheyAre(t *testing.T) {
	site, _ := newAPI(t)
	for _, target := range []string{"/v1/search?q=cup", "/v1/charts/US", "/v1/videos/a"} {
		resp := ask(site.Handler(), "GET", target)
		text := body(t, resp)
		if strings.ContainsAny(text, "<>\x1b") || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s, want JSON without markup", target, text)
		}
	}
	if text := body(t, ask(site.Handler(), "GET", "/v1/quota")); strings.Contains(text, "secret-place") {
		t.Errorf("the path of the data directory is shown: %s", text)
	}
}

func TestOnlyListedOriginsMayRead(t *testing.T) {
	site, _ := newAPI(t)
	for origin, want := range map[string]string{"": "", "https://www.example.com": "https://www.example.com", "https://evil.example": "", "null": "", "http://www.example.com": ""} {
		for _, method := range []string{"GET", "OPTIONS"} {
			resp := ask(site.Handler(), method, "/v1/search?q=cup", "Origin", origin, "Access-Control-Request-Method", "GET")
			if got := resp.Header.Get("Access-Control-Allow-Origin"); got != want ||
				!slices.ContainsFunc(resp.Header.Values("Vary"), func(v string) bool { return strings.Contains(v, "Origin") }) {
				t.Errorf("%s of %q: allows %q, want %q; Vary %q", method, origin, got, want, resp.Header.Values("Vary"))
			}
			if method == "OPTIONS" && (resp.StatusCode != 204 || (resp.Header.Get("Access-Control-Allow-Methods") != "") != (want != "")) {
				t.Errorf("OPTIONS of %q: %d %v", origin, resp.StatusCode, resp.Header)
			}
		}
	}
}

// TestTheAccessLogNamesTheRequest: path and answer, and never the part after the question mark or a token.
func TestTheAccessLogNamesTheRequest(t *testing.T) {
	site, _ := newAPI(t)
	var text strings.Builder
	site.AccessLog = slog.New(slog.NewTextHandler(&text, nil))
	ask(site.Handler(), http.MethodGet, "/v1/search?q=private", "Authorization", "Bearer secret")
	ask(site.Handler(), http.MethodGet, "/nowhere")
	for _, want := range []string{"msg=request method=GET path=/v1/search status=200 bytes=", "method=GET path=/nowhere status=404"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "private") || strings.Contains(text.String(), "secret") {
		t.Errorf("the log says too much:\n%s", text.String())
	}
}

// Pages read the store as the API does: one client has one limit, wherever it asks.
func TestLimitsHoldForAnySourceOfSearches(t *testing.T) {
	paths := []string{"/v1/search?q=cats", "/status", "/status?format=json", "/nothing"}
	for _, last := range paths {
		site, _ := newAPI(t, httplimit.Limit{Quota: 2, Window: time.Minute})
		site.Pages = &pages.Site{Now: site.Now, Overall: func(context.Context) pages.State { return pages.State{} }}
		for range 2 {
			if resp := ask(site.Handler(), http.MethodGet, "/v1/search?q=dogs", "From", "192.0.2.7:1"); resp.StatusCode != http.StatusOK {
				t.Fatalf("within the limit: %d", resp.StatusCode)
			}
		}
		for from, want := range map[string]int{"192.0.2.7:2": http.StatusTooManyRequests, "192.0.2.66:1": http.StatusForbidden} {
			if resp := ask(site.Handler(), http.MethodGet, last, "From", from); resp.StatusCode != want {
				t.Errorf("%s of %s: %d, want %d", last, from, resp.StatusCode, want)
			}
		}
		if resp := ask(site.Handler(), http.MethodGet, "/livez", "From", "192.0.2.7:2"); resp.StatusCode != http.StatusOK {
			t.Errorf("/livez: %d, want %v", resp.StatusCode, http.StatusOK)
		}
	}
}

// The 61st request within a minute, over a real connection, is refused, and nothing that was sent is in the log.
func TestServedOverAConnection(t *testing.T) {
	site, _ := newAPI(t, httplimit.Limit{Quota: 60, Window: time.Minute})
	var log bytes.Buffer
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, l, site.Handler(), slog.New(slog.NewTextHandler(&log, nil))) }()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	send := func(path string, header ...string) (int, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, resp.Header
	}
	if status, _ := send("/v1/search?q=cup&token=s3cret"); status != 400 {
		t.Errorf("a token in the URL: %d, want 400", status)
	}
	if status, _ := send("/v1/search?q=cup", "X-Long", strings.Repeat("x", 1<<20)); status != 431 {
		t.Errorf("a megabyte of header: %d, want 431", status)
	}
	for i := range 60 {
		if status, _ := send("/v1/search?q=cup", "X-Forwarded-For", fmt.Sprintf("1.1.1.%d", i)); status != 200 {
			t.Fatalf("request %d: %d, want 200", i+1, status)
		}
	}
	status, header := send("/v1/search?q=cup", "Forwarded", "for=9.9.9.9")
	if wait, err := strconv.Atoi(header.Get("Retry-After")); status != 429 || err != nil || wait < 1 || wait > 60 {
		t.Errorf("the 61st: %d, Retry-After %q, want 429, at least 1 and at most 60", status, header.Get("Retry-After"))
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log has the token:\n%s", &log)
	}
}
