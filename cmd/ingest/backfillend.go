package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// errUntil ends a run at its --until.
var errUntil = errors.New("the time of --until has come")

// reportBackfill reports how a run ended, and returns the error for its exit code.
func (a *app) reportBackfill(ctx context.Context, w *fetchRuntime, p *pricedBackfill, worked []fetch.SlotResult, ended error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	doc, err := a.backfillDocument(ctx, w, p.ID)
	if err != nil {
		return errors.Join(ended, err)
	}
	end := endOf(worked, ended, doc)
	switch {
	case a.json:
		err = a.printJSON(end)
	case a.quiet:
		for _, s := range worked {
			if s.State == ingest.Failed {
				fmt.Fprintf(a.stderr, "ingest: %s %s failed: %s\n", p.ID, term.Clean(s.Key), term.Clean(s.Reason))
			}
		}
	default:
		err = end.Print(a.stdout)
	}
	if err != nil {
		return errors.Join(ended, err)
	}
	if errors.Is(ended, fetch.ErrMaxUnits) || errors.Is(ended, errUntil) {
		ended = nil // a limit that the user set is no error
	}
	return endOfRun(end.Outcome, ended)
}

// endOf finds the outcome of a run from the pieces it worked on, as for a run of the schedule.
func endOf(worked []fetch.SlotResult, ended error, doc report.PlanDocument) report.BackfillEnd {
	sum := summarise(worked, nil)
	if !sum.RetryAt.IsZero() {
		doc.RetryAt = term.FromOrNull(sum.RetryAt) // the store keeps milliseconds, and its time may round to a second earlier
	}
	end := report.BackfillEnd{Event: "end", Outcome: sum.Outcome, RetryAt: term.FromOrNull(sum.RetryAt), Spent: sum.Units, PlanDocument: doc}
	open := doc.Pieces[string(ingest.Due)] + doc.Pieces[string(ingest.Claimed)] + doc.Pieces[string(ingest.Stopped)]
	for _, s := range worked {
		if s.State == ingest.Stopped {
			end.Reason = s.Reason
		}
	}
	switch {
	case errors.Is(ended, fetch.ErrMaxUnits) && end.Spent == 0:
		end.Reason = "the next call costs more than --max-units allows"
	case errors.Is(ended, fetch.ErrMaxUnits), errors.Is(ended, errUntil), errors.As(ended, new(signalled)):
		end.Reason = ended.Error()
	case ended != nil:
		end.Outcome, end.Reason = ingest.Failed, ended.Error()
	case end.Outcome == ingest.Done && open == 0 && doc.Outcome == ingest.Failed:
		end.Outcome = ingest.Failed
	}
	if n, why := unansweredPieces(worked); n > 0 && ended == nil && end.Outcome == ingest.Done {
		end.Outcome, end.Reason = ingest.Failed, fmt.Sprintf("%s brought nothing, the same command tries again: %s", term.Plural(n, "piece"), why)
	}
	if end.Outcome == ingest.Done && len(worked) == 0 && open == 0 {
		end.Reason = "there was nothing to fetch"
		if doc.Pieces["total"] > 0 {
			end.Reason = "it was done before. Planned with --again it is fetched again"
		}
	}
	if end.Outcome == ingest.Done && open > 0 {
		end.Outcome = ingest.Due
		if end.Reason == "" {
			end.Reason = report.HeldReason(open, doc.Held)
		}
	}
	return end
}

// unansweredPieces returns how many pieces were given back without an answer, and the reason of the last one.
func unansweredPieces(worked []fetch.SlotResult) (n int, why string) {
	open := map[string]string{}
	for _, s := range worked {
		delete(open, s.Key)
		if s.State == ingest.Due && s.Reason != "" {
			open[s.Key], why = s.Reason, s.Reason
		}
	}
	return len(open), why
}
