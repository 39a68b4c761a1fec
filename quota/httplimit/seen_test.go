package httplimit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// An observed limit refuses nothing, and counts exactly the requests that it would refuse; those beside it hold.
func TestAnObservedLimitNamesItsRefusals(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: []httplimit.Limit{{Quota: 3, Window: time.Second, Observe: true}, {Quota: 8, Window: time.Minute}}})
	s.wants(http.StatusOK, 5, ann) // the 4th and 5th are too many in a second
	s.clock.Advance(time.Second)
	s.wants(http.StatusOK, 3, ann) // three more are not: a would be refusal was not charged
	s.wants(http.StatusTooManyRequests, 2, ann)
	if got, want := s.Stats(), (httplimit.Stats{Allowed: 6, Observed: 2, Refused: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want := []httplimit.WindowStats{
		{Limit: "limits", Window: "1m", Allowed: 8, Near: 1, Refused: 2},
		{Limit: "limits", Window: "1s", Observed: true, Allowed: 6, Near: 2, Refused: 2},
	}
	if got := s.Windows(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if resp := s.send(http.MethodGet, "/", bob); strings.Contains(resp.Header.Get("RateLimit-Policy"), "1s") {
		t.Errorf("an observed limit is shown: %v", resp.Header)
	}
}

// A request that an enforced limit refuses is not counted by any other, in any order.
func TestWindowsCountARequestsOutcome(t *testing.T) {
	s := newSite(t, httplimit.Config{
		Limits: perMinute(10), Plans: map[string][]httplimit.Limit{"free": perMinute(100)}, Outer: perMinute(12),
		Routes: []httplimit.Route{{Name: "search", Pattern: "/search", Cost: 5, Limits: []httplimit.Limit{{Quota: 5, Window: time.Hour}}}},
	})
	s.send(http.MethodGet, "/search", ann)
	s.send(http.MethodGet, "/search", ann) // the route's hour is used up
	s.wants(http.StatusOK, 5, ann)
	s.wants(http.StatusTooManyRequests, 1, ann)
	s.wants(http.StatusOK, 2, bob)
	s.wants(http.StatusServiceUnavailable, 1, bob)
	s.wants(http.StatusServiceUnavailable, 1, bob) // without asking the ledger
	var got []string
	for _, w := range s.Windows() {
		if w.Allowed+w.Refused > 0 {
			got = append(got, fmt.Sprintf("%s %q %s %d %d %d", w.Limit, w.Route, w.Window, w.Allowed, w.Near, w.Refused))
		}
	}
	want := []string{
		`limits "" 1m 7 1 1`, `limits "search" 1m 1 0 0`, `limits "search" search-1h 1 1 1`, `outer "" 1m 8 1 2`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("limit, route, window, allowed, near, refused:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// logged are the lines about limited clients.
func logged(t *testing.T, log *bytes.Buffer) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l["msg"] == "client limited" {
			lines = append(lines, l)
		}
	}
	log.Reset()
	return lines
}

// The log has a line a minute of each client that is limited, with how often it was since the line before.
func TestDenialsAreLoggedOnceAMinuteOfAClient(t *testing.T) {
	var log bytes.Buffer
	c := httplimit.Config{
		Limits: perMinute(2), Routes: []httplimit.Route{{Name: "search", Pattern: "/search", Cost: 2}},
		Log: slog.New(slog.NewJSONHandler(&log, nil)), Tokens: []httplimit.Token{{Client: "acme", SHA256: httplimit.HashToken("secret of acme")}},
	}
	s := newSite(t, c)
	s.wants(http.StatusOK, 2, ann)
	s.wants(http.StatusTooManyRequests, 50, ann)
	s.send(http.MethodGet, "/search", ann)
	lines := logged(t, &log)
	if len(lines) != 1 || lines[0]["limit"] != "1m" || lines[0]["cost"] != 1.0 || lines[0]["reset_s"] != 60.0 ||
		lines[0]["refused"] != 1.0 || lines[0]["observed"] != false {
		t.Fatalf("%v", lines)
	}
	if name := fmt.Sprint(lines[0]["client"]); strings.Contains(log.String(), "192.0.2.1") || strings.Contains(name, "c0000201") || len(name) != 16 {
		t.Errorf("the client is called %s", name)
	}
	s.clock.Advance(59 * time.Second)
	s.send(http.MethodGet, "/search", ann)
	if lines := logged(t, &log); len(lines) != 0 {
		t.Errorf("a second line within a minute: %v, want none", lines)
	}
	s.clock.Advance(time.Second)
	s.wants(http.StatusOK, 2, ann)
	s.send(http.MethodGet, "/search", ann)
	if lines := logged(t, &log); len(lines) != 1 || lines[0]["refused"] != 52.0 || lines[0]["route"] != "search" || lines[0]["cost"] != 2.0 {
		t.Errorf("the next line: %v, want the 51 since the first and itself", lines)
	}

	c.ClientNames, c.Ledger, c.Now = httplimit.Plain, nil, nil
	s = newSite(t, c)
	s.wants(http.StatusOK, 2, ann)
	s.wants(http.StatusTooManyRequests, 1, ann)
	for range 3 {
		s.send(http.MethodGet, "/", "[2001:db8::1]:80")
		s.send(http.MethodGet, "/", bob, "Authorization", "Bearer secret of acme")
	}
	var names []string
	for _, l := range logged(t, &log) {
		names = append(names, fmt.Sprint(l["client"]))
	}
	if want := []string{"192.0.2.1", "2001:db8::/64", "acme"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// A flood of refused addresses neither fills the log nor the memory, and hides no client that is refused often.
func TestAFloodOfDenialsIsBounded(t *testing.T) {
	var log bytes.Buffer
	s := newSite(t, httplimit.Config{Limits: perMinute(1), ClientNames: httplimit.Plain, Log: slog.New(slog.NewJSONHandler(&log, nil)), Callers: prefixes("127.0.0.1/32")})
	for i := range 4_000 {
		address := fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)
		s.send(http.MethodGet, "/", address)
		s.send(http.MethodGet, "/", address)
		if i%20 == 0 {
			s.send(http.MethodGet, "/", ann)
		}
	}
	if n := len(logged(t, &log)); n != 60 {
		t.Errorf("%d lines in a minute, of 4,000 clients, want 60", n)
	}
	seen := s.seen("127.0.0.1:1")
	if len(seen.Clients) != 20 || seen.Clients[0].Client != "192.0.2.1" || seen.Clients[0].Refused < 199 ||
		seen.Clients[0].Refused-seen.Clients[0].AtMostTooMany > 199 {
		t.Errorf("%d clients, the first is %+v, which was refused 199 times", len(seen.Clients), seen.Clients[0])
	}
	s.clock.Advance(time.Minute)
	s.wants(http.StatusOK, 1, ann)
	s.wants(http.StatusTooManyRequests, 1, ann)
	if lines := logged(t, &log); len(lines) != 1 || lines[0]["left_out"].(float64) < 3_600 {
		t.Errorf("%v, want 1 and at least 3,600", lines)
	}
}

// seen asks who is limited most.
func (s *site) seen(from string) (seen httplimit.Seen) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/v1/limited", nil)
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	s.Limited().ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &seen); w.Code != http.StatusOK || err != nil {
		s.t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	return seen
}

// Only trusted callers learn who is limited.
func TestWhoIsLimitedIsForCallers(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(1), Callers: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	r := httptest.NewRequest(http.MethodGet, "/v1/limited", nil)
	r.RemoteAddr = ann
	w := httptest.NewRecorder()
	s.Limited().ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("%d, want %v", w.Code, http.StatusForbidden)
	}
	if seen := s.seen("127.0.0.1:1"); len(seen.Clients) != 0 || seen.Clients == nil || len(seen.Windows) != 1 {
		t.Errorf("%+v", seen)
	}
}

// A failing ledger refuses no request for an observed limit.
func TestAnObservedLimitNeedsNoLedger(t *testing.T) {
	s := newSite(t, httplimit.Config{Observe: true, Limits: perMinute(1), Ledger: &moody{take: func(context.Context) error { return quota.ErrUnavailable }}})
	s.wants(http.StatusOK, 5, ann)
	if got := s.Stats(); got != (httplimit.Stats{FailedOpen: 5}) {
		t.Errorf("%+v", got)
	}
}
