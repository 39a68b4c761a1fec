package main

import (
	"context"
	"slices"
	"sync"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/regions"
)

// newDoctor gives the doctor what is to be examined. It makes do with what can be read of the configuration.
func newDoctor(a *app, root string, uid int) *doctor.Doctor {
	d := &doctor.Doctor{
		Version: version, LedgerFile: ledgerFile, Root: root, UID: uid,
		Tariff:   sync.OnceValues(func() (*quota.Tariff, error) { return tariffOf(a.cfg) }),
		Plan:     sync.OnceValues(func() (regions.Plan, error) { return planOf(a.cfg) }),
		Schedule: func() (budget.Schedule, error) { return scheduleOf(a.cfg) },
		Classify: classify, Say: a.say, Upgraded: a.sayUpgraded,
	}
	if a.clock, d.ClockErr = config.NewClock(); d.ClockErr != nil {
		a.clock = &config.Clock{}
	}
	if a.cfg, d.ConfigErr = config.Load(a.flags, upstreamLimits()); d.ConfigErr != nil {
		a.cfg = config.Salvage(a.flags, upstreamLimits())
	}
	d.Config, d.Clock = a.cfg, a.clock
	d.Keyed, d.StandIn = a.provider().keyed, loopback(a.cfg.UpstreamURL)
	d.Upstream = func(ctx context.Context) (string, error) {
		c, err := openKeyless(ctx, a.cfg)
		if err != nil {
			return "", err
		}
		defer c.Close()
		return hostname(c.Host()), nil
	}
	d.OpenLocal = func(ctx context.Context, path string) (doctor.LocalLedger, error) {
		l, err := sqliteledger.Open(ctx, path)
		if err == nil {
			l.Now = a.clock.Now
		}
		return l, err
	}
	if a.cfg.Ledger != "sqlite" {
		d.OpenRemote = func(ctx context.Context) (doctor.RemoteLedger, error) { return openRemote(ctx, a.cfg) }
	}
	d.Online = doctor.Online{
		CheckClock: a.checkClock,
		Upstream:   func(ctx context.Context) (doctor.Upstream, error) { return openUpstream(ctx, a.cfg) },
		Quota:      func(ctx context.Context) (doctor.Quota, func(), error) { return a.governor(ctx) },
	}
	return d
}

// exitOf are the exit codes of the doctor's classes.
var exitOf = []int{doctor.NoFailure: exitOK, doctor.Other: exitError, doctor.Unavailable: exitUnavailable, doctor.BadKey: exitKey, doctor.BadConfig: exitConfig}

// classify is the class of the exit code that an error has everywhere.
func classify(err error) doctor.Class {
	return max(doctor.Other, doctor.Class(slices.Index(exitOf, exitCode(err))))
}
