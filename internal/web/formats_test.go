package web_test

import (
	"context"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// moved returns a site whose chart of US has one new video, one that rose and one that left, with hostile titles.
func moved(t *testing.T, limits ...httplimit.Limit) (h func(path string, headers ...string) (string, map[string][]string, int), asked *url.Values) {
	site, _ := newAPI(t, limits...)
	site.Pages = &pages.Site{Now: site.Now, Overall: func(context.Context) pages.State { return pages.State{} }, Provider: pages.Provider{Name: "YouTube", Home: "https://www.youtube.com/", Terms: "https://www.youtube.com/t/terms"}}
	docs, err := site.API.Documents()
	if err != nil {
		t.Fatal(err)
	}
	asked = &url.Values{}
	video := func(id, title string) report.VideoDocument {
		return report.VideoDocument{VideoID: id, Title: title, Channel: "=cmd|' /C calc'!A0", URL: "https://www.youtube.com/watch?v=" + id, Tags: []string{"a", "b"}}
	}
	docs.Chart = func(_ context.Context, _ string, params url.Values) (report.MovesDocument, error) {
		*asked = params
		since, was := noon.Add(-3*time.Hour), 9
		course := report.CourseDocument{Since: &since, Peak: 1, Ranks: []int{0, 4, 1}}
		items := []report.ChartItem{{Rank: 1, VideoDocument: video("new1", "=HYPERLINK(\"x\")"+hostile), CourseDocument: course}, {Rank: 2, VideoDocument: video("-rose", "]]>&amp;\x00\x0b\ufffe"), CourseDocument: course}}
		chart := report.ChartDocument{Region: "US", Job: "chart", Slot: noon, Items: items}
		if params.Get("compare") == "29d" {
			return report.MovesDocument{}, fmt.Errorf("%w: nothing so old is kept", report.ErrNotFound)
		}
		if params.Get("compare") == "" {
			return report.MovesDocument{ChartDocument: chart}, nil
		}
		gone := report.MoveItem{ChartItem: report.ChartItem{Rank: 7, VideoDocument: video("gone1", "+1")}, Change: "gone", WasRank: &was}
		doc := report.NewMovesDocument(chart, noon.Add(-24*time.Hour), []report.MoveItem{{ChartItem: items[0], Change: "new"}, {ChartItem: items[1], Change: "risen", WasRank: &was}, gone})
		return doc.Only(report.ChartFilter{Change: params.Get("change")}), nil
	}
	site.API.Documents = func() (*report.Documents, error) { return docs, nil }
	handler := site.Handler()
	return func(path string, headers ...string) (string, map[string][]string, int) {
		resp := ask(handler, "GET", path, headers...)
		return body(t, resp), resp.Header, resp.StatusCode
	}, asked
}

// A chart's CSV has the videos of its JSON, one a row, and no cell that a spreadsheet would calculate.
func TestAViewIsTakenAwayAsCSV(t *testing.T) {
	get, _ := moved(t)
	for path, want := range map[string][]string{
		"/v1/charts/US?format=csv":                           {"new1", "'-rose"},
		"/v1/charts/US?format=csv&compare=24h":               {"new1", "'-rose", "gone1"},
		"/v1/charts/US?format=csv&compare=24h&change=gone":   {"gone1"},
		"/v1/charts/US?format=csv&compare=24h&course=true":   {"new1", "'-rose", "gone1"},
		"/v1/search?format=csv&q=cup":                        {"a"},
		"/v1/videos/abc?format=csv":                          slices.Repeat([]string{"abc"}, 45),
		"/v1/charts/US?format=csv&compare=24h&change=fallen": {},
	} {
		text, header, code := get(path)
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || code != 200 || len(rows) == 0 || !strings.HasPrefix(header["Content-Disposition"][0], "attachment; filename=") {
			t.Fatalf("%s: %d, %v, %v\n%s, want 200 and rows as an attachment", path, code, err, header, text)
		}
		var ids []string
		for _, row := range rows[1:] {
			ids = append(ids, row[slices.Index(rows[0], "video_id")])
			for _, cell := range row {
				if seen := strings.TrimSpace(cell); seen != "" && strings.ContainsRune("=+-@", rune(seen[0])) {
					t.Errorf("%s: a formula: %q", path, cell)
				}
			}
		}
		if !slices.Equal(ids, want) || strings.Contains(path, "course") != slices.Contains(rows[0], "peak") {
			t.Errorf("%s: %q, want %q, of %q", path, ids, want, rows[0])
		}
	}
	if text, _, code := get("/v1/charts/US?format=pdf"); code != 400 || !strings.Contains(text, "use json or csv") {
		t.Errorf("%d %s, want 400 and \"use json or csv\" in it", code, text)
	}
}

// A feed is Atom as RFC 4287 has it: it and each entry have one id, title and time, the ids are absolute and all
// different, and the same again however the ranks are, and the provider is named.
func TestAFeedIsAtom(t *testing.T) {
	get, asked := moved(t)
	type entry struct {
		ID      string `xml:"id"`
		Title   string `xml:"title"`
		Updated string `xml:"updated"`
		Author  struct {
			Name string `xml:"name"`
		} `xml:"author"`
		Link []struct {
			Rel  string `xml:"rel,attr"`
			Href string `xml:"href,attr"`
		} `xml:"link"`
	}
	for path, want := range map[string][]string{
		"/v1/charts/US?format=atom&compare=24h&change=new": {"Videos that are new in the charts of the United States", "new1"},
		"/v1/charts/US?format=atom&compare=29d&change=new": {"Videos that are new in the charts of the United States"},
		"/v1/charts/US?format=atom&limit=10":               {"Most popular in the United States, the first 10", "new1", "-rose"},
		"/v1/search?format=atom&q=cup":                     {"cup · Search", ""},
	} {
		text, header, code := get(path)
		var doc struct {
			XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
			Rights  string   `xml:"rights"`
			Entry   []entry  `xml:"entry"`
			entry
		}
		if err := xml.Unmarshal([]byte(text), &doc); err != nil || code != 200 || header["Content-Type"][0] != "application/atom+xml" {
			t.Fatalf("%s: %d, %v, want 200 and an Atom feed\n%s", path, code, err, text)
		}
		if doc.Title != want[0] || !strings.HasPrefix(doc.ID, "urn:uuid:") {
			t.Errorf("%s: got %q, id %q, want %q, urn:uuid:...", path, doc.Title, doc.ID, want[0])
		}
		if doc.Author.Name != "YouTube" || !strings.Contains(doc.Rights, "https://www.youtube.com/t/terms") {
			t.Errorf("%s: got author %q, rights %q, want YouTube and its terms", path, doc.Author.Name, doc.Rights)
		}
		if self := doc.Link[0]; self.Rel != "self" || !strings.Contains(self.Href, "format=atom") {
			t.Errorf("%s: got the link %+v, want self with format=atom", path, self)
		}
		seen := map[string]bool{doc.ID: true}
		for i, e := range append([]entry{doc.entry}, doc.Entry...) {
			at, err := time.Parse(time.RFC3339, e.Updated)
			if id, idErr := url.Parse(e.ID); err != nil || at.After(noon) || idErr != nil || i > 0 && seen[e.ID] || e.Title == "" ||
				e.Author.Name == "" || strings.ContainsAny(e.Title, "\x00\x0b\u202e") {
				t.Errorf("%s: entry %+v: %v %v", path, e, err, id)
			}
			seen[e.ID] = true
			if len(e.Link) == 0 {
				t.Fatalf("%s: entry %d leads nowhere", path, i)
			}
			if i > 0 && e.Link[0].Href != "https://www.youtube.com/watch?v="+want[i] && want[i] != "" {
				t.Errorf("%s: %d leads to %s, want %s", path, i, e.Link[0].Href, want[i])
			}
		}
		if len(doc.Entry) != len(want)-1 {
			t.Errorf("%s: %d entries", path, len(doc.Entry))
		}
		if again, _, code := get(path, "If-None-Match", header["Etag"][0]); code != 304 || again != "" {
			t.Errorf("%s: a reader that has it: %d, want 304 and \"\"", path, code)
		}
		if strings.Contains(path, "charts") && asked.Get("course") != "true" {
			t.Errorf("%s asks without the videos' courses: %v", path, asked)
		}
	}
}

// Exports count against a client's limits like everything else.
func TestExportsAreLimitedPerClient(t *testing.T) {
	get, _ := moved(t, httplimit.Limit{Quota: 2, Window: time.Hour})
	for i, path := range []string{"/v1/charts/US?format=csv", "/v1/charts/US?format=atom", "/v1/charts/US?format=csv"} {
		if _, _, code := get(path); code != []int{200, 200, 429}[i] {
			t.Errorf("%s: %d, want %v", path, code, []int{200, 200, 429}[i])
		}
	}
}
