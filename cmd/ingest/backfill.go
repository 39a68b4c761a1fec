package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/store"
)

func (a *app) backfillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "Fetch a channel, a search or ids once: priced, resumable",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.backfillPlanCommand(), a.backfillRunCommand(), a.backfillStatusCommand(), a.backfillCancelCommand(), a.backfillRetryCommand())
	return cmd
}

func (a *app) backfillCancelCommand() *cobra.Command {
	return a.changeCommand(&cobra.Command{
		Use:   "cancel ID",
		Short: "End a backfill; what it fetched stays",
	}, "ingest: %s had ended before: there was nothing to cancel", func(ctx context.Context, s *store.Store, id string) (bool, error) {
		return s.CancelBackfill(ctx, id, a.clock.Now())
	})
}

func (a *app) backfillRetryCommand() *cobra.Command {
	return a.changeCommand(&cobra.Command{
		Use:   "retry ID",
		Short: "Make the pieces that failed due again; run fetches them",
	}, "ingest: nothing of %s had failed", func(ctx context.Context, s *store.Store, id string) (bool, error) {
		n, err := s.RetryBackfill(ctx, id)
		return n > 0, err
	})
}

// changeCommand completes a command that changes the plan with an id. If nothing changed, it says unchanged.
func (a *app) changeCommand(cmd *cobra.Command, unchanged string, change func(context.Context, *store.Store, string) (bool, error)) *cobra.Command {
	cmd.Args = orAsk(cobra.ExactArgs(1), "which backfill? Give one id: ingest backfill status lists them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		s, err := a.storeOfPlan(ctx, args[0])
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		b, err := findBackfill(ctx, s, args[0])
		if err != nil {
			return err
		}
		changed, err := change(ctx, s, b.ID)
		if err != nil {
			return err
		}
		if !changed {
			a.say(unchanged, b.ID)
		}
		return a.printBackfill(ctx, s, b.ID)
	}
	return cmd
}

// storeOfPlan opens the store, which must exist, for writing.
func (a *app) storeOfPlan(ctx context.Context, id string) (*store.Store, error) {
	reader, err := a.store(ctx, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoPlan(id)
	}
	if err != nil {
		return nil, err
	}
	host := reader.Upstream()
	if err := reader.Close(); err != nil {
		return nil, err
	}
	return a.store(ctx, host)
}
