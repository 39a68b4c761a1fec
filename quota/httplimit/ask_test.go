package httplimit_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// asking is a limiter that other servers ask, from 127.0.0.1 or with a token.
type asking struct {
	*site
	auth, ask http.Handler
}

const callerToken = "c1a7dd4ab40db2a79e5f1fd7f0b61a3c"

func newAsking(t *testing.T, c httplimit.Config) *asking {
	t.Helper()
	c.Callers = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	c.Tokens = append(c.Tokens, httplimit.Token{Client: "php", SHA256: httplimit.HashToken(callerToken), Caller: true})
	s := newSite(t, c)
	return &asking{s, s.Auth(), s.Ask()}
}

// post asks with a body, with pairs of header fields, and returns the answer or the problem.
func (a *asking) post(from, body string, header ...string) (*http.Response, httplimit.Answer, httplimit.Problem) {
	a.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/limits", strings.NewReader(body))
	r.RemoteAddr = from
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.ask.ServeHTTP(w, r)
	resp := w.Result()
	text, _ := io.ReadAll(resp.Body)
	var answer httplimit.Answer
	var problem httplimit.Problem
	into := any(&answer)
	if resp.StatusCode != http.StatusOK {
		into = &problem
	}
	if err := json.Unmarshal(text, into); err != nil {
		a.t.Fatalf("%s: %v", text, err)
	}
	return resp, answer, problem
}

const caller = "127.0.0.1:5000"

func TestAProgramAsksForItsClients(t *testing.T) {
	s := newAsking(t, httplimit.Config{
		Limits: perMinute(3), Plans: map[string][]httplimit.Limit{"starter": perMinute(30)},
		Routes: []httplimit.Route{{Name: "search", Pattern: "GET /search", Cost: 2}},
	})
	resp, answer, _ := s.post(caller, `{"client": "user-7", "route": "search"}`)
	if resp.StatusCode != 200 || !answer.Allowed || resp.Header.Get("RateLimit") != `"1m";r=1;t=60` {
		t.Errorf("got %d %+v %v, want 200, allowed, 1 left", resp.StatusCode, answer, resp.Header)
	}
	if want := []httplimit.Left{{Name: "1m", Limit: 3, Window: 60, Remaining: 1, Reset: 60}}; !slices.Equal(answer.Limits, want) {
		t.Errorf("limits: got %+v, want %+v", answer.Limits, want)
	}
	s.clock.Advance(20 * time.Second)
	resp, _, problem := s.post(caller, `{"client": "user-7", "cost": 2}`)
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "40" || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %v, want 429 after 40 s as a problem", resp.StatusCode, resp.Header)
	}
	if want := []string{"1m"}; !slices.Equal(problem.Violated, want) {
		t.Errorf("violated: got %v, want %v", problem.Violated, want)
	}
	for body, want := range map[string]int64{
		`{"client": "user-7", "cost": 0}`:                     1, // only looks: no charge
		`{"client": "user-8"}`:                                2,
		`{"client": "ann@example.com", "plan": "starter"}`:    29,
		`{"client": "192.0.2.1"}`:                             2,
		`{"client": "org-1", "also": [{"client": "user-9"}]}`: 2,
	} {
		if resp, answer, problem := s.post(caller, body); resp.StatusCode != 200 || answer.Limits[0].Remaining != want {
			t.Errorf("%s: %d %+v %+v, want 200 and %v", body, resp.StatusCode, answer, problem, want)
		}
	}
	s.wants(http.StatusOK, 2, ann) // ann is 192.0.2.1, which one question above has charged
	s.wants(http.StatusTooManyRequests, 1, ann)
	for body, want := range map[string]string{
		`{"client": ""}`:                         "client has 0 bytes",
		`{"client": "a", "plan": "x"}`:           `no plan "x"`,
		`{"client": "a", "route": "x"}`:          `no route "x"`,
		`{"client": "a", "cost": 4}`:             "above the limit 1m",
		`{"client": "a", "cost": -1}`:            "cost -1",
		`{"client": "a", "clients": 1}`:          "unknown field",
		strings.Repeat("[", 5000):                "is not a question",
		`{"client": "a", "also": [{"plan":""}]}`: "client has 0 bytes",
	} {
		if resp, _, problem := s.post(caller, body); resp.StatusCode != 400 || !strings.Contains(problem.Detail, want) {
			t.Errorf("%.60s: %d %s, want 400 and %v in it", body, resp.StatusCode, problem.Detail, want)
		}
	}
}

// Either all of the named identities are charged, or none.
func TestSeveralIdentitiesAreChargedTogether(t *testing.T) {
	s := newAsking(t, httplimit.Config{Limits: perMinute(5), Plans: map[string][]httplimit.Limit{"org": perMinute(8)}})
	ask := func(user string) int {
		resp, _, _ := s.post(caller, `{"client": "`+user+`", "also": [{"client": "org-3", "plan": "org"}]}`)
		return resp.StatusCode
	}
	for _, user := range []string{"u1", "u2"} {
		for range 4 {
			if got := ask(user); got != 200 {
				t.Fatalf("%s: %d, want 200", user, got)
			}
		}
	}
	for range 10 { // the organisation's limit refuses, and its users are not charged
		if got := ask("u1"); got != 429 {
			t.Fatalf("%d, want 429", got)
		}
	}
	if _, answer, _ := s.post(caller, `{"client": "u1"}`); answer.Limits[0].Remaining != 0 {
		t.Errorf("u1's fifth request: %+v, want Remaining 0", answer)
	}
}

func TestOnlyTrustedCallersAskForOthers(t *testing.T) {
	s := newAsking(t, httplimit.Config{Limits: perMinute(100), Tokens: []httplimit.Token{{Client: "acme", SHA256: httplimit.HashToken("acme's own")}}})
	for _, c := range []struct {
		from, token string
		want        int
	}{
		{caller, "", 200}, {ann, "", 403}, {ann, callerToken, 200}, {ann, "acme's own", 403}, {ann, "guess", 403}, {"", "", 403},
	} {
		header := []string{"X-Forwarded-For", "198.51.100.7"}
		if c.token != "" {
			header = append(header, "Authorization", "Bearer "+c.token)
		}
		if resp, _, problem := s.post(c.from, `{"client": "a"}`, header...); resp.StatusCode != c.want {
			t.Errorf("%+v: %d %+v, want %v", c, resp.StatusCode, problem, c.want)
		}
		if c.token != "" {
			header = append(header[:2:2], "Proxy-Authorization", "Bearer "+c.token)
		}
		if got := s.authorize(c.from, "/auth", header...).StatusCode; got != c.want {
			t.Errorf("auth, %+v: %d, want %v", c, got, c.want)
		}
	}
}

// authorize asks as a proxy does.
func (a *asking) authorize(from, target string, header ...string) *http.Response {
	handler := a.handler
	defer func() { a.handler = handler }()
	a.handler = a.auth
	return a.send(http.MethodGet, target, from, header...)
}

func TestProxiesAskBeforeTheyPassOn(t *testing.T) {
	for name, form := range map[string][]string{
		"nginx":   {"X-Original-Method", "GET", "X-Original-URI", "/search?q=a", "X-Forwarded-For", "198.51.100.7"},
		"Traefik": {"X-Forwarded-Method", "GET", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "shop.example", "X-Forwarded-Uri", "/search?q=a", "X-Forwarded-For", "198.51.100.7"},
		"Caddy":   {"X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/search?q=a", "X-Forwarded-For", "198.51.100.7"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAsking(t, httplimit.Config{Limits: perMinute(10), Routes: []httplimit.Route{{Name: "search", Pattern: "GET /search", Cost: 4}}})
			for i, want := range []int{200, 200, 429} {
				if resp := s.authorize(caller, "/auth", form...); resp.StatusCode != want ||
					(resp.Header.Get("Retry-After") != "") != (want == 429) || resp.Header.Get("RateLimit") == "" {
					t.Errorf("request %d: %d %v", i+1, resp.StatusCode, resp.Header)
				}
			}
			if resp := s.authorize(caller, "/auth?refuse=403", form...); resp.StatusCode != 403 || resp.Header.Get("Retry-After") == "" {
				t.Errorf("nginx takes %d for a failure: %v", resp.StatusCode, resp.Header)
			}
			forged := append(slices.Clone(form[:len(form)-1]), "203.0.113.9, 198.51.100.7")
			if got := s.authorize(caller, "/auth", forged...).StatusCode; got != 429 {
				t.Errorf("%d for a client that forges an address before its own, want 429", got)
			}
			if got := s.authorize(caller, "/auth", form[:len(form)-2]...).StatusCode; got != 400 {
				t.Errorf("%d where the proxy does not say who its client is", got)
			}
			s.wants(http.StatusOK, 2, "198.51.100.7:1")
			if got := s.authorize(caller, "/auth", form[len(form)-2:]...).StatusCode; got != 429 {
				t.Errorf("%d for the eleventh unit of 10, want 429", got)
			}
		})
	}
}

// Requests of a client with the same key are charged once in a window, also if two come at once. Another
// client's equal key is another key.
func TestTheSameKeyIsOneCharge(t *testing.T) {
	s := newAsking(t, httplimit.Config{Limits: perMinute(3)})
	ask := func(client, key string) (int, int64) {
		resp, answer, _ := s.post(caller, `{"client": "`+client+`"}`, "Idempotency-Key", key)
		if len(answer.Limits) == 0 {
			return resp.StatusCode, -1
		}
		return resp.StatusCode, answer.Limits[0].Remaining
	}
	for i, c := range []struct {
		client, key string
		status      int
		left        int64
	}{
		{"a", "1", 200, 2}, {"a", "1", 200, 2}, {"b", "1", 200, 2}, {"a", "2", 200, 1}, {"a", "3", 200, 0},
		{"a", "4", 429, -1}, {"a", "1", 200, 0}, {"a", "4", 429, -1},
	} {
		if status, left := ask(c.client, c.key); status != c.status || left != c.left {
			t.Errorf("question %d, %+v: %d with %d left, want %v and %v", i+1, c, status, left, c.status, c.left)
		}
	}
	if got := s.Stats(); got.Repeated != 2 || got.Allowed != 4 {
		t.Errorf("%+v, want Repeated 2 and Allowed 4", got)
	}
	s.clock.Advance(time.Minute)
	if status, left := ask("a", "1"); status != 200 || left != 2 {
		t.Errorf("a window later: %d with %d left, want 200 and 2", status, left)
	}
	// Two requests that come at once are charged once. The second one comes after the first has looked for its key, and
	// before the first is charged.
	ledger := &atOnce{}
	s = newAsking(t, httplimit.Config{Limits: perMinute(3), Ledger: ledger})
	ledger.twin = func() { ask("a", "x") }
	if status, _ := ask("a", "x"); status != 200 {
		t.Errorf("%d, want 200", status)
	}
	if _, answer, _ := s.post(caller, `{"client": "a", "cost": 0}`); answer.Limits[0].Remaining != 2 {
		t.Errorf("two at once under one key left %d of 3, want 2", answer.Limits[0].Remaining)
	}
}

// atOnce runs twin, another request, between the first and the second take: after a request has looked for its key and
// before it is charged.
type atOnce struct {
	memledger.Ledger
	asked int
	twin  func()
}

func (l *atOnce) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	if l.asked++; l.asked == 2 {
		l.twin()
	}
	return l.Ledger.Take(ctx, a)
}

// The limit holds across a minute's boundary, through /v1/limits too: of 100 requests just before it and 100 just after
// it, 100 are admitted.
func TestTheBoundaryHoldsForThoseWhoAsk(t *testing.T) {
	clock := quotatest.NewClock(noon)
	s := newAsking(t, httplimit.Config{Ledger: &memledger.Ledger{Now: clock.Now}, Limits: perMinute(100)})
	admitted := 0
	for _, start := range []time.Duration{59 * time.Second, 61 * time.Second} {
		clock.Set(noon.Add(start))
		for i := range 100 {
			if resp, _, _ := s.post(caller, `{"client": "a"}`, "Idempotency-Key", strconv.Itoa(i)+start.String()); resp.StatusCode == 200 {
				admitted++
			}
		}
	}
	if admitted != 100 {
		t.Errorf("%d admitted within 2 s, limit 100 a minute", admitted)
	}
}
