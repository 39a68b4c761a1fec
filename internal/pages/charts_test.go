package pages_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
)

const hostileTitle = "<script>alert(1)</script>\"'> \u202Eabc"

// filled returns a site with a chart of two videos.
func filled() *report.Documents {
	views, was := int64(1234567), 3
	slot := now.Truncate(30 * time.Minute)
	earlier := slot.Add(-30 * time.Minute)
	video := func(id, title string) report.VideoDocument {
		return report.VideoDocument{VideoID: id, Title: title, Channel: "Kanal", DurationS: 190, URL: "https://www.youtube.com/watch?v=" + id,
			Thumbnail: "https://i.ytimg.com/vi/" + id + "/hqdefault.jpg", Views: &views, Tags: []string{"trailer"}}
	}
	return &report.Documents{
		Regions: func(context.Context) (report.RegionsDocument, error) {
			return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "US", Name: "United States"}, {Region: "DE", Name: "Germany"}}}, nil
		},
		Chart: func(_ context.Context, region string, params url.Values) (report.MovesDocument, error) {
			if region != "US" {
				return report.MovesDocument{}, fmt.Errorf("%w: no chart of %s", report.ErrNotFound, region)
			}
			items := []report.ChartItem{{Rank: 1, VideoDocument: video("a", "The first"), Also: []report.PlaceDocument{{Region: "DE", Rank: 7}}}, {Rank: 2, VideoDocument: video("b", hostileTitle)}}
			doc := report.MovesDocument{ChartDocument: report.ChartDocument{Region: "US", Job: "chart", Slot: slot, FetchedAt: &slot, Earlier: &earlier, Items: items}}
			if params.Get("compare") != "" {
				doc = report.NewMovesDocument(doc.ChartDocument, earlier, []report.MoveItem{{ChartItem: items[0], Change: "risen", WasRank: &was}, {ChartItem: items[1], Change: "new"}})
			}
			return doc, nil
		},
		Video: func(_ context.Context, id string, _ url.Values) (report.HistoryDocument, error) {
			if id != "a" {
				return report.HistoryDocument{}, fmt.Errorf("%w: no such video", report.ErrNotFound)
			}
			return report.HistoryDocument{VideoDocument: video("a", hostileTitle), Description: "one\n<script>alert(2)</script>\u202e https://shop.example/", Sightings: []report.SightingDocument{{Region: "US", Job: "chart", Slot: slot, Rank: new(4), Views: &views}}}, nil
		},
		Search: func(_ context.Context, params url.Values) (report.SearchDocument, error) {
			next := "cursor"
			return report.SearchDocument{Query: params.Get("q"), Interpreted: "trailer", Forgiven: true, Next: &next,
				Items:  []report.SearchItem{{VideoDocument: video("a", "The trailer"), Highlight: [][2]int{{4, 11}}, Regions: []ingest.Region{"US"}}},
				Counts: &report.CountsDocument{Matches: 885, Regions: []report.CountDocument{{Videos: 885}, {Value: "US", Name: "United States", Videos: 266}}}}, nil
		},
	}
}

// After an outage the chart before is of another day, which its time alone does not say.
func TestTheChartBesideIsNamedByItsDayIfThatIsAnother(t *testing.T) {
	day := now.Truncate(24 * time.Hour)
	for earlier, want := range map[time.Time]string{day.Add(30 * time.Minute): `00:30</time>`, day.Add(-30 * time.Minute): day.Add(-time.Hour).Format("Mon 2 Jan") + ", 23:30</time>"} {
		s, docs := newSite(), filled()
		docs.Chart = func(context.Context, string, url.Values) (report.MovesDocument, error) {
			slot := day.Add(time.Hour)
			return report.MovesDocument{ChartDocument: report.ChartDocument{Region: "US", Job: "chart", Slot: slot, FetchedAt: &slot, Earlier: &earlier}}, nil
		}
		s.Documents = func() (*report.Documents, error) { return docs, nil }
		if body := bodyOf(t, get(t, s, "/charts/US")); !strings.Contains(body, want) {
			t.Errorf("it lacks %s:\n%s", want, body)
		}
	}
}

func TestChartsVideosAndSearchesMatchTheDocuments(t *testing.T) {
	s := newSite()
	s.Documents = func() (*report.Documents, error) { return filled(), nil }
	for path, want := range map[string][]string{
		"/charts":            {"Most popular in the United States", "<b>1</b>", "▲", "also DE\u00a07", "1,234,567 views", "3:10", "mqdefault.jpg", `rel="prev"`, `href="/videos/a"`, ">new<"},
		"/charts/us":         {"Most popular in the United States"},
		"/videos/a":          {"&lt;script&gt;", "Watch on YouTube", "1,234,567", `href="/search?q=tag`, "one\n&lt;script&gt;alert(2)&lt;/script&gt; https://shop.example/</p>"},
		"/search":            {"Type words"},
		"/search?q=trailre":  {"<b>885 videos</b> match", ">trailer<", "<mark>trailer</mark>", "266", "after=cursor", `value="trailre"`},
		"/search?q=&q=":      {"Type words"},
		"/charts/US?since=1": {"Most popular in"},
	} {
		answer := get(t, s, path)
		body := bodyOf(t, answer)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s:\n%s", path, text, body)
			}
		}
		if answer.StatusCode != http.StatusOK || strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202E") || len(body) > 40_000 {
			t.Errorf("%s: %d, %d bytes: %s", path, answer.StatusCode, len(body), body)
		}
	}
	s.Hidden, s.Pictures = true, false
	if body := bodyOf(t, get(t, s, "/charts/US")); strings.Contains(body, "▲") || strings.Contains(body, "<img") || !strings.Contains(body, "<b>2</b>") {
		t.Errorf("moves or pictures are shown although they are off: %s", body)
	}
}

func TestAMissingPageSaysWhereToGo(t *testing.T) {
	s := newSite()
	s.Documents = func() (*report.Documents, error) { return filled(), nil }
	closed := newSite()
	closed.Documents = func() (*report.Documents, error) { return nil, errors.New("/secret/path is damaged") }
	for path, code := range map[string]int{"/charts/ZZ": 404, "/charts/US?from=9999": 404, "/charts/US?from=-1": 404, "/charts/US?from=x": 404, "/charts/US?show=zz": 404, "/videos/none": 404, "/videos/a?since=99d": 400, "/videos/%3Cscript%3E": 404, "/search?q=" + strings.Repeat("a", 10_000): 400} {
		if answer := get(t, s, path); answer.StatusCode != code || !strings.Contains(bodyOf(t, answer), "/search") {
			t.Errorf("%.40s: %d, want %d", path, answer.StatusCode, code)
		}
	}
	for _, path := range []string{"/charts", "/videos/a", "/search?q=a"} {
		answer := get(t, closed, path)
		if body := bodyOf(t, answer); answer.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "/secret") ||
			!strings.Contains(body, `href="/status"`) {
			t.Errorf("%s of a store that cannot be read: %d %s", path, answer.StatusCode, body)
		}
	}
}

func TestALongChartIsShownInPages(t *testing.T) {
	s, docs := newSite(), filled()
	short := docs.Chart
	docs.Chart = func(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
		params.Del("compare")
		doc, err := short(ctx, region, params)
		for len(doc.ChartDocument.Items) < 200 {
			next := doc.ChartDocument.Items[0]
			next.Rank = len(doc.ChartDocument.Items) + 1
			doc.ChartDocument.Items = append(doc.ChartDocument.Items, next)
		}
		return doc, err
	}
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	for path, want := range map[string]string{
		"/charts/US": "1 to 30 of 200", "/charts/US?from=31": "31 to 60 of 200", "/charts/US?from=171": "171 to 200 of 200",
	} {
		body := bodyOf(t, get(t, s, path))
		if rows := strings.Count(body, `class="row"`); !strings.Contains(body, want) || rows != 30 || len(body) > 48_000 {
			t.Errorf("%s: %d rows, %d bytes, want %s", path, rows, len(body), want)
		}
	}
}

// Videos that a stand-in has invented have their pictures there: a trial contacts only itself.
func TestAStandInsPicturesComeFromTheStandIn(t *testing.T) {
	s := newSite()
	s.Documents = func() (*report.Documents, error) { return filled(), nil }
	s.StandIn = "http://127.0.0.1:8400"
	r := get(t, s, "/charts/US")
	page, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), `src="http://127.0.0.1:8400/vi/a/mqdefault.jpg"`) || strings.Contains(string(page), "ytimg.com") {
		t.Errorf("pictures from elsewhere: %s", page)
	}
	if policy := r.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' http://127.0.0.1:8400;") {
		t.Errorf("the policy is %s, want \"img-src 'self' http://127.0.0.1:8400;\" in it", policy)
	}
}

func TestATitleOfNothingIsStillALink(t *testing.T) {
	s := newSite()
	for _, title := range []string{"", " ", "\u200b", "\u202e\u2066"} {
		s.Documents = func() (*report.Documents, error) {
			docs := filled()
			short := docs.Video
			docs.Video = func(ctx context.Context, id string, params url.Values) (report.HistoryDocument, error) {
				doc, err := short(ctx, id, params)
				doc.Title = title
				return doc, err
			}
			return docs, nil
		}
		if body := bodyOf(t, get(t, s, "/videos/a")); !strings.Contains(body, `dir="auto">Untitled</h1>`) {
			t.Errorf("%q: %s, want \"dir=\\\"auto\\\">Untitled</h1>\" in it", title, body)
		}
	}
}

// Both pickers offer each kept chart that they can lead to, and no other; a closed picker reads nothing.
func TestAPickerOffersKeptChartsAndNothingElse(t *testing.T) {
	s, docs := newSite(), filled()
	slot := now.Truncate(30 * time.Minute)
	kept, asked := []time.Time{slot.Add(-49 * time.Hour), slot.Add(-48 * time.Hour), slot.Add(-time.Hour), slot.Add(-30 * time.Minute), slot, slot.Add(30 * time.Minute)}, 0
	docs.Kept = func(_ context.Context, region ingest.Region, job string) ([]time.Time, error) {
		if asked++; region != "US" || job != "chart" {
			t.Errorf("asked for %s of %s, want \"US\" and \"chart\"", job, region)
		}
		return slices.Clone(kept), nil
	}
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	if body := bodyOf(t, get(t, s, "/charts/US")); asked > 0 || !strings.Contains(body, `href="/charts/US?pick=at#pick"`) ||
		!strings.Contains(body, `href="/charts/US?pick=since#pick"`) {
		t.Errorf("asked %d times for a closed picker:\n%s", asked, body)
	}
	stamp := func(at time.Time) string { return url.QueryEscape(at.Format(time.RFC3339)) }
	for path, want := range map[string][]string{
		"/charts/US?job=chart&pick=at":           {"at=" + stamp(slot) + "&job=chart&pick=at#pick", "at=" + stamp(kept[1]) + "&job=chart&pick=at#pick", "at=" + stamp(kept[2]) + "&job=chart", "at=" + stamp(kept[3]) + "&job=chart", "at=" + stamp(slot) + "&job=chart", "at=" + stamp(kept[5]) + "&job=chart", "job=chart"},
		"/charts/US?at=1h&pick=since":            {"at=1h&since=" + stamp(kept[3]) + "&pick=since#pick", "at=1h&since=" + stamp(kept[1]) + "&pick=since#pick", "at=1h&since=" + stamp(kept[2]), "at=1h&since=" + stamp(kept[3]), "at=1h"},
		"/charts/US?pick=nothing&show=&since=6h": nil,
	} {
		_, panel, _ := strings.Cut(bodyOf(t, get(t, s, path)), `<section class="pick"`)
		panel, _, _ = strings.Cut(panel, "</section>")
		var links []string
		for _, m := range regexp.MustCompile(`href="/charts/US\?([^"]*)"`).FindAllStringSubmatch(panel, -1) {
			links = append(links, html.UnescapeString(m[1]))
		}
		if !slices.Equal(links, want) {
			t.Errorf("%s leads to\n%s\nwant\n%s", path, strings.Join(links, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A moment's text is in UTC and says so, and its attribute has the form that the script reads.
func TestTimesSayTheirZone(t *testing.T) {
	s := newSite()
	s.Documents = func() (*report.Documents, error) { return filled(), nil }
	for path, want := range map[string][]string{
		"/charts/US": {`<time datetime="2026-02-24T18:30:00Z">Tue 24 Feb, 18:30 UTC</time>`, `<time datetime="2026-02-24T18:00:00Z">18:00</time>`, `times are <span class="zone">UTC</span>`},
		"/videos/a":  {`<span class="zone">UTC</span>`, `<td><time datetime="2026-02-24T18:30:00Z">Tue 24 Feb, 18:30</time></td>`},
	} {
		body := bodyOf(t, get(t, s, path))
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s:\n%s", path, text, body)
			}
		}
	}
}

// The exports of a page hold the shown rows: they keep the reader's choice.
func TestExportsKeepTheReadersChoice(t *testing.T) {
	s := newSite()
	s.Documents = func() (*report.Documents, error) { return filled(), nil }
	for path, want := range map[string][]string{
		"/charts/US?since=24h&show=new": {
			"/v1/charts/US?change=new&compare=24h&course=true&format=csv", "/v1/charts/US?also=true&change=new&compare=24h",
			"/v1/charts/US?change=new&compare=24h&format=atom", "/v1/charts/US?format=atom&limit=10", "/charts/US?at=2026-02-24T18%3A30%3A00Z&show=new&since=24h",
		},
		"/videos/a?since=24h":                         {"/v1/videos/a?since=24h&format=csv", "/v1/videos/a?since=24h", "/videos/a"},
		"/search?q=a&region=US&order=views":           {"/v1/search?format=csv&limit=100&order=views&q=a&region=US", "/v1/search?counts=true&order=views&q=a&region=US", "/v1/search?format=atom&limit=50&order=views&q=a&region=US", "/search?order=views&q=a&region=US"},
		"/search?q=a&min_views=7&published_since=24h": {"/v1/search?format=csv&limit=100&min_views=7&published_since=24h&q=a", "/v1/search?counts=true&min_views=7&published_since=24h&q=a", "/v1/search?format=atom&limit=50&min_views=7&order=freshness&published_since=24h&q=a", "/search?min_views=7&published_since=24h&q=a"},
	} {
		_, part, _ := strings.Cut(bodyOf(t, get(t, s, path)), `aria-label="Export"`)
		part, _, _ = strings.Cut(part, "</nav>")
		var links []string
		for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(part, -1) {
			links = append(links, html.UnescapeString(m[1]))
		}
		if !slices.Equal(links, want) {
			t.Errorf("%s leads to\n%s\nwant\n%s", path, strings.Join(links, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Beside a link, other sites show the title and the first three videos, as text.
func TestALinkHasAPreview(t *testing.T) {
	s := newSite()
	s.Documents = func() (*report.Documents, error) { return filled(), nil }
	body := bodyOf(t, get(t, s, "/charts/US"))
	for _, want := range []string{
		`<meta property="og:title" content="Most popular in the United States">`, `<meta property="og:description" content="1. The first  2. &lt;script&gt;`,
		`<meta name="twitter:card" content="summary">`, `<meta property="og:image" content="https://i.ytimg.com/vi/a/hqdefault.jpg">`, `rel="alternate" type="application/atom+xml"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %s:\n%s", want, body)
		}
	}
}
