package pages_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
)

const stylesheetAndIcon = 13_000 // bytes that each page loads besides itself

// charted returns a library whose chart of US has the given number of videos with this title, each moved in another
// way.
func charted(videos int, title string) *report.Documents {
	docs := filled()
	short := docs.Chart
	docs.Chart = func(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
		doc, err := short(ctx, region, url.Values{})
		if err != nil {
			return doc, err
		}
		first := doc.ChartDocument.Items[0]
		doc.ChartDocument.Items = nil
		var moves []report.MoveItem
		for i := range videos {
			item := first
			item.Rank, item.VideoID, item.Title = i+1, fmt.Sprintf("id%d", i+1), fmt.Sprintf("%d %s", i+1, title)
			doc.ChartDocument.Items = append(doc.ChartDocument.Items, item)
			was := []int{i + 1, i + 4, i}[i%3]
			moves = append(moves, report.MoveItem{ChartItem: item, Change: []string{"same", "risen", "fallen"}[i%3], WasRank: &was})
		}
		gone := report.MoveItem{ChartItem: first, Change: "gone"}
		gone.Title, gone.VideoID, gone.Rank = "No longer", "gone1", 33
		if params.Get("compare") != "" && videos > 0 {
			doc = report.NewMovesDocument(doc.ChartDocument, *doc.Earlier, append(moves, gone))
		}
		return doc, nil
	}
	return docs
}

func TestEveryPlaceOfAChartIsOnItsPage(t *testing.T) {
	s := newSite()
	s.Documents = func() (*report.Documents, error) { return charted(70, "title"), nil }
	row := regexp.MustCompile(`(?s)<li class="row">.*?<b>(\d+)</b> <span class="move ?(\w*)">.*?<a class="title" dir="auto" href="([^"]+)">([^<]+)</a>`)
	seen := 0
	for _, from := range []int{1, 31, 61} {
		body := bodyOf(t, get(t, s, fmt.Sprintf("/charts/US?from=%d", from)))
		for _, m := range row.FindAllStringSubmatch(body, -1) {
			seen++
			want := []string{fmt.Sprint(seen), []string{"", "up", "down"}[(seen-1)%3], fmt.Sprintf("/videos/id%d", seen), fmt.Sprintf("%d title", seen)}
			if strings.Join(m[1:], "|") != strings.Join(want, "|") {
				t.Errorf("row %q, want %q", m[1:], want)
			}
		}
		if from == 31 && !strings.Contains(body, `href="/charts/US?from=61"`) {
			t.Errorf("page 2 has no link to the next page:\n%s", body)
		}
	}
	if seen != 70 {
		t.Errorf("%d rows of 70, want 70", seen)
	}
	for _, show := range []struct {
		path, want string
		rows       int
	}{
		{"?show=risen", `href="/videos/id2"`, 23}, {"?show=fallen", `href="/videos/id3"`, 23}, {"?show=gone", "No longer", 1},
	} {
		path := show.path
		body := bodyOf(t, get(t, s, "/charts/US"+path))
		if rows := strings.Count(body, `class="row"`); !strings.Contains(body, show.want) || rows != show.rows || strings.Contains(body, ">1 title<") == (rows < 30) {
			t.Errorf("%s has %d rows, want %d and %s", path, rows, show.rows, show.want)
		}
		if !strings.Contains(body, "23 rose") || !strings.Contains(body, "1 left") {
			t.Errorf("%s does not count what moved", path)
		}
	}
	if body := bodyOf(t, get(t, s, "/charts/US?since=24h&show=risen&at=2026-02-24T18:30:00Z")); !strings.Contains(html.UnescapeString(body), "/charts/US?at=2026-02-24T18%3A30%3A00Z&show=risen&since=6h") {
		t.Errorf("a choice forgets the other choices:\n%s", body)
	}
}

func TestTheLongestTitlesChangeNoSize(t *testing.T) {
	s := newSite()
	for name, title := range map[string]string{"long": strings.Repeat("W", 1000), "wide": strings.Repeat("𝕏", 250), "marks": "a" + strings.Repeat("\u0301", 999), "right to left": strings.Repeat("\u202Eאב", 300)} {
		s.Documents = func() (*report.Documents, error) { return charted(200, title), nil }
		if body := bodyOf(t, get(t, s, "/charts/US")); len(body)+stylesheetAndIcon > 60_000 || strings.Contains(body, "\u202E") {
			t.Errorf("%s: %d bytes", name, len(body))
		}
	}
}

func TestAShortChartNamesItsMissingPart(t *testing.T) {
	s := newSite()
	docs := charted(0, "")
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	s.Fresh = func(context.Context) map[string]pages.State {
		return map[string]pages.State{"US": {Mood: report.Warn, Word: "no quota", Next: "next 19:00"}}
	}
	body := bodyOf(t, get(t, s, "/charts/US"))
	for _, want := range []string{"No video is in this list", "no quota:", "next 19:00", "United States, no quota"} {
		if !strings.Contains(body, want) {
			t.Errorf("an empty chart lacks %q", want)
		}
	}
	whole := charted(3, "title").Chart
	half := now.Add(-10 * time.Minute)
	docs.Chart = func(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
		doc, err := whole(ctx, region, params)
		if params.Get("partial") == "true" {
			doc.Slot, doc.Partial = half, true
		}
		return doc, err
	}
	if body := bodyOf(t, get(t, s, "/charts/US")); !strings.Contains(body, ">18:39 UTC</time> is not complete") ||
		!strings.Contains(body, "/charts/US?partial=true") {
		t.Errorf("a later fetch that was stopped is not named:\n%s", body)
	}
	if body := bodyOf(t, get(t, s, "/charts/US?partial=true")); !strings.Contains(body, "not complete") {
		t.Errorf("a partial chart does not say so:\n%s", body)
	}
	docs.Chart = func(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
		if params.Get("compare") != "" {
			return report.MovesDocument{}, report.ErrNotFound
		}
		return whole(ctx, region, params)
	}
	if body := bodyOf(t, get(t, s, "/charts/US?since=24h")); !strings.Contains(body, "No chart that much older is kept") ||
		strings.Count(body, `class="row"`) != 3 {
		t.Errorf("a comparison with a chart that is gone hides the chart, or says nothing:\n%s", body)
	}
	for _, err := range []error{report.ErrNotFound, report.ErrBadRequest} {
		docs.Chart = func(context.Context, string, url.Values) (report.MovesDocument, error) {
			return report.MovesDocument{}, fmt.Errorf("%w: nothing stood then", err)
		}
		if answer := get(t, s, "/charts/US?at=nonsense"); answer.StatusCode != http.StatusNotFound || !strings.Contains(bodyOf(t, answer), `href="/charts/DE"`) {
			t.Errorf("%v: %d, want %v and \"href=\\\"/charts/DE\\\"\" in it", err, answer.StatusCode, http.StatusNotFound)
		}
	}
}

func TestAnEmptyStoreSaysHowToFillIt(t *testing.T) {
	s, docs := newSite(), filled()
	docs.Regions = func(context.Context) (report.RegionsDocument, error) {
		return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "US", Name: "United States", Jobs: []report.ChartJobDocument{{Job: "chart"}}}}}, nil
	}
	docs.Chart = func(context.Context, string, url.Values) (report.MovesDocument, error) {
		return report.MovesDocument{}, fmt.Errorf("%w: no complete chart of US is stored", report.ErrNotFound)
	}
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	answer := get(t, s, "/charts")
	const none, how = "No chart of the United States was fetched yet", `with ingest run at once, if the provider has one; <a href="/status">`
	if body := bodyOf(t, answer); answer.StatusCode != http.StatusOK || !strings.Contains(body, none) || !strings.Contains(body, how) {
		t.Errorf("got %d, want 200, %q and %q:\n%s", answer.StatusCode, none, how, body)
	}
	s.Fresh = func(context.Context) map[string]pages.State {
		return map[string]pages.State{"US": {Mood: report.Warn, Word: report.Word(standing.Absent)}}
	}
	if body := bodyOf(t, get(t, s, "/charts/US")); !strings.Contains(body, "YouTube has no chart of the United States") ||
		!strings.Contains(body, "It is asked again once a day.") || strings.Contains(body, "ingest run at once") {
		t.Errorf("a chart that the provider does not have: %s", body)
	}
}

func TestAVideoIsDrawnAndListed(t *testing.T) {
	s := newSite()
	docs := filled()
	s.Documents = func() (*report.Documents, error) { return docs, nil }
	codes := []ingest.Region{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"}
	newest := now.Truncate(30 * time.Minute)
	docs.Regions = func(context.Context) (doc report.RegionsDocument, err error) {
		for _, code := range codes {
			doc.Regions = append(doc.Regions, report.RegionDocument{Region: code, Name: string(code), Jobs: []report.ChartJobDocument{{Job: "chart", Slot: &newest}, {Job: "music", Category: "10", Named: "Music", Slot: &newest}}})
		}
		return doc, nil
	}
	short := docs.Video
	docs.Video = func(ctx context.Context, id string, params url.Values) (report.HistoryDocument, error) {
		doc, err := short(ctx, id, params)
		doc.Sightings = nil
		for i := range 29 * 48 {
			for n, code := range codes {
				slot, views := newest.Add(time.Duration(i-29*48+1)*30*time.Minute), int64(1000+i)
				if code == "CA" && i > 29*48-10 {
					continue // it left
				}
				doc.Sightings = append(doc.Sightings, report.SightingDocument{Region: code, Job: "chart", Slot: slot, Rank: new(1 + (i*7+n*13)%200), Views: &views})
			}
		}
		doc.Sightings = append(doc.Sightings, report.SightingDocument{Region: "US", Job: "music", Slot: newest, Rank: new(77)})
		return doc, err
	}
	body := bodyOf(t, get(t, s, "/videos/a?since=29d"))
	ids := regexp.MustCompile(` id="[^"]*"`).FindAllString(body, -1)
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("ids that are not unique: %v", ids)
	}
	if len(body)+stylesheetAndIcon > 60_000 {
		t.Errorf("%d bytes, want at most 60,000", len(body))
	}
	last := 29*48 - 1
	for _, want := range []string{
		`class="line r8"`, "Rank in 8 regions", "Views, 2,391 at last", ">Tue 24, 14:00 UTC</time>", `href="/charts/GB?job=chart"`, "Music best 77", "2,391", "+38 since <time", ">Mon 23 Feb, 23:30 UTC</time>",
		fmt.Sprintf(`<td class="num">%d</td>`, 1+(last*7)%200), `href="/search?q=channel%3A%22Kanal%22"`, `href="/search?q=tag%3A%22trailer%22"`, `href="/videos/a?since=24h"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if rows := strings.Count(body, "<tr>"); rows != 31 { // the head, and a row a day
		t.Errorf("%d rows, want 31", rows)
	}
	s.Hidden = true
	if body := bodyOf(t, get(t, s, "/videos/a?since=29d")); strings.Contains(body, "Gained") || strings.Contains(body, "+38") {
		t.Errorf("gains are shown although they are hidden:\n%s", body)
	}
	docs.Video = short
	body = bodyOf(t, get(t, s, "/videos/a"))
	for _, want := range []string{`class="plot" height="97"`, "It was first seen ", "<svg", "1,234,567"} {
		if !strings.Contains(body, want) {
			t.Errorf("a single sighting: got no %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "NaN") {
		t.Errorf("a single sighting: got NaN, want numbers:\n%s", body)
	}
}

// A watched video's page shows its counts, and no rank: a watch list has no ranks, and a video does not leave it.
func TestAWatchedVideosCountsAreOnItsPage(t *testing.T) {
	for charted, want := range map[bool]string{false: "It was in no chart of the last 7 days.", true: "<b>US</b>"} {
		s, docs := newSite(), filled()
		s.Documents = func() (*report.Documents, error) { return docs, nil }
		short := docs.Video
		docs.Video = func(ctx context.Context, id string, params url.Values) (report.HistoryDocument, error) {
			doc, err := short(ctx, id, params)
			if !charted {
				doc.Sightings = nil
			}
			for i, views := range []int64{71_000, 72_345, 99_000} {
				slot := now.Truncate(24 * time.Hour).Add(time.Duration(i-2) * 24 * time.Hour)
				doc.Sightings = append(doc.Sightings, report.SightingDocument{Job: "mine", Slot: slot, Views: &views})
			}
			return doc, err
		}
		body := bodyOf(t, get(t, s, "/videos/a"))
		for _, text := range []string{want, "Day by day", "72,345", "+1,345", `class="line"`} {
			if !strings.Contains(body, text) {
				t.Errorf("charted: %v: it lacks %s:\n%s", charted, text, body)
			}
		}
		for _, text := range []string{"left after", `<td class="num">17</td>`, "<b></b>", `href="/charts/?`} {
			if strings.Contains(body, text) && (!charted || text != "left after") {
				t.Errorf("charted: %v: it has %s:\n%s", charted, text, body)
			}
		}
	}
}

// A region's charts are named by their categories: the operator chooses the names of jobs.
func TestARegionsChartsAreNamedByTheirCategories(t *testing.T) {
	for tabs, all := range map[string][]report.ChartJobDocument{
		"All categories Music": {{Job: "chart"}, {Job: "pop", Category: "10", Named: "Music"}},
		"long short":           {{Job: "long"}, {Job: "short"}}, // two of the same kind
	} {
		s, docs := newSite(), filled()
		regions := docs.Regions
		docs.Regions = func(ctx context.Context) (report.RegionsDocument, error) {
			doc, err := regions(ctx)
			doc.Regions[0].Jobs = all
			return doc, err
		}
		s.Documents = func() (*report.Documents, error) { return docs, nil }
		body := bodyOf(t, get(t, s, "/charts/US"))
		_, after, _ := strings.Cut(body, `aria-label="Charts">`)
		nav, _, _ := strings.Cut(after, "</nav>")
		if got := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(nav, " ")), " "); got != tabs {
			t.Errorf("the tabs are %q, want %q", got, tabs)
		}
	}
}
