package main_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// otlp is a collector that keeps what it receives.
type otlp struct {
	url  string
	mu   sync.Mutex
	raw  []byte
	path string
	all  []*traces.Span
}

func newOTLP(t *testing.T) *otlp {
	t.Helper()
	c := &otlp{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &sent); err != nil {
			t.Errorf("not what OTLP sends: %v", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw, c.path = append(c.raw, body...), r.URL.Path
		for _, of := range sent.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				c.all = append(c.all, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// spans returns how many of each name came, and checks that each lies within its parent.
func (c *otlp) spans(t *testing.T) map[string]int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	names, passes := map[string]int{}, map[string]bool{}
	for _, s := range c.all {
		names[s.GetName()]++
		passes[string(s.GetSpanId())] = s.GetName() == "pass"
	}
	for _, s := range c.all {
		if inside := passes[string(s.GetParentSpanId())]; inside == (s.GetName() == "pass") {
			t.Errorf("span %s is of a pass: %v", s.GetName(), inside)
		}
	}
	return names
}

// TestSpansAreWhatTheUpstreamCounts: a pass for each region, a take and a call for each call that the upstream counted,
// retries too, and a save for each page; configured by the standard's variable and by the config; and no key in any of
// them.
func TestSpansAreWhatTheUpstreamCounts(t *testing.T) {
	key := newCanary(unlike).key
	for name, configure := range map[string]func(t *testing.T, url string) []string{
		"environment": func(t *testing.T, url string) []string { t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url); return nil },
		"its own": func(t *testing.T, url string) []string {
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url+"/v1/traces")
			return nil
		},
		"config": func(t *testing.T, url string) []string {
			configured(t, "otlp_endpoint: "+url+"\n")
			return nil
		},
		"off": func(*testing.T, string) []string { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := newOTLP(t)
			sim := standIn(t, youtubesim.Options{Faults: faultsOf(t, "500@2", "truncate@6"), RequireKey: key})
			t.Setenv("INGEST_KEY", key)
			doc := ingestJSON[runDocument](t, 0, append(configure(t, c.url), "run", "--region", "US,DE")...)
			got, pages := c.spans(t), 0
			for _, slot := range doc.Regions {
				pages += slot.Pages
			}
			calls := len(sim.Log())
			want := map[string]int{"pass": 2, "take": calls, "call": calls, "save": pages}
			if name == "off" {
				want = map[string]int{}
			}
			for _, span := range []string{"pass", "take", "call", "save"} {
				if got[span] != want[span] {
					t.Errorf("%d spans of a %s, want %d", got[span], span, want[span])
				}
			}
			if calls < pages+2 {
				t.Errorf("%d calls for %d pages: no retry was seen", calls, pages)
			}
			if bytes.Contains(c.raw, []byte(key)) {
				t.Error("the key is in a span")
			}
			if c.path != "/v1/traces" && name != "off" {
				t.Errorf("they were sent to %s", c.path)
			}
		})
	}
}

// TestACollectorThatHangsHoldsNothingUp: a collector that hangs, or refuses, delays nothing and is no failure.
func TestACollectorThatHangsHoldsNothingUp(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/refuses") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		<-gone
	}))
	t.Cleanup(func() { close(gone); server.Close() })
	for _, path := range []string{"/hangs", "/refuses/with-a-secret-path"} {
		standIn(t, youtubesim.Options{})
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL+path)
		began := time.Now()
		_, said := ingestCode(t, 0, "run", "--region", "US")
		if took := time.Since(began); took > 30*time.Second { // two are promised, and without a bound it hangs
			t.Errorf("%s held the end up for %v", path, took)
		}
		if strings.Contains(said, "secret-path") || strings.Count(said, "traces cannot be sent") != 1 {
			t.Errorf("%s: it says\n%s", path, said)
		}
	}
}

func TestAnEndpointThatIsNoURLIsRefused(t *testing.T) {
	standIn(t, youtubesim.Options{})
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318")
	if _, said := ingestCode(t, exitConfig, "run"); !strings.Contains(said, "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as http://127.0.0.1:4318") {
		t.Errorf("it says %s", said)
	}
}
