package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Validate the configuration and estimate its daily cost", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the config and the costs, and price the schedule",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.checkConfig(cmd.Context()) },
	})
	return cmd
}

func (a *app) checkConfig(ctx context.Context) error {
	schedule, price, err := a.pricedSchedule()
	if err != nil {
		return err
	}
	remote, err := openRemote(ctx, a.cfg)
	if err != nil {
		return err
	}
	if remote != nil {
		_ = remote.Close()
	}
	if _, err := newAPI(a.cfg); err != nil {
		return err
	}
	d := newDoctor(a, "/", os.Geteuid())
	defer d.Close()
	verdicts, err := d.Policy(ctx)
	if err != nil {
		return err
	}
	now := a.clock.Now()
	doc := report.CheckDocument{
		Config: a.cfg.File, Data: a.cfg.Data, Ledger: config.ServerName(a.cfg.Ledger), Store: config.ServerName(a.cfg.Store), Account: a.cfg.Account,
		Upstream: a.cfg.Upstream, CostTable: schedule.Tariff.Table, Jobs: []report.CheckJob{}, PerDay: maps.Clone(price.Total), Warnings: []report.CheckWarning{},
		Policy: verdicts,
	}
	doc.AddJobs(schedule, price, a.refreshCost(schedule.Tariff), now)
	doc.WarnOfCosts(budget.NeverCalled(schedule.Tariff))
	unfit := price.Fits(schedule.Tariff)
	doc.Fits = unfit == nil
	if a.json {
		err = a.printJSON(doc)
	} else {
		err = doc.Print(a.stdout, term.DayShares(price.Total, budget.Ceilings(schedule.Tariff, quota.Scheduled)))
	}
	return cmp.Or(err, config.Invalid(cmp.Or(unfit, policy.Refusal(verdicts))))
}

// refreshCost says what a refresh costs, which depends on what the store then has.
func (a *app) refreshCost(tariff *quota.Tariff) string {
	calls := a.provider().calls
	cost, _ := tariff.Cost(calls.Videos(nil).Method) // no error: the price of the day has asked for the same
	return fmt.Sprintf("%s per %d videos unseen for %d days", term.Amounts(cost), calls.Limits().IDsPerCall, ingest.RefreshAfter/(24*time.Hour))
}
