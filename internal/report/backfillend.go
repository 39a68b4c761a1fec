package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// BackfillEnd is the last JSON line of a run: how it ended, and the backfill's progress.
type BackfillEnd struct {
	Event   string       `json:"event"` // end
	Outcome ingest.State `json:"outcome"`
	Reason  string       `json:"reason"`
	RetryAt *time.Time   `json:"retry_at"`
	Spent   int64        `json:"spent"` // units, in this run
	PlanDocument
}

// Print prints the end of a run for a person.
func (e BackfillEnd) Print(w io.Writer) error {
	text := fmt.Sprintf("%s is done: %s in this run", e.ID, term.Amount(e.Spent, "units"))
	switch e.Outcome {
	case ingest.Done:
		if e.Reason != "" {
			text = e.ID + ": " + e.Reason
		}
	case ingest.Stopped:
		text = fmt.Sprintf("%s was stopped by quota after %s; what came in is kept. The same command goes on from %s: %s",
			e.ID, term.Amount(e.Spent, "units"), term.StampFrom(*e.RetryAt), e.Reason)
	case ingest.Due:
		text = fmt.Sprintf("%s ended after %s: %s", e.ID, term.Amount(e.Spent, "units"), e.Reason)
		if e.Pieces[string(ingest.Due)]+e.Pieces[string(ingest.Stopped)] > 0 {
			text += ". The same command goes on"
		}
	default:
		text = fmt.Sprintf("%s: something failed, after %s in this run: %s", e.ID, term.Amount(e.Spent, "units"), e.Reason)
	}
	if _, err := fmt.Fprintln(w, term.Wrap(strings.TrimSuffix(text, ": "), 80, "  ")); err != nil {
		return err
	}
	return e.PlanDocument.Print(w)
}

// HeldReason says why a run ends while pieces are open: other runs hold the last of them until then.
func HeldReason(open int, until *time.Time) string {
	if until == nil { // ended in between
		return fmt.Sprintf("another run gave %s back in the meantime", term.Plural(open, "piece"))
	}
	last := "piece"
	if open > 1 {
		last = term.Plural(open, "piece")
	}
	return fmt.Sprintf("another run is at work on the last %s; should it have died, the same command goes on from %s", last, term.StampFrom(*until))
}
