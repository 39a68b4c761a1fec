package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// printSearch prints a page of a search in 80 columns.
func (a *app) printSearch(q store.Query, r store.Result, brackets bool) error {
	m := a.marker(brackets)
	for _, h := range r.Items {
		line := term.Pad(h.Video.ID, 12) + m.title(h.Video.Title, h.Highlight, 34) + " " + term.Pad(h.Video.Channel, 14) + " " + searchTail(q.Order, h)
		if _, err := fmt.Fprintln(a.stdout, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	if r.Capped {
		a.say("many videos match: these are the best of the newest ones; add a word to narrow it down")
	}
	if r.Next != "" {
		a.say("more: --after %s", r.Next)
	}
	return nil
}

// searchTail is the end of a line, 18 columns: what the order goes by, or the regions.
func searchTail(o store.Order, h store.Hit) string {
	switch o {
	case store.ByViews:
		return fmt.Sprintf("%17s", viewsText(h.Video.Views))
	case store.ByRise:
		return fmt.Sprintf("%17s", gainText(h.Gained))
	case store.ByFreshness:
		return h.SeenAt.UTC().Format("2006-01-02 15:04Z")
	default:
		return regionsText(h.Regions)
	}
}

func regionsText(in []ingest.Region) string {
	const most = 3 // regions that are named; the others are counted
	var codes []string
	for i, r := range in {
		if i == most {
			codes = append(codes, fmt.Sprintf("+%d", len(in)-most))
			break
		}
		codes = append(codes, string(r))
	}
	return strings.Join(codes, " ")
}

func viewsText(n *int64) string {
	if n == nil {
		return "-"
	}
	return term.Thousands(*n)
}

// gainText is how much a count has grown, with its sign.
func gainText(n *int64) string {
	if n != nil && *n > 0 {
		return "+" + term.Thousands(*n)
	}
	return viewsText(n)
}

// marker shows which part of a title was asked for. The zero marker does not.
type marker struct {
	begin, end string
	width      int // columns that begin and end take together
}

// marker is bold on a terminal, brackets where they are asked for, and otherwise nothing.
func (a *app) marker(brackets bool) marker {
	switch {
	case brackets:
		return marker{"[", "]", 2}
	case term.IsTerminal(a.stdout) && !a.noColor && os.Getenv("NO_COLOR") == "":
		return marker{"\x1b[1m", "\x1b[0m", 0}
	}
	return marker{}
}

// title is the cleaned title with its marks, in so many columns, filled up.
func (m marker) title(title string, spans []store.Span, columns int) string {
	if m.begin == "" || len(spans) == 0 {
		return term.Pad(title, columns)
	}
	for n := 0; ; n++ { // marks take room; those that are cut off do not
		cut := term.Fit(title, columns-m.width*n)
		text, used := m.mark(title, cut, spans)
		if used <= n || m.width == 0 {
			return text + strings.Repeat(" ", max(columns-term.Width(cut)-m.width*used, 0))
		}
	}
}

// mark puts the marks into cut, which is title cleaned and cut off, and counts the pairs.
func (m marker) mark(title, cut string, spans []store.Span) (text string, used int) {
	var b strings.Builder
	open := false
	rest, at := strings.TrimSuffix(cut, "…"), -1
	for _, r := range title {
		at++
		kept := term.Clean(string(r))
		if kept == "" {
			continue
		}
		if !strings.HasPrefix(rest, kept) {
			break
		}
		rest = rest[len(kept):]
		in := inSpan(spans, at)
		if in != open {
			b.WriteString(m.side(in))
			open = in
			if in {
				used++
			}
		}
		b.WriteString(kept)
	}
	if open {
		b.WriteString(m.end)
	}
	if strings.HasSuffix(cut, "…") { // something was cut off
		b.WriteString("…")
	}
	return b.String(), used
}

func (m marker) side(begin bool) string {
	if begin {
		return m.begin
	}
	return m.end
}

func inSpan(spans []store.Span, at int) bool {
	for _, s := range spans {
		if at >= s[0] && at < s[1] {
			return true
		}
	}
	return false
}
