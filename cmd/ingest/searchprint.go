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
		line := term.Pad(h.Video.ID, 12) + m.Pad(h.Video.Title, h.Highlight, 34) + " " + term.Pad(h.Video.Channel, 14) + " " + searchTail(q.Order, h)
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

// marker is bold on a terminal, brackets where they are asked for, and otherwise nothing.
func (a *app) marker(brackets bool) term.Marker {
	switch {
	case brackets:
		return term.Brackets
	case term.IsTerminal(a.stdout) && !a.noColor && os.Getenv("NO_COLOR") == "":
		return term.Bold
	}
	return term.Marker{}
}
