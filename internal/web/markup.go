package web

import (
	"context"
	_ "embed"
	"io"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// The style sheet and the script of the page, inserted unescaped.
var (
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string
)

// statusPage is the status page: the documents of one moment, and what its reader asked for.
type statusPage struct {
	o                     overview
	d                     details
	source                *Source // nil: nothing is open
	version, moved, nonce string  // moved says that the clock was; "": it was not
	every, query          string  // an interval to price, and a search
}

// mood is a class of the style sheet. Nothing is expressed by colour alone.
type mood string

const (
	good mood = "good"
	warn mood = "warn"
	bad  mood = "bad"
)

// answers reports whether the ledger can say what is left. If it cannot, the page leaves out what only it knows.
func (p *statusPage) answers() bool { return p.o.quotaErr == nil && !p.o.quota.Degraded }

// render writes the page. Every text and attribute is escaped on insertion, except the style sheet and the script. It
// does not use html/template, which looks methods up by name and so keeps the linker from dropping any exported method
// of any type: a seventh of the program.
func (p *statusPage) render(ctx context.Context, w io.Writer) error {
	main := g.Group{h.ID("main"), p.top()}
	if p.answers() {
		main = append(main, p.pools(), p.clocks(), p.burn(), p.who(), p.next())
	}
	main = append(main, p.fresh(), p.refusals())
	if p.answers() {
		main = append(main, p.drift())
	}
	main = append(main, p.change(), p.ledger(), p.policy(), p.search(ctx))
	return h.Doctype(h.HTML(h.Lang("en"), p.head(),
		h.Body(p.header(), h.Main(main), footer(), h.Script(nonce(p.nonce), g.Raw(pageScript))),
	)).Render(w)
}

func (p *statusPage) head() g.Node {
	sentence, _ := p.sentence()
	short, _, _ := strings.Cut(sentence, ":")
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.TitleEl(g.Text(short+" · ingest")),
		h.Link(h.Rel("icon"), h.Href("data:,")),
		h.StyleEl(nonce(p.nonce), g.Raw(pageStyle)),
	)
}

func (p *statusPage) header() g.Node {
	return h.Header(
		h.P(h.Class("name"), g.Text("ingest "), h.Span(g.Text(p.version))),
		h.P(g.If(p.moved != "", g.Group{h.Strong(g.Text(p.moved)), g.Text(" ")}), g.Text("as of "), moment(term.Stamp(p.o.at)), g.Text("\n"),
			h.Button(h.Type("button"), h.ID("pause"), g.Attr("hidden"), h.Aria("pressed", "false"), g.Text("Pause")), g.Text(" "), h.A(h.Href(""), g.Text("Reload"))),
	)
}

// sentence is the headline: whether the quota lasts.
func (p *statusPage) sentence() (string, mood) {
	switch {
	case p.o.quotaErr != nil:
		return "The ledger cannot be read.", bad
	case p.o.quota.Degraded:
		return report.OutlookSentence(p.o.quota, p.d.next), bad
	case p.o.quota.Forecast.Fits:
		return report.OutlookSentence(p.o.quota, p.d.next), good
	}
	return report.OutlookSentence(p.o.quota, p.d.next), warn
}

// top is the headline, and what else is wrong.
func (p *statusPage) top() g.Node {
	sentence, state := p.sentence()
	out := g.Group{h.H1(moodClass(state), g.Text(sentence))}
	for _, of := range []struct {
		what string
		err  error
	}{{"ledger", p.o.quotaErr}, {"store", p.o.storeErr}} {
		if of.err != nil {
			out = append(out, h.P(moodClass(bad), h.Role("alert"), g.Text("The "+of.what+" cannot be read: "+term.Clean(of.err.Error()))))
		}
	}
	var stale []string
	for _, of := range p.o.fresh.Stale() {
		stale = append(stale, of.Name())
	}
	if len(stale) > 0 {
		out = append(out, h.P(moodClass(bad), g.Text("Stale: "+term.Enumerate(stale, 4)+". "), h.A(h.Href("#fresh"), g.Text("Why?"))))
	}
	return out
}

func footer() g.Node {
	link := func(href, text string) g.Node { return h.A(h.Href(href), g.Text(text)) }
	return h.Footer(h.P(g.Text("Read-only. The same as JSON: "), link("?format=json", "this page"), g.Text(", "), link("freshness", "freshness"), g.Text(", "),
		link("readyz?format=json", "checks"), g.Text("; "), link("metrics", "metrics"), g.Text(".")))
}

// section is a part of the page under a heading, with the command that prints the same figures.
func section(id, title, command string, parts ...g.Node) g.Node {
	return g.Group{g.Text("\n"), h.Section(h.Aria("labelledby", id), h.H2(h.ID(id), g.Text(title)), g.Text("\n"), g.Group(parts), sourceLine(command))}
}

func sourceLine(command string) g.Node {
	return h.P(h.Class("from"), h.A(h.Href("?format=json"), g.Text("JSON")), g.Text(" · "), h.Code(g.Text(command)))
}

// column is a heading of a table; n: of figures, which are right-aligned.
type column struct {
	name string
	n    bool
}

// table returns a table that scrolls by itself if it is too wide, also by keyboard.
func table(label string, columns []column, rows g.Group) g.Node {
	return h.Div(h.Class("scroll"), h.Role("group"), h.TabIndex("0"), h.Aria("label", label), h.Table(
		h.THead(h.Tr(g.Map(columns, func(c column) g.Node { return h.Th(h.Scope("col"), g.If(c.n, h.Class("n")), g.Text(c.name)) }))), g.Text("\n"),
		h.TBody(g.Map(rows, func(row g.Node) g.Node { return g.Group{row, g.Text("\n")} })),
	))
}

func cell(text string) g.Node    { return h.Td(g.Text(text)) }
func figure(text string) g.Node  { return h.Td(h.Class("n"), g.Text(text)) }
func rowHead(text string) g.Node { return h.Th(h.Scope("row"), g.Text(text)) }
func moodCell(m mood, text string) g.Node {
	return h.Td(moodClass(m), g.Text(text))
}

func moodClass(m mood) g.Node { return h.Class(string(m)) }

func nonce(n string) g.Node { return g.Attr("nonce", n) }

// moment returns a time that is machine-readable, too.
func moment(at string) g.Node { return h.Time(h.DateTime(at), g.Text(at)) }

// fact is a name and its value.
type fact struct{ Name, Value string }

// facts returns a list of names and values.
func facts(list []fact) g.Node {
	return h.Dl(g.Map(list, func(f fact) g.Node { return g.Group{h.Dt(g.Text(f.Name)), h.Dd(g.Text(f.Value))} }))
}

// list returns a list of items, or none if there are no items.
func list(items g.Group, none g.Node) g.Node {
	if len(items) == 0 {
		return none
	}
	return h.Ul(items)
}
