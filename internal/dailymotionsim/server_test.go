package dailymotionsim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/internal/dailymotionsim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is the stand-in's clock, moved by the test.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func noon() *clock { return &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }

func newServer(t *testing.T, o dailymotionsim.Options, faults ...string) *dailymotionsim.Server {
	t.Helper()
	for _, text := range faults {
		f, err := dailymotionsim.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Faults = append(o.Faults, f)
	}
	if o.Now == nil {
		o.Now = noon().now
	}
	s, err := dailymotionsim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// page is a list or an error, as any client reads it.
type page struct {
	Page, Limit, Total int
	HasMore            bool `json:"has_more"`
	List               []map[string]any
	Error              struct {
		Code int
		Type string
		Data map[string]string `json:"error_data"`
	}
}

// ask sends a query without a network. A dropped call has status 0.
func ask(t *testing.T, s http.Handler, path string) (status int, p page) {
	t.Helper()
	w := httptest.NewRecorder()
	dropped := func() (dropped bool) {
		defer func() {
			if r := recover(); r != nil && r != http.ErrAbortHandler {
				panic(r)
			} else if r != nil {
				dropped = true
			}
		}()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return false
	}()
	if dropped {
		return 0, p
	}
	if strings.Contains(w.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%s: %v: %s", path, err, w.Body)
		}
	}
	return w.Code, p
}

func TestTheSameSeedGivesTheSameCatalogue(t *testing.T) {
	const chart = "/videos?country=de&sort=trending&limit=100&fields=id,title,owner.id,views_total,tags"
	c := noon()
	o := dailymotionsim.Options{Seed: 5, Now: c.now}
	_, a := ask(t, newServer(t, o), chart)
	_, b := ask(t, newServer(t, o), chart)
	if len(a.List) != 100 || !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d videos, not the same", len(a.List), len(b.List))
	}
	if _, other := ask(t, newServer(t, dailymotionsim.Options{Seed: 6}), chart); reflect.DeepEqual(a, other) {
		t.Errorf("seeds 5 and 6: got the same chart %v", ids(other))
	}
	c.Time = c.Add(3 * time.Hour)
	_, later := ask(t, newServer(t, o), chart)
	if reflect.DeepEqual(ids(a), ids(later)) {
		t.Errorf("a chart and the one 3 h later: got the same %v", ids(later))
	}
}

func ids(p page) []string {
	var out []string
	for _, v := range p.List {
		out = append(out, fmt.Sprint(v["id"]))
	}
	return out
}

func TestAListHasThePagesThatItSays(t *testing.T) {
	s := newServer(t, dailymotionsim.Options{})
	for _, tt := range []struct {
		query string
		n     int
		more  bool
	}{
		{"country=us&limit=100&page=1", 100, true},
		{"country=us&limit=100&page=10", 100, false}, // the 1,000th result
		{"country=us&limit=100&page=11", 0, false},
		{"country=US&limit=7&page=2", 7, true},
		{"country=it&limit=60&page=2", 40, false},
		{"country=no", 0, false},
		{"", 10, true},
		{"channel=music&limit=100&page=4", 0, false},
		{"search=no+such+words", 0, false},
		{"ids=xnone", 0, false},
	} {
		status, p := ask(t, s, "/videos?"+tt.query)
		if tt.query == "channel=music&limit=100&page=4" {
			tt.n = len(p.List) // how many have it is the seed's business
		}
		if status != http.StatusOK || len(p.List) != tt.n || p.HasMore != tt.more {
			t.Errorf("%q: %d, %d videos, more %t, want %d, %t", tt.query, status, len(p.List), p.HasMore, tt.n, tt.more)
		}
	}
	_, p := ask(t, s, "/videos?limit=1")
	if v := p.List[0]; len(v) != 4 || v["id"] == nil || v["title"] == nil || v["channel"] == nil || v["owner"] == nil {
		t.Errorf("without fields: %v", v)
	}
}

func TestABadQueryIsRefusedByName(t *testing.T) {
	s := newServer(t, dailymotionsim.Options{})
	for query, want := range map[string]string{
		"country=usa": "country", "country=zz": "country", "country=12": "country", "page=0": "page", "page=101": "page", "page=x": "page",
		"limit=101": "limit", "limit=0": "limit", "fields=id,nonsense": "fields", "fields=": "fields", "sort=best": "sort",
		"sort=relevance": "sort", "created_after=today": "created_after", "regionCode=US": "regionCode", "channel=nonsense": "channel",
	} {
		status, p := ask(t, s, "/videos?"+query)
		if status < 400 || status > 404 || p.Error.Code != status || p.Error.Data["param"] != want || p.Error.Type == "" {
			t.Errorf("%s: %d, %+v, want 400 to 404 for %v", query, status, p.Error, want)
		}
	}
	if l := s.Ledger(); l.Units["calls"] != 15 {
		t.Errorf("15 invalid calls are charged %d, want 15", l.Units["calls"])
	}
}

func TestTheDaysLimitHoldsAndTurnsAtMidnightUTC(t *testing.T) {
	c := &clock{time.Date(2026, 11, 21, 23, 59, 59, 0, time.UTC)}
	s := newServer(t, dailymotionsim.Options{Limits: map[string]int64{"calls": 2}, Now: c.now})
	var got []int
	for range 3 {
		status, _ := ask(t, s, "/videos?country=us")
		got = append(got, status)
	}
	c.Time = c.Add(time.Second)
	status, _ := ask(t, s, "/videos?country=gb")
	if got = append(got, status); !reflect.DeepEqual(got, []int{200, 200, 429, 200}) {
		t.Errorf("answers %v, want [200 200 429 200]", got)
	}
	l := s.Ledger()
	if l.Units["calls"] != 3 || l.Refused["calls"] != 1 || l.Today["calls"] != 1 || l.Day != "2026-11-22" || l.Regions["US"] != 2 || l.Regions["GB"] != 1 {
		t.Errorf("%+v, want 3 calls counted, 1 of them today, and 1 refused", l)
	}
}

func TestTheLedgerIsServedInItsShape(t *testing.T) {
	s := newServer(t, dailymotionsim.Options{}, "500@2")
	for range 2 {
		ask(t, s, "/videos?country=us&sort=trending")
	}
	ask(t, s, "/videos?ids=xa,xb")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/sim/ledger?log=1", nil))
	var l struct {
		Units   map[string]int64
		Calls   []dailymotionsim.CallCount
		Refused map[string]int64
		Log     []dailymotionsim.Call
	}
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	want := []dailymotionsim.CallCount{{Method: "videos.list", Status: 200, Count: 1}, {Method: "videos.trending", Status: 200, Count: 1}, {Method: "videos.trending", Status: 500, Count: 1}}
	if l.Units["calls"] != 3 || !reflect.DeepEqual(l.Calls, want) || l.Refused["calls"] != 0 || len(l.Log) != 3 || l.Log[1].Fault != "500@2" {
		t.Errorf("%s, want 3 calls, the second with fault 500@2", w.Body)
	}
}

func TestFaultsHitTheCallsThatTheyName(t *testing.T) {
	s := newServer(t, dailymotionsim.Options{}, "500@1", "502html@2-3", "429@4", "403@5", "200html@6", "drop@7", "truncate@8", "drop@11+")
	var got []int
	for range 12 {
		status, _ := ask(t, s, "/videos")
		got = append(got, status)
	}
	if want := []int{500, 502, 502, 429, 403, 200, 0, 0, 200, 200, 0, 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	if l := s.Ledger(); l.Units["calls"] != 11 || l.Refused["calls"] != 1 {
		t.Errorf("%+v, want 11 calls counted and 1 refused", l)
	}
}

func TestAPercentageOfCallsIsHitTheSameEveryTime(t *testing.T) {
	run := func() (failed []int) {
		s := newServer(t, dailymotionsim.Options{Seed: 1}, "500:10%")
		for i := range 1000 {
			if status, _ := ask(t, s, "/videos?ids=x"); status == 500 {
				failed = append(failed, i)
			}
		}
		return failed
	}
	a, b := run(), run()
	if len(a) < 70 || len(a) > 130 || !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d of 1000 calls failed, want at least 70, at most 130 and %v", len(a), len(b), b)
	}
}

func TestASlowAnswerIsLateByItsFaultAndTheLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, dailymotionsim.Options{Latency: time.Second}, "slow=2s@1")
		for _, want := range []time.Duration{3 * time.Second, time.Second} {
			begin := time.Now()
			if status, _ := ask(t, s, "/videos"); status != http.StatusOK || time.Since(begin) != want {
				t.Errorf("%d after %s, want %s", status, time.Since(begin), want)
			}
		}
	})
}

func TestParseFaultRefusesUnknownFaults(t *testing.T) {
	for _, text := range []string{"500", "500@3", "500@3-5", "500@3+", "drop:5%", "drop:0.5%", "slow=2s@10+", "slow=1ms"} {
		if f, err := dailymotionsim.ParseFault(text); err != nil || f.String() != text {
			t.Errorf("%q: %q, %v, want the same text", text, f, err)
		}
	}
	for _, text := range []string{"", "501", "500@", "500@0", "500@5-3", "500@3+5", "500:", "500:10", "500:0%", "500:101%", "500:NaN%", "slow", "slow=", "slow=-1s", "500=1s", "@3"} {
		if _, err := dailymotionsim.ParseFault(text); err == nil {
			t.Errorf("%q is accepted, want an error", text)
		}
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, o := range map[string]dailymotionsim.Options{
		"another pool": {Limits: map[string]int64{"units": 1}}, "below zero": {Limits: map[string]int64{"calls": -1}}, "latency": {Latency: -1},
	} {
		if _, err := dailymotionsim.New(o); err == nil {
			t.Errorf("%s: accepted, want an error", name)
		}
	}
}

func TestNothingElseIsServed(t *testing.T) {
	s := newServer(t, dailymotionsim.Options{})
	for path, want := range map[string]int{"/": 404, "/video/x": 404, "/v2/videos": 404, "/sim/": 404} {
		if status, _ := ask(t, s, path); status != want {
			t.Errorf("%s: %d, want %v", path, status, want)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/videos", nil))
	if w.Code != http.StatusMethodNotAllowed || s.Ledger().Units["calls"] != 0 {
		t.Errorf("POST: %d, charged %d, want %v and 0", w.Code, s.Ledger().Units["calls"], http.StatusMethodNotAllowed)
	}
}
