package web_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// TestAPageIsMadeOnceForAllWhoAsk: within a second, compressed or not, and not at all for a client that has it.
func TestAPageIsMadeOnceForAllWhoAsk(t *testing.T) {
	site, _ := paged()
	var read atomic.Int64
	docs := &report.Documents{
		Regions: func(context.Context) (report.RegionsDocument, error) {
			return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "US", Name: "United States"}}}, nil
		},
		Chart: func(_ context.Context, region string, _ url.Values) (report.MovesDocument, error) {
			read.Add(1)
			if region == "FR" {
				return report.MovesDocument{}, errors.New("the disk is gone")
			}
			return report.MovesDocument{ChartDocument: report.ChartDocument{Region: ingest.Region(region), Job: "chart", Slot: noon}}, nil
		},
	}
	site.Pages.Documents = func() (*report.Documents, error) { return docs, nil }
	h := site.Handler()
	reads := func(ask func()) int64 {
		before := read.Load()
		ask()
		return read.Load() - before
	}
	var first *http.Response
	once := reads(func() { first = ask(h, "GET", "/charts/US") })
	if first.StatusCode != 200 || once == 0 {
		t.Fatalf("%d after %d reads", first.StatusCode, once)
	}
	plain, etag := body(t, first), first.Header.Get("ETag")
	if n := reads(func() {
		packed := ask(h, "GET", "/charts/US", "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != plain {
			t.Errorf("compressed: %v\n%s", err, unpacked)
		}
		if packed.Header.Get("Content-Security-Policy") != first.Header.Get("Content-Security-Policy") ||
			!strings.Contains(first.Header.Get("Content-Security-Policy"), "style-src 'self'") {
			t.Errorf("policy %q, first %q", packed.Header.Get("Content-Security-Policy"), first.Header.Get("Content-Security-Policy"))
		}
		if has := ask(h, "GET", "/charts/US", "If-None-Match", etag); has.StatusCode != 304 || body(t, has) != "" {
			t.Errorf("%d to a client that has the page, want 304 and \"\"", has.StatusCode)
		}
		if head := ask(h, "HEAD", "/charts/US"); head.StatusCode != 200 || head.Header.Get("ETag") != etag {
			t.Errorf("HEAD: %d %v, want 200 and %v", head.StatusCode, head.Header, etag)
		}
	}); n != 0 {
		t.Errorf("%d reads for a page that is kept, want 0", n)
	}
	for _, other := range []string{"/charts/US?show=new", "/charts/DE", "/"} {
		if n := reads(func() { ask(h, "GET", other) }); n == 0 {
			t.Errorf("%s was answered with another page", other)
		}
	}
	for range 2 {
		if n := reads(func() {
			if failed := ask(h, "GET", "/charts/FR"); failed.StatusCode != 503 || failed.Header.Get("ETag") != "" || failed.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("a page that cannot be read: %d %v", failed.StatusCode, failed.Header)
			}
		}); n == 0 {
			t.Error("the second request after a failure: got 0 reads, want one")
		}
	}
	if status := ask(h, "GET", "/status"); status.Header.Get("Cache-Control") != "no-store" || status.Header.Get("ETag") != "" {
		t.Errorf("the status page, which reloads itself, is kept: %v, want \"no-store\" and \"\"", status.Header)
	}
}

// TestAPageKnowsTheFetchThatEnded: three seconds after it at most, though the page was made before it.
func TestAPageKnowsTheFetchThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, _ := paged()
		site.Pages.Fresh = site.Status.Regions
		docs := &report.Documents{
			Regions: func(context.Context) (report.RegionsDocument, error) {
				return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "DE", Name: "Germany"}}}, nil
			},
			Chart: func(context.Context, string, url.Values) (report.MovesDocument, error) {
				return report.MovesDocument{ChartDocument: report.ChartDocument{Region: "DE", Job: "chart", Slot: noon}}, nil
			},
		}
		site.Pages.Documents = func() (*report.Documents, error) { return docs, nil }
		old := true
		amend(site, func(_ context.Context, f *standing.Facts) {
			slot := f.Latest.Done[de]
			if slot.DueAt, slot.FetchedAt = noon.Add(-4*time.Hour), noon.Add(-4*time.Hour); !old {
				slot.DueAt, slot.FetchedAt = noon.Add(-time.Minute), noon.Add(-time.Minute)
			}
			f.Latest.Done, f.Latest.Ended = maps.Clone(f.Latest.Done), maps.Clone(f.Latest.Ended)
			f.Latest.Done[de], f.Latest.Ended[de] = slot, slot
		})
		site.Status.Facts = func(ctx context.Context) standing.Facts { return site.Standing(ctx).Facts }
		h := site.Handler()
		if page := body(t, ask(h, "GET", "/charts/DE")); !strings.Contains(page, "Germany, stale") {
			t.Fatalf("a chart four hours old is not stale:\n%s", page)
		}
		old = false
		time.Sleep(3 * time.Second) // the page, its state and the facts are each kept for one
		if page := body(t, ask(h, "GET", "/charts/DE")); strings.Contains(page, "Germany, stale") {
			t.Errorf("three seconds after the fetch:\n%s", page)
		}
	})
}

// hungUp is the connection of a client that does not wait for its answer.
type hungUp struct {
	*httptest.ResponseRecorder

	statuses []int
}

func (c *hungUp) WriteHeader(status int) { c.statuses = append(c.statuses, status) }

func (c *hungUp) Write([]byte) (int, error) {
	if len(c.statuses) == 0 {
		c.WriteHeader(http.StatusOK)
	}
	return 0, errors.New("write tcp 127.0.0.1:8080: broken pipe")
}

// TestAScraperThatHangsUpIsNoFault: net/http warns of a second status.
func TestAScraperThatHangsUpIsNoFault(t *testing.T) {
	site, _ := paged()
	for _, path := range []string{"/metrics", "/status", "/readyz", "/freshness", "/livez"} {
		w, r := &hungUp{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		site.Handler().ServeHTTP(w, r)
		if len(w.statuses) != 1 {
			t.Errorf("%s to a client that is gone: statuses %v, want one", path, w.statuses)
		}
	}
}

// A shared cache does not show one client's rest to another: an answer that says it is private.
func TestAnAnswerWithAClientsOwnFiguresIsPrivate(t *testing.T) {
	site, _ := newAPI(t, httplimit.Limit{Quota: 100, Window: time.Minute})
	h := site.Handler()
	for _, target := range []string{"/v1/search?q=cup", "/v1/charts/US", "/v1/quota", "/v1/openapi.json", "/v1/nothing", "/", "/status"} {
		for range 2 { // the second may be answered from memory
			resp := ask(h, "GET", target)
			if may := resp.Header.Get("Cache-Control"); resp.Header.Get("RateLimit") != "" && !strings.HasPrefix(may, "private") && may != "no-store" {
				t.Errorf("%s: RateLimit %s with Cache-Control %q", target, resp.Header.Get("RateLimit"), may)
			}
		}
	}
	if resp := ask(h, "GET", "/v1/search?q=cup"); resp.Header.Get("RateLimit") == "" {
		t.Errorf("RateLimit of an answer: got none, want the client's figures: %v", resp.Header)
	}
}
