package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// SeriesDocument is a series' freshness and its next due time.
type SeriesDocument struct {
	Job    string     `json:"job"`
	Region string     `json:"region,omitempty"`
	DoneAt *time.Time `json:"done_at"` // due time of its newest done slot (a chart must be whole)
	NextAt *time.Time `json:"next_at"` // due time of its next slot; past if that waits for a run
	WaitDocument
	Reason string `json:"reason,omitempty"` // why it waits, or may come later than at NextAt
	Short

	orLater string
}

// Short is the start of a series' latest empty or shrunk charts; the zero Short if the newest is whole.
type Short struct {
	ShortSince *time.Time `json:"short_since,omitempty"`
	how        string
}

func newShort(one standing.Series) Short {
	if one.State != standing.Empty && one.State != standing.Shrunk {
		return Short{}
	}
	return Short{term.TimeOrNull(one.Since), string(one.State)}
}

func (s Short) text() string {
	if s.ShortSince == nil {
		return ""
	}
	return s.how + " since " + term.Stamp(*s.ShortSince)
}

// WaitDocument is the document of a standing.Wait.
type WaitDocument struct {
	DueSince     *time.Time `json:"due_since,omitempty"`
	OverdueSince *time.Time `json:"overdue_since,omitempty"`
	LastRunAt    *time.Time `json:"last_run_at,omitempty"`
	ResumesAt    *time.Time `json:"resumes_at,omitempty"`
	Attempts     int        `json:"attempts,omitempty"`
}

func newWait(w standing.Wait) WaitDocument {
	return WaitDocument{term.TimeOrNull(w.DueSince), term.TimeOrNull(w.OverdueSince), term.TimeOrNull(w.LastRunAt),
		term.FromOrNull(w.ResumesAt), w.Attempts}
}

// WaitText describes the wait of a slot of standing.Waiting.
func WaitText(s standing.Standing, slot ingest.Slot) string { return newWait(s.WaitOf(slot)).String() }

// String describes the wait of the slot; "" if no slot is due.
func (w WaitDocument) String() string {
	switch {
	case w.ResumesAt != nil:
		return "stopped by quota until " + term.StampFrom(*w.ResumesAt)
	case w.DueSince == nil:
		return ""
	}
	text := "due since " + term.Stamp(*w.DueSince)
	if w.OverdueSince != nil {
		text = "overdue since " + term.Stamp(*w.OverdueSince)
	}
	switch {
	case w.Attempts > 0:
		text += ", " + term.Plural(w.Attempts, "attempt")
	case w.OverdueSince == nil:
		text += ", it waits for the next run"
	case w.LastRunAt != nil:
		text += "; " + w.idle()
	default:
		text += ", no run has reached it"
	}
	return text
}

func (w WaitDocument) idle() string {
	if day := 24 * time.Hour; w.OverdueSince.Truncate(day).Equal(w.LastRunAt.Truncate(day)) {
		return "nothing has run since " + w.LastRunAt.UTC().Format("15:04")
	}
	return "nothing has run since " + term.Stamp(*w.LastRunAt)
}

// NewSeriesDocuments returns the documents of a key's series; "" means all keys.
func NewSeriesDocuments(s standing.Standing, key string) (all []SeriesDocument) {
	nexts := s.Pace.Schedule.Nexts(s.Latest, s.Now)
	ended := s.GivenBack() // a slot that the run did not reach waits for the same reason
	for _, one := range s.Series {
		if key != "" && one.Key != key {
			continue
		}
		d := SeriesDocument{Job: one.Job, Region: one.Key, DoneAt: term.TimeOrNull(one.Done.DueAt), Short: newShort(one)}
		next, comes := nexts[one.Series]
		if comes {
			d.NextAt = term.FromOrNull(next.DueAt)
		}
		if _, late := s.Waiting[one.Series]; late {
			d.WaitDocument, d.Reason = newWait(s.WaitOf(next)), next.Reason
			if d.Reason == "" && d.ResumesAt == nil && ended.Reason != "" {
				d.Reason = fmt.Sprintf("the last run got only to %s: %s", ended.Series(), ended.Reason)
			}
		}
		if comes {
			d.orLater = orLater(s.Forecast, next.DueAt)
		}
		d.Reason = joined(d.Reason, d.orLater)
		all = append(all, d)
	}
	return all
}

// Line returns the document in a line for a person.
func (d SeriesDocument) Line(now time.Time) string {
	name := d.Job
	if d.Region != "" {
		name = d.Region + " " + name
	}
	line := "never done"
	if d.DoneAt != nil {
		line = fmt.Sprintf("last done %s, %s ago", term.Stamp(*d.DoneAt), term.Ago(now.Sub(*d.DoneAt)))
	}
	if short := d.text(); short != "" {
		line += ", " + short
	}
	about := d.Reason
	if d.ResumesAt != nil {
		about = d.orLater
	}
	switch wait := d.String(); {
	case wait != "":
		line += "; " + joined(wait, about)
	case d.NextAt != nil:
		line += "; " + joined("next due "+term.Stamp(*d.NextAt), about)
	}
	return fmt.Sprintf("%s: %s", term.Fit(name, 20), line)
}

// PrintSlots shows slots within the width of w, each with the reason why it is not done. A reason shared by several in
// a row is shown once.
func PrintSlots(w io.Writer, slots []ingest.Slot, now time.Time) {
	columns := term.Columns(w)
	job, key := 10, 6
	for _, s := range slots {
		key = min(max(key, term.Width(s.Key)), 14+max(columns-term.Screen, 0))
	}
	for _, s := range slots {
		job = min(max(job, term.Width(s.Job)), 10+max(columns-term.Screen-key+6, 0))
	}
	fmt.Fprintf(w, "%-20s  %-*s %-*s  %-8s %-14s %6s\n", "DUE", job, "JOB", key, "REGION", "OUTCOME", "SPENT", "VIDEOS")
	var above []string
	for _, s := range slots {
		spent, videos := NewSlotDocument(s).Spent(), strconv.Itoa(s.Videos)
		if s.State == ingest.Due && s.Attempt == 0 {
			spent, videos = "-", "-" // never tried
		}
		fmt.Fprintf(w, "%-20s  %s %s  %s %-14s %6s\n", term.Stamp(s.DueAt), term.Pad(s.Job, job),
			term.Pad(term.Fit(s.Key, key), key), term.PaintPad(w, string(s.State), 8), spent, videos)
		about := aboutSlot(s, now)
		reason, again := strings.Split(term.Clean(s.Reason), "; "), false
		for _, part := range reason {
			if part != "" && !slices.Contains(above, part) {
				about = append(about, part)
			}
			again = again || part != "" && slices.Contains(above, part)
		}
		if above = reason; again {
			about = append(about, "reason as above")
		}
		if len(about) > 0 {
			fmt.Fprintf(w, "    %s\n", term.Wrap(strings.Join(about, "; "), columns-4, "      "))
		}
	}
}

// aboutSlot gives the facts that the table has no column for.
func aboutSlot(s ingest.Slot, now time.Time) (about []string) {
	if s.Count > 1 {
		about = append(about, fmt.Sprintf("%s slots in a row, since %s", term.Thousands(int64(s.Count)),
			term.Stamp(s.FirstDueAt)))
	}
	if s.State == ingest.Claimed {
		about = append(about, ClaimedBy(s, now))
	}
	attempts := term.Plural(s.Attempt, "attempt")
	if s.State == ingest.Due && s.Attempt > 0 && !strings.Contains(s.Reason, attempts) {
		about = append(about, attempts)
	}
	return about
}

// ClaimedBy says which run holds a claimed slot, and when another run may claim it.
func ClaimedBy(s ingest.Slot, now time.Time) string {
	if s.Lease.After(now) {
		return fmt.Sprintf("by %s; if it died, free again at %s", s.Owner, term.StampFrom(s.Lease))
	}
	return fmt.Sprintf("by %s, which has died: free since %s", s.Owner, term.Stamp(s.Lease))
}
