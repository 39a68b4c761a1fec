package httplimit_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

// site is a limited handler that gives planned answers.
type site struct {
	*httplimit.Limiter
	t       testing.TB
	clock   *quotatest.Clock
	handler http.Handler
	answer  http.HandlerFunc // nil: 200
}

// newSite is a site at noon, over a ledger in memory where c has none.
func newSite(t testing.TB, c httplimit.Config) *site {
	t.Helper()
	s := &site{t: t, clock: quotatest.NewClock(noon)}
	if c.Ledger == nil {
		c.Ledger = &memledger.Ledger{Now: s.clock.Now}
	}
	c.Now = s.clock.Now
	var err error
	if s.Limiter, err = httplimit.New(c); err != nil {
		t.Fatal(err)
	}
	s.handler = s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.answer != nil {
			s.answer(w, r)
		}
	}))
	return s
}

// send sends a request without a body, with pairs of header fields.
func (s *site) send(method, target, from string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = from
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result()
}

// get sends a GET of / and returns the status.
func (s *site) get(from string, header ...string) int {
	return s.send(http.MethodGet, "/", from, header...).StatusCode
}

// wants sends n GETs and wants that status each time.
func (s *site) wants(status, n int, from string, header ...string) {
	s.t.Helper()
	for i := range n {
		if got := s.get(from, header...); got != status {
			s.t.Fatalf("request %d of %s: %d, want %d", i+1, from, got, status)
		}
	}
}

const (
	ann = "192.0.2.1:1111"
	bob = "192.0.2.2:2222"
)

func perMinute(n int64) []httplimit.Limit {
	return []httplimit.Limit{{Quota: n, Window: time.Minute}}
}

// Sixty requests arrive just before the minute turns, and sixty just after it.
func TestTheQuotaHoldsWhereAFixedWindowLetsTwiceIn(t *testing.T) {
	most := func(open func(*quotatest.Clock) quota.Ledger) int {
		clock := quotatest.NewClock(noon)
		s := newSite(t, httplimit.Config{Ledger: open(clock), Limits: perMinute(60)})
		var admitted []time.Time
		for _, start := range []time.Duration{58 * time.Second, 60 * time.Second} {
			clock.Set(noon.Add(start))
			for range 100 {
				if s.get(ann) == http.StatusOK {
					admitted = append(admitted, clock.Now())
				}
				clock.Advance(10 * time.Millisecond)
			}
		}
		worst := 0
		for i, from := range admitted {
			n := 0
			for _, at := range admitted[i:] {
				if at.Before(from.Add(time.Minute)) {
					n++
				}
			}
			worst = max(worst, n)
		}
		return worst
	}
	exact := most(func(clock *quotatest.Clock) quota.Ledger { return &memledger.Ledger{Now: clock.Now} })
	fixed := most(func(clock *quotatest.Clock) quota.Ledger {
		return &quotatest.FixedWindow{Model: quotatest.Model{Now: clock.Now}}
	})
	t.Logf("within any 60 s, limit 60: %d admitted, by a fixed window %d", exact, fixed)
	if exact != 60 || fixed != 120 {
		t.Errorf("%d admitted within 60 s and %d by a fixed window, want 60 and 120", exact, fixed)
	}
}

// A random client, now hasty, now slow, under two windows and routes of several costs: after a refusal it tries once
// a second too early, once at the time given.
func TestRetryAfterIsTrue(t *testing.T) {
	const seed = 11
	random := rand.New(rand.NewPCG(seed, 0))
	for _, ledger := range ledgers {
		t.Run(ledger.name, func(t *testing.T) {
			clock := quotatest.NewClock(noon)
			s := newSite(t, httplimit.Config{
				Ledger: ledger.open(t, clock), Limits: []httplimit.Limit{{Quota: 60, Window: time.Minute}, {Quota: 200, Window: time.Hour}},
				Routes: []httplimit.Route{{Name: "search", Pattern: "GET /search", Cost: 7}, {Name: "chart", Pattern: "GET /chart/{region}", Cost: 3}},
			})
			refusals := 0
			for range 1500 {
				target := []string{"/", "/search", "/chart/US"}[random.IntN(3)]
				resp := s.send(http.MethodGet, target, ann)
				if resp.StatusCode == http.StatusTooManyRequests {
					refusals++
					wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
					if err != nil || wait < 1 {
						t.Fatalf("Retry-After %q: %v, want at least 1", resp.Header.Get("Retry-After"), err)
					}
					told := clock.Now().Add(time.Duration(wait) * time.Second)
					if clock.Set(told.Add(-time.Second)); s.send(http.MethodGet, target, ann).StatusCode != http.StatusTooManyRequests {
						t.Fatalf("refusal %d of %s: admitted %d s before the time it was told, which was in %d s, want %v", refusals, target, 1, wait, http.StatusTooManyRequests)
					}
					if clock.Set(told); s.send(http.MethodGet, target, ann).StatusCode != http.StatusOK {
						t.Fatalf("refusal %d of %s: told to come back in %d s, and refused then, want %v", refusals, target, wait, http.StatusOK)
					}
				}
				clock.Advance(time.Duration(random.IntN(900)) * time.Millisecond)
			}
			if refusals < 20 {
				t.Errorf("only %d refusals in the run: it shows little, want at least 20", refusals)
			}
		})
	}
}

// ledgers are the ledgers that the middleware runs over in tests.
var ledgers = []struct {
	name string
	open func(t testing.TB, clock *quotatest.Clock) quota.Ledger
}{
	{"memledger", func(_ testing.TB, clock *quotatest.Clock) quota.Ledger { return &memledger.Ledger{Now: clock.Now} }},
	{"sqliteledger", func(t testing.TB, clock *quotatest.Clock) quota.Ledger {
		t.Helper()
		l, err := sqliteledger.Open(t.Context(), filepath.Join(t.TempDir(), "quota.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		l.Now = clock.Now
		return l
	}},
}

func TestThe61stRequestIsRefusedAndSaysWhy(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: []httplimit.Limit{{Quota: 60, Window: time.Minute}, {Quota: 1000, Window: time.Hour}}})
	s.wants(http.StatusOK, 60, ann)
	s.clock.Advance(20 * time.Second)
	resp := s.send(http.MethodGet, "/", ann)
	var problem httplimit.Problem
	if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "40" ||
		resp.Header.Get("Content-Type") != "application/problem+json" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if problem.Status != 429 || problem.Type != "https://iana.org/assignments/http-problem-types#quota-exceeded" ||
		!slices.Equal(problem.Violated, []string{"1m"}) {
		t.Errorf("%+v", problem)
	}
	s.wants(http.StatusOK, 1, bob)
	s.clock.Advance(39 * time.Second)
	s.wants(http.StatusTooManyRequests, 1, ann) // a second before the time given
	s.clock.Advance(time.Second)
	s.wants(http.StatusOK, 1, ann)
	t.Log("the 61st request of a minute: 429, Retry-After 40; after 39 s 429, after 40 s 200")
}

func TestOneClientStarvesNoOther(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(5), Outer: perMinute(20)})
	s.wants(http.StatusOK, 5, ann)
	s.wants(http.StatusTooManyRequests, 100, ann) // refusals use up nothing of the common limit
	s.wants(http.StatusOK, 5, bob)
	s.wants(http.StatusOK, 5, "192.0.2.3:1")
	s.wants(http.StatusOK, 5, "192.0.2.4:1")
	resp := s.send(http.MethodGet, "/", "192.0.2.5:1")
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "60" {
		t.Fatalf("the 21st of all: %d, Retry-After %q, want %v and \"60\"", resp.StatusCode, resp.Header.Get("Retry-After"), http.StatusServiceUnavailable)
	}
	s.wants(http.StatusServiceUnavailable, 10, "192.0.2.5:1")
	s.clock.Advance(time.Minute)
	s.wants(http.StatusOK, 4, "192.0.2.5:1") // the first of the requests that the outer limit refused may have been charged
	if got := s.Stats(); got.Overloaded != 11 || got.Refused != 100 || got.Allowed != 24 {
		t.Errorf("%+v, want 11, 100 and 24", got)
	}
}

// A cost that the outer limit has no room for predicts nothing about requests that cost less, nor once the clock was
// set back.
func TestAnOuterRefusalIsOfItsCostAndTime(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(100), Outer: perMinute(20), Routes: []httplimit.Route{{Name: "big", Pattern: "/big", Cost: 10}}})
	big := func() int { return s.send(http.MethodGet, "/big", bob).StatusCode }
	s.wants(http.StatusOK, 15, ann)
	if got := []int{big(), big()}; !slices.Equal(got, []int{503, 503}) {
		t.Fatalf("%v: 10 do not fit into the 5 that are left", got)
	}
	s.wants(http.StatusOK, 5, ann)
	s.wants(http.StatusServiceUnavailable, 2, ann)
	s.clock.Advance(-time.Hour)
	s.wants(http.StatusOK, 1, ann) // the ledger does not trust the clock either, and reads go on
}

func TestAllWindowsAreDecidedTogether(t *testing.T) {
	s := newSite(t, httplimit.Config{
		Limits: perMinute(10),
		Routes: []httplimit.Route{{Name: "search", Pattern: "GET /search", Cost: 3, Limits: []httplimit.Limit{{Quota: 6, Window: time.Hour}}}},
	})
	search := func() int { return s.send(http.MethodGet, "/search?q=x", ann).StatusCode }
	if got := []int{search(), search(), search()}; !slices.Equal(got, []int{200, 200, 429}) {
		t.Fatalf("%v: 6 of the route's 6 are taken by two searches", got)
	}
	s.wants(http.StatusOK, 4, ann) // the refused search took nothing of the client's 10
	s.wants(http.StatusTooManyRequests, 1, ann)
	resp := s.send(http.MethodGet, "/search", ann)
	var p httplimit.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || !slices.Equal(p.Violated, []string{"1m", "search-1h"}) ||
		resp.Header.Get("Retry-After") != "3600" {
		t.Errorf("%+v, Retry-After %s: both windows refuse, and the later one counts", p, resp.Header.Get("Retry-After"))
	}
	if got := s.send(http.MethodPost, "/search", bob).StatusCode; got != 200 {
		t.Errorf("POST: %d, and the route is of GET, want 200", got)
	}
}

func TestTokensHavePlansOfTheirOwn(t *testing.T) {
	s := newSite(t, httplimit.Config{
		Limits: perMinute(2), Plans: map[string][]httplimit.Limit{"free": perMinute(100), "starter": perMinute(3000)},
		Tokens: []httplimit.Token{
			{Client: "acme", SHA256: httplimit.HashToken("old-token-of-acme"), Plan: "starter"},
			{Client: "acme", SHA256: httplimit.HashToken("new-token-of-acme"), Plan: "starter"},
			{Client: "dora", SHA256: httplimit.HashToken("token-of-dora"), Plan: "free"},
		},
	})
	s.wants(http.StatusOK, 1000, ann, "Authorization", "Bearer old-token-of-acme")
	s.wants(http.StatusOK, 2000, bob, "Authorization", "bearer  new-token-of-acme")
	s.wants(http.StatusTooManyRequests, 1, ann, "Authorization", "Bearer old-token-of-acme")
	s.wants(http.StatusOK, 100, ann, "Authorization", "Bearer token-of-dora")
	s.wants(http.StatusTooManyRequests, 1, bob, "Authorization", "Bearer token-of-dora")
	// A token that is not known is a guess, and the address pays for it.
	resp := s.send(http.MethodGet, "/", ann, "Authorization", "Bearer guess")
	if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%d %v for a token that is not known", resp.StatusCode, resp.Header)
	}
	s.wants(http.StatusUnauthorized, 1, ann, "Authorization", "Bearer guess")
	s.wants(http.StatusTooManyRequests, 1, ann, "Authorization", "Bearer guess")
	s.wants(http.StatusTooManyRequests, 1, ann)
	s.wants(http.StatusOK, 2, bob, "Authorization", "Basic YTpi") // no token of ours
}

func TestASlash64IsOneClient(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(3)})
	s.wants(http.StatusOK, 1, "[2001:db8:1:2::1]:80")
	s.wants(http.StatusOK, 1, "[2001:db8:1:2:ffff::9]:80")
	s.wants(http.StatusOK, 1, "[2001:db8:1:2:a:b:c:d%eth0]:80")
	s.wants(http.StatusTooManyRequests, 1, "[2001:db8:1:2::4]:80")
	s.wants(http.StatusOK, 3, "[2001:db8:1:3::1]:80")
	s.wants(http.StatusOK, 2, ann)
	s.wants(http.StatusOK, 1, "[::ffff:192.0.2.1]:80") // the same address
	s.wants(http.StatusTooManyRequests, 1, ann)
	s.wants(http.StatusOK, 3, "@") // a Unix socket
	s.wants(http.StatusTooManyRequests, 1, "@")
}

func TestAllowAndDeny(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(1), Allow: prefixes("192.0.2.0/24"), Deny: prefixes("192.0.2.66/32", "2001:db8:bad::/48")})
	s.wants(http.StatusOK, 10, ann)
	s.wants(http.StatusForbidden, 2, "192.0.2.66:1")
	s.wants(http.StatusForbidden, 2, "[2001:db8:bad:1::1]:1")
	s.wants(http.StatusOK, 1, "198.51.100.1:1")
	s.wants(http.StatusTooManyRequests, 1, "198.51.100.1:1")
}

func TestObserveOnlyCounts(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(3), Outer: perMinute(5), Deny: prefixes("192.0.2.66/32"), Observe: true})
	s.wants(http.StatusOK, 10, ann)
	s.wants(http.StatusOK, 3, bob)
	s.wants(http.StatusOK, 1, "192.0.2.66:1")
	if resp := s.send(http.MethodGet, "/", ann); len(resp.Header) != 0 {
		t.Errorf("%v is sent, want none", resp.Header)
	}
	want := httplimit.Stats{Allowed: 5, Observed: 10, Denied: 1, Refunded: 1}
	if got := s.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOnlySuccessesCount(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(3), Outer: perMinute(4), SuccessesOnly: true})
	s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	s.wants(http.StatusBadGateway, 20, ann)
	s.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for range 20 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the handler's panic: got none, want it passed on")
				}
			}()
			s.get(ann)
		}()
	}
	s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	s.wants(http.StatusNotFound, 2, ann)
	s.answer = nil
	s.wants(http.StatusOK, 1, ann)
	s.wants(http.StatusTooManyRequests, 1, ann)
	if got := s.Stats().Refunded; got != 80 {
		t.Errorf("%d charges were given back, want 80: the client's and the outer one, each time", got)
	}
}

// A response that is flushed after an early one keeps its own status.
func TestTheFirstFinalStatusCounts(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: perMinute(1), SuccessesOnly: true})
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		if _, err := w.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
	}
	server := httptest.NewServer(s.handler)
	defer server.Close()
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		resp, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d, want %d", resp.StatusCode, want)
		}
	}
}

func TestWrongConfigsAreRefused(t *testing.T) {
	l := &memledger.Ledger{}
	for want, c := range map[string]httplimit.Config{
		`httplimit: prefix "a/b": use up to 16 letters, digits, '.', '-' and '_'`:                             {Ledger: l, Prefix: "a/b"},
		`httplimit: fields "on": use off alone, or some of draft-11, ratelimit and x-ratelimit`:               {Ledger: l, Fields: []httplimit.Fields{"on"}},
		`httplimit: forwarding header "X-Real-IP": use X-Forwarded-For or Forwarded`:                          {Ledger: l, Forwarding: "X-Real-IP"},
		`httplimit: plan "", route "": a window of 1.5s: use whole seconds, 1s..768h0m0s`:                     {Ledger: l, Limits: []httplimit.Limit{{Quota: 1, Window: 1500 * time.Millisecond}}},
		`httplimit: plan "", route "": two limits are named "1m"`:                                             {Ledger: l, Limits: []httplimit.Limit{{Quota: 1, Window: time.Minute}, {Quota: 2, Window: time.Minute}}},
		`httplimit: client acme: there is no plan "gold"`:                                                     {Ledger: l, Tokens: []httplimit.Token{{Client: "acme", Plan: "gold"}}},
		`httplimit: outer: route big costs 9, above the quota of 5`:                                           {Ledger: l, Outer: perMinute(5), Routes: []httplimit.Route{{Name: "big", Pattern: "/big", Cost: 9}}},
		`httplimit: route name "": use a name of its own, of up to 32 letters, digits, '.', '-' and '_'`:      {Ledger: l, Routes: []httplimit.Route{{Pattern: "/"}}},
		`httplimit: client "a b": use 1 to 40 letters, digits, '.', '-' and '_'`:                              {Ledger: l, Tokens: []httplimit.Token{{Client: "a b"}}},
		`httplimit: plan "p", route "big": can never fit: 9 of pool requests: this purpose may use at most 5`: {Ledger: l, Plans: map[string][]httplimit.Limit{"p": perMinute(5)}, Routes: []httplimit.Route{{Name: "big", Pattern: "/big", Cost: 9}}},
	} {
		_, err := httplimit.New(c)
		if got := fmt.Sprint(err); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	if _, err := httplimit.New(httplimit.Config{Ledger: l, Routes: []httplimit.Route{{Name: "a", Pattern: "GET /{x"}}}); err == nil {
		t.Error(`the pattern "GET /{x": got no error, want it refused`)
	}
}
