package doctor

import (
	"cmp"
	"context"
	"strings"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// The checks of what the program was configured with: config, costs, schedule, key.

func checkConfig(ctx context.Context, d *Doctor) Finding {
	if err := configError(ctx, d); err != nil {
		return failWith(err, "correct it; until then every command but this one ends with 78")
	}
	return okf("%s: account %s, %s, %s, %s", cmp.Or(d.Config.File, "no file, defaults"), d.Config.Account,
		term.Plural(len(d.Config.Jobs), "job"), term.Plural(len(d.Config.RegionCodes()), "region"), term.Plural(d.Config.Hosts, "host"))
}

// configError returns why Load refused the config, or else why a part made from it cannot be made.
func configError(ctx context.Context, d *Doctor) error {
	if d.ConfigErr != nil {
		return d.ConfigErr
	}
	if _, err := d.Schedule(); err != nil {
		return err
	}
	if d.OpenRemote != nil {
		l, err := d.OpenRemote(ctx)
		if err != nil {
			return err
		}
		_ = l.Close()
	}
	_, err := d.Upstream(ctx)
	return err
}

func checkCosts(_ context.Context, d *Doctor) Finding {
	t, err := d.Tariff()
	if err != nil {
		return failWith(err, "correct the costs, or leave --costs out to use those that were shipped")
	}
	limits := term.Texts(t.Pools, func(p quota.Pool) string { return p.Name + " " + term.Thousands(p.Limit()) })
	return okf("%s: %s; ceilings scheduled %s, backfill %s, manual %s", t.Table, strings.Join(limits, ", "),
		t.Ceilings[quota.Scheduled], t.Ceilings[quota.Backfill], t.Ceilings[quota.Manual])
}

func checkSchedule(_ context.Context, d *Doctor) Finding {
	schedule, err := d.PricedSchedule()
	if err != nil {
		return noFinding // costs or config reports it
	}
	p, err := schedule.DayPrice(d.now())
	if err != nil {
		return failWith(err, "give the method a price in the costs")
	}
	var lines []string
	ceilings := budget.Ceilings(schedule.Tariff, quota.Scheduled)
	for _, j := range p.Jobs {
		if line := term.DayShares(j.Cost, ceilings); line != "" {
			lines = append(lines, j.Job.Name+": "+line)
		}
	}
	if len(lines) != 1 {
		lines = append(lines, "in all: "+term.DayShares(p.Total, ceilings))
	}
	if err := p.Fits(schedule.Tariff); err != nil {
		what, advice, _ := strings.Cut(err.Error(), ": fetch less")
		what, advice = strings.Join(append(lines, what), "; "), "fetch less"+advice
		if d.Config.Pacing { // run spreads it, serve refuses it
			return warn(what+"; pacing spreads it over the day", advice+"; ingest serve wants it to fit")
		}
		return fail(BadConfig, what, advice)
	}
	return okf("%s", strings.Join(lines, "; "))
}

func checkKey(_ context.Context, d *Doctor) Finding {
	key, err := d.Config.Key()
	switch {
	case err != nil:
		return failWith(err, "put the key alone into a file of mode 0600 and name it with --key-file")
	case !key.IsZero():
		return okf("from %s", d.Config.KeySource())
	case d.StandIn:
		return okf("none, and the stand-in upstream wants none")
	case !d.Keyed:
		return okf("none, and %s wants none", d.Config.Upstream)
	}
	return fail(BadKey, "none: --key-file, credential "+config.Credential+", INGEST_KEY_FILE, INGEST_KEY and key_file: name no key",
		"give --key-file FILE; a key that systemd hands to the service is not seen from here")
}
