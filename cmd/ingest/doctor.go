package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) doctorCommand() *cobra.Command {
	var online, repair, all bool
	cmd := command("doctor", "Check config, key, disk, store and ledger; suggest fixes", noArgs,
		func(ctx context.Context, _ []string) error {
			d := newDoctor(a, "/", os.Geteuid())
			defer d.Close()
			var found []doctor.Finding
			if repair {
				a.say("ingest: repairing the store in %s", term.Clean(a.cfg.Data))
				found = d.Repair(ctx)
			}
			found = append(found, d.Examine(ctx)...)
			if online {
				found = append(found, d.AskUpstream(ctx)...)
			}
			shown := doctor.Usual
			switch {
			case all:
				shown = doctor.All
			case a.quiet:
				shown = doctor.Quiet
			}
			return printFindings(&a.console, []string{a.cfg.Ledger, a.cfg.Store}, found, shown)
		})
	// Replaces the flags of the root command: a wrong config or variable is a finding here, not an error.
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		a.begin(cmd)
		return nil
	}
	cmd.Flags().BoolVar(&all, "all", false, "print each check whole, also when one fails")
	cmd.Flags().BoolVar(&online, "online", false, "ask the upstream too: spends 1 unit of purpose manual")
	cmd.Flags().BoolVar(&repair, "repair", false, "repair the store first; may write a new ingest.db")
	return cmd
}

// printFindings prints the findings, and returns the failure for the exit code.
func printFindings(c *console, urls []string, found []doctor.Finding, shown doctor.Shown) error {
	doc, exit := doctor.NewDocument(urls, found)
	var err error
	if c.json {
		err = c.printJSON(doc)
	} else {
		err = doc.Print(c.stdout, shown)
	}
	if err == nil {
		err = endWith(exit, codeError{exit, nil}) // printed above
	}
	return err
}

// newDoctor returns a doctor for this installation, with as much of the configuration as can be read.
func newDoctor(a *app, root string, uid int) *doctor.Doctor {
	a.tariff = sync.OnceValues(a.readTariff)
	d := &doctor.Doctor{
		Version: version, LedgerFile: ledgerFile, Root: root, UID: uid,
		Tariff:         a.tariff,
		Schedule:       sync.OnceValues(func() (regions.Schedule, error) { return jobSchedules(a.cfg.Jobs) }),
		PricedSchedule: a.schedule,
		Say:            a.say, Upgraded: a.sayUpgraded,
	}
	if a.clock, d.ClockErr = config.NewClock(); d.ClockErr != nil {
		a.clock = &config.Clock{}
	}
	a.cfg, d.ConfigErr = config.Load(a.flags, upstreamLimits())
	d.Config, d.Clock = a.cfg, a.clock
	d.Provider, d.Keyed, d.StandIn = a.provider().name, a.provider().keyed, config.IsLoopbackURL(a.cfg.UpstreamURL)
	d.Upstream = func(ctx context.Context) (string, error) {
		c, err := openKeyless(ctx, a.cfg)
		if err != nil {
			return "", err
		}
		defer c.Close()
		return config.StoreHost(c.Host()), nil
	}
	d.Recount = func(ctx context.Context) (slots int, lost string, err error) {
		slots, err = a.rebuild(ctx, &lost, true)
		if errors.Is(err, errLacksNothing) {
			err = nil
		}
		return slots, lost, err
	}
	d.OpenLocal = func(ctx context.Context, path string) (doctor.LocalLedger, error) {
		l, err := sqliteledger.Open(ctx, path)
		if err == nil {
			l.Now = a.clock.Now
		}
		return l, err
	}
	if a.cfg.Store != "sqlite" {
		d.StoreName = config.ServerName(a.cfg.Store)
		d.OpenStore = func(ctx context.Context) (*store.Store, error) { return a.store(ctx) }
	}
	if a.cfg.Ledger != "sqlite" {
		d.OpenRemote = func(ctx context.Context) (sharedledger.Remote, error) { return openRemote(ctx, a.cfg) }
	}
	d.Online = doctor.Online{
		CheckClock: a.checkClock,
		Upstream:   func(ctx context.Context) (doctor.Upstream, error) { return openUpstream(ctx, a.cfg) },
		Quota: func(ctx context.Context) (*quota.Governor, func(), error) {
			l, err := a.openCheckedLedger(ctx, a.spentSlots)
			if err != nil {
				return nil, nil, err
			}
			return l.Governor, l.close, nil
		},
	}
	return d
}
