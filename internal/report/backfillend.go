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
	Event   string           `json:"event"` // end
	Outcome ingest.State     `json:"outcome"`
	Reason  string           `json:"reason"`
	RetryAt *time.Time       `json:"retry_at"`
	Spent   int64            `json:"spent"` // units, in this run
	Drew    map[string]int64 `json:"drew"`  // the same by pool
	PlanDocument

	waits bool // for an upstream that brought nothing, or for another run
}

// NewBackfillEnd finds the outcome of a run from the pieces it worked on, as for a run of the schedule. limit names
// the run's own limit that ended it, and err the cause.
func NewBackfillEnd(run Run, doc PlanDocument, limit string, err error) BackfillEnd {
	if !run.RetryAt.IsZero() {
		doc.RetryAt = term.FromOrNull(run.RetryAt) // the store keeps milliseconds and may have rounded its time down
	}
	end := BackfillEnd{Event: "end", Outcome: run.Outcome, RetryAt: term.FromOrNull(run.RetryAt),
		Spent: run.Units, Drew: run.Document().Charges, PlanDocument: doc}
	open := doc.Pieces[string(ingest.Due)] + doc.Pieces[string(ingest.Claimed)] + doc.Pieces[string(ingest.Stopped)]
	for _, s := range run.Slots {
		if s.State == ingest.Stopped {
			end.Reason = s.Reason
		}
	}
	unanswered, why := run.unanswered()
	switch {
	case err != nil:
		end.Outcome, end.Reason = ingest.Failed, err.Error()
	case doc.Cancelled != nil:
		end.Outcome, end.Reason = ingest.Skipped, "it was cancelled at "+term.Stamp(*doc.Cancelled)
	case limit != "":
		end.Reason = limit
	case end.Outcome == ingest.Stopped && end.Reason == "" && unanswered > 0:
		end.waits, end.Reason = true, fmt.Sprintf("%s brought nothing: %s", term.Plural(unanswered, "piece"), why)
	}
	switch {
	case end.Outcome != ingest.Done:
	case open == 0 && len(run.Slots) == 0 && doc.Pieces["total"] == 0:
		end.Reason = "there was nothing to fetch"
	case open == 0 && len(run.Slots) == 0:
		end.Reason = "it was done before. Planned with --again it is fetched again"
	case open > 0 && len(run.Slots) == 0 && doc.ClaimedUntil != nil && end.Reason == "":
		end.waits, end.Outcome, end.RetryAt = true, ingest.Stopped, doc.ClaimedUntil
		end.Reason = claimedReason(open, doc.ClaimedUntil)
	case open > 0:
		end.Outcome = ingest.Due
		if end.Reason == "" {
			end.Reason = claimedReason(open, doc.ClaimedUntil)
		}
	}
	return end
}

// Partial reports whether the run, or the whole backfill, ended incomplete.
func (e BackfillEnd) Partial() bool {
	return e.Outcome == ingest.Failed || e.Outcome == ingest.Done && len(e.Incomplete) > 0
}

// unanswered returns how many pieces were given back without an answer and wait, and the reason of the last one.
func (r Run) unanswered() (n int, why string) {
	open := map[string]string{}
	for _, s := range r.Slots {
		delete(open, s.Key)
		if s.State == ingest.Due && !s.RetryAt.IsZero() {
			open[s.Key], why = s.Reason, s.Reason
		}
	}
	return len(open), why
}

// Losses names the failures of a run and, once the backfill is done, its missing videos.
func (e BackfillEnd) Losses(run Run) (lines []string) {
	for _, s := range run.Slots {
		if s.State == ingest.Failed {
			lines = append(lines, fmt.Sprintf("%s %s failed: %s", e.ID, term.Clean(s.Key), term.Clean(s.Reason)))
		}
	}
	if e.Outcome == ingest.Done {
		for _, l := range e.Incomplete {
			lines = append(lines, fmt.Sprintf("%s is incomplete: %s", e.ID, l))
		}
	}
	return lines
}

// Print prints the end of a run for a person.
func (e BackfillEnd) Print(w io.Writer) {
	spent := term.Amount(e.Spent, "units")
	if len(e.Drew) > 0 {
		spent = term.Amounts(e.Drew)
	}
	done := "done"
	if len(e.Incomplete) > 0 {
		done = "done, incomplete"
	}
	text := fmt.Sprintf("%s is %s: %s in this run", e.ID, done, spent)
	switch e.Outcome {
	case ingest.Done:
		if e.Reason != "" {
			text = e.ID + ": " + e.Reason
		}
	case ingest.Skipped:
		text = fmt.Sprintf("%s is cancelled, after %s in this run; the fetched data are kept", e.ID, spent)
	case ingest.Stopped:
		by := " was stopped by quota"
		if e.waits {
			by = " waits"
		}
		text = fmt.Sprintf("%s%s after %s; the fetched data are kept. The same command goes on from %s: %s",
			e.ID, by, spent, term.StampFrom(*e.RetryAt), e.Reason)
	case ingest.Due:
		text = fmt.Sprintf("%s ended after %s: %s", e.ID, spent, e.Reason)
		if e.Pieces[string(ingest.Due)]+e.Pieces[string(ingest.Stopped)] > 0 {
			text += ". The same command goes on"
		}
	default:
		text = fmt.Sprintf("%s: something failed, after %s in this run: %s", e.ID, spent, e.Reason)
	}
	term.Paragraph(w, strings.TrimSuffix(text, ": "))
	e.PlanDocument.Print(w)
}

// claimedReason says why a run ends while pieces are open: other runs have claimed the last of them until that time.
func claimedReason(open int, until *time.Time) string {
	if until == nil { // they ended meanwhile
		return fmt.Sprintf("another run gave %s back in the meantime", term.Plural(open, "piece"))
	}
	last := "piece"
	if open > 1 {
		last = term.Plural(open, "piece")
	}
	return fmt.Sprintf("another run works on the last %s; if it died, the same command goes on from %s",
		last, term.StampFrom(*until))
}
