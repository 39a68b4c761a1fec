package pages

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// State is how something is, shown by a word, a shape and a colour together.
type State struct {
	Mood report.Mood // a class of the stylesheet that gives its contents a colour and a shape
	Word string      // such as "fresh"
	Age  string      // of a region: how old its newest chart is, as on the status page; "": not known
	Next string      // of a region: when it is fetched next, as far as that is known
}

// in gives a node and its contents a mood, and other classes.
func in(mood report.Mood, others string) g.Node { return h.Class(others + " " + mood.String()) }

// dot shows the shape and the colour of the nearest enclosing mood.
func dot() g.Node { return h.I(h.Class("dot"), h.Aria("hidden", "true")) }

// spoken is text for readers who cannot see the shape beside it.
func spoken(text string) g.Node { return h.Span(h.Class("sr"), g.Text(text)) }

// section is a part of a page with a heading.
func section(title string, parts ...g.Node) g.Node {
	return h.Section(h.Class("part"), h.H2(g.Text(title)), g.Group(parts))
}

// facts is a list of names and values.
func facts(list [][2]string) g.Node {
	return h.Dl(h.Class("facts"), g.Map(list, func(f [2]string) g.Node { return fact(g.Text(f[0]), g.Text(f[1])) }))
}

func fact(name g.Node, value ...g.Node) g.Node { return g.Group{h.Dt(name), h.Dd(value...)} }

// table is a table that scrolls on its own, also by keyboard, if it is too wide. A head is a text and, after a comma,
// the classes of its column.
func table(label string, heads []string, rows g.Node) g.Node {
	return h.Div(h.Class("scroll"), h.TabIndex("0"), h.Role("group"), h.Aria("label", label), h.Table(
		h.Tr(g.Map(heads, func(head string) g.Node {
			text, class, _ := strings.Cut(head, ",")
			return h.Th(h.Scope("col"), g.If(class != "", h.Class(class)), g.Text(text))
		})), rows))
}

// chips are links to choose one of.
func chips(label string, links ...g.Node) g.Node {
	return h.Nav(h.Class("chips"), h.Aria("label", label), g.Group(links))
}

func chip(href, text string, current bool) g.Node {
	return h.A(h.Href(href), g.If(current, h.Aria("current", "true")), g.Text(text))
}

// steps are links through the pages of a list; here names the one that is shown.
func steps(back g.Node, here string, next g.Node) g.Node {
	return h.Nav(h.Class("steps part"), h.Aria("label", "Pages"), back,
		h.Span(h.Aria("current", "page"), g.Text(here)), next)
}

// step is a link to the previous or next page, or only its text if there is none.
func step(href, rel, text string) g.Node {
	if href == "" {
		return h.Span(g.Text(text))
	}
	return h.A(h.Href(href), h.Rel(rel), g.Text(text))
}

func cell(text string) g.Node   { return h.Td(g.Text(term.Clean(text))) }
func figure(text string) g.Node { return h.Td(h.Class("num"), g.Text(text)) }

func jobName(job report.ChartJobDocument) string {
	switch {
	case job.Named != "":
		return job.Named
	case job.Category != "":
		return fmt.Sprintf("%s (category %s)", job.Job, job.Category)
	}
	return job.Job
}

func hhmm(t time.Time) string { return t.UTC().Format("15:04") }

// How moments are written. The script writes them again, in the visitor's zone and without the word UTC, by the fields
// that it finds: a day, a month, a year, seconds.
const (
	clockTime  = "15:04"
	dayAndTime = "Mon 2 Jan, 15:04"
)

// moment shows a time in UTC, also in a machine-readable form.
func moment(t time.Time, format string) g.Node {
	return h.Time(h.DateTime(t.UTC().Format(time.RFC3339)), g.Text(t.UTC().Format(format)))
}

// ageText is a length of time in minutes, hours or days.
func ageText(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min", max(0, d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// untitled is shown for a title that has no visible character.
const untitled = "Untitled"

// named is the title to show.
func named(title string) string {
	title = term.Clean(title)
	if !strings.ContainsFunc(title, func(r rune) bool { return unicode.IsPrint(r) && !unicode.IsSpace(r) }) {
		return untitled
	}
	return title
}

// zone names the zone of the moments beside it. The script puts in the visitor's zone.
func zone() g.Node { return h.Span(h.Class("zone"), g.Text("UTC")) }

func link(href, text string) g.Node { return h.A(h.Href(href), g.Text(text)) }

// rankMove says by how much a rank moved.
func rankMove(was, is int) g.Node {
	class, shape, word, by := "", "=", "unchanged", ""
	switch {
	case was > is:
		class, shape, word, by = "up", "▲", "up", strconv.Itoa(was-is)
	case was < is:
		class, shape, word, by = "down", "▼", "down", strconv.Itoa(is-was)
	}
	return h.Span(h.Class("move "+class), h.Span(h.Aria("hidden", "true"), g.Text(shape)), spoken(word+" "), g.Text(by))
}

// changed returns parameters with some of them set, by pairs of name and value; a value "" removes one.
func changed(params url.Values, pairs ...string) url.Values {
	out := url.Values{}
	maps.Copy(out, params)
	for pair := range slices.Chunk(pairs, 2) {
		if out.Set(pair[0], pair[1]); pair[1] == "" {
			out.Del(pair[0])
		}
	}
	return out
}

// kept are the parameters that a form sends in addition to its fields.
func kept(params url.Values) g.Node {
	return g.Map(slices.Sorted(maps.Keys(params)), func(name string) g.Node {
		return h.Input(h.Type("hidden"), h.Name(name), h.Value(params.Get(name)))
	})
}
