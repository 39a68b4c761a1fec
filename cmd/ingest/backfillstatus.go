package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) backfillStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [ID]",
		Short: "How far backfills have come, what they spent, what failed and why",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkClock(cmd.Context()); err != nil {
				return err
			}
			s, err := a.store(cmd.Context(), "")
			if errors.Is(err, fs.ErrNotExist) {
				if len(args) == 0 {
					return a.printBackfills(nil)
				}
				return noPlan(args[0])
			}
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			if len(args) == 1 {
				b, err := a.findBackfill(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				return a.printBackfill(cmd.Context(), s, b.ID)
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
	w, err := a.desk(ctx, s)
	if err != nil {
		return err
	}
	defer w.close()
	doc, err := a.backfillDocument(ctx, w, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(doc)
	}
	return doc.print(a.stdout)
}

// backfillLine is a backfill in the list of all.
type backfillLine struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind"`
	What     string         `json:"what"`
	Outcome  string         `json:"outcome"`
	Wait     bool           `json:"wait"`
	Pieces   map[string]int `json:"pieces"`
	Units    int64          `json:"units"`
	Videos   int            `json:"videos"`
	Vanished int            `json:"vanished"`
}

func (a *app) printBackfills(list []store.BackfillStatus) error {
	doc := struct {
		Backfills []backfillLine `json:"backfills"`
	}{[]backfillLine{}}
	for _, b := range list {
		l := backfillLine{
			ID: b.ID, Kind: string(b.Kind), What: whatOf(b.Backfill), Outcome: string(b.State()), Wait: b.Wait,
			Pieces: pieceCounts(b), Units: b.Units, Videos: b.Videos, Vanished: b.Vanished,
		}
		doc.Backfills = append(doc.Backfills, l)
	}
	if a.json {
		return a.printJSON(doc)
	}
	if len(doc.Backfills) == 0 {
		a.say("no backfill is planned: ingest backfill plan --help")
		return nil
	}
	rows := [][]string{{"ID", "OUTCOME", "PIECES", "UNITS", "VIDEOS", "WHAT"}}
	for i, l := range doc.Backfills {
		over := l.Pieces["total"] - list[i].Open()
		rows = append(rows, []string{l.ID, l.Outcome, term.Thousands(int64(over)) + " of " + term.Thousands(int64(l.Pieces["total"])),
			term.Thousands(l.Units), term.Thousands(int64(l.Videos)), l.What})
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
