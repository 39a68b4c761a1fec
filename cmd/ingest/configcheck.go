package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "Validate the configuration and estimate its daily cost",
		command("check", "Check the config and the costs, and price the schedule", noArgs, a.checkConfig))
}

func (a *app) checkConfig(ctx context.Context, _ []string) error {
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
	doc := report.CheckDocument{
		Config: a.cfg.File, Data: a.cfg.Data, Ledger: config.ServerName(a.cfg.Ledger), Store: config.ServerName(a.cfg.Store), Account: a.cfg.Account,
		Upstream: a.cfg.Upstream, CostTable: schedule.Tariff.Table, Jobs: []report.CheckJob{}, PerDay: maps.Clone(price.Total), Warnings: []report.CheckWarning{},
		Policy: verdicts,
	}
	doc.AddJobs(schedule, price, a.clock.Now())
	for _, w := range budget.NeverCalled(schedule.Tariff) {
		doc.Warnings = append(doc.Warnings, report.CheckWarning{Warning: w, Next: []time.Time{}})
	}
	warning, unfit := a.unfit(price, schedule.Tariff)
	doc.Fits = warning == "" && unfit == nil
	doc.Total = term.DayShares(price.Total, budget.Ceilings(schedule.Tariff, quota.Scheduled))
	shown := a.show(doc)
	if warning != "" {
		a.say("ingest: warning: %s", warning)
	}
	return cmp.Or(shown, unfit, config.Invalid(policy.Refusal(verdicts)))
}
