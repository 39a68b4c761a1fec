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
		Short: "Fetch much once: priced first, resumable, beside the schedule",
		Long: `backfill fetches all videos of channels, all that a search finds, videos by
their ids, or again what is old. It is a plan with a price, cut into pieces that
are each fetched once: a run stops where quota ends, and the same command goes
on where it was, days later. It spends only what the schedule leaves.`,
		Example: `  ingest backfill plan uploads @GoogleDevelopers
  ingest backfill run bf-1 --yes
  ingest backfill status`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.backfillPlanCommand(), a.backfillRunCommand(), a.backfillStatusCommand(), a.backfillCancelCommand(), a.backfillRetryCommand())
	return cmd
}

const askID = "which backfill? Give one id: ingest backfill status lists them"

// change opens the store for a change to the plan of that id.
func (a *app) change(ctx context.Context, id string, do func(*store.Store, store.BackfillStatus) error) error {
	if err := a.checkClock(ctx); err != nil {
		return err
	}
	reader, err := a.store(ctx, "")
	if errors.Is(err, fs.ErrNotExist) {
		return noPlan(id)
	}
	if err != nil {
		return err
	}
	host := reader.Upstream()
	if err := reader.Close(); err != nil {
		return err
	}
	s, err := a.store(ctx, host)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	b, err := a.findBackfill(ctx, s, id)
	if err != nil {
		return err
	}
	return do(s, b)
}

func (a *app) backfillCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "End a backfill; what it fetched stays",
		Args:  orAsk(cobra.ExactArgs(1), askID),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), args[0], func(s *store.Store, b store.BackfillStatus) error {
				cancelled, err := s.CancelBackfill(cmd.Context(), b.ID, a.clock.Now())
				if err != nil {
					return err
				}
				if !cancelled {
					a.say("ingest: %s had ended before: there was nothing to cancel", b.ID)
				}
				return a.printBackfill(cmd.Context(), s, b.ID)
			})
		},
	}
}

func (a *app) backfillRetryCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "retry ID",
		Short:   "Make the pieces that failed due again; run fetches them",
		Example: "  ingest backfill retry bf-1 && ingest backfill run bf-1",
		Args:    orAsk(cobra.ExactArgs(1), askID),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), args[0], func(s *store.Store, b store.BackfillStatus) error {
				n, err := s.RetryBackfill(cmd.Context(), b.ID)
				if err != nil {
					return err
				}
				if n == 0 {
					a.say("ingest: nothing of %s had failed", b.ID)
				}
				return a.printBackfill(cmd.Context(), s, b.ID)
			})
		},
	}
}
