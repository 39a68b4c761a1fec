package service_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// counted is a store and a ledger that count how often each question was asked.
type counted struct {
	mu    sync.Mutex
	times map[string]int
}

func (c *counted) asks(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[what]++
}

// since returns how often each was asked since the last call.
func (c *counted) since() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := c.times
	c.times = map[string]int{}
	return times
}

func (c *counted) Latest(context.Context) (ingest.Latest, error) {
	c.asks("slots")
	us := ingest.Series{Job: "chart", Key: "US"}
	return ingest.Latest{Done: map[ingest.Series]ingest.Slot{us: {SlotKey: ingest.SlotKey{Job: us.Job, Key: us.Key, DueAt: time.Now()}, State: ingest.Done}}}, nil
}

func (c *counted) CallStats(context.Context) (ingest.CallStats, error) {
	c.asks("calls")
	return ingest.CallStats{}, nil
}

func (c *counted) Check(context.Context) (string, error) {
	c.asks("check")
	return "/data", nil
}

func (c *counted) Report(context.Context) (quota.Report, error) {
	c.asks("report")
	return quota.Report{}, nil
}

func (*counted) Room() error                                                 { return nil }
func (*counted) WaitingBackfills(context.Context) ([]ingest.Backfill, error) { return nil, nil }

// All that serve shows at one moment, on each of its pages, comes of one look at the store; its status page asks the
// ledger once, and the probes do not ask it at all.
func TestOneMomentIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		schedule, err := regions.NewSchedule([]ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US"}, Every: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		asked := &counted{times: map[string]int{}}
		source := &web.Source{
			Quota: func(ctx context.Context, store func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
				r, err := asked.Report(ctx)
				f := store()
				f.Report = r
				return report.QuotaDocument{}, f, err
			},
			Slots:     func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, nil },
			Emergency: func(context.Context, time.Time) (quota.Cost, error) { return nil, nil },
			DayPrice:  func(time.Duration) (map[string]int64, error) { return nil, nil },
			Kept:      func(context.Context) (ingest.Kept, error) { return ingest.Kept{}, nil },
			Backfills: func(context.Context) ([]report.BackfillDocument, error) { return nil, nil },
			Ledger:    func(context.Context) (report.LedgerDocument, error) { return report.LedgerDocument{}, nil },
		}
		s := service.New(service.Options{
			Schedule: schedule, Workers: 1, StaleAfter: 3, Stderr: io.Discard, Now: time.Now, Upstream: "YouTube",
			Temporary: func(error) bool { return true },
			Open: func(context.Context) (*service.Runtime, error) {
				return &service.Runtime{
					Store: asked, Ledger: asked, Source: source, Close: func() {},
					Queue: func(context.Context, *service.Queued) (func(), func(), error) { return func() {}, func() {}, nil },
					Stand: func(_ context.Context, f standing.Facts, r quota.Report) (standing.Standing, error) {
						f.Report = r
						return standing.At(f), nil
					},
					Reconciler: func() *fetch.Reconciler { return &fetch.Reconciler{} },
				}, nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx, nil) }()
		time.Sleep(10 * time.Second) // between two heartbeats
		synctest.Wait()
		if asked.since()["report"] == 0 {
			t.Error("the maintenance asked the ledger 0 times in 10 s, want at least once")
		}
		for _, path := range []string{"/status", "/readyz", "/freshness", "/metrics", "/status?format=json"} {
			w := httptest.NewRecorder()
			service.Site(s).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
			if w.Code != http.StatusOK {
				t.Errorf("%s: %d %s, want %v", path, w.Code, w.Body, http.StatusOK)
			}
		}
		if got, want := asked.since(), map[string]int{"slots": 1, "calls": 1, "check": 1, "report": 1}; !maps.Equal(got, want) {
			t.Errorf("five pages of one moment asked %v, want %v", got, want)
		}
		time.Sleep(time.Second)
		w := httptest.NewRecorder()
		service.Site(s).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
		if got, want := asked.since(), map[string]int{"slots": 1, "calls": 1, "check": 1}; !maps.Equal(got, want) {
			t.Errorf("a second later /readyz asked %v, want %v", got, want)
		}
		cancel()
		<-ended
	})
}
