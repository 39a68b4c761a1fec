package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// spans are how far back the page of a video may look; the first is the default.
var spans = []struct{ since, words string }{{"7d", "7 days"}, {"24h", "24 hours"}, {"29d", "29 days"}}

// video is the page of a video: its facts, where it is charted, and its rank and its views over time.
func (s *Site) video(r *http.Request, docs *report.Documents) (Page, error) {
	since := cmp.Or(r.URL.Query().Get("since"), spans[0].since)
	i := slices.IndexFunc(spans, func(known struct{ since, words string }) bool { return known.since == since })
	if i < 0 {
		return Page{Code: http.StatusBadRequest, Title: "There is no such time span"},
			fmt.Errorf("%w: this page looks back 24h, 7d or 29d, not %s", report.ErrBadRequest, term.Fit(since, 20))
	}
	span, id, params := spans[i], r.PathValue("id"), url.Values{"since": {since}}
	doc, err := docs.Video(r.Context(), id, params)
	if err != nil {
		return Page{}, err
	}
	all, err := docs.Regions(r.Context())
	if err != nil {
		return Page{}, err
	}
	paths := pathsOf(doc.Sightings, all)
	heading, unit := "Day by day", 24*time.Hour
	if span.since == "24h" {
		heading, unit = "Slot by slot", 30*time.Minute
	}
	days := daysOf(paths, unit)
	choices := chips("Look back", h.Span(h.Class("soft"), g.Text("the last")),
		g.Map(spans, func(other struct{ since, words string }) g.Node {
			return chip(videoPath(id)+"?since="+other.since, other.words, other == span)
		}))
	charted := g.Group{section("Where it is charted", choices,
		h.P(g.Text("It was in no chart of the last "+span.words+".")))}
	if ranked := rankedOf(paths); len(ranked) > 0 {
		charted = g.Group{
			section("Where it is charted", h.Ul(h.Class("legend"), g.Map(ranked, s.legend))),
			section("Rank over time", choices, rankChart(ranked, s.Now())),
		}
	}
	if len(paths) > 0 {
		charted = append(charted, viewsChart(paths, s.Now()), s.dayTable(paths, days, heading))
	}
	address := "/v1/videos/" + url.PathEscape(id) + "?" + params.Encode()
	page := Page{Title: term.Fit(named(doc.Title), 60), JSON: address, Face: doc.Thumbnail, Take: []Export{
		{typeCSV, "CSV", address + "&format=csv"}, {typeJSON, "JSON", address}, {"", "Copy link", videoPath(id)},
	}}
	page.About = strings.TrimPrefix(term.Fit(term.Clean(doc.Channel), 70)+", "+viewsOf(doc.VideoDocument), ", ")
	page.Main = h.Article(
		s.facts(doc.VideoDocument, days), charted,
		g.If(len(doc.Tags) > 0,
			section("Tags", h.P(h.Class("chips"), g.Map(doc.Tags, func(tag string) g.Node { return searchFor("tag", tag) })))),
		g.If(doc.Description != "",
			section("Description", h.P(h.Class("prose"), h.Dir("auto"), g.Text(prose(doc.Description))))),
	)
	return page, nil
}

// prose returns a text of several lines, each as term.Clean returns it. Addresses in it stay text: no link leads to a
// place that an uploader chose.
func prose(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(term.Clean(lines[i]))
	}
	return strings.Join(lines, "\n")
}

// searchFor is a link to the videos whose channel or tag is this text.
func searchFor(field, text string) g.Node {
	query := field + `:"` + strings.ReplaceAll(text, `"`, " ") + `"`
	return h.A(h.Href("/search?"+url.Values{"q": {query}}.Encode()), g.El("bdi", g.Text(term.Clean(text))))
}

func (s *Site) facts(v report.VideoDocument, days []day) g.Node {
	textFact := func(name, value string, more ...g.Node) g.Node {
		return g.If(value != "", fact(g.Text(name), g.Text(value), g.If(more != nil, h.Small(g.Text(" "), g.Group(more)))))
	}
	var gained g.Group
	if len(days) > 1 && !s.Hidden && days[0].gained != nil {
		gained = g.Group{g.Text(term.Gain(days[0].gained) + " since "), moment(days[1].at, dayAndTime+" UTC")}
	}
	return h.Div(h.Class("video"), s.picture(v), h.Div(
		h.H1(h.Class("title"), h.Dir("auto"), g.Text(term.Fit(named(v.Title), 1000))),
		g.If(v.Channel != "", h.P(searchFor("channel", v.Channel), h.Small(g.Text(" all of this channel")))),
		h.Dl(h.Class("facts"), textFact("Views", term.Count(v.Views), gained...), g.Iff(v.PublishedAt != nil, func() g.Node {
			return fact(g.Text("Published"), moment(*v.PublishedAt, "Mon 2 Jan 2006, 15:04 UTC"),
				h.Small(g.Text(" "+shortAgo(s.Now().Sub(*v.PublishedAt))+" ago")))
		}), textFact("Likes", term.Count(v.Likes)), textFact("Comments", term.Count(v.Comments)),
			textFact("Category", cmp.Or(v.Named, v.Category)), textFact("Length", clock(v))),
		h.P(h.Class("steps"), h.A(h.Href(v.URL), h.Rel("noreferrer"), g.Text("Watch on "+s.Provider.Name+" ↗")))))
}

// legend describes one line in words, with how its rank moved in a day, and a link to its newest chart.
func (s *Site) legend(p path) g.Node {
	best := p.seen[0].Place()
	for _, sighting := range p.seen {
		best = min(best, sighting.Place())
	}
	rank, more := fmt.Sprint(p.newest().Place()), g.Textf("best %d", best)
	if !p.now {
		rank, more = "out", g.Group{g.Text("left after "), moment(p.newest().Slot, "Mon 2, 15:04 UTC")}
	}
	return h.Li(h.A(h.Href(view{region: string(p.Region)}.with("job", p.job)),
		h.SVG(h.Class("key"), h.Aria("hidden", "true"), g.El("path", h.Class("line "+p.class), g.Attr("d", "M0 6h30"))),
		h.B(g.Text(string(p.Region))), g.Text(" "), h.Span(h.Class("num"), g.Text(rank)), g.Text(" "), h.Span(g.Iff(p.now &&
			p.dayBefore() > 0 && !s.Hidden, func() g.Node { return rankMove(p.dayBefore(), p.newest().Place()) })),
		h.Small(g.If(p.name != "", g.Text(p.name+" ")), more)))
}

func (s *Site) dayTable(paths []path, days []day, heading string) g.Node {
	const most = 50
	all, heads := regionsOf(rankedOf(paths)), []string{"Slot"}
	for _, r := range all {
		heads = append(heads, string(r)+",num")
	}
	heads = append(heads, "Views,num")
	if !s.Hidden {
		heads = append(heads, "Gained,num wide")
	}
	return h.Section(h.Class("part"),
		h.H2(g.Text(heading+" "),
			h.Small(g.If(len(all) > 0, g.Text("rank and ")), g.Text("views at the last slot of each, "), zone())),
		table(heading, heads, g.Map(days[:min(most, len(days))], func(d day) g.Node {
			return h.Tr(h.Td(moment(d.at, dayAndTime)), g.Map(all, func(r ingest.Region) g.Node {
				if d.ranks[r] == 0 {
					return figure("–")
				}
				return figure(fmt.Sprint(d.ranks[r]))
			}), figure(term.Count(d.views)), g.Iff(!s.Hidden, func() g.Node {
				gained := "–"
				if d.gained != nil {
					gained = term.Gain(d.gained)
				}
				return h.Td(h.Class("num wide"), g.Text(gained))
			}))
		})))
}
