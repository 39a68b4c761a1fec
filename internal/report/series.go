package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// SeriesDocument is how fresh a series is, and when it is next due.
type SeriesDocument struct {
	Job    string     `json:"job"`
	Region string     `json:"region,omitempty"`
	DoneAt *time.Time `json:"done_at"` // due time of its newest done slot
	NextAt *time.Time `json:"next_at"`

	DueSince  *time.Time `json:"due_since,omitempty"`  // since when a slot waits for the next run
	ResumesAt *time.Time `json:"resumes_at,omitempty"` // when quota admits a stopped slot again
	Reason    string     `json:"reason,omitempty"`     // why it waits
}

// Wait sets what the newest slot of the series waits for. A slot that the last run did not reach waits for what ended
// that run, which is the reason of another due slot.
func (d *SeriesDocument) Wait(newest, due []ingest.Slot, now time.Time) {
	if len(newest) == 0 {
		return
	}
	switch n := newest[0]; {
	case n.State == ingest.Stopped && n.RetryAt.After(now):
		d.ResumesAt, d.Reason = term.FromOrNull(n.RetryAt), n.Reason
	case n.State == ingest.Due && !n.DueAt.After(now):
		d.DueSince, d.Reason = term.TimeOrNull(n.DueAt), n.Reason
		for _, other := range due {
			if d.Reason == "" && other.Reason != "" && !other.DueAt.After(now) {
				d.Reason = fmt.Sprintf("the last run ended before it, at %s: %s", strings.TrimSpace(other.Job+" "+other.Key), other.Reason)
			}
		}
	}
}

// Line returns the document in a line for a person.
func (d SeriesDocument) Line(now time.Time) string {
	name := d.Job
	if d.Region != "" {
		name = d.Region + " " + name
	}
	done, next := "never done", ""
	if d.DoneAt != nil {
		done = fmt.Sprintf("last done %s, %s ago", term.Stamp(*d.DoneAt), term.Ago(now.Sub(*d.DoneAt)))
	}
	switch {
	case d.ResumesAt != nil:
		next = "; stopped by quota until " + term.StampFrom(*d.ResumesAt)
	case d.DueSince != nil:
		next = "; due since " + term.Stamp(*d.DueSince) + ", the next run tries it"
		if d.Reason != "" {
			next += "; " + d.Reason
		}
	case d.NextAt != nil:
		next = "; next due " + term.Stamp(*d.NextAt)
	}
	return fmt.Sprintf("%s: %s%s", term.Fit(name, 20), done, next)
}

// PrintSlots shows slots, each with why it is not done, as wide as w is.
func PrintSlots(w io.Writer, slots []ingest.Slot, now time.Time) {
	columns := term.Columns(w)
	job := 10
	for _, s := range slots {
		job = min(max(job, term.Width(s.Job)), 10+max(columns-term.Screen, 0))
	}
	fmt.Fprintf(w, "%-20s  %-*s %-6s  %-8s %-14s %6s\n", "DUE", job, "JOB", "REGION", "OUTCOME", "SPENT", "VIDEOS")
	for _, s := range slots {
		spent, videos := NewSlotDocument(s).Spent(), strconv.Itoa(s.Videos)
		if s.State == ingest.Due && s.Attempt == 0 {
			spent, videos = "-", "-" // never tried
		}
		fmt.Fprintf(w, "%-20s  %s %-6s  %s %-14s %6s\n", term.Stamp(s.DueAt), term.Pad(s.Job, job), s.Key, term.PaintPad(w, string(s.State), 8), spent, videos)
		if s.Count > 1 {
			fmt.Fprintf(w, "    %s slots in a row, since %s\n", term.Thousands(int64(s.Count)), term.Stamp(s.FirstDueAt))
		}
		if s.State == ingest.Claimed {
			fmt.Fprintf(w, "    %s\n", term.Wrap(Held(s, now), columns-4, "      "))
		}
		for _, part := range strings.Split(term.Clean(s.Reason), "; ") {
			if part != "" {
				fmt.Fprintf(w, "    %s\n", term.Wrap(part, columns-4, "      "))
			}
		}
	}
}

// Held says which run holds a claimed slot, and when another run may claim it.
func Held(s ingest.Slot, now time.Time) string {
	if s.Lease.After(now) {
		return fmt.Sprintf("by %s; should it have died, free again at %s", s.Owner, term.StampFrom(s.Lease))
	}
	return fmt.Sprintf("by %s, which has died: free since %s", s.Owner, term.Stamp(s.Lease))
}
