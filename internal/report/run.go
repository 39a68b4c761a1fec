package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// Run is a run of the schedule: how it has ended, and its slots. Document makes its JSON.
type Run struct {
	standing.Ending

	Slots []ingest.SlotResult
	Units int64 // spent by this run
	Err   error // that cut it short
}

// Add adds a slot that the run worked on.
func (r *Run) Add(slot ingest.SlotResult) {
	r.Slots = append(r.Slots, slot)
	r.Units += slot.Spent
	r.Ending.Add(slot.Slot)
}

// resultDocument returns a slot with a run's spends on it.
func resultDocument(s ingest.SlotResult) SlotDocument {
	return NewSlotDocument(s.Slot).Drew(s.Spent, s.Drew)
}

// stopText names the work that waits for quota, and until when: "stopped by quota: 8 charts wait until ...".
func (r Run) stopText() string {
	var what []string
	total := 0
	for _, kind := range []ingest.Kind{ingest.KindChart, ingest.KindSearch, ingest.KindUploads,
		ingest.KindVideos, ingest.KindRefresh} {
		noun := map[ingest.Kind]string{ingest.KindChart: "chart", ingest.KindSearch: "search job",
			ingest.KindUploads: "upload check", ingest.KindVideos: "watch list", ingest.KindRefresh: "refresh job"}[kind]
		if n := r.Waiting[kind]; n > 0 {
			what, total = append(what, term.Plural(n, noun)), total+n
		}
	}
	if total == 0 {
		return "stopped by quota; the fetched data are kept; try again at " + term.StampFrom(r.RetryAt)
	}
	verb := "wait"
	if total == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("stopped by quota: %s %s until %s", strings.Join(what, " and "), verb, term.StampFrom(r.RetryAt))
}

// RunDocument is a run as --json prints it.
type RunDocument struct {
	Outcome ingest.State     `json:"outcome"`
	RetryAt *time.Time       `json:"retry_at"`
	NextAt  *time.Time       `json:"next_at"`
	Charges map[string]int64 `json:"charges"` // by pool, in this run
	Units   int64            `json:"units"`   // of the pool units
	Regions []SlotDocument   `json:"regions"`
	Jobs    []SlotDocument   `json:"jobs"` // slots of other jobs
	Pacing  string           `json:"pacing,omitempty"`
}

// Document returns it as --json prints it.
func (r Run) Document() RunDocument {
	d := RunDocument{Outcome: r.Outcome, RetryAt: term.FromOrNull(r.RetryAt), NextAt: term.FromOrNull(r.Next),
		Charges: map[string]int64{},
		Regions: []SlotDocument{}, Jobs: []SlotDocument{}, Pacing: r.Pacing}
	for _, slot := range r.Slots {
		doc := resultDocument(slot)
		d.Units += doc.Units
		for pool, n := range doc.Charges {
			d.Charges[pool] += n
		}
		if slot.Kind == ingest.KindChart {
			d.Regions = append(d.Regions, doc)
		} else {
			d.Jobs = append(d.Jobs, doc)
		}
	}
	return d
}

// Print shows it on a terminal.
func (r Run) Print(w io.Writer) {
	if len(r.Slots) == 0 {
		switch {
		case r.Outcome == ingest.Stopped:
			fmt.Fprintln(w, r.stopText())
		case !r.UsedUp.IsZero():
			term.Paragraph(w, fmt.Sprintf("nothing is due; next at %s, since no quota may be spent until %s",
				term.Stamp(r.Next), term.StampFrom(r.UsedUp)))
		default:
			fmt.Fprintf(w, "nothing is due; next at %s\n", term.Stamp(r.Next))
		}
		if r.Pacing != "" {
			term.Paragraph(w, r.Pacing)
		}
		return
	}
	rows := make([][]string, 0, len(r.Slots))
	for _, slot := range r.Slots {
		rows = append(rows, []string{slot.Job, slot.Key, term.Stamp(slot.DueAt), string(slot.State),
			term.Plural(slot.Pages, "page"), term.Plural(slot.Videos, "video"), resultDocument(slot).Spent()})
	}
	term.FitTable(w, rows, 0)
	for _, line := range r.reasons() {
		term.Paragraph(w, line)
	}
	if r.Outcome == ingest.Stopped {
		fmt.Fprintln(w, r.stopText())
	}
}

// reasons returns why slots are not done, each reason once: "stopped GB, DE: units ...".
func (r Run) reasons() []string {
	type end struct {
		state  ingest.State
		reason string
	}
	var order []end
	names, said := map[end][]string{}, map[string]bool{} // said: by the run's error, for all workers that had the same
	for _, slot := range r.Slots {
		if slot.Err != nil && errors.Is(r.Err, slot.Err) {
			said[slot.Reason] = true
		}
	}
	for _, slot := range r.Slots {
		if slot.Reason == "" || slot.State == ingest.Done && !slot.Short() || said[slot.Reason] {
			continue
		}
		name := slot.Key
		if slot.Kind != ingest.KindChart {
			name = slot.Series().String()
		}
		e := end{slot.State, slot.Reason}
		if names[e] == nil {
			order = append(order, e)
		}
		names[e] = append(names[e], name)
	}
	return term.Texts(order,
		func(e end) string { return fmt.Sprintf("%s %s: %s", e.state, strings.Join(names[e], ", "), e.reason) })
}

// Progress is how far a run is, and how fast. It is read from the table of slots, so it includes all processes that
// work on the backfill.
type Progress struct {
	Event     string  `json:"event"` // progress
	ID        string  `json:"id"`
	Pieces    int     `json:"pieces"` // ended pieces
	Total     int     `json:"total"`
	Units     int64   `json:"units"`
	Videos    int     `json:"videos"`
	PerMinute float64 `json:"units_per_minute"`
	SecondsTo float64 `json:"seconds_to_go,omitempty"` // at this rate; 0: not known yet
	Of        string  `json:"-"`                       // the name of the pieces; "": pieces
}

// Line formats the progress in 79 columns. Before anything is spent there is no rate to show.
func (p Progress) Line(bar bool) string {
	const width = 22
	drawn := ""
	if bar {
		drawn = term.Bar(int64(p.Pieces), int64(p.Total), width) + " "
	}
	left := ""
	if p.SecondsTo > 0 {
		left = ", " + (time.Duration(p.SecondsTo+0.5) * time.Second).String() + " to go"
	}
	rate := ""
	if p.PerMinute > 0 {
		rate = fmt.Sprintf(", %.0f a minute", p.PerMinute)
	}
	return fmt.Sprintf("%s%s of %s, %s%s%s",
		drawn, term.Thousands(int64(p.Pieces)), term.Plural(p.Total, cmp.Or(p.Of, "piece")),
		term.Amount(p.Units, "units"), rate, left)
}
