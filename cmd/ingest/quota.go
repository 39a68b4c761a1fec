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
	var f quotaFlags
	cmd := &cobra.Command{
		Use:   "quota",
		Short: "What is left of the quota, and who spent it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReadOnlyLedger(cmd.Context(), func(ctx context.Context, l *ledger) error { return a.quotaReport(ctx, l, f) })
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "show every pool and window, who spent it, and the next slots")
	cmd.Flags().Var(config.Choice(&f.purpose, quota.Purposes()...), "purpose", "exit with 75 where nothing is left for this `purpose`")
	cmd.Flags().Var(config.SinceFlag(&f.since), "since", "who spent it since `T`: 2h or 1d ago, a day, or an RFC 3339 time")
	cmd.AddCommand(a.quotaTakeCommand(), a.quotaPostCommand(), a.quotaDrainCommand(), a.quotaRebuildCommand(), a.quotaResetCommand(),
		a.usageCommand("audit-report", "Write what a form for more quota asks", 28, a.auditReport),
		a.usageCommand("advise", "Say what would save most units, from what was fetched", 7, a.advise))
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
	cmd.Flags().Var(config.Choice(&r.Purpose, quota.Purposes()...), "purpose", "`for` scheduled, refresh, backfill, manual or client work")
	cmd.Flags().Var(config.RegionFlag(&region), "region", "for the report: the `region` that the call is for")
	cmd.Flags().StringVar(&r.Client, "client", "", "for the report: the `name` of the tool that calls")
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
	var yes bool
	cmd := &cobra.Command{
		Use:   "post POOL N",
		Short: "Record what other tools have spent of a pool",
		Args:  orAsk(cobra.ExactArgs(2), "how much of which pool? Give both, such as units 500"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool := args[0]
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
			tariff, err := a.tariffWith(pool)
			if err != nil {
				return err
			}
			if age := a.clock.Now().Sub(when); age < -time.Minute || age > tariff.Horizon() {
				return usageError{fmt.Errorf("--at %s is in the future, or so long ago that no window counts it", at)}
			}
			return a.correct(cmd.Context(), pool, "posted "+term.Amount(amount, pool)+" at "+term.Stamp(when), func(ctx context.Context, l *ledger) error {
				before, err := l.Report(ctx)
				if err != nil {
					return err
				}
				for _, p := range before.Pools {
					if used := report.MostUsed(p); p.Pool == pool && !yes && used+amount > p.Limit {
						return usageError{fmt.Errorf("%s used and %s posted are more than the limit of %s: if they were spent all the same, say so with --yes",
							term.Thousands(used), term.Amount(amount, pool), term.Thousands(p.Limit))}
					}
				}
				return l.Post(ctx, quota.Who{Purpose: quota.Manual, Method: "post"}, quota.Cost{pool: amount}, when)
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "when it was spent, an RFC 3339 `time`; default now")
	cmd.Flags().BoolVar(&yes, "yes", false, "also if more is then used than the limit")
	return cmd
}

func (a *app) quotaDrainCommand() *cobra.Command {
	var lift bool
	cmd := &cobra.Command{
		Use:   "drain POOL",
		Short: "Close a pool until the provider's midnight, or open it again",
		Args:  orAsk(cobra.ExactArgs(1), "which pool? Give one, such as units"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, did := args[0], "closed "+args[0]+" by hand"
			if _, err := a.tariffWith(pool); err != nil {
				return err
			}
			if lift {
				did = "opened " + pool
			}
			return a.correct(cmd.Context(), pool, did, func(ctx context.Context, l *ledger) error {
				return l.DrainByHand(ctx, pool, lift)
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

// correct changes what the ledger has counted of a pool, and says what that did: in a line, or as a report in JSON.
func (a *app) correct(ctx context.Context, pool, did string, change func(context.Context, *ledger) error) error {
	return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
		if err := change(ctx, l); err != nil {
			return err
		}
		return a.corrected(ctx, l, did, pool)
	})
}

// corrected says what a correction did, and what it leaves of a pool to the schedule; "": of every pool that is used.
func (a *app) corrected(ctx context.Context, l *ledger, did, pool string) error {
	if a.json {
		a.say("ingest: %s", did)
		return a.quotaReport(ctx, l, quotaFlags{})
	}
	if a.quiet {
		return nil
	}
	r, err := l.Report(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, did+report.Remainder(r, pool))
	return err
}
