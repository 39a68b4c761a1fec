package pages

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Banner is shown only where a person must act: it names the thing in bold, says what to do, and gives the one command
// for it, which a click selects. A page has one at most.
func Banner(thing, advice, command string) g.Node {
	return h.Div(Bad.Class("banner"), h.Role("alert"),
		h.P(h.B(g.Text(thing)), g.Text(" "+advice)),
		g.If(command != "", h.Pre(g.Text(command))))
}
