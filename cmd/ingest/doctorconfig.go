package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest/quota"
)

// The checks of what the program was told: config, costs, schedule, key.

func lookConfig(ctx context.Context, d *doctor) finding {
	err := d.configErr
	if err == nil {
		_, err = d.plan()
	}
	if err == nil {
		l, e := d.remoteLedger(ctx)
		if err = e; l != nil {
			_ = l.Close()
		}
	}
	if err == nil {
		_, err = d.upstreamName(ctx)
	}
	if err != nil {
		return broken(err, "correct it; until then every command but this one ends with 78")
	}
	file, regions := d.cfg.File, map[string]bool{}
	if file == "" {
		file = "no file, built-in defaults"
	}
	for _, job := range d.cfg.Jobs {
		for _, r := range job.Regions {
			regions[string(r)] = true
		}
	}
	return fine("%s: account %s, %s, %s, %s", file, d.cfg.Account,
		term.Plural(len(d.cfg.Jobs), "job"), term.Plural(len(regions), "region"), term.Plural(d.cfg.Hosts, "host"))
}

func lookCosts(_ context.Context, d *doctor) finding {
	t, err := d.tariff()
	if err != nil {
		return broken(err, "correct the costs, or leave --costs out for those that were shipped")
	}
	var limits []string
	for _, p := range t.Pools {
		limit := int64(quota.MaxLimit)
		for _, w := range p.Windows {
			limit = min(limit, w.Limit)
		}
		limits = append(limits, fmt.Sprintf("%s %s", p.Name, term.Thousands(limit)))
	}
	return fine("table %s: %s; ceilings scheduled %s, backfill %s, manual %s", t.Table, strings.Join(limits, ", "),
		t.Ceilings[quota.Scheduled], t.Ceilings[quota.Backfill], t.Ceilings[quota.Manual])
}

func lookSchedule(_ context.Context, d *doctor) finding {
	t, err := d.tariff()
	if err != nil {
		return noLine // the costs have said so
	}
	plan, err := d.plan()
	if err != nil {
		return noLine
	}
	now := d.clock.Now()
	p, err := priceOf(plan, d.provider().calls, t, now, now.Add(24*time.Hour))
	if err != nil {
		return broken(err, "give the method a price in the costs")
	}
	var lines []string
	priced := 0
	for _, j := range p.jobs {
		if line := priceLine(j.cost, t); line != "" {
			lines = append(lines, j.job.Name+": "+line)
			priced++
		}
	}
	if priced != 1 {
		lines = append(lines, "in all: "+priceLine(p.total, t))
	}
	if err := p.fits(t); err != nil {
		what, advice, _ := strings.Cut(err.Error(), ": fetch less")
		return fail(exitConfig, strings.Join(append(lines, what), "; "), "fetch less"+advice)
	}
	return fine("%s", strings.Join(lines, "; "))
}

func lookKey(_ context.Context, d *doctor) finding {
	where := d.keySource()
	key, err := d.cfg.Key()
	switch {
	case err != nil:
		return broken(err, "put the key alone into a file of mode 0600 and name it with --key-file")
	case !key.IsZero():
		return fine("from %s", where)
	case loopback(d.cfg.UpstreamURL):
		return fine("none, and the stand-in upstream wants none")
	case !d.provider().keyed:
		return fine("none, and %s wants none", d.cfg.Upstream)
	}
	return fail(exitKey, "none: --key-file, credential "+config.Credential+", INGEST_KEY_FILE, INGEST_KEY and key_file: name no key",
		"give --key-file FILE; a key that systemd hands to the service is not seen from here")
}

// keySource is where key looks first of all that is set.
func (d *doctor) keySource() string {
	if d.flags.KeyFile != "" {
		return "--key-file " + d.flags.KeyFile
	}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && config.FileExists(filepath.Join(dir, config.Credential)) {
		return "the systemd credential " + config.Credential
	}
	if path := os.Getenv("INGEST_KEY_FILE"); path != "" {
		return "INGEST_KEY_FILE " + path
	}
	if os.Getenv("INGEST_KEY") != "" {
		return "INGEST_KEY: other processes of this user can read it, a file is safer"
	}
	return "key_file: " + d.cfg.KeyFile
}
