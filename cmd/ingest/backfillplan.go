package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) backfillPlanCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Price a backfill, and keep it as a plan; free but with --ask",
		Long: `plan says what a backfill costs, what is left for it today beside the schedule,
and how many days it will take. It spends nothing, but with --ask a call for
each channel; where a size is not known before the upstream is asked, the price
is a range, and the assumption is named. The plan is kept: run it by its id, or
by the same flags.`,
		Example: `  ingest backfill plan uploads @GoogleDevelopers UC_x5XG1OV2P6uZZ5FSM9Ttw
  ingest backfill plan search 'world cup' --from 2026-06-01 --to 2026-07-01
  ingest backfill plan videos ids.txt
  ingest backfill plan refresh --older-than 7d`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("plan what? The kinds are uploads, search, videos and refresh")}
		},
	}
	cmd.AddCommand(a.kindCommands("plan", a.planBackfill)...)
	return cmd
}

// planBackfill prices what was requested, and keeps it.
func (a *app) planBackfill(ctx context.Context, request backfillRequest) error {
	open := a.openForPlanning
	if request.ask {
		open = a.open // what is sent needs a key
	}
	w, err := open(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := a.planned(ctx, w, request)
	if err != nil {
		return err
	}
	if err := a.reprice(ctx, w, p); err != nil {
		return err
	}
	return a.show(p.document())
}
