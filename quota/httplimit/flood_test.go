package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota/httplimit"
)

// held is how much memory is in use, in bytes.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// flood is a request from each of n addresses; the byte before the last says which flood it is.
func flood(s *site, n, which int) (refused int) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	w := &nowhere{header: http.Header{}}
	for i := range n {
		r.RemoteAddr = fmt.Sprintf("%d.%d.%d.%d:1", 20+which, i>>16, i>>8&255, i&255)
		w.status = http.StatusOK
		if s.handler.ServeHTTP(w, r); w.status != http.StatusOK {
			refused++
		}
	}
	return refused
}

// nowhere is a response writer that discards the response.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) WriteHeader(status int)      { w.status = status }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }

func TestAFloodOfAddressesIsBoundedAndHurtsNoOtherClient(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: []httplimit.Limit{{Quota: 60, Window: time.Minute}, {Quota: 1000, Window: time.Hour}}})
	s.wants(http.StatusOK, 10, ann) // she was there before
	before := held()
	if refused := flood(s, 100_000, 1); refused > 0 {
		t.Errorf("%d of 100,000 addresses were refused their first request, want none", refused)
	}
	first := held() - before
	flood(s, 100_000, 2)
	second := held() - before
	t.Logf("100,000 addresses take %.1f MB, as many more %.1f MB in all", float64(first)/1e6, float64(second)/1e6)
	if first > 50e6 || second > 50e6 {
		t.Errorf("a flood takes %d and %d bytes, want under 50 MB", first, second)
	}
	s.wants(http.StatusOK, 50, ann)
	s.wants(http.StatusTooManyRequests, 1, ann) // exactly: she shares with no client
	if got := s.Stats(); got.Shared < 100_000 {
		t.Errorf("%d requests of shared accounts, want those of all who came after 100,000", got.Shared)
	}
	// An hour later all of them are idle, and vanish while others come.
	s.clock.Advance(time.Hour)
	s.wants(http.StatusOK, 60, ann)
	flood(s, 20_000, 3)
	for range 2_000 {
		s.clock.Advance(time.Second)
		s.get(bob)
	}
	after := held() - before
	t.Logf("%.1f MB are left of it, with 20,000 others", float64(after)/1e6)
	if after > first*3/4 {
		t.Errorf("%d bytes are still held, of %d", after, first)
	}
	runtime.KeepAlive(s)
}

func TestAHundredAtOnceGetExactlyTheQuota(t *testing.T) {
	const quotaOf = 500
	s := newSite(t, httplimit.Config{Limits: []httplimit.Limit{{Quota: quotaOf, Window: time.Minute}}, Outer: perMinute(2*quotaOf + 100), MaxClients: 2})
	var served, refused, overloaded atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		from := []string{ann, bob}[i%2]
		all.Go(func() {
			for range 20 {
				switch s.get(from) {
				case http.StatusOK:
					served.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					overloaded.Add(1)
				}
			}
		})
	}
	all.Wait()
	if served.Load() != 2*quotaOf || refused.Load() != 2000-2*quotaOf || overloaded.Load() != 0 {
		t.Errorf("%d served, %d refused, %d overloaded", served.Load(), refused.Load(), overloaded.Load())
	}
}
