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
	"github.com/trendvidstream/ingest/internal/ownfile"
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
	if err := a.checkParts(ctx, schedule.Tariff); err != nil {
		return err
	}
	d := newDoctor(a, "/", os.Geteuid())
	defer d.Close()
	verdicts, err := d.Policy(ctx)
	if err != nil {
		return err
	}
	doc := report.CheckDocument{
		Config: a.cfg.File, Data: a.cfg.Data, Ledger: config.ServerName(a.cfg.Ledger), Store: config.ServerName(a.cfg.Store),
		Account:  a.cfg.Account,
		Upstream: a.cfg.Upstream, CostTable: schedule.Tariff.Table, Jobs: []report.CheckJob{},
		PerDay: maps.Clone(price.Total), Warnings: []report.CheckWarning{},
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

// checkParts builds the parts of run, serve and gateway from the configuration, by the same constructors, as far as
// that opens no file and asks no server. Without a key it checks all else: the key may come from elsewhere.
func (a *app) checkParts(ctx context.Context, tariff *quota.Tariff) error {
	remote, err := openRemote(ctx, a.cfg)
	if err != nil {
		return err
	}
	if remote != nil {
		_ = remote.Close()
	}
	if _, err := a.cfg.Key(); err != nil {
		return err
	}
	up, err := openKeyless(ctx, a.cfg)
	if err != nil {
		return err
	}
	defer up.Close()
	if _, _, err := a.serveParts(nil); err != nil {
		return err
	}
	if a.cfg.GatewayListen != "" || len(a.cfg.GatewayCache)+len(a.cfg.Clients) > 0 {
		if _, err := a.gatewayConfig(up, tariff); err != nil {
			return err
		}
	}
	return cmp.Or(a.cfg.CheckHooks(), config.Invalid(ownfile.CheckDir(a.cfg.Data)))
}
