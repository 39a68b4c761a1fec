package main

import (
	"context"
	"errors"
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
	cmd := command("quota", "Show how much quota is left, and who spent the rest", noArgs,
		func(ctx context.Context, _ []string) error {
			if _, err := f.since.Past(a.clock.Now()); err != nil {
				return usageError{err}
			}
			return a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) error { return a.quotaReport(ctx, l, f) })
		})
	cmd.Flags().BoolVar(&f.all, "all", false, "show every pool and window, who spent it, and the next slots")
	cmd.Flags().Var(config.Choice(&f.purpose, quota.Purposes()...), "purpose",
		"exit with 75 if nothing is left for this `purpose`")
	cmd.Flags().Var(config.SinceFlag(&f.since), "since",
		"who spent it since `T`: 2h or 1d ago, a day, or an RFC 3339 time")
	cmd.AddCommand(a.quotaTakeCommand(), a.quotaPostCommand(), a.quotaDrainCommand(),
		a.quotaRebuildCommand(), a.quotaResetCommand(),
		a.usageCommand("audit-report", "Write the figures for the provider's quota extension form", 28, a.auditReport),
		a.usageCommand("advise", "List the changes that would save most units", 7, a.advise))
	return a.watchable(cmd)
}

func (a *app) quotaTakeCommand() *cobra.Command {
	r := quota.Request{Purpose: quota.Manual}
	var region ingest.Region
	cmd := command("take METHOD", "Draw the cost of one call before you make it yourself",
		orAsk(cobra.ExactArgs(1), "draw for which call? Give one method, such as videos.list"),
		func(ctx context.Context, args []string) error {
			r.Method, r.Region = args[0], string(region)
			tariff, err := a.tariff()
			if err != nil {
				return err
			}
			cost, err := tariff.Cost(args[0])
			if err != nil {
				return usageError{err}
			}
			return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
				d, err := l.Take(ctx, r)
				if err != nil {
					return err
				}
				return a.printTake(ctx, l, d, cost)
			})
		})
	cmd.Flags().Var(config.Choice(&r.Purpose, quota.Purposes()...), "purpose",
		"`for` scheduled, refresh, backfill, manual or client work")
	cmd.Flags().Var(config.RegionFlag(&region), "region", "for the report: the `region` that the call is for")
	cmd.Flags().StringVar(&r.Client, "client", "", "for the report: the `name` of the tool that calls")
	return cmd
}

func (a *app) printTake(ctx context.Context, l *ledger, d quota.Decision, cost quota.Cost) (err error) {
	doc := report.NewTakeDocument(d, cost)
	switch {
	case a.json:
		err = a.printJSON(doc)
	case a.quiet:
	case d.Degraded:
		_, err = fmt.Fprintf(a.stdout, "%s goes on, from the emergency budget: the ledger cannot answer\n", d.Who.Method)
	case d.Allowed:
		_, err = fmt.Fprintf(a.stdout, "%s may be called; left for %s: %s\n", d.Who.Method, d.Who.Purpose,
			term.Amounts(doc.Remaining))
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
	var yes, undo bool
	ask := func(cmd *cobra.Command, args []string) error {
		if undo && len(args) == 1 {
			return nil
		}
		return orAsk(cobra.ExactArgs(2), "how much of which pool? Give both, such as units 500")(cmd, args)
	}
	cmd := command("post POOL N", "Record the spends of other tools from a pool",
		ask, func(ctx context.Context, args []string) error {
			least := int64(0)
			if undo {
				least = 1
			}
			p, err := a.parsePosting(args, at, least)
			if err != nil {
				return err
			}
			if undo {
				return a.unpost(ctx, p)
			}
			if p.at.IsZero() {
				p.at = a.clock.Now()
			}
			a.corrects = true
			return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
				did, err := p.post(ctx, l, yes)
				if err != nil {
					return err
				}
				return a.corrected(ctx, l, did, p.pool)
			})
		})
	cmd.Flags().StringVar(&at, "at", "", "when it was spent, an RFC 3339 `time`; default now")
	cmd.Flags().BoolVar(&yes, "yes", false, "also if more is then used than the limit")
	cmd.Flags().BoolVar(&undo, "undo", false, "take back the last post of the pool; of N, or --at its time, if given")
	return cmd
}

// posting is quota that a person says was spent elsewhere.
type posting struct {
	pool   string
	amount int64     // 0: not given, or nothing
	at     time.Time // zero: not given
}

func (a *app) parsePosting(args []string, at string, least int64) (p posting, err error) {
	p.pool = args[0]
	tariff, err := a.tariffWith(p.pool)
	if err != nil {
		return p, err
	}
	if len(args) > 1 {
		if p.amount, err = strconv.ParseInt(args[1], 10, 64); err != nil || p.amount < least || p.amount > quota.MaxLimit {
			return p, usageError{fmt.Errorf("%q is not a whole number of at least %d", args[1], least)}
		}
	}
	if at == "" {
		return p, nil
	}
	if p.at, err = time.Parse(time.RFC3339, at); err != nil {
		return p, usageError{fmt.Errorf("--at %q is not an RFC 3339 time such as 2026-11-01T08:00:00Z", at)}
	}
	if age := a.clock.Now().Sub(p.at); age < -time.Minute || age > tariff.Horizon() {
		return p, usageError{fmt.Errorf("--at %s is in the future, or so long ago that no window counts it", at)}
	}
	return p, nil
}

// post records the posting, and reports its effect. It refuses to exceed the limit unless sure is set. Where use is
// not known, the amount is the provider's count, and the pool is opened.
func (p posting) post(ctx context.Context, l *ledger, sure bool) (did string, err error) {
	pool, err := l.pool(ctx, p.pool)
	if err != nil {
		return "", err
	}
	if !pool.Unknown.IsZero() {
		posted, err := l.PostTotal(ctx, quota.Who{}, p.pool, p.amount)
		span, _ := pool.Total()
		return fmt.Sprintf("opened %s: %s were spent %s, and %s of them were not counted",
			p.pool, term.Amount(p.amount, p.pool), span, term.Thousands(posted)), err
	}
	if p.amount == 0 {
		return "", usageError{errors.New("0 is not a whole number of at least 1")}
	}
	if w := p.widest(l, pool); !sure && w.Window.Limit > 0 && w.Used+p.amount > w.Window.Limit {
		return "", usageError{fmt.Errorf("in window %s, %s used and %s posted are more than the limit of %s: "+
			"if they were spent all the same, say so with --yes",
			w.Window.Name, term.Thousands(w.Used), term.Amount(p.amount, p.pool), term.Thousands(w.Window.Limit))}
	}
	return "posted " + term.Amount(p.amount, p.pool) + " at " + term.Stamp(p.at),
		l.Post(ctx, quota.Who{}, quota.Cost{p.pool: p.amount}, p.at)
}

// widest returns the window with the largest limit, among the windows that count the posting. The spends of a day may
// be posted at once, and exceed an hour's limit.
func (p posting) widest(l *ledger, pool quota.PoolReport) (widest quota.WindowState) {
	for _, w := range pool.Windows {
		began := l.Now().Add(-w.Window.Length - l.Tariff.Grace)
		if w.Window.Day() {
			began = w.FreesAt.AddDate(0, 0, -1)
		}
		if p.at.After(began) && w.Window.Limit > widest.Window.Limit {
			widest = w
		}
	}
	return widest
}

// pool returns the state of one pool of the tariff.
func (l *ledger) pool(ctx context.Context, name string) (quota.PoolReport, error) {
	r, err := l.Report(ctx)
	for _, p := range r.Pools {
		if p.Pool == name {
			return p, err
		}
	}
	return quota.PoolReport{}, err
}

func (a *app) unpost(ctx context.Context, p posting) error {
	if a.cfg.Ledger != "sqlite" {
		return usageError{errors.New("--undo: the ledger is shared, " +
			"and the journals of other hosts would bring the post back: wait until no window counts it")}
	}
	return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
		amount, at, err := l.journal.Unpost(ctx, l.Account, l.Tariff.InLedger(p.pool), p.amount, p.at)
		if errors.Is(err, quota.ErrNotRefundable) {
			return usageError{fmt.Errorf("--undo: %w", err)}
		}
		if err != nil {
			return err
		}
		return a.corrected(ctx, l, "took back "+term.Amount(amount, p.pool)+" posted at "+term.Stamp(at), p.pool)
	})
}

func (a *app) quotaDrainCommand() *cobra.Command {
	var lift, yes bool
	cmd := command("drain POOL", "Close a pool until the provider's midnight, or open it again",
		orAsk(cobra.ExactArgs(1), "which pool? Give one, such as units"), func(ctx context.Context, args []string) error {
			pool, did := args[0], "closed "+args[0]+" by hand"
			if _, err := a.tariffWith(pool); err != nil {
				return err
			}
			return a.withLedger(ctx, func(ctx context.Context, l *ledger) (err error) {
				if lift {
					switch before, err := l.pool(ctx, pool); {
					case err != nil:
						return err
					case before.DrainedUntil.IsZero():
						did = pool + " was not closed"
					case !before.Unknown.IsZero() && !yes:
						span, _ := before.Total()
						return usageError{fmt.Errorf("%s is closed because its use is not known. "+
							"See in the provider's console how much was spent %s: ingest quota post %[1]s N counts that and opens it. "+
							"To open it without, say so with --yes", pool, span)}
					default:
						did = "opened " + pool
					}
				}
				if lift && yes {
					err = l.OpenUnknown(ctx, pool)
				} else {
					err = l.DrainByHand(ctx, pool, lift)
				}
				if err != nil {
					return err
				}
				return a.corrected(ctx, l, did, pool)
			})
		})
	cmd.Flags().BoolVar(&lift, "lift", false, "open the pool again")
	cmd.Flags().BoolVar(&yes, "yes", false, "also if its use is not known")
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

// corrected reports a correction, in a line or as a report in JSON, and the amount of a pool that it leaves for the
// schedule; "" means every used pool.
func (a *app) corrected(ctx context.Context, l *ledger, did, pool string) error {
	if a.json {
		a.say("ingest: %s", did)
		return a.quotaReport(ctx, l, quotaFlags{})
	}
	if a.quiet {
		return nil
	}
	r, err := l.report(ctx)
	if err != nil {
		return err
	}
	if r.Degraded != nil {
		did += " in " + a.cfg.Data + ": the server gets it once it answers"
	}
	_, err = fmt.Fprintln(a.stdout, did+report.Remainder(r, pool))
	return err
}
