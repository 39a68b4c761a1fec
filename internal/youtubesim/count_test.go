package youtubesim_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

const (
	oneVideo  = "videos?part=id&chart=mostPopular&regionCode=US"
	oneSearch = "search?part=id&q=a"
	oneStat   = "videos:batchGetStats?part=id&id=x"
)

func TestEveryMethodCostsTheTablesPrice(t *testing.T) {
	type costs = map[string]int64
	for _, c := range []struct {
		method, path, table string
		want                costs
	}{
		{"videos.list", oneVideo, "classic", costs{"units": 1, "search": 0}},
		{"videos.list", "videos?part=id&id=a,b", "classic", costs{"units": 1, "search": 0}},
		{"search.list", oneSearch, "classic", costs{"units": 100, "search": 1}},
		{"channels.list", "channels?part=id&id=x", "classic", costs{"units": 1, "search": 0}},
		{"playlistItems.list", "playlistItems?part=id&playlistId=x", "classic", costs{"units": 1, "search": 0}},
		{"videoCategories.list", "videoCategories?part=id&regionCode=US", "classic", costs{"units": 1, "search": 0}},
		{"i18nRegions.list", "i18nRegions?part=id", "classic", costs{"units": 1, "search": 0}},
		{"videos.batchGetStats", oneStat, "classic", costs{"units": 1, "search": 0}},
		{"videos.list", oneVideo, "split-2026-06", costs{"units": 1, "search": 0, "batch_stats": 0}},
		{"search.list", oneSearch, "split-2026-06", costs{"units": 0, "search": 1, "batch_stats": 0}},
		{"videos.batchGetStats", oneStat, "split-2026-06", costs{"units": 0, "search": 0, "batch_stats": 1}},
		{"search.list", "search?part=id&typo=1", "classic", costs{"units": 1, "search": 0}},
		{"search.list", "search?part=id&typo=1", "split-2026-06", costs{"units": 0, "search": 1, "batch_stats": 0}},
	} {
		t.Run(c.table+" "+c.path, func(t *testing.T) {
			s := newStand(t, youtubesim.Options{CostTable: c.table})
			status, _ := s.ask(c.path)
			l := s.Ledger()
			if !maps.Equal(l.Units, c.want) {
				t.Errorf("charged %v, want %v", l.Units, c.want)
			}
			if want := []youtubesim.CallCount{{Method: c.method, Status: status, Count: 1}}; !slices.Equal(l.Calls, want) {
				t.Errorf("calls %v, want %v", l.Calls, want)
			}
		})
	}
}

func TestTheLedgerKeepsItsContract(t *testing.T) {
	s := newStand(t, youtubesim.Options{Limits: map[string]int64{"units": 33}})
	for range 33 {
		s.list(oneVideo)
	}
	s.ask(oneVideo)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/sim/ledger?log=1", nil))
	var got struct {
		Units, Refused, Regions map[string]int64
		Calls                   []map[string]any
		Log                     []youtubesim.Call
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int64{"units": 33, "search": 0, "batch_stats": 0}; !maps.Equal(got.Units, want) {
		t.Errorf("units %v, want %v", got.Units, want)
	}
	if want := map[string]int64{"units": 1, "search": 0, "batch_stats": 0}; !maps.Equal(got.Refused, want) {
		t.Errorf("refused %v, want %v", got.Refused, want)
	}
	if len(got.Calls) != 2 || got.Calls[0]["method"] != "videos.list" || got.Calls[0]["status"] != 200.0 || got.Calls[0]["count"] != 33.0 {
		t.Errorf("calls %v", got.Calls)
	}
	if got.Regions["US"] != 33 || len(got.Log) != 34 || got.Log[33].Refused != "units" || got.Log[33].Status != 403 {
		t.Errorf("regions %v, %d lines in the log, last %+v", got.Regions, len(got.Log), got.Log[len(got.Log)-1])
	}
	if w.Header().Get("Content-Type") != "application/json; charset=UTF-8" || strings.Contains(w.Body.String(), "key") {
		t.Errorf("header %v", w.Header())
	}
	if l := len(s.Log()); l != 34 {
		t.Errorf("reading the ledger was logged: %d lines, want 34", l)
	}
}

func TestTheProvidersDayTurnsAtPacificMidnight(t *testing.T) {
	utc := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct{ name, midnight, lastSecond, next string }{
		{"a day of 24 h", "2026-11-20T08:00:00Z", "2026-11-21T07:59:59Z", "2026-11-21T08:00:00Z"},
		{"the 25 h of 2026-11-01", "2026-11-01T07:00:00Z", "2026-11-02T07:59:59Z", "2026-11-02T08:00:00Z"},
		{"the 23 h of 2027-03-14", "2027-03-14T08:00:00Z", "2027-03-15T06:59:59Z", "2027-03-15T07:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t, youtubesim.Options{Limits: map[string]int64{"units": 2}})
			for _, step := range []struct {
				at   time.Time
				want int
			}{
				{utc(c.midnight).Add(-time.Second), 200}, {utc(c.midnight), 200}, {utc(c.midnight), 200}, {utc(c.midnight), 403},
				{utc(c.lastSecond), 403}, {utc(c.next), 200},
			} {
				s.clock.set(step.at)
				if status, _ := s.ask(oneVideo); status != step.want {
					t.Errorf("at %s: status %d, want %d", step.at, status, step.want)
				}
			}
			if most := s.MaxInDay("units"); most != 2 {
				t.Errorf("most in a day %d, want 2", most)
			}
		})
	}
}

func TestACallIsChargedToAllItsPoolsOrNone(t *testing.T) {
	s := newStand(t, youtubesim.Options{CostTable: "classic", Limits: map[string]int64{"units": 1000, "search": 1}})
	s.list(oneSearch)
	if status, body := s.ask(oneSearch); status != 429 || reason(body) != "rateLimitExceeded" {
		t.Errorf("status %d, %v, want 429 and \"rateLimitExceeded\"", status, body)
	}
	l := s.Ledger()
	if l.Units["units"] != 100 || l.Units["search"] != 1 || l.Refused["search"] != 1 || l.Refused["units"] != 0 {
		t.Errorf("ledger %+v", l)
	}
	s = newStand(t, youtubesim.Options{CostTable: "classic", Limits: map[string]int64{"units": 99}})
	if status, body := s.ask(oneSearch); status != 403 || reason(body) != "quotaExceeded" {
		t.Errorf("status %d, %v, want 403 and \"quotaExceeded\"", status, body)
	}
	if l := s.Ledger(); l.Units["units"] != 0 || l.Units["search"] != 0 || l.Refused["units"] != 1 {
		t.Errorf("ledger %+v, want 0, 0 and 1", l)
	}
}

func TestManyAtOnceGetExactlyTheLimit(t *testing.T) {
	s := newStand(t, youtubesim.Options{Limits: map[string]int64{"units": 100}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/youtube/v3/"+oneVideo, nil))
			}
		})
	}
	wg.Wait()
	if l := s.Ledger(); l.Units["units"] != 100 || l.Refused["units"] != 100 {
		t.Errorf("charged %d and refused %d, want 100 of each", l.Units["units"], l.Refused["units"])
	}
	if most := s.MaxInDay("units"); most != 100 {
		t.Errorf("most in a day %d, want 100", most)
	}
}

func TestTheLimitPerMinuteIsExactAndHalfOpen(t *testing.T) {
	for _, charge := range []bool{false, true} {
		s := newStand(t, youtubesim.Options{PerMinute: 2, ChargePerMinute: charge})
		var got []int
		for _, after := range []time.Duration{0, 30 * time.Second, 59_999 * time.Millisecond, time.Minute, time.Minute, 90 * time.Second} {
			s.clock.set(noon.Add(after))
			status, _ := s.ask(oneVideo)
			got = append(got, status)
		}
		if want := []int{200, 200, 429, 200, 429, 200}; !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
		want := int64(4)
		if charge {
			want = 6
		}
		if l := s.Ledger(); l.Units["units"] != want || l.PerMinute != 2 || l.Refused["units"] != 0 {
			t.Errorf("charge %v: ledger %+v, want %d units", charge, l, want)
		}
	}
}

func TestMaxInWindowIsHalfOpen(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	for _, after := range []time.Duration{0, 0, time.Hour, 24*time.Hour - 1, 24 * time.Hour, 25 * time.Hour, 100 * time.Hour} {
		s.clock.set(noon.Add(after))
		s.list(oneVideo)
	}
	for _, c := range []struct {
		window time.Duration
		want   int64
	}{{time.Nanosecond, 2}, {time.Hour, 2}, {time.Hour + 1, 3}, {24 * time.Hour, 4}, {24*time.Hour + 1, 5}, {25 * time.Hour, 5}, {1000 * time.Hour, 7}} {
		if got := s.MaxInWindow("units", c.window); got != c.want {
			t.Errorf("most in %s: %d, want %d", c.window, got, c.want)
		}
	}
}

func TestAPathThatIsNoMethodCostsNothing(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	for _, path := range []string{"comments?part=id", "videos/", ""} {
		if status, _ := s.ask(path); status != 404 {
			t.Errorf("%s: status %d, want 404", path, status)
		}
	}
	if l := s.Ledger(); l.Units["units"] != 0 || len(l.Calls) != 0 {
		t.Errorf("ledger %+v, want no units and no calls", l)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    youtubesim.Options
		want string
	}{
		{youtubesim.Options{CostTable: "new"}, `youtubesim: no cost table "new": use classic or split-2026-06`},
		{youtubesim.Options{Limits: map[string]int64{"unit": 1}}, `youtubesim: limit for an unknown pool "unit": table split-2026-06 has units, search, batch_stats`},
		{youtubesim.Options{Limits: map[string]int64{"units": -1}}, "youtubesim: limit -1 for pool units must not be negative"},
		{youtubesim.Options{PerMinute: -1}, "youtubesim: per-minute limit -1 and latency 0s must not be negative"},
		{youtubesim.Options{Day: "2026-02-14"}, "youtubesim: a day (2026-02-14) picks a snapshot of recorded charts: give their directory too"},
	} {
		if _, err := youtubesim.New(c.o); err == nil || err.Error() != c.want {
			t.Errorf("%+v: error %v, want %s", c.o, err, c.want)
		}
	}
}
