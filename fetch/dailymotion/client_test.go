package dailymotion_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/dailymotion"
	"github.com/trendvidstream/ingest/internal/dailymotionsim"
	"github.com/trendvidstream/ingest/quota"
)

func TestNewRefusesAWrongBaseUrl(t *testing.T) {
	for base, host := range map[string]string{
		"": "api.dailymotion.com", "https://API.dailymotion.com:443": "api.dailymotion.com", "http://127.0.0.1:8080/": "127.0.0.1:8080",
	} {
		if c, err := dailymotion.New(t.Context(), dailymotion.Config{BaseURL: base}); err != nil || c.Host() != host {
			t.Errorf("%q: %v, want host %s", base, err, host)
		}
	}
	for _, base := range []string{"http://api.dailymotion.com/", "https://api.dailymotion.com/v2/", "https://me:x@api.dailymotion.com/"} {
		_, err := dailymotion.New(t.Context(), dailymotion.Config{BaseURL: base})
		if err == nil || !strings.HasPrefix(err.Error(), "upstream URL") {
			t.Errorf("%q: %v, want it refused", base, err)
		}
	}
}

func TestACallAsksForExactlyTheStoredFields(t *testing.T) {
	var got *http.Request
	c, srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = fmt.Fprintf(w, `{"page":%s,"list":[]}`, r.URL.Query().Get("page"))
	})
	described, err := dailymotion.New(t.Context(), dailymotion.Config{BaseURL: srv.URL, Version: "1.2.3", Descriptions: true})
	if err != nil {
		t.Fatal(err)
	}
	const fields = "id,title,owner.screenname,owner.id,channel,language,thumbnail_720_url,thumbnail_360_url," +
		"created_time,duration,mode,tags,views_total,likes_total"
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	query := ingest.Query{Text: "a b&c=d", Region: "DE", Channel: "x1fz4ii", Category: "music", After: day, Before: day.Add(time.Hour), NewestFirst: true}
	tests := map[string]struct {
		do     func() error
		method string
		want   map[string]string
	}{
		"a chart's first page": {did(t, c.Chart("US", "0", "")), "videos.trending", map[string]string{
			"country": "us", "sort": "trending", "page": "1", "limit": "100", "fields": fields}},
		"a category's third": {did(t, c.Chart("IN", "music", "3")), "videos.trending", map[string]string{
			"country": "in", "channel": "music", "sort": "trending", "page": "3", "limit": "100", "fields": fields}},
		"videos": {did(t, c.Videos([]string{"xa", "xb"})), "videos.list", map[string]string{
			"ids": "xa,xb", "page": "1", "limit": "100", "fields": fields}},
		"videos described": {did(t, described.Videos([]string{"xa"})), "videos.list", map[string]string{
			"ids": "xa", "page": "1", "limit": "100", "fields": fields + ",description"}},
		"a search": {did(t, c.Search(ingest.Query{Text: "cat"}, "2")), "videos.search", map[string]string{
			"search": "cat", "sort": "relevance", "page": "2", "limit": "100", "fields": "id"}},
		"a search with all there is": {did(t, c.Search(query, "")), "videos.search", map[string]string{
			"search": "a b&c=d", "sort": "recent", "ams_country": "de", "owners": "x1fz4ii", "channel": "music",
			"created_after": "1793491200", "created_before": "1793494800", "page": "1", "limit": "100", "fields": "id"}},
	}
	for name, tt := range tests {
		if err := tt.do(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q := got.URL.Query()
		for k, v := range tt.want {
			if !slices.Equal(q[k], []string{v}) {
				t.Errorf("%s: %s is %q, want %q", name, k, q[k], v)
			}
		}
		if len(q) != len(tt.want) || got.URL.Path != "/videos" || got.Method != http.MethodGet {
			t.Errorf("%s: %s %s, want GET /videos with %v", name, got.Method, got.URL, tt.want)
		}
		if agent := got.Header.Get("User-Agent"); agent != "trendvidstream-ingest/1.2.3" || got.Header.Get("Authorization") != "" {
			t.Errorf("%s: %v, want \"trendvidstream-ingest/1.2.3\" and \"\"", name, got.Header)
		}
	}
}

func did[T any](t *testing.T, call fetch.Call[T]) func() error {
	return func() error {
		_, err := call.Do(t.Context())
		return err
	}
}

func TestEveryMethodHasItsCost(t *testing.T) {
	tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "dailymotion", "")
	if err != nil {
		t.Fatal(err)
	}
	c := &dailymotion.Client{} // making a call needs no server
	for _, method := range []string{c.Chart("US", "", "").Method, c.Videos(nil).Method, c.Search(ingest.Query{}, "").Method} {
		cost, err := tariff.Cost(method)
		if err != nil || len(cost) != 1 || cost["calls"] != 1 {
			t.Errorf("%s costs %v: %v, want one call and nothing else", method, cost, err)
		}
	}
	if tariff.Zone.String() != "UTC" {
		t.Errorf("the day turns in %s, want \"UTC\"", tariff.Zone)
	}
}

func TestACallThatCannotBeAskedIsNotSent(t *testing.T) {
	c, _ := serve(t, func(http.ResponseWriter, *http.Request) {
		t.Error("a request for a call that cannot be asked: got one, want none")
	})
	for _, ids := range [][]string{nil, slices.Repeat([]string{"xa"}, 51), {"xa,xb"}, {"xa", ""}, {"x a"}, {"x&a"}, {"é"}, {strings.Repeat("x", 65)}} {
		if fe := fails(t.Context(), t, c.Videos(ids)); fe.Verdict != fetch.Rejected || !errors.Is(fe, dailymotion.ErrIDs) {
			t.Errorf("%d ids, %.10q: %s, %v, want %v and error %v", len(ids), ids, fe.Verdict, fe, fetch.Rejected, dailymotion.ErrIDs)
		}
	}
	if fe := fails(t.Context(), t, c.Chart("", "", "")); fe.Verdict != fetch.Rejected {
		t.Errorf("no region: %s, %v", fe.Verdict, fe)
	}
	if fe := fails(t.Context(), t, c.Search(ingest.Query{}, "")); fe.Verdict != fetch.Rejected {
		t.Errorf("no text: %s, %v", fe.Verdict, fe)
	}
	for _, token := range []string{"0", "11", "-1", "01", "+1", "1.0", "CAUQAA", " 2", "99999999999999999999"} {
		if fe := fails(t.Context(), t, c.Chart("US", "", token)); fe.Verdict != fetch.BadToken {
			t.Errorf("token %q: %s, %v, want %v", token, fe.Verdict, fe, fetch.BadToken)
		}
	}
}

func TestPagesEndWhereTheUpstreamOrItsBoundEndsThem(t *testing.T) {
	asked := 0
	endless, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, _ = fmt.Fprintf(w, `{"page":%s,"has_more":true,"list":[{"id":"x%d"}]}`, r.URL.Query().Get("page"), asked)
	})
	if pages := walk(t, endless, "US"); len(pages) != 10 || asked != 10 {
		t.Errorf("an endless list has %d pages, asked %d times, want 10 and 10", len(pages), asked)
	}
	for body, next := range map[string]string{
		`{"page":1,"has_more":true,"list":[]}`:                "",
		`{"page":1,"has_more":false,"list":[{"id":"x"}]}`:     "",
		`{"page":1,"list":[{"id":"x"}],"total":99999}`:        "",
		`{"page":1,"has_more":null,"list":[{"id":"x"}]}`:      "",
		`{"has_more":true,"list":[{"id":"x"}],"total":1}`:     "2",
		`{"page":1,"has_more":true,"list":[{"id":"x"},null]}`: "2",
	} {
		c, _ := serve(t, respond(http.StatusOK, body))
		if page, err := c.Chart("US", "", "").Do(t.Context()); err != nil || page.Next != next {
			t.Errorf("%s: next %q, %v, want %q", body, page.Next, err, next)
		}
	}
}

// walk follows a chart to its end.
func walk(t *testing.T, c *dailymotion.Client, region ingest.Region) []ingest.Page {
	t.Helper()
	var pages []ingest.Page
	for token := ""; ; {
		page, err := c.Chart(region, "", token).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
		if token = page.Next; token == "" || len(pages) > 20 {
			return pages
		}
	}
}

func TestAChartOfTheStandInComesWholeAndOnce(t *testing.T) {
	c, sim, _ := standIn(t, dailymotionsim.Options{Seed: 7})
	for region, want := range map[ingest.Region]int{"US": 1000, "AU": 205, "IT": 100, "NO": 0} {
		seen := map[string]bool{}
		pages := walk(t, c, region)
		for _, page := range pages {
			for _, v := range page.Videos {
				seen[v.ID] = true
			}
		}
		if len(seen) != want || len(pages) != max(1, (want+99)/100) {
			t.Errorf("%s: %d videos on %d pages, want %d", region, len(seen), len(pages), want)
		}
	}
	if l := sim.Ledger(); l.Units["calls"] != 10+3+1+1 || l.Regions["US"] != 10 || l.Day != "2026-11-21" {
		t.Errorf("the stand-in counted %+v", l)
	}
	if theirs, _ := c.Date(); !theirs.Equal(now) {
		t.Errorf("the stand-in's clock is at %s", theirs)
	}
}

func TestVideosReturnsExistingVideosOnly(t *testing.T) {
	c, _, _ := standIn(t, dailymotionsim.Options{Seed: 7})
	chart, err := c.Chart("FR", "", "").Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := chart.Videos[:49]
	ids := []string{"xgone"}
	for _, v := range want {
		ids = append(ids, v.ID)
	}
	page, err := c.Videos(ids).Do(t.Context())
	if err != nil || len(page.Videos) != 49 || page.Next != "" {
		t.Fatalf("%d videos, next %q, %v, want 49 and \"\"", len(page.Videos), page.Next, err)
	}
	for i := range want {
		if fmt.Sprint(describe(page.Videos[i])) != fmt.Sprint(describe(want[i])) {
			t.Errorf("%+v, in the chart %+v", page.Videos[i], want[i])
		}
	}
}

// A filter that does not work returns other videos, and none of the requested ones: taken literally, that would
// delete them all.
func TestVideosThatWereNotAskedForAreNoAnswer(t *testing.T) {
	c, _ := serve(t, respond(http.StatusOK, `{"page":1,"has_more":true,"list":[{"id":"xa"},{"id":"xother"}]}`))
	if fe := fails(t.Context(), t, c.Videos([]string{"xa", "xb"})); fe.Verdict != fetch.Broken || !strings.Contains(fe.Error(), `"xother" was not asked for`) {
		t.Errorf("%s, %v, want %v and \"\\\"xother\\\" was not asked for\" in it", fe.Verdict, fe, fetch.Broken)
	}
}

func TestVideosIsOnePage(t *testing.T) {
	c, _ := serve(t, respond(http.StatusOK, `{"page":1,"has_more":true,"list":[{"id":"xa"}]}`))
	if page, err := c.Videos([]string{"xa", "xb"}).Do(t.Context()); err != nil || len(page.Videos) != 1 || page.Next != "" {
		t.Errorf("%d videos, next %q, %v, want 1 and \"\"", len(page.Videos), page.Next, err)
	}
}

func TestASearchFindsIDs(t *testing.T) {
	c, _, _ := standIn(t, dailymotionsim.Options{Seed: 7})
	found, err := c.Search(ingest.Query{Text: "part 7"}, "").Do(t.Context())
	if err != nil || len(found.IDs) == 0 {
		t.Fatalf("%+v, %v, want some ids", found, err)
	}
	page, err := c.Videos(found.IDs[:min(50, len(found.IDs))]).Do(t.Context())
	if err != nil || len(page.Videos) == 0 {
		t.Fatal(err)
	}
	for _, v := range page.Videos {
		if !strings.Contains(v.Title, "part 7") {
			t.Errorf("%q, want \"part 7\" in it", v.Title)
		}
	}
	if none, err := c.Search(ingest.Query{Text: "nothing is called this"}, "").Do(t.Context()); err != nil || len(none.IDs) != 0 || none.Next != "" {
		t.Errorf("%+v, %v, want 0 and \"\"", none, err)
	}
}

func TestACallMayBeDoneAgain(t *testing.T) {
	c, sim, _ := standIn(t, dailymotionsim.Options{}, "500@1", "429@2", "drop@3", "truncate@4", "502html@5", "200html@6", "403@7")
	call := c.Chart("US", "", "")
	for i, want := range []fetch.CallVerdict{fetch.Broken, fetch.Burst, fetch.Broken, fetch.Broken, fetch.Broken, fetch.Broken, fetch.Rejected} {
		if fe := fails(t.Context(), t, call); fe.Verdict != want {
			t.Errorf("call %d: %s, want %s: %v", i+1, fe.Verdict, want, fe)
		}
	}
	if page, err := call.Do(t.Context()); err != nil || len(page.Videos) != 100 {
		t.Errorf("last: %d videos, %v, want 100", len(page.Videos), err)
	}
	l := sim.Ledger()
	if l.Units["calls"] != 7 || l.Refused["calls"] != 1 {
		t.Errorf("%+v, want 7 calls counted and 1 refused", l)
	}
	for i, call := range sim.Log() {
		if want := []int{500, 429, 0, 200, 502, 200, 403, 200}[i]; call.Status != want {
			t.Errorf("call %s is logged with %d, want %d", strconv.Itoa(i+1), call.Status, want)
		}
	}
}
