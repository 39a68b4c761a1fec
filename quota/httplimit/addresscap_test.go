package httplimit_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota/httplimit"
)

// capped is a limiter whose addresses may send 10 a minute with all their tokens.
func capped(t *testing.T, observe bool) *asking {
	t.Helper()
	tokens := []httplimit.Token{}
	for _, name := range []string{"acme", "beta"} {
		tokens = append(tokens, httplimit.Token{Client: name, Plan: "starter", SHA256: httplimit.HashToken(name)})
	}
	return newAsking(t, httplimit.Config{
		Limits: perMinute(3), Plans: map[string][]httplimit.Limit{"starter": perMinute(30)}, Tokens: tokens,
		Addresses: []httplimit.Limit{{Quota: 10, Window: time.Minute, Observe: observe}},
		Routes:    []httplimit.Route{{Name: "search", Pattern: "GET /search", Cost: 3, Limits: perMinute(20)}},
	})
}

const bearer = "Authorization"

// The same requests come to the site itself, through a proxy that asks, and from a program that asks.
func TestAnAddressHasALimitAboveAllPlans(t *testing.T) {
	for name, send := range map[string]func(s *asking, token, path string) *http.Response{
		"handler": func(s *asking, token, path string) *http.Response {
			if token == "" {
				return s.send(http.MethodGet, path, ann)
			}
			return s.send(http.MethodGet, path, ann, bearer, "Bearer "+token)
		},
		"proxy": func(s *asking, token, path string) *http.Response {
			header := []string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Uri", path}
			if token != "" {
				header = append(header, bearer, "Bearer "+token)
			}
			return s.authorize(caller, "/auth", header...)
		},
		"program": func(s *asking, token, path string) *http.Response {
			body := `{"client": "192.0.2.1", "address": "192.0.2.1"`
			if token != "" {
				body = `{"client": "` + token + `", "address": "192.0.2.1:4711"`
			}
			if path == "/search" {
				body += `, "route": "search"`
			}
			resp, _, _ := s.post(caller, body+"}")
			return resp
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := capped(t, false)
			for i, r := range []struct {
				token, path, rest string
			}{ // of 10: a search for 3, and 7 others
				{"acme", "/search", `"1m";r=27;t=60, "search-1m";r=17;t=60`},
				{"acme", "/", `"1m";r=26;t=60`},
				{"beta", "/", `"1m";r=29;t=60`},
				{"", "/", `"1m";r=2;t=60, "address-1m";r=4;t=60`},
				{"beta", "/", `"1m";r=28;t=60`},
				{"beta", "/", `"1m";r=27;t=60`},
				{"acme", "/", `"1m";r=25;t=60`},
				{"beta", "/", `"1m";r=26;t=60`},
			} {
				if resp := send(s, r.token, r.path); resp.StatusCode != 200 || resp.Header.Get("RateLimit") != r.rest {
					t.Fatalf("request %d, %+v: %d with %s, want 200 and %v", i+1, r, resp.StatusCode, resp.Header.Get("RateLimit"), r.rest)
				}
			}
			s.clock.Advance(20 * time.Second)
			for _, token := range []string{"acme", "beta", ""} {
				resp := send(s, token, "/")
				if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "40" || resp.Header.Get("RateLimit") != `"address-1m";r=0;t=40` {
					t.Errorf("%q, the eleventh of this address: %d %v, want 429, \"40\" and \"\\\"address-1m\\\";r=0;t=40\"", token, resp.StatusCode, resp.Header)
				}
			}
			// Neither token was charged for a refused request, and both go on from another address.
			for token, want := range map[string]string{"acme": `"1m";r=24;t=40`, "beta": `"1m";r=25;t=40`} {
				if resp := s.send(http.MethodGet, "/", bob, bearer, "Bearer "+token); resp.StatusCode != 200 || resp.Header.Get("RateLimit") != want {
					t.Errorf("%s at another address: %d with %s, want %s", token, resp.StatusCode, resp.Header.Get("RateLimit"), want)
				}
			}
			s.wants(http.StatusUnauthorized, 3, bob, bearer, "Bearer guess") // guesses count, at the address
			s.wants(http.StatusTooManyRequests, 1, bob, bearer, "Bearer guess")
			of := map[string]httplimit.WindowStats{}
			for _, w := range s.Windows() {
				key := w.Limit + " " + w.Route
				if _, twice := of[key+" "+w.Window]; twice {
					t.Errorf("two counters are %+v", w)
				}
				of[key+" "+w.Window] = w
			}
			if w := of["address  address-1m"]; w.Refused != 3 || w.Near != 1 {
				t.Errorf("the limit of addresses counts %+v", w)
			}
		})
	}
}

// A request is refused by its token's limit for 40 s, and by its address's for 60 s.
func TestRetryAfterIsTrueUnderALimitOfAddresses(t *testing.T) {
	s := newAsking(t, httplimit.Config{
		Limits: perMinute(1), Addresses: perMinute(5), Plans: map[string][]httplimit.Limit{"starter": perMinute(4)},
		Tokens: []httplimit.Token{
			{Client: "acme", Plan: "starter", SHA256: httplimit.HashToken("acme")},
			{Client: "beta", Plan: "starter", SHA256: httplimit.HashToken("beta")},
		},
	})
	s.wants(http.StatusOK, 4, bob, bearer, "Bearer acme") // elsewhere
	s.clock.Advance(20 * time.Second)
	s.wants(http.StatusOK, 4, ann, bearer, "Bearer beta")
	s.wants(http.StatusOK, 1, ann)
	resp := s.send(http.MethodGet, "/", ann, bearer, "Bearer acme")
	wait, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	if resp.StatusCode != 429 || wait != 60 {
		t.Fatalf("%d, Retry-After %d, want 429 and 60", resp.StatusCode, wait)
	}
	s.clock.Advance(time.Duration(wait-1) * time.Second)
	s.wants(http.StatusTooManyRequests, 1, ann, bearer, "Bearer acme")
	s.clock.Advance(time.Second)
	s.wants(http.StatusOK, 1, ann, bearer, "Bearer acme")
}

// The limit holds for many requests at once, and each token pays for its admitted requests only.
func TestTheLimitOfAnAddressIsExactAtOnce(t *testing.T) {
	s := capped(t, false)
	var admitted [2]atomic.Int64
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			if s.get(ann, bearer, "Bearer "+[]string{"acme", "beta"}[i%2]) == http.StatusOK {
				admitted[i%2].Add(1)
			}
		})
	}
	all.Wait()
	if sum := admitted[0].Load() + admitted[1].Load(); sum != 10 {
		t.Errorf("%d of 60 at once were admitted, want 10", sum)
	}
	for i, token := range []string{"acme", "beta"} {
		want := fmt.Sprintf(`"1m";r=%d;t=60`, 30-1-admitted[i].Load())
		if got := s.send(http.MethodGet, "/", bob, bearer, "Bearer "+token).Header.Get("RateLimit"); got != want {
			t.Errorf("%s has %s left, want %s", token, got, want)
		}
	}
}

func TestAnObservedLimitOfAddressesOnlyCounts(t *testing.T) {
	s := capped(t, true)
	s.wants(http.StatusOK, 12, ann, bearer, "Bearer acme")
	if got := s.Stats(); got.Allowed != 10 || got.Observed != 2 {
		t.Errorf("%+v, want 2 that the limit would refuse", got)
	}
}

func TestTheLimitOfAddressesHasANameOfItsOwn(t *testing.T) {
	_, err := httplimit.New(httplimit.Config{
		Limits: perMinute(5), Addresses: perMinute(5), Routes: []httplimit.Route{{Name: "address", Pattern: "GET /a", Limits: perMinute(5)}},
	})
	if err == nil {
		t.Error("two limits are named address-1m")
	}
	s := capped(t, false)
	if resp, _, problem := s.post(caller, `{"client": "a", "address": "home"}`); resp.StatusCode != 400 {
		t.Errorf("%d %+v for an address that is none, want 400", resp.StatusCode, problem)
	}
	if names := s.Windows(); !slices.ContainsFunc(names, func(w httplimit.WindowStats) bool { return w.Limit == "address" && w.Route == "search" }) {
		t.Errorf("no window of the limit of addresses on the route search: %+v", names)
	}
}
