package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
)

func Example() {
	limiter, err := httplimit.New(httplimit.Config{
		Ledger: &memledger.Ledger{},
		Limits: []httplimit.Limit{{Quota: 60, Window: time.Minute}, {Quota: 1000, Window: time.Hour}},
		Routes: []httplimit.Route{{Name: "search", Pattern: "GET /search", Cost: 5}},
		// The load balancer appends its client's address to X-Forwarded-For.
		Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	if err != nil {
		panic(err)
	}
	handler := limiter.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "found")
	}))
	for range 13 {
		r := httptest.NewRequest(http.MethodGet, "/search", nil)
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code == http.StatusTooManyRequests {
			fmt.Println(w.Code, "with Retry-After:", w.Header().Get("Retry-After") != "")
		}
	}
	fmt.Printf("%d allowed, %d refused\n", limiter.Stats().Allowed, limiter.Stats().Refused)
	// Output:
	// 429 with Retry-After: true
	// 12 allowed, 1 refused
}

// A client with a token has the plan of that token. The configuration holds only the token's hash.
func ExampleToken() {
	limiter, err := httplimit.New(httplimit.Config{
		Ledger: &memledger.Ledger{},
		Limits: []httplimit.Limit{{Quota: 20, Window: time.Minute}},
		Plans: map[string][]httplimit.Limit{
			"free":    {{Quota: 100, Window: time.Minute}},
			"starter": {{Quota: 3000, Window: time.Minute}},
		},
		Tokens: []httplimit.Token{{Client: "acme", Plan: "starter", SHA256: httplimit.HashToken("c1a7dd4ab40db2a79e5f1fd7f0b61a3c")}},
	})
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer c1a7dd4ab40db2a79e5f1fd7f0b61a3c")
	w := httptest.NewRecorder()
	limiter.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	fmt.Println(w.Header().Get("RateLimit"))
	// Output:
	// "1m";r=2999;t=60
}
