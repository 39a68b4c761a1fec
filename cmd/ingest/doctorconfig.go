package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/goccy/go-yaml"

	"github.com/trendvidstream/ingest/quota"
)

// The checks of what the program was told: config, costs, schedule, key.

// salvage is what can be used of a configuration that is wrong, so that the machine is looked at all
// the same: what flags, variables and the file say as far as it can be read, and defaults.
func (f flags) salvage() *config {
	var file configFile
	if data, err := os.ReadFile(f.pick("config", "INGEST_CONFIG", f.config)); err == nil {
		if yaml.Unmarshal(data, &file) != nil {
			file = configFile{}
		}
	}
	said := f
	for _, s := range []struct {
		into            *string
		flag, env, file string
	}{
		{&said.data, "data", "INGEST_DATA", file.Data},
		{&said.costs, "costs", "INGEST_COSTS", file.Costs},
		{&said.costTable, "cost-table", "INGEST_COST_TABLE", file.CostTable},
		{&said.ledger, "ledger", "INGEST_LEDGER", file.Ledger},
		{&said.upstreamURL, "upstream-url", "INGEST_UPSTREAM_URL", file.UpstreamURL},
	} {
		if *s.into = f.pick(s.flag, s.env, *s.into); *s.into == "" {
			*s.into = s.file
		}
	}
	said.config = ""
	said.set = func(name string) bool { return name != "" }
	c, err := said.load()
	if err != nil { // a variable that no flag replaces, or no place for the data
		c = &config{account: "default", upstream: "youtube", upstreamURL: said.upstreamURL, data: said.data,
			ledger: said.ledger, hosts: 1, costs: said.costs, costTable: said.costTable, jobs: defaultJobs(providers["youtube"])}
		if c.ledger == "" {
			c.ledger = "sqlite"
		}
	}
	if os.Getenv("INGEST_ACCOUNT") == "" && quota.CheckAccount(file.Account) == nil {
		c.account = file.Account
	}
	c.keyFile = file.KeyFile
	return c
}

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
	file, regions := d.cfg.file, map[string]bool{}
	if file == "" {
		file = "no file, built-in defaults"
	}
	for _, job := range d.cfg.jobs {
		for _, r := range job.Regions {
			regions[string(r)] = true
		}
	}
	return fine("%s: account %s, %s, %s, %s", file, d.cfg.account,
		term.Plural(len(d.cfg.jobs), "job"), term.Plural(len(regions), "region"), term.Plural(d.cfg.hosts, "host"))
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
	now := d.clock.now()
	p, err := priceOf(plan, d.cfg.provider().calls, t, now, now.Add(24*time.Hour))
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
	key, err := d.key()
	switch {
	case err != nil:
		return broken(err, "put the key alone into a file of mode 0600 and name it with --key-file")
	case !key.IsZero():
		return fine("from %s", where)
	case loopback(d.cfg.upstreamURL):
		return fine("none, and the stand-in upstream wants none")
	case !d.cfg.provider().keyed:
		return fine("none, and %s wants none", d.cfg.upstream)
	}
	return fail(exitKey, "none: --key-file, credential "+credential+", INGEST_KEY_FILE, INGEST_KEY and key_file: name no key",
		"give --key-file FILE; a key that systemd hands to the service is not seen from here")
}

// keySource is where key looks first of all that is set.
func (d *doctor) keySource() string {
	if d.flags.keyFile != "" {
		return "--key-file " + d.flags.keyFile
	}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && exists(filepath.Join(dir, credential)) {
		return "the systemd credential " + credential
	}
	if path := os.Getenv("INGEST_KEY_FILE"); path != "" {
		return "INGEST_KEY_FILE " + path
	}
	if os.Getenv("INGEST_KEY") != "" {
		return "INGEST_KEY: other processes of this user can read it, a file is safer"
	}
	return "key_file: " + d.cfg.keyFile
}
