package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

func (a *app) quotaCommand() *cobra.Command {
	var of quota.Purpose
	var since config.Since
	cmd := &cobra.Command{
		Use:   "quota",
		Short: "What is left of the quota, and who spent it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReadOnlyLedger(cmd.Context(), func(ctx context.Context, l *ledger) error {
				return a.quotaReportOf(ctx, l, of, since.At(a.clock.Now()))
			})
		},
	}
	cmd.Flags().Var(config.Choice(&of, quota.Purposes()...), "purpose", "exit with 75 where nothing is left for this `purpose`")
	cmd.Flags().Var(config.SinceFlag(&since), "since", "who spent it since `T`: 2h or 1d ago, a day, or an RFC 3339 time")
	cmd.AddCommand(a.quotaTakeCommand(), a.quotaPostCommand(), a.quotaDrainCommand(), a.quotaRebuildCommand(), a.quotaResetCommand())
	return a.watchable(cmd)
}

func (a *app) quotaTakeCommand() *cobra.Command {
	r := quota.Request{Purpose: quota.Manual}
	var region ingest.Region
	cmd := &cobra.Command{
		Use:   "take METHOD",
		Short: "Draw the cost of one call before you make it yourself",
		Args:  orAsk(cobra.ExactArgs(1), "draw for which call? Give one method, such as videos.list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Method, r.Region = args[0], string(region)
			tariff, err := a.tariff()
			if err != nil {
				return err
			}
			if _, err := tariff.Cost(args[0]); err != nil {
				return usageError{err}
			}
			return a.withLedger(cmd.Context(), func(ctx context.Context, l *ledger) error {
				d, err := l.Take(ctx, r)
				if err != nil {
					return err
				}
				return a.printTake(ctx, l, d)
			})
		},
	}
	cmd.Flags().Var(config.Choice(&r.Purpose, quota.Purposes()...), "purpose", "`for` scheduled, refresh, backfill or manual work")
	cmd.Flags().Var(config.RegionFlag(&region), "region", "for the report: the `region` that the call is for")
	return cmd
}

func (a *app) printTake(ctx context.Context, l *ledger, d quota.Decision) error {
	cost, err := l.Tariff.Cost(d.Who.Method)
	if err != nil {
		return err
	}
	doc := report.NewTakeDocument(d, cost)
	switch {
	case a.json:
		err = a.printJSON(doc)
	case a.quiet:
	case d.Degraded:
		_, err = fmt.Fprintf(a.stdout, "%s goes on, from the emergency budget: the ledger cannot answer\n", d.Who.Method)
	case d.Allowed:
		_, err = fmt.Fprintf(a.stdout, "%s may be called; left for %s: %s\n", d.Who.Method, d.Who.Purpose, term.Amounts(doc.Remaining))
	default:
		_, err = fmt.Fprintf(a.stdout, "%s is refused: %s\n", d.Who.Method, l.Explain(ctx, d))
	}
	if err == nil && !d.Allowed {
		err = codeError{exitStopped, nil}
	}
	return err
}

func (a *app) quotaPostCommand() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "post POOL N",
		Short: "Record what other tools have spent of a pool",
		Args:  orAsk(cobra.ExactArgs(2), "how much of which pool? Give both, such as units 500"),
		RunE: func(cmd *cobra.Command, args []string) error {
			amount, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || amount < 1 || amount > quota.MaxLimit {
				return usageError{fmt.Errorf("%q is not a whole number of at least 1", args[1])}
			}
			when := a.clock.Now()
			if at != "" {
				if when, err = time.Parse(time.RFC3339, at); err != nil {
					return usageError{fmt.Errorf("--at %q is not an RFC 3339 time such as 2026-11-01T08:00:00Z", at)}
				}
			}
			tariff, err := a.tariffWith(args[0])
			if err != nil {
				return err
			}
			if age := a.clock.Now().Sub(when); age < -time.Minute || age > tariff.Horizon() {
				return usageError{fmt.Errorf("--at %s is in the future, or so long ago that no window counts it", at)}
			}
			return a.correct(cmd.Context(), func(ctx context.Context, l *ledger) error {
				return l.Post(ctx, quota.Who{Purpose: quota.Manual, Method: "post"}, quota.Cost{args[0]: amount}, when)
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "when it was spent, an RFC 3339 `time`; default now")
	return cmd
}

func (a *app) quotaDrainCommand() *cobra.Command {
	var lift bool
	cmd := &cobra.Command{
		Use:   "drain POOL",
		Short: "Close a pool until the provider's midnight, or open it again",
		Args:  orAsk(cobra.ExactArgs(1), "which pool? Give one, such as units"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := a.tariffWith(args[0]); err != nil {
				return err
			}
			return a.correct(cmd.Context(), func(ctx context.Context, l *ledger) error {
				return l.DrainByHand(ctx, args[0], lift)
			})
		},
	}
	cmd.Flags().BoolVar(&lift, "lift", false, "open the pool again")
	return cmd
}

// tariffWith returns the tariff, or an error if it lacks the pool.
func (a *app) tariffWith(pool string) (*quota.Tariff, error) {
	tariff, err := a.tariff()
	if err != nil {
		return nil, err
	}
	if err := tariff.CheckPool(pool); err != nil {
		return nil, usageError{err}
	}
	return tariff, nil
}

// correct changes what the ledger has counted, and reports what is left afterwards.
func (a *app) correct(ctx context.Context, change func(context.Context, *ledger) error) error {
	return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
		if err := change(ctx, l); err != nil {
			return err
		}
		return a.quotaReport(ctx, l)
	})
}
