package httplimit_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/trendvidstream/ingest/quota/httplimit"
)

// item is an item of a RateLimit field: its name and parameters.
type item struct {
	name   string
	params map[string]any
}

// parsed reads a field as any client of structured fields would (RFC 9651).
func parsed(t *testing.T, resp *http.Response, field string) (items []item) {
	t.Helper()
	list, err := httpsfv.UnmarshalList(resp.Header.Values(field))
	if err != nil {
		t.Fatalf("%s: %q: %v", field, resp.Header.Values(field), err)
	}
	for _, member := range list {
		i, ok := member.(httpsfv.Item)
		if !ok {
			t.Fatalf("%s: %#v is no item", field, member)
		}
		out := item{params: map[string]any{}}
		if out.name, ok = i.Value.(string); !ok {
			t.Fatalf("%s: %#v is no string", field, i.Value)
		}
		for _, name := range i.Params.Names() {
			out.params[name], _ = i.Params.Get(name)
		}
		items = append(items, out)
	}
	return items
}

func (i item) is(name string, numbers map[string]int64) bool {
	for param, want := range numbers {
		if i.params[param] != want {
			return false
		}
	}
	return i.name == name
}

func TestTheFieldsMatchTheDraft(t *testing.T) {
	s := newSite(t, httplimit.Config{Limits: []httplimit.Limit{{Quota: 3, Window: time.Minute}, {Quota: 1000, Window: time.Hour, Name: "sustained"}}})
	for i, want := range []struct {
		pass             time.Duration
		minute, hour     map[string]int64
		onlyTheViolation bool
	}{
		{0, map[string]int64{"r": 2, "t": 60}, map[string]int64{"r": 999, "t": 3600}, false},
		{15 * time.Second, map[string]int64{"r": 1, "t": 45}, map[string]int64{"r": 998, "t": 3585}, false},
		{500 * time.Millisecond, map[string]int64{"r": 0, "t": 45}, map[string]int64{"r": 997, "t": 3585}, false},
		{10 * time.Second, map[string]int64{"r": 0, "t": 35}, nil, true},
		// The requests at 15 s and 15.5 s are one entry, which counts from the later.
		{34500 * time.Millisecond, map[string]int64{"r": 0, "t": 16}, map[string]int64{"r": 996, "t": 3540}, false},
	} {
		s.clock.Advance(want.pass)
		resp := s.send(http.MethodGet, "/", ann)
		policy, limit := parsed(t, resp, "RateLimit-Policy"), parsed(t, resp, "RateLimit")
		if len(policy) != 2 || !policy[0].is("1m", map[string]int64{"q": 3, "w": 60}) ||
			!policy[1].is("sustained", map[string]int64{"q": 1000, "w": 3600}) || policy[0].params["qu"] != "requests" {
			t.Errorf("RateLimit-Policy %+v", policy)
		}
		for _, p := range append(policy, limit...) {
			if pk, ok := p.params["pk"]; ok { // the hashes of all IPv4 addresses are known
				t.Errorf("pk is %v", pk)
			}
		}
		if want.onlyTheViolation {
			if len(limit) != 1 || !limit[0].is("1m", want.minute) || resp.Header.Get("Retry-After") != "35" {
				t.Errorf("a refusal says RateLimit %+v, Retry-After %s: Retry-After must not come before the end of a window that is named", limit, resp.Header.Get("Retry-After"))
			}
		} else if len(limit) != 2 || !limit[0].is("1m", want.minute) || !limit[1].is("sustained", want.hour) {
			t.Errorf("request %d: RateLimit %+v, want %+v", i+1, limit, want)
		}
	}
}

func TestFieldsAreChosen(t *testing.T) {
	all := []string{"Ratelimit", "Ratelimit-Policy"}
	for fields, want := range map[httplimit.Fields][]string{httplimit.Draft11: all, httplimit.Off: nil, httplimit.RateLimit: nil} {
		s := newSite(t, httplimit.Config{Limits: []httplimit.Limit{{Quota: 100, Window: time.Hour}, {Quota: 2, Window: time.Minute}}, Fields: []httplimit.Fields{fields}})
		for _, status := range []int{200, 200, 429} {
			resp := s.send(http.MethodGet, "/", ann)
			for _, name := range all {
				if _, sent := resp.Header[name]; sent != slices.Contains(want, name) {
					t.Errorf("%s: %s sent: %v", fields, name, sent)
				}
			}
			if resp.StatusCode != status || (resp.Header.Get("Retry-After") != "") != (status == 429) {
				t.Errorf("%s: %d, Retry-After %q", fields, resp.StatusCode, resp.Header.Get("Retry-After"))
			}
		}
	}
}

// A client of each style waits as its fields say: a second earlier it is refused, then it is admitted.
func TestOlderFieldsAreTrueToTheirClients(t *testing.T) {
	fields := []httplimit.Fields{httplimit.Draft11, httplimit.RateLimit, httplimit.XRateLimit}
	number := func(resp *http.Response, field string) int64 {
		n, err := strconv.ParseInt(resp.Header.Get(field), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		return n
	}
	for style, wait := range map[string]func(s *site, resp *http.Response) time.Duration{
		"RateLimit-": func(_ *site, resp *http.Response) time.Duration {
			return time.Duration(number(resp, "RateLimit-Reset")) * time.Second
		},
		"X-RateLimit-": func(s *site, resp *http.Response) time.Duration {
			return time.Unix(number(resp, "X-RateLimit-Reset"), 0).Sub(s.clock.Now())
		},
		"RateLimit": func(_ *site, resp *http.Response) time.Duration {
			limits := parsed(t, resp, "RateLimit")
			longest, _ := limits[len(limits)-1].params["t"].(int64)
			return time.Duration(longest) * time.Second
		},
	} {
		t.Run(style, func(t *testing.T) {
			s := newSite(t, httplimit.Config{Fields: fields, Limits: []httplimit.Limit{{Quota: 3, Window: time.Minute}, {Quota: 5, Window: time.Hour}}})
			for i, want := range []struct{ limit, remaining int64 }{{3, 2}, {3, 1}, {3, 0}, {3, 0}} {
				resp := s.send(http.MethodGet, "/", ann)
				for _, three := range []string{"RateLimit-", "X-RateLimit-"} {
					if limit, remaining := number(resp, three+"Limit"), number(resp, three+"Remaining"); limit != want.limit || remaining != want.remaining {
						t.Errorf("request %d: %s %d of %d left, want %v and %v", i+1, three, remaining, limit, want.limit, want.remaining)
					}
				}
				s.clock.Advance(5 * time.Second)
			}
			for refusals := 0; refusals < 3; {
				resp := s.send(http.MethodGet, "/", ann)
				if resp.StatusCode == http.StatusOK {
					s.clock.Advance(time.Second)
					continue
				}
				refusals++
				until := s.clock.Now().Add(wait(s, resp))
				s.clock.Set(until.Add(-time.Second))
				s.wants(http.StatusTooManyRequests, 1, ann)
				s.clock.Set(until)
				s.wants(http.StatusOK, 1, ann)
			}
		})
	}
}
