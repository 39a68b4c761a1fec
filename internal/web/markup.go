package web

import (
	_ "embed"
	"io"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// The style sheet and the script of the page, inserted unescaped.
var (
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string
)

// render writes the page. Every text and attribute is escaped on insertion, except the style sheet and the script. It
// does not use html/template, which looks methods up by name and so keeps the linker from dropping any exported method
// of any type: a seventh of the program.
func (v *view) render(w io.Writer) error {
	return h.Doctype(h.HTML(h.Lang("en"), v.head(),
		h.Body(v.header(),
			h.Main(h.ID("main"), v.top(), v.pools(), v.clocks(), v.burn(), v.who(), v.next(), v.fresh(), v.refusals(), v.drift(), v.change(), v.ledger(), v.policy(), v.found()),
			footer(),
			h.Script(nonce(v.Nonce), g.Raw(pageScript)),
		),
	)).Render(w)
}

func (v *view) head() g.Node {
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.TitleEl(g.Text(v.Short+" · ingest")),
		h.Link(h.Rel("icon"), h.Href("data:,")),
		h.StyleEl(nonce(v.Nonce), g.Raw(pageStyle)),
	)
}

func (v *view) header() g.Node {
	return h.Header(
		h.P(h.Class("name"), g.Text("ingest "), h.Span(g.Text(v.Version))),
		h.P(g.If(v.Moved != "", g.Group{h.Strong(g.Text(v.Moved)), g.Text(" ")}), g.Text("as of "), moment(v.At), g.Text("\n"),
			h.Button(h.Type("button"), h.ID("pause"), g.Attr("hidden"), h.Aria("pressed", "false"), g.Text("Pause")), g.Text(" "), h.A(h.Href(""), g.Text("Reload"))),
	)
}

// top is the one sentence, and what else is wrong.
func (v *view) top() g.Node {
	return g.Group{
		h.H1(moodClass(v.Mood), g.Text(v.Sentence)),
		g.Map(v.Troubles, func(s string) g.Node { return h.P(moodClass(bad), h.Role("alert"), g.Text(s)) }),
		g.If(v.Stale != "", h.P(moodClass(bad), g.Text(v.Stale+" "), h.A(h.Href("#fresh"), g.Text("Why?")))),
	}
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

func notKnown() g.Node { return h.P(g.Text("Not known while the ledger cannot answer.")) }

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
