package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
)

// BenchmarkHandler is a request of one of 10,000 clients, under two windows, beside the bare handler.
func BenchmarkHandler(b *testing.B) {
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	requests := make([]*http.Request, 10_000)
	for i := range requests {
		requests[i] = httptest.NewRequest(http.MethodGet, "/", nil)
		requests[i].RemoteAddr = fmt.Sprintf("10.1.%d.%d:80", i>>8, i&255)
	}
	for _, c := range []struct {
		name   string
		limit  int64 // a minute; 0: bare
		fields httplimit.Fields
	}{{"bare", 0, ""}, {"draft-11", quota.MaxLimit, httplimit.Draft11}, {"no fields", quota.MaxLimit, httplimit.Off}, {"refused", 1, httplimit.Draft11}} {
		b.Run(c.name, func(b *testing.B) {
			h := http.Handler(bare)
			if c.limit > 0 {
				l, err := httplimit.New(httplimit.Config{
					Ledger: &memledger.Ledger{}, Limits: []httplimit.Limit{{Quota: c.limit, Window: time.Minute}, {Quota: quota.MaxLimit, Window: time.Hour}}, Fields: []httplimit.Fields{c.fields}, Timeout: -1,
				})
				if err != nil {
					b.Fatal(err)
				}
				h = l.Handler(bare)
			}
			w := &nowhere{header: http.Header{}}
			for _, r := range requests {
				h.ServeHTTP(w, r)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h.ServeHTTP(w, requests[i%len(requests)])
			}
		})
	}
}
