package pages_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
)

// searched returns a site with one answer for every search, and its last query.
func searched(answer func(params url.Values) (report.SearchDocument, error)) (*pages.Site, *url.Values) {
	s, asked := newSite(), &url.Values{}
	s.Documents = func() (*report.Documents, error) {
		return &report.Documents{Search: func(_ context.Context, params url.Values) (report.SearchDocument, error) {
			*asked = params
			return answer(params)
		}}, nil
	}
	return s, asked
}

// results is the document of a search with hostile titles, on a page that is not the last.
func results(params url.Values) (report.SearchDocument, error) {
	next, gained := "next/+=&", int64(1234)
	doc := report.SearchDocument{Query: params.Get("q"), Interpreted: "trailer", Next: &next, Counts: &report.CountsDocument{
		Matches: 885, Regions: []report.CountDocument{{Videos: 885}, {Value: "US", Name: "United States", Videos: 266}, {Value: "FR", Name: "France"}},
		Categories: []report.CountDocument{{Videos: 885}, {Value: "24", Name: "<b>Fun", Videos: 395}}, Published: []report.CountDocument{{Videos: 885}, {Value: "24h", Videos: 5}},
		Views: []report.CountDocument{{Videos: 885}, {Value: "1000000", Videos: 62}},
	}}
	for i, title := range []string{hostileTitle, strings.Repeat("trailer ", 125), "البرومو trailer", strings.Repeat("e\u0301\u0302", 300), "", "a & b"} {
		doc.Items = append(doc.Items, report.SearchItem{VideoDocument: report.VideoDocument{VideoID: fmt.Sprintf("<script>%d", i), Title: title, Channel: hostileTitle}, Regions: []ingest.Region{"US", "DE"},
			Highlight: [][2]int{{0, 7}, {3, 8}, {2000, 3000}}, ViewsGained: &gained})
	}
	return doc, nil
}

var (
	anchor = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)
	tag    = regexp.MustCompile(`<[^>]*>`)
)

// A filter of the API that the page does not offer holds all the same, and can be taken back.
func TestASearchPageObeysAllFiltersOfItsAddress(t *testing.T) {
	s, asked := searched(results)
	body := html.UnescapeString(bodyOf(t, get(t, s, "/search?q=trailer&seen_since=168h&published_until=2026-01-31")))
	if want := "counts=true&published_until=2026-01-31&q=trailer&seen_since=168h"; asked.Encode() != want {
		t.Errorf("it asked for %s, want %s", asked.Encode(), want)
	}
	for _, want := range []string{"2026-01-31, Last 7 days; by relevance", `href="/search?published_until=2026-01-31&q=trailer"`, `href="/search?q=trailer&seen_since=168h"`, "Last seen since"} {
		if !strings.Contains(body, want) {
			t.Errorf("it does not say %q:\n%s", want, body)
		}
	}
	if body := bodyOf(t, get(t, s, "/search?q=trailer")); strings.Contains(body, "Last seen since") {
		t.Errorf("the page offers a filter without a choice:\n%s", body)
	}
}

func TestASearchPageShowsItsDocument(t *testing.T) {
	s, asked := searched(results)
	answer := get(t, s, "/search?region=us&q=trailer&min_views=77&after=cursor&from=21&utm_source=x")
	body := bodyOf(t, answer)
	if want := "after=cursor&counts=true&min_views=77&q=trailer&region=US"; asked.Encode() != want {
		t.Errorf("it asked for %s, want %s", asked.Encode(), want)
	}
	seen := html.UnescapeString(tag.ReplaceAllString(body, ""))
	for _, want := range []string{"885 videos match trailer.", "US, DE · gained 1,234 views", "United States 266", "Last 24 hours 5", "1 million or more 62", "<b>Fun 395", "21 to 26 of 885", "77", "United States, 77; by relevance"} {
		if !strings.Contains(seen, want) {
			t.Errorf("it does not say %q:\n%s", want, seen)
		}
	}
	links := map[string]bool{}
	for _, m := range anchor.FindAllStringSubmatch(body, -1) {
		links[html.UnescapeString(m[1])] = true
	}
	for _, want := range []string{
		"/videos/%3Cscript%3E0", "/videos/%3Cscript%3E5", "/search?min_views=77&q=trailer", "/search?min_views=77&order=views&q=trailer&region=US", "/search?q=trailer&region=US",
		"/search?after=next%2F%2B%3D%26&from=27&min_views=77&q=trailer&region=US", "/search?min_views=77&q=trailer&region=US", "/v1/search?after=cursor&counts=true&min_views=77&q=trailer&region=US",
	} {
		if !links[want] {
			t.Errorf("no link leads to %s: %v", want, links)
		}
	}
	for _, never := range []string{"France", "<script>", "<b>Fun", "\u202E", "onclick"} {
		if strings.Contains(body, never) {
			t.Errorf("it holds %q", never)
		}
	}
	if rows := strings.Count(body, `<li class="row"`); rows != 6 || answer.StatusCode != http.StatusOK ||
		!strings.Contains(body, `<input type="hidden" name="region" value="US">`) {
		t.Errorf("%d, %d rows; the box must keep the filters:\n%s", answer.StatusCode, rows, body)
	}
	if !strings.Contains(body, "><mark>trailer</mark><mark> </mark>trailer ") {
		t.Errorf("the found words are not marked:\n%s", body)
	}
}

func TestASearchNamesItsSubstitute(t *testing.T) {
	for want, doc := range map[string]report.SearchDocument{
		"Little matches “trailre” as typed":            {Query: "trailre", Interpreted: "trailer", Forgiven: true, Counts: &report.CountsDocument{Matches: 1}},
		"1 video matches trailer.":                     {Interpreted: "trailer", Counts: &report.CountsDocument{Matches: 1}},
		"5,000 or more videos match a. So many":        {Interpreted: "a", Capped: true, Counts: &report.CountsDocument{Matches: 5000, AtLeast: true}},
		"Nothing was searched for: it has no word.":    {Hint: "it has no word"},
		"No video matches x with these filters. Searc": {Interpreted: "x", Counts: &report.CountsDocument{}},
	} {
		s, _ := searched(func(url.Values) (report.SearchDocument, error) { return doc, nil })
		if text := html.UnescapeString(tag.ReplaceAllString(bodyOf(t, get(t, s, "/search?q=trailre&category=1")), "")); !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// A count that stopped at the newest matches may be less than the page's number of results, which then is all or the
// least.
func TestASearchPageCountsItsResults(t *testing.T) {
	next, five := "next", make([]report.SearchItem, 5)
	least := report.SearchDocument{Interpreted: "a", Items: five, Counts: &report.CountsDocument{Matches: 3, AtLeast: true}}
	more, capped := least, least
	more.Next, capped.Capped = &next, true
	for path, docs := range map[string]map[string]report.SearchDocument{
		"":                   {"5 videos match a.": least, "5 or more videos match a.": more, "5 or more videos match a. So": capped},
		"&after=next&from=6": {"10 videos match a.": least, "6 to 10 of 10Next": least, "6 to 10 of 10 or moreNext": more},
		"&after=next":        {"5 or more videos match a.": least},
	} {
		for want, doc := range docs {
			s, _ := searched(func(url.Values) (report.SearchDocument, error) { return doc, nil })
			text := html.UnescapeString(tag.ReplaceAllString(bodyOf(t, get(t, s, "/search?q=a&category=1"+path)), ""))
			if !strings.Contains(strings.ReplaceAll(text, " Next", "Next"), want) {
				t.Errorf("%s does not say %q:\n%s", path, want, text)
			}
		}
	}
}

func TestAVideoIsNeverZeroHoursOld(t *testing.T) {
	for want, age := range map[string]time.Duration{"0 min": -time.Minute, "59 min": time.Hour - time.Second, "1 h": time.Hour, "47 h": 48*time.Hour - time.Second, "2 d": 48 * time.Hour} {
		s, _ := searched(func(url.Values) (report.SearchDocument, error) {
			published := newSite().Now().Add(-age)
			return report.SearchDocument{Interpreted: "a", Items: []report.SearchItem{{VideoDocument: report.VideoDocument{VideoID: "a", PublishedAt: &published}}}}, nil
		})
		if body := bodyOf(t, get(t, s, "/search?q=a")); !strings.Contains(body, ">"+want+`<span class="wide"> ago`) {
			t.Errorf("%s: it does not say %s ago:\n%s", age, want, body)
		}
	}
}

func TestASearchThatCannotBeDoneLeadsToOneThatCan(t *testing.T) {
	s, asked := searched(func(url.Values) (report.SearchDocument, error) {
		return report.SearchDocument{}, fmt.Errorf("%w: after is not a cursor", report.ErrBadRequest)
	})
	for path, want := range map[string]string{
		"/search?q=cup&after=!":                         `404 After is not a cursor.</p><p><a href="/search?q=cup">Search for <bdi>cup</bdi> without filters</a>`,
		"/search?q=cup&region=ZZ":                       `404 <a href="/search?q=cup">Search for`,
		"/search?q=" + strings.Repeat("%C3%A9", 10_000): "400 The query has 10,000 characters, and at most 1,000",
		"/search?q=%zz":                                 "400 not well formed",
	} {
		answer := get(t, s, path)
		code, want, _ := strings.Cut(want, " ")
		if body := bodyOf(t, answer); fmt.Sprint(answer.StatusCode) != code || !strings.Contains(body, want) || !strings.Contains(body, `href="/charts"`) {
			t.Errorf("%.40s: %d, lacks %s:\n%.3000s", path, answer.StatusCode, want, body)
		}
	}
	*asked = nil
	if answer := get(t, s, "/search?q=+&region=US"); answer.StatusCode != http.StatusOK || *asked != nil || !strings.Contains(bodyOf(t, answer), "Type words") {
		t.Errorf("an empty query: %d, and it asked for %v", answer.StatusCode, *asked)
	}
}

func TestASearchOfAFullPageIsSmall(t *testing.T) {
	s, _ := searched(func(params url.Values) (report.SearchDocument, error) {
		doc, err := results(params)
		for len(doc.Items) < 20 {
			doc.Items = append(doc.Items, doc.Items[1])
		}
		return doc, err
	})
	page := len(bodyOf(t, get(t, s, "/search?q=trailer")))
	if css := len(bodyOf(t, get(t, s, "/style.css"))); page+css > 60_000 {
		t.Errorf("%d bytes of HTML and %d of CSS, want at most 60,000", page, css)
	}
}

func TestThePageOfTheAPIListsItsContract(t *testing.T) {
	w, s, docs := httptest.NewRecorder(), newSite(), filled()
	docs.Regions = func(context.Context) (report.RegionsDocument, error) {
		return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "JP"}}}, nil
	}
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	s.Contract([]byte(`{"info": {"description": "Reads <only>."}, "paths": {
		"/v1/search": {"get": {"summary": "Videos", "parameters": [{"name": "q", "description": "words", "required": true}, {"name": "seen_since", "description": "found since", "schema": {"description": "24h ago"}}]}},
		"/v1/videos/{id}": {"get": {"summary": "Places", "parameters": []}}, "/v1/charts/{region}": {"get": {"summary": "Chart"}}, "/v1/quota": {"get": {"summary": "Quota"}}}}`)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/", nil))
	body := w.Body.String()
	for _, want := range []string{"Reads &lt;only&gt;.", `href="/v1/search?q=trailer"`, "words (required)", "found since: 24h ago", "<code>/v1/videos/{id}</code>", `href="/v1/quota"`, `href="/v1/charts/JP?limit=10"`, `href="/v1/openapi.json"`, "--origin"} {
		if !strings.Contains(body, want) {
			t.Errorf("it lacks %s:\n%s", want, body)
		}
	}
}
