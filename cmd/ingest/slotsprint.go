package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// slotDocument is a slot in JSON.
type slotDocument struct {
	Job       string       `json:"job"`
	Region    string       `json:"region,omitempty"`
	Slot      time.Time    `json:"slot"`
	DueAt     time.Time    `json:"due_at"`
	Outcome   ingest.State `json:"outcome"`
	Reason    string       `json:"reason"`
	RetryAt   *time.Time   `json:"retry_at"`
	FetchedAt *time.Time   `json:"fetched_at"`
	Attempt   int          `json:"attempt"`
	Pages     int          `json:"pages"`
	Videos    int          `json:"videos"`
	Units     int64        `json:"units"`
}

func newSlotDocument(s ingest.Slot) slotDocument {
	d := slotDocument{
		Job: s.Job, Region: s.Key, Slot: s.DueAt.UTC(), DueAt: s.DueAt.UTC(), Outcome: s.State, Reason: s.Reason,
		FetchedAt: timeOrNull(s.FetchedAt), Attempt: s.Attempt, Pages: s.Pages, Videos: s.Videos, Units: s.Units,
	}
	if s.State == ingest.Stopped {
		d.RetryAt = timeOrNull(s.RetryAt)
	}
	return d
}

// seriesDocument is how fresh one series is, and when it is next due.
type seriesDocument struct {
	Job    string     `json:"job"`
	Region string     `json:"region,omitempty"`
	DoneAt *time.Time `json:"done_at"` // due time of its newest done slot
	NextAt *time.Time `json:"next_at"`
}

func (d seriesDocument) line(now time.Time) string {
	name := d.Job
	if d.Region != "" {
		name = d.Region + " " + name
	}
	done, next := "never done", ""
	if d.DoneAt != nil {
		done = fmt.Sprintf("last done %s, %s ago", term.Stamp(*d.DoneAt), term.Ago(now.Sub(*d.DoneAt)))
	}
	if d.NextAt != nil {
		next = "; next due " + term.Stamp(*d.NextAt)
	}
	return fmt.Sprintf("%s: %s%s", term.Fit(name, 20), done, next)
}

// printSlots prints slots, which may be filtered, and how fresh a series is where only that one was asked for.
func printSlots(out *console, slots []ingest.Slot, series []seriesDocument, now time.Time, filtered bool) error {
	if out.json {
		doc := struct {
			Slots  []slotDocument   `json:"slots"`
			Series []seriesDocument `json:"series,omitempty"`
		}{Slots: []slotDocument{}, Series: series}
		for _, s := range slots {
			doc.Slots = append(doc.Slots, newSlotDocument(s))
		}
		return out.printJSON(doc)
	}
	switch {
	case len(slots) == 0 && filtered:
		out.say("no such slots: leave out --since, --outcome or --region to see others")
		return nil
	case len(slots) == 0:
		out.say("no slots: has ingest run been here yet?")
		return nil
	case len(series) == 1:
		fmt.Fprintf(out.stdout, "%s\n\n", term.Wrap(series[0].line(now), term.Screen, "  "))
	}
	fmt.Fprintf(out.stdout, "%-20s  %-10s %-6s  %-8s %5s %6s\n", "DUE", "JOB", "REGION", "OUTCOME", "UNITS", "VIDEOS")
	for _, s := range slots {
		fmt.Fprintf(out.stdout, "%-20s  %-10s %-6s  %-8s %5d %6d\n", term.Stamp(s.DueAt), term.Fit(s.Job, 10), s.Key, s.State, s.Units, s.Videos)
		if s.State == ingest.Claimed {
			fmt.Fprintf(out.stdout, "    %s\n", term.Wrap(heldText(s, now), 76, "      "))
		}
		for _, part := range strings.Split(term.Clean(s.Reason), "; ") {
			if part != "" {
				fmt.Fprintf(out.stdout, "    %s\n", term.Wrap(part, 76, "      "))
			}
		}
	}
	return nil
}

// heldText says which run holds a claimed slot, and when another run may claim it.
func heldText(s ingest.Slot, now time.Time) string {
	if s.Lease.After(now) {
		return fmt.Sprintf("by %s; should it have died, free again at %s", s.Owner, term.StampFrom(s.Lease))
	}
	return fmt.Sprintf("by %s, which has died: free since %s", s.Owner, term.Stamp(s.Lease))
}
