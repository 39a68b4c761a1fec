package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/store"
)

func (a *app) backfillCommand() *cobra.Command {
	return group("backfill", "Fetch a channel, a search or listed ids once: priced, resumable",
		a.backfillPlanCommand(), a.backfillRunCommand(), a.backfillStatusCommand(), a.backfillCancelCommand(),
		a.backfillRetryCommand())
}

func (a *app) backfillCancelCommand() *cobra.Command {
	return a.changeCommand("cancel ID", "End a backfill; fetched videos stay",
		"ingest: %s had already ended: there was nothing to cancel",
		func(ctx context.Context, s *store.Store, id string) (bool, error) {
			return s.CancelBackfill(ctx, id, a.clock.Now())
		})
}

func (a *app) backfillRetryCommand() *cobra.Command {
	return a.changeCommand("retry ID", "Make failed pieces due again; ingest backfill run fetches them",
		"ingest: %s has no piece to retry", func(ctx context.Context, s *store.Store, id string) (bool, error) {
			n, err := s.RetryBackfill(ctx, id)
			return n > 0, err
		})
}

// changeCommand returns a command that changes a plan, given by its id. unchanged is the message if nothing changed.
func (a *app) changeCommand(use, short, unchanged string,
	change func(context.Context, *store.Store, string) (bool, error)) *cobra.Command {
	ask := orAsk(cobra.ExactArgs(1), "which backfill? Give one id: ingest backfill status lists them")
	return command(use, short, ask, func(ctx context.Context, args []string) error {
		s, err := a.writableStore(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return errNoPlan(args[0])
		}
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
	})
}
