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
		for _, line := range end.Losses(summarise(worked, nil)) {
			a.tell("ingest: " + line)
		}
	default:
		err = end.Print(a.stdout)
	}
	switch {
	case err != nil:
		return errors.Join(ended, err)
	case ended != nil && !errors.Is(ended, fetch.ErrMaxUnits) && !errors.Is(ended, errUntil): // limits that the user set
		return ended
	case end.Outcome == ingest.Skipped:
		return codeError{exitError, nil}
	case end.Partial(), errors.Is(ended, fetch.ErrMaxCharges):
		return codeError{exitPartial, nil}
	}
	return endOfRun(end.Outcome, nil)
}

// endOf returns how a run ended.
func endOf(worked []fetch.SlotResult, ended error, doc report.PlanDocument) report.BackfillEnd {
	run := summarise(worked, nil)
	var limit string
	switch {
	case errors.Is(ended, fetch.ErrMaxCharges):
		limit = fmt.Sprintf("it needs more than what was confirmed (%s): about %s", term.Amounts(doc.Confirmed), doc.NeedText())
	case errors.Is(ended, fetch.ErrMaxUnits) && run.Units == 0:
		limit = "the next call costs more than --max-units allows"
	case errors.Is(ended, fetch.ErrMaxUnits), errors.Is(ended, errUntil), errors.As(ended, new(signalled)):
		limit = ended.Error()
	default:
		return report.NewBackfillEnd(run, doc, "", ended)
	}
	return report.NewBackfillEnd(run, doc, limit, nil)
}
