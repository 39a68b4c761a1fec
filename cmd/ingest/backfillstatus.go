package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// backfillList is the JSON document of all backfills.
type backfillList struct {
	Backfills []report.PlanLine `json:"backfills"`
}

func (a *app) backfillStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [ID]",
		Short: "Progress of backfills: what they spent, what failed and why",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.store(cmd.Context(), "")
			if errors.Is(err, fs.ErrNotExist) {
				if len(args) == 0 {
					return a.printBackfills(nil)
				}
				return errNoPlan(args[0])
			}
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			if len(args) == 1 {
				return a.printBackfill(cmd.Context(), s, args[0])
			}
			list, err := s.Backfills(cmd.Context())
			if err != nil {
				return err
			}
			return a.printBackfills(list)
		},
	}
}

// printBackfill prints one backfill with its price; the store may be open for reading only.
func (a *app) printBackfill(ctx context.Context, s *store.Store, id string) error {
	w, err := a.openForPricing(ctx, s)
	if err != nil {
		return err
	}
	defer w.close()
	doc, err := a.backfillDocument(ctx, w, id)
	if err != nil {
		return err
	}
	return a.show(doc)
}

func (a *app) printBackfills(list []store.BackfillStatus) error {
	lines := []report.PlanLine{}
	rows := [][]string{{"ID", "OUTCOME", "PIECES", "UNITS", "VIDEOS", "WHAT"}}
	for _, b := range list {
		l := newBackfillLine(b)
		lines = append(lines, l)
		total := l.Pieces["total"]
		rows = append(rows, []string{l.ID, string(l.Outcome), term.Thousands(int64(total-b.Open())) + " of " + term.Thousands(int64(total)),
			term.Thousands(l.Units), term.Thousands(int64(l.Videos)), l.What})
	}
	if a.json {
		return a.printJSON(backfillList{lines})
	}
	if len(list) == 0 {
		a.say("no backfill is planned: ingest backfill plan --help")
		return nil
	}
	if err := term.FitTable(a.stdout, rows, len(rows[0])-1); err != nil {
		return err
	}
	for _, b := range list {
		if b.Pieces[ingest.Failed]+b.GivenUp > 0 {
			a.say("some of %s failed: ingest backfill status %s says why", b.ID, b.ID)
		}
	}
	return nil
}
