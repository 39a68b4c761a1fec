package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch/wire"
)

func TestADateFromACacheIsNoClock(t *testing.T) {
	name, value := "", "" // of a header field of the answer
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Sat, 28 Nov 2026 05:00:00 GMT")
		if name != "" {
			w.Header().Set(name, value)
		}
	}))
	t.Cleanup(srv.Close)
	base, err := wire.ParseBaseURL(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := wire.NewTransport(base, wire.Headers{})
	t.Cleanup(transport.Close)
	now := time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Time
	}{
		{"Age", "86400", time.Time{}}, {"Age", "0", time.Time{}}, {"X-Cache", "HIT from proxy.example:3128", time.Time{}},
		{"Cache-Status", "Edge; hit", time.Time{}}, {"Warning", `110 - "Response is Stale"`, time.Time{}},
		{"X-Cache-Status", "STALE", time.Time{}}, {"Cf-Cache-Status", "REVALIDATED", time.Time{}}, {"X-Cache", "UPDATING", time.Time{}},
		{"X-Cache", "TCP_MEM_HIT from edge.example", time.Time{}}, {"X-Nginx-Cache", "HIT", time.Time{}}, {"X-Cache-Hits", "0, 3", time.Time{}},
		{"X-Varnish", "32770 3", time.Time{}}, {"X-Varnish", "32770", now}, {"X-Cache-Hits", "0", now}, {"Cache-Status", "Edge; fwd=stale", now},
		{"Cache-Control", "max-age=60, stale-while-revalidate=30", now}, {"X-Cache-Key", "whitelist", now}, {"X-Cache-Lookup", "HIT from proxy.example:3128", now},
		{"Cf-Cache-Status", "DYNAMIC", now}, {"Via", "1.1 proxy.example (squid/5.7)", now},
		{"X-Cache", "MISS from proxy.example", now}, {"Cache-Status", "Edge; fwd=miss", now}, {"", "", now},
	} {
		name, value = tt.name, tt.value
		if got, err := transport.AskDate(t.Context()); err != nil || !got.Equal(tt.want) {
			t.Errorf("with %s: %s the date is %v, %v", tt.name, tt.value, got, err)
		}
	}
}

// A proxy that makes no connection refuses, not the upstream: nothing was sent, and the proxy is named, without its
// password.
func TestAProxysRefusalIsTheProxys(t *testing.T) {
	status := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(proxy.Close)
	address := strings.TrimPrefix(proxy.URL, "http://")
	for code, want := range map[int]string{407: "the proxy " + address + " wants a user and a password", 403: "the proxy " + address + " makes no connection (HTTP 403)"} {
		status = code
		base, err := wire.ParseBaseURL("https://upstream.example")
		if err != nil {
			t.Fatal(err)
		}
		transport := wire.NewTransport(base, wire.Headers{})
		wire.UseProxy(transport, "http://user:hidden@"+address)
		_, err = transport.AskDate(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%d: %v", code, err)
		}
		transport.Close()
	}
}
