package main

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ululehttp "github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululemem "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
)

// contender limits a handler to so many requests from one address within a window, in memory, in its plain use.
type contender struct {
	name, module string
	wrap         func(limit int, per time.Duration, next http.Handler) (http.Handler, error)
}

var contenders = []contender{
	{"bare handler", "", func(_ int, _ time.Duration, next http.Handler) (http.Handler, error) { return next, nil }},
	{"httplimit, draft-11", "", ours(httplimit.Draft11)},
	{"httplimit, no fields", "", ours(httplimit.Off)},
	{"httprate", "github.com/go-chi/httprate", func(limit int, per time.Duration, next http.Handler) (http.Handler, error) {
		return httprate.LimitByIP(limit, per)(next), nil
	}},
	{"throttled", "github.com/throttled/throttled/v2", throttledLimit},
	{"ulule/limiter", "github.com/ulule/limiter/v3", func(limit int, per time.Duration, next http.Handler) (http.Handler, error) {
		return ululehttp.NewMiddleware(limiter.New(ululemem.NewStore(), limiter.Rate{Period: per, Limit: int64(limit)})).Handler(next), nil
	}},
	{"x/time/rate behind a map", "golang.org/x/time", bucketPerAddress},
}

// ours has one window, like the peers.
func ours(fields httplimit.Fields) func(int, time.Duration, http.Handler) (http.Handler, error) {
	return func(limit int, per time.Duration, next http.Handler) (http.Handler, error) {
		l, err := httplimit.New(httplimit.Config{
			Ledger: &memledger.Ledger{}, Limits: []httplimit.Limit{{Quota: int64(limit), Window: per}}, Fields: []httplimit.Fields{fields}, Timeout: -1,
		})
		if err != nil {
			return nil, err
		}
		return l.Handler(next), nil
	}
}

func throttledLimit(limit int, per time.Duration, next http.Handler) (http.Handler, error) {
	store, err := memstore.NewCtx(0) // no bound on the number of keys, like the others
	if err != nil {
		return nil, err
	}
	gcra, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(limit, per), MaxBurst: limit - 1})
	if err != nil {
		return nil, err
	}
	h := throttled.HTTPRateLimiterCtx{RateLimiter: gcra, VaryBy: &throttled.VaryBy{RemoteAddr: true}}
	return h.RateLimit(next), nil
}

// bucketPerAddress is a common limiter written by hand. It never forgets a client.
func bucketPerAddress(limit int, per time.Duration, next http.Handler) (http.Handler, error) {
	var mu sync.Mutex
	buckets := map[string]*rate.Limiter{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		mu.Lock()
		b, ok := buckets[host]
		if !ok {
			b = rate.NewLimiter(rate.Every(per/time.Duration(limit)), limit)
			buckets[host] = b
		}
		mu.Unlock()
		if !b.Allow() {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}
