package httplimit_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
)

// moody answers as a ledger in memory does, or not at all.
type moody struct {
	memledger.Ledger
	take func(context.Context) error // nil: all is well
}

func (m *moody) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if m.take != nil {
		if err := m.take(ctx); err != nil {
			return quota.Decision{}, err
		}
	}
	return m.Ledger.Take(ctx, a)
}

// A cheap request of any method goes on without the ledger, until its client has used up a part of each limit. A
// server that is full is one that cannot answer.
func TestWithoutALedgerCostAndPolicyDecide(t *testing.T) {
	var log bytes.Buffer
	ledger := &moody{take: func(context.Context) error { return fmt.Errorf("%w: connection refused", quota.ErrUnavailable) }}
	s := newSite(t, httplimit.Config{
		Ledger: ledger, Limits: perMinute(100), Log: slog.New(slog.NewTextHandler(&log, nil)),
		Routes:  []httplimit.Route{{Name: "cheap", Pattern: "/cheap", Cost: 10}, {Name: "dear", Pattern: "/dear", Cost: 11}},
		Failure: httplimit.Failure{OpenAtMost: 0.1, Emergency: 0.45},
	})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		resp := s.send(method, "/dear", ann)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("a dear %s: %d %v, want %v and \"application/problem+json\"", method, resp.StatusCode, resp.Header, http.StatusServiceUnavailable)
		}
		for i, want := range []int{200, 200, 200, 200, 503, 503} {
			if resp := s.send(method, "/cheap", map[string]string{"GET": ann, "POST": bob}[method]); resp.StatusCode != want ||
				want == 503 && resp.Header.Get("Retry-After") != "60" {
				t.Errorf("a cheap %s, number %d: %d, want %d", method, i+1, resp.StatusCode, want)
			}
		}
	}
	if got := s.Stats(); got.FailedOpen != 8 || got.FailedClosed != 6 || got.Allowed != 0 {
		t.Errorf("%+v, want 8, 6 and 0", got)
	}
	s.clock.Advance(time.Minute)
	s.wants(http.StatusOK, 45, ann)
	s.wants(http.StatusServiceUnavailable, 1, ann)
	ledger.take = nil
	s.wants(http.StatusOK, 100, ann)
	s.wants(http.StatusTooManyRequests, 1, ann)
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(log.String()), "\n"), func(line string) bool { return strings.Contains(line, "client limited") })
	if len(lines) != 2 || !strings.Contains(lines[0], "connection refused") || !strings.Contains(lines[1], "again") {
		t.Errorf("the log:\n%s\nwant one line when it ceased, one when it was back", log.String())
	}
}

// A request that is not served, because the limit of all clients cannot be checked, is not charged to its client.
func TestARequestThatIsNotServedIsNotCharged(t *testing.T) {
	asked := 0
	s := newSite(t, httplimit.Config{Limits: perMinute(3), Outer: perMinute(20), Failure: httplimit.Failure{OpenAtMost: -1}, Ledger: &moody{take: func(context.Context) error {
		if asked++; asked%2 == 0 {
			return quota.ErrUnavailable
		}
		return nil
	}}})
	for range 5 {
		if got := s.send(http.MethodPost, "/", ann).StatusCode; got != http.StatusServiceUnavailable {
			t.Errorf("%d, want 503", got)
		}
	}
}

func TestALedgerThatHangsIsWaitedForUntilTheTimeout(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(1), Timeout: 20 * time.Millisecond, Ledger: &moody{take: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}})
	s.wants(http.StatusOK, 1, ann) // or it hangs indefinitely
	if got := s.Stats().FailedOpen; got != 1 {
		t.Errorf("%d failed open, want 1", got)
	}
}

// To hang up at once is no way around the count.
func TestARequestThatIsCancelledCounts(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(5), Ledger: &moody{take: context.Context.Err}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		r := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx)
		r.RemoteAddr = ann
		s.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	s.wants(http.StatusTooManyRequests, 1, ann)
	if got := s.Stats().FailedOpen; got != 0 {
		t.Errorf("%d went uncounted, want 0", got)
	}
}
