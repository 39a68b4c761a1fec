package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// Charts and searches for a terminal: one line per video, laid out for 80 columns. Titles and channels use the rest of
// a wider one.

// Print shows the chart.
func (d ChartDocument) Print(w io.Writer) {
	title, channel := term.Widen(w, 33, 14)
	fmt.Fprintf(w, "%s\n\n%3s %-11s %s %s %14s\n", d.head(), "#", "VIDEO", term.Pad("TITLE", title),
		term.Pad("CHANNEL", channel), "VIEWS")
	for _, v := range d.Items {
		fmt.Fprintf(w, "%3d %s %s %s %14s\n", v.Rank, term.Pad(v.VideoID, 11), term.Pad(v.titled(), title),
			term.Pad(v.Channel, channel), term.Count(v.Views))
	}
}

func (d ChartDocument) head() string {
	head := fmt.Sprintf("%s, slot %s, fetched %s", d.Region, term.Stamp(d.Slot), stampOf(d.FetchedAt))
	if d.Job != "chart" {
		head += ", job " + term.Fit(d.Job, 13)
	}
	return head + d.older()
}

// older says, in a line of its own, why an older chart is shown; "" if it is the newest.
func (d ChartDocument) older() string {
	if d.ShortSince == nil {
		return ""
	}
	return "\nthe newest whole one: since " + term.Stamp(*d.ShortSince) + " " + d.CameBack()
}

// CameBack describes the charts after this one.
func (d ChartDocument) CameBack() string {
	if d.ShortVideos == 0 {
		return "charts come empty"
	}
	return "charts come with " + term.Plural(d.ShortVideos, "video")
}

// Print shows the newer chart, how far each video moved, and which ones are gone.
func (d MovesDocument) Print(w io.Writer) {
	counts := term.Texts(changes, func(c string) string { return fmt.Sprintf("%d %s", d.Changes[c], c) })
	title, channel := term.Widen(w, 29, 11)
	fmt.Fprintf(w, "%s\nagainst slot %s: %s\n\n", d.head(), term.Stamp(d.ComparedTo), strings.Join(counts, ", "))
	fmt.Fprintf(w, "%3s %5s %-11s %s %s %14s\n", "#", "MOVED", "VIDEO", term.Pad("TITLE", title),
		term.Pad("CHANNEL", channel), "GAINED")
	for i, v := range append(d.Items[:len(d.Items):len(d.Items)], d.Gone...) {
		rank, moved := fmt.Sprint(v.Rank), v.Change
		switch {
		case i >= len(d.Items):
			rank = "-"
		case v.WasRank != nil && *v.WasRank == v.Rank:
			moved = "="
		case v.WasRank != nil:
			moved = fmt.Sprintf("%+d", *v.WasRank-v.Rank)
		}
		fmt.Fprintf(w, "%3s %5s %s %s %s %14s\n", rank, moved,
			term.Pad(v.VideoID, 11), term.Pad(v.titled(), title), term.Pad(v.Channel, channel), term.Gain(v.ViewsGained))
	}
}

// titled returns the title; a video that is gone at the upstream has none any more.
func (v VideoDocument) titled() string { return cmp.Or(v.Title, "(no title)") }

// changes are all kinds of change, in the order of the report.
var changes = []string{"new", "risen", "fallen", "same", "gone"}

// Print shows a page of a search in this order, with the matches in brackets or, if the terminal can, in bold.
func (d SearchDocument) Print(w io.Writer, order string, brackets bool) {
	marker := term.MarkerFor(w, brackets)
	title, channel := term.Widen(w, 34, 14)
	for _, v := range d.Items {
		line := term.Pad(v.VideoID, 12) + marker.Pad(v.Title, v.Highlight, title) +
			" " + term.Pad(v.Channel, channel) + " " + v.tail(order)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// tail returns the last 18 columns of a line: the value that the list is ordered by, or the regions.
func (v SearchItem) tail(order string) string {
	switch order {
	case "views":
		return fmt.Sprintf("%17s", term.Count(v.Views))
	case "rise":
		return fmt.Sprintf("%17s", term.Gain(v.ViewsGained))
	case "freshness":
		if v.SeenAt == nil {
			return "-"
		}
		return v.SeenAt.UTC().Format("2006-01-02 15:04Z")
	}
	const most = 3 // regions shown by name; others are counted
	codes := term.Texts(v.Regions[:min(most, len(v.Regions))], func(r ingest.Region) string { return string(r) })
	if len(v.Regions) > most {
		codes = append(codes, fmt.Sprintf("+%d", len(v.Regions)-most))
	}
	return strings.Join(codes, " ")
}

// Print shows the history, oldest chart first.
func (d HistoryDocument) Print(w io.Writer) {
	columns := term.Columns(w)
	fmt.Fprintf(w, "%s\nby %s, published %s\n\n", term.Fit(d.titled(), columns), term.Fit(d.Channel, columns/2),
		stampOf(d.PublishedAt))
	if len(d.Sightings) == 0 {
		return
	}
	fmt.Fprintf(w, "%-20s  %-6s  %-10s  %4s  %14s  %14s\n", "SLOT", "REGION", "JOB", "RANK", "VIEWS", "GAINED")
	for _, s := range d.Sightings {
		rank := "-"
		if s.Rank != nil {
			rank = fmt.Sprint(*s.Rank)
		}
		fmt.Fprintf(w, "%-20s  %-6s  %s  %4s  %14s  %14s\n",
			term.Stamp(s.Slot), s.Region, term.Pad(s.Job, 10), rank, term.Count(s.Views), term.Gain(s.ViewsGained))
	}
}

// stampOf formats a time, or "-" if it is not known.
func stampOf(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return term.Stamp(*t)
}
