package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
)

var errNoCharts = fmt.Errorf("%w: no job of the config fetches charts", report.ErrNotFound)

// chart is the page of a region's chart, or of the first region that has a chart.
func (s *Site) chart(r *http.Request, docs *report.Documents) (Page, error) {
	all, err := docs.Regions(r.Context())
	if err != nil {
		return Page{}, err
	}
	v := viewOf(r)
	if v.region == "" {
		v.region = firstCharted(all)
	}
	if v.region == "" {
		return Page{Title: "There are no charts here"}, errNoCharts
	}
	var fresh map[string]State
	if s.Fresh != nil {
		fresh = s.Fresh(r.Context())
	}
	tabs := s.tabs(all, fresh, v.region)
	region, name := report.RegionDocument{}, regions.NameInText(ingest.Region(v.region))
	if i := slices.IndexFunc(all.Regions,
		func(known report.RegionDocument) bool { return string(known.Region) == v.region }); i >= 0 {
		region = all.Regions[i]
	}
	doc, err := s.readChart(r.Context(), docs, v)
	if err == nil {
		err = doc.checkRows()
	}
	if errors.Is(err, report.ErrNotFound) && region.Jobs != nil && !charted(region) {
		return s.noChart(name, tabs, fresh[v.region])
	}
	if err != nil {
		return Page{Main: tabs}, err
	}
	if other := r.URL.Query().Get(pickBeside); other != "" {
		page, err := doc.beside(r, docs, other,
			func(v report.VideoDocument, first g.Node) g.Node { return s.row(Row{Video: v, First: first}) })
		page.Main = g.Group{tabs, page.Main}
		return page, err
	}
	pick, err := doc.picker(r.Context(), docs, all)
	if err != nil {
		return Page{Main: tabs}, err
	}
	rows, err := s.chartRows(r.Context(), docs, doc)
	if err != nil {
		return Page{Main: tabs}, err
	}
	title := "Most popular in " + name
	if i := slices.IndexFunc(region.Jobs,
		func(job report.ChartJobDocument) bool { return job.Job == doc.Job && job.Category != "" }); i >= 0 {
		title += ": " + cmp.Or(region.Jobs[i].Named, "category "+region.Jobs[i].Category)
	}
	page := doc.exports(title, s.Hidden)
	page.Main = g.Group{tabs, s.chartHead(doc, fresh[string(doc.Region)], title),
		pick, jobs(doc, region), moves(doc), rows}
	return page, nil
}

// noChart is the page of a region that the schedule charts, before its first chart is fetched.
func (s *Site) noChart(region string, tabs g.Node, fresh State) (Page, error) {
	if fresh.Word == report.Word(standing.Absent) {
		return Page{Title: s.Provider.Name + " has no chart of " + region, Main: tabs},
			fmt.Errorf("%w: it is asked again once a day", report.ErrNotFound)
	}
	title := "No chart of " + region + " was fetched yet"
	return Page{Title: title, Main: g.Group{tabs, h.H1(g.Text(title)), h.P(h.Class("soft"),
		g.Text("It comes with ingest serve when it is due, or with ingest run at once, if the provider has one; "),
		link("/status", "the status page"), g.Text(" has the cause of the wait."))}}, nil
}

func firstCharted(all report.RegionsDocument) string {
	for _, region := range all.Regions {
		if charted(region) {
			return string(region.Region)
		}
	}
	if len(all.Regions) > 0 {
		return string(all.Regions[0].Region)
	}
	return ""
}

// readChart reads a chart. Unless derived metrics are hidden, it compares it with the chart that the reader chose, or
// by default with the chart of 6 hours before or, if none is kept, with the previous one. A region that has only a
// fetch that was stopped half-way shows that.
func (s *Site) readChart(ctx context.Context, docs *report.Documents, v view) (shownChart, error) {
	doc := shownChart{view: v}
	params := changed(v.params, "since", "", "show", "", "category", "", "length", "", "from", "", "also", "true")
	var choices []string
	if chosen := v.params.Get("since"); !s.Hidden && chosen != "" {
		choices = []string{chosen}
	} else if !s.Hidden {
		choices = []string{"6h", "30m"}
	}
	var err error
	for _, doc.since = range append(choices, "") {
		params = changed(params, "compare", doc.since)
		if doc.MovesDocument, err = docs.Chart(ctx, v.region, params); !errors.Is(err, report.ErrNotFound) {
			break
		}
	}
	if errors.Is(err, report.ErrNotFound) && !params.Has("partial") {
		params.Set("partial", "true")
		if half, halfErr := docs.Chart(ctx, v.region, params); halfErr == nil {
			doc.MovesDocument, err = half, nil
		}
	}
	filter := report.ChartFilter{Category: v.params.Get("category")}
	filter.Length, _ = ingest.ParseLength(v.params.Get("length")) // checkRows refuses a wrong range
	doc.asked, doc.whole = changed(params, "category", filter.Category, "length", filter.Length.String()),
		doc.ChartDocument.Items
	doc.MovesDocument = doc.Only(filter)
	doc.tooOld = err == nil && !doc.Compared() && !s.Hidden
	if err == nil && !params.Has("partial") && !params.Has("at") {
		half, halfErr := docs.Chart(ctx, v.region, url.Values{"partial": {"true"}, "limit": {"1"}, "job": {doc.Job}})
		if halfErr == nil && half.Partial && half.Slot.After(doc.Slot) {
			doc.stopped = &half.Slot
		}
	}
	return doc, err
}

// tabs are the regions, each with how fresh it is and its age.
func (s *Site) tabs(all report.RegionsDocument, fresh map[string]State, current string) g.Node {
	const most = 8
	here := func(r report.RegionDocument) bool { return string(r.Region) == current }
	to := func(r report.RegionDocument) g.Node { return h.Href("/charts/" + url.PathEscape(string(r.Region))) }
	shown := slices.Clone(all.Regions[:min(most, len(all.Regions))])
	if i := slices.IndexFunc(all.Regions, here); i >= most {
		shown[most-1] = all.Regions[i]
	}
	tabs := h.Nav(h.Class("tabs"), h.Aria("label", "Regions"), g.Map(shown, func(r report.RegionDocument) g.Node {
		state := fresh[string(r.Region)]
		age := strings.ReplaceAll(state.Age, " ", "\u00a0")
		for _, job := range r.Jobs {
			if age == "" && job.FetchedAt != nil {
				age = shortAgo(s.Now().Sub(*job.FetchedAt))
			}
		}
		return h.A(to(r), g.If(here(r), h.Aria("current", "page")), h.Title(r.Name),
			g.If(state.Word != "", g.Group{in(state.Mood, ""), dot()}),
			h.Span(g.Text(string(r.Region)), spoken(" "+strings.Join([]string{r.Name, state.Word, ""}, ", "))),
			g.Text(" "), h.Small(g.Text(age)))
	}))
	if len(all.Regions) <= most {
		return tabs
	}
	byName := slices.SortedFunc(slices.Values(all.Regions),
		func(a, b report.RegionDocument) int { return cmp.Compare(a.Name, b.Name) })
	return g.Group{tabs, h.Details(h.Class("regions"), h.Summary(g.Textf("All %d regions", len(all.Regions))),
		chips("All regions", g.Map(byName, func(r report.RegionDocument) g.Node {
			return h.A(to(r), g.If(here(r), h.Aria("current", "page")), g.Text(r.Name+" "), h.Small(g.Text(string(r.Region))))
		})))}
}

// shortAgo formats a duration in its largest unit.
func shortAgo(d time.Duration) string {
	fields := strings.Fields(term.Ago(d))
	return strings.Join(fields[:min(2, len(fields))], "\u00a0")
}

func (s *Site) chartHead(doc shownChart, state State, title string) g.Node {
	fetched := "not fetched as a whole"
	if doc.FetchedAt != nil {
		fetched = "fetched " + term.Ago(s.Now().Sub(*doc.FetchedAt)) + " ago"
	}
	if doc.Partial {
		fetched += ", not complete"
	}
	said := h.P(h.Class("soft"), g.Textf("%s, %s.", term.Plural(len(doc.ChartDocument.Items), "video"), fetched))
	if doc.Later == nil && state.Word != "" && state.Mood != report.Good {
		said = h.P(in(state.Mood, ""), h.Span(h.Class("word"), g.Text(state.Word+":")), h.Span(h.Class("soft"),
			g.Text(" "+strings.Join(slices.DeleteFunc([]string{fetched, state.Next}, func(s string) bool {
				return s == ""
			}), ", ")+".")))
	}
	to := func(t *time.Time, rel, key, before, after string) g.Node {
		if t == nil {
			return h.Span(g.Text(strings.TrimSpace(before + after)))
		}
		format := clockTime
		if !sameDay(*t, doc.Slot) {
			format = dayAndTime
		}
		return h.A(h.Href(doc.at(*t)), h.Rel(rel), h.Aria("keyshortcuts", key), g.Text(before),
			moment(*t, format), g.Text(after))
	}
	return h.Div(h.Class("top"),
		h.Div(h.H1(g.Text(title)), said,
			g.If(doc.tooOld, h.P(h.Class("soft"), g.Text("No chart that much older is kept."))),
			g.Iff(doc.ShortSince != nil, func() g.Node {
				return h.P(h.Class("soft"), g.Textf("This is the newest whole chart: since %s %s.",
					hhmm(*doc.ShortSince), doc.CameBack()))
			}),
			g.Iff(doc.stopped != nil, func() g.Node {
				return h.P(h.Class("soft"), g.Text("The fetch of "), moment(*doc.stopped, clockTime+" UTC"),
					g.Text(" is not complete. "), link(doc.with("partial", "true"), "Show the fetched data"))
			})),
		h.Nav(h.Class("steps"), h.Aria("label", "Time"),
			g.Iff(doc.DayBefore != nil, func() g.Node {
				return h.A(h.Class("wide"), h.Href(doc.at(*doc.DayBefore)), g.Text("« "), moment(*doc.DayBefore, "Mon 2"))
			}),
			to(doc.Earlier, "prev", "ArrowLeft", "‹\u00a0", ""),
			doc.opener(pickAt, h.Aria("current", "true"), h.Title("Go to another time"), moment(doc.Slot, dayAndTime+" UTC")),
			to(doc.Later, "next", "ArrowRight", "", "\u00a0›"),
			g.If(doc.Later != nil, link(doc.with("at", ""), "Newest"))))
}

// jobs are links to the region's other charts, such as the chart of a category.
func jobs(doc shownChart, region report.RegionDocument) g.Node {
	if len(region.Jobs) < 2 {
		return nil
	}
	whole := 0
	for _, job := range region.Jobs {
		if job.Category == "" {
			whole++
		}
	}
	return chips("Charts", g.Map(region.Jobs, func(job report.ChartJobDocument) g.Node {
		name := jobName(job)
		if job.Category == "" && whole == 1 {
			name = "All categories"
		}
		return chip(view{region: string(region.Region)}.with("job", job.Job), name, job.Job == doc.Job)
	}))
}

// chartRows is a page of the list.
func (s *Site) chartRows(ctx context.Context, docs *report.Documents, doc shownChart) (g.Node, error) {
	all := doc.chosen()
	if len(all) == 0 {
		return h.P(g.Text("No video is in this list.")), nil
	}
	from, err := strconv.Atoi(doc.params.Get("from"))
	if err != nil {
		from = 1 // checkRows has passed: it is absent
	}
	to := min(from-1+rowsAPage, len(all))
	back, next := "", ""
	if from > 1 {
		back = doc.with("from", strconv.Itoa(max(from-rowsAPage, 1)))
	}
	if to < len(all) {
		next = doc.with("from", strconv.Itoa(to+1))
	}
	shown := slices.Clone(all[from-1 : to])
	if err := doc.withCourses(ctx, docs, shown); err != nil {
		return nil, err
	}
	return g.Group{
		h.Ol(h.Class("rows"), g.Map(shown, func(v report.MoveItem) g.Node {
			return s.row(Row{Video: v.VideoDocument, Gain: doc.gain(v), Beside: doc.course(v),
				First: h.Span(h.Class("pos"), h.B(g.Text(strconv.Itoa(v.Rank))), g.Text(" "), moved(v))})
		})),
		g.If(len(all) > rowsAPage, steps(step(back, "prev", "‹ Back"), fmt.Sprintf("%d to %d of %d", from, to, len(all)),
			step(next, "next", "Next ›"))),
	}, nil
}
