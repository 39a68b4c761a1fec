package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/store"
)

// usageCommand returns a command that reports from the store how quota was used since a time, by default days ago.
func (a *app) usageCommand(name, short string, days int,
	say func(ctx context.Context, s *store.Store, since, now time.Time) (screen, error)) *cobra.Command {
	var since config.Since
	cmd := command(name, short, noArgs, func(ctx context.Context, _ []string) error {
		return a.withStore(ctx, func(ctx context.Context, s *store.Store) error {
			now := a.clock.Now()
			from, err := since.Past(now)
			if err != nil {
				return usageError{err}
			}
			if since.IsZero() {
				from = now.AddDate(0, 0, -days)
			}
			answer, err := say(ctx, s, from, now)
			if err != nil {
				return err
			}
			return a.show(answer)
		})
	})
	cmd.Flags().Var(config.SinceFlag(&since), "since", "from `T` on: 7d ago, a day, or an RFC 3339 time")
	return cmd
}

func (a *app) advise(ctx context.Context, s *store.Store, since, now time.Time) (screen, error) {
	yields, err := s.Yields(ctx, since, now)
	return report.NewAdvice(yields, a.cfg.Jobs), err
}

func (a *app) auditReport(ctx context.Context, s *store.Store, since, now time.Time) (screen, error) {
	schedule, price, err := a.pricedSchedule()
	if err != nil {
		return nil, err
	}
	slots, err := s.UsedSlots(ctx, since)
	if err != nil {
		return nil, err
	}
	d := newDoctor(a, "/", os.Geteuid())
	defer d.Close()
	verdicts, err := d.Policy(ctx)
	if err != nil {
		return nil, err
	}
	head := report.AuditReport{
		Account: a.cfg.Account, Upstream: a.cfg.Upstream, Since: since, Until: now, PerDay: price.Total,
		Regions: a.cfg.RegionCodes(), Policy: verdicts,
	}
	return head.AddUp(schedule.Tariff, slots, func(slot ingest.Slot) ([]string, error) { return a.slotMethods(ctx, slot) })
}
