package pages_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
)

// coursed returns a site whose first video has a course (its ranks in past charts), and whose rows have gained views.
func coursed() (*pages.Site, *report.Documents) {
	s, docs := newSite(), charted(3, "title")
	short := docs.Chart
	docs.Chart = func(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
		doc, err := short(ctx, region, params)
		for i := range doc.Items {
			gained := int64(1000 * i)
			doc.Items[i].ViewsGained = &gained
			doc.Items[i].Category, doc.Items[i].Named = []string{"10", "20", "20"}[i], []string{"Music", "Gaming", "Gaming"}[i]
			doc.ChartDocument.Items[i].Category, doc.ChartDocument.Items[i].Named = doc.Items[i].Category, doc.Items[i].Named
			doc.Items[i].DurationS = []int64{60, 600, 6000}[i]
			doc.ChartDocument.Items[i].DurationS = doc.Items[i].DurationS
		}
		return doc, err
	}
	docs.Courses = func(_ context.Context, _ ingest.Region, _ string, at time.Time, ids []string) (map[string]report.CourseDocument, error) {
		since, ranks := at.Add(-50*time.Hour), make([]int, 48)
		for i := range ranks {
			ranks[i] = 1 + i*199%200 // another rank at each slot: the longest line
		}
		return map[string]report.CourseDocument{ids[0]: {Since: &since, Peak: 7, Ranks: ranks}}, nil
	}
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	return s, docs
}

func TestARowSaysHowItsVideoHasDone(t *testing.T) {
	s, _ := coursed()
	body := bodyOf(t, get(t, s, "/charts/US?since=30m"))
	for _, want := range []string{"<span>peak 7 · for 2 d · also DE\u00a07</span>", `>+2,000/h</small>`, `>+4,000/h</small>`} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %s:\n%s", want, body)
		}
	}
	line := regexp.MustCompile(`<svg class="spark".*?</svg>`).FindString(body)
	if len(line) < 100 || len(line) >= 300 {
		t.Errorf("a sparkline of %d bytes: %s, want at least 100 and less than 300", len(line), line)
	}
}

// A filter selects by category and length, on the page and in its exports, and its panel counts the selected rows.
func TestAChartIsFilteredByCategoryAndLength(t *testing.T) {
	s, _ := coursed()
	for path, want := range map[string]struct {
		rows  int
		texts []string
	}{
		"/charts/US?category=20":             {2, []string{"Filter: Gaming", "/v1/charts/US?category=20&compare=6h&course=true&format=csv"}},
		"/charts/US?category=20&length=20m-": {1, []string{"Filter: Gaming: 20 min or longer", "category=20&compare=6h&course=true&format=csv&length=20m-"}},
		"/charts/US?category=99":             {0, []string{"No video is in this list"}},
		"/charts/US?length=-3m&pick=filter":  {1, []string{">Gaming 2<", ">Music 1<", `href="/charts/US?category=20&length=-3m"`, "Up to 3 min"}},
	} {
		body := html.UnescapeString(bodyOf(t, get(t, s, path)))
		for _, text := range want.texts {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s:\n%s", path, text, body)
			}
		}
		if rows := strings.Count(body, `class="row"`); rows != want.rows {
			t.Errorf("%s: %d rows, want %d", path, rows, want.rows)
		}
	}
	if answer := get(t, s, "/charts/US?length=7"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a length that is no filter: %d, want %v", answer.StatusCode, http.StatusNotFound)
	}
}

// Two charts side by side say which videos only one of them has.
func TestTwoChartsAreShownSideBySide(t *testing.T) {
	s, docs := newSite(), filled()
	short := docs.Chart
	docs.Chart = func(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
		doc, err := short(ctx, "US", params)
		if doc.Region = ingest.Region(region); region == "DE" || strings.HasPrefix(params.Get("at"), "2026-02-23") {
			doc.ChartDocument.Items = []report.ChartItem{doc.ChartDocument.Items[0]}
			doc.ChartDocument.Items[0].Rank = 9
		}
		return doc, err
	}
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	for path, want := range map[string][]string{
		"/charts/US?beside=DE":                   {"the United States beside Germany", `<span class="sr">US </span>1</b> <b><span class="sr">DE </span>9</b>`, `>2 All<`, `>1 in both<`, `>1 only US<`, `>0 only DE<`},
		"/charts/US?beside=2026-02-23T18:30:00Z": {"the United States at two times", `<span class="sr">now </span>2</b> <b><span class="sr">then </span>–</b>`, `>1 only now<`},
		"/charts/US?beside=DE&only=first":        {`<span class="sr">DE </span>–</b>`},
	} {
		body := bodyOf(t, get(t, s, path))
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s:\n%s", path, text, body)
			}
		}
		if rows := strings.Count(body, `class="row"`); rows != map[bool]int{true: 1, false: 2}[strings.Contains(path, "only")] {
			t.Errorf("%s: %d rows", path, rows)
		}
	}
	if answer := get(t, s, "/charts/US?beside=DE&only=x"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("only=x: %d, want %v", answer.StatusCode, http.StatusNotFound)
	}
}

// With more than eight regions, a list names all of them; a category's chart has its own title.
func TestManyRegionsAreChosenByName(t *testing.T) {
	s, docs := newSite(), filled()
	docs.Regions = func(context.Context) (report.RegionsDocument, error) {
		var doc report.RegionsDocument
		for _, code := range []string{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA", "JP", "AT"} {
			doc.Regions = append(doc.Regions, report.RegionDocument{Region: ingest.Region(code), Name: "Name of " + code, Jobs: []report.ChartJobDocument{{Job: "chart", Category: "10", Named: "Music"}}})
		}
		return doc, nil
	}
	short := docs.Chart
	docs.Chart = func(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
		doc, err := short(ctx, "US", params)
		doc.Region = ingest.Region(region)
		return doc, err
	}
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	body := bodyOf(t, get(t, s, "/charts/JP"))
	tabs, rest, _ := strings.Cut(body, `<details class="regions"`)
	if n := strings.Count(tabs, `href="/charts/`); n != 8 || !strings.Contains(tabs, `href="/charts/JP" aria-current="page"`) {
		t.Errorf("got %d tabs, want 8, and JP as the current one:\n%s", n, tabs)
	}
	for _, want := range []string{"All 10 regions", `href="/charts/CA">Name of CA <small>CA</small>`} {
		if !strings.Contains(rest, want) {
			t.Errorf("the list of names: got no %q:\n%s", want, rest)
		}
	}
	if !strings.Contains(body, "<h1>Most popular in Japan: Music</h1>") {
		t.Errorf("a category's chart has no title of its own:\n%s", body)
	}
}

// A badge is a picture of how fresh a chart is, with a word besides the colour.
func TestABadgeSaysHowFreshAChartIs(t *testing.T) {
	s := newSite()
	s.Fresh = func(context.Context) map[string]pages.State {
		return map[string]pages.State{"US": {Mood: report.Warn, Word: "no <quota>", Age: "8 min"}}
	}
	answer := get(t, s, "/badge/us.svg")
	body := bodyOf(t, answer)
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("got %d %v, want 200 and a picture", answer.StatusCode, answer.Header)
	}
	for _, want := range []string{`aria-label="US chart: no &lt;quota&gt;, 8 min"`, "#8c5200"} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q:\n%s", want, body)
		}
	}
	for _, path := range []string{"/badge/ZZ.svg", "/badge/US.png", "/badge/US"} {
		if answer := get(t, s, path); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d, want %v", path, answer.StatusCode, http.StatusNotFound)
		}
	}
}

func TestASiteHasItsOwnName(t *testing.T) {
	s := newSite()
	s.Title = "Trends <of> the Times"
	s.Documents = func() (*report.Documents, error) { return filled(), nil }
	body := bodyOf(t, get(t, s, "/charts/US"))
	for _, want := range []string{"· Trends &lt;of&gt; the Times</title>", `dir="auto">Trends &lt;of&gt; the Times</a>`, `og:site_name" content="Trends &lt;of&gt; the Times"`} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %s", want)
		}
	}
}
