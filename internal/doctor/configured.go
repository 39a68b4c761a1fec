package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/terms"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// The checks of the configuration: config, costs, schedule, key, and the provider's terms.

func checkConfig(ctx context.Context, d *Doctor) Finding {
	if err := configError(ctx, d); err != nil {
		return failWith(err, "correct it; until then every command but this one ends with 78")
	}
	return okf("%s: account %s, %s, %s, %s", cmp.Or(d.Config.File, "no file, defaults"), d.Config.Account,
		term.Plural(len(d.Config.Jobs), "job"), term.Plural(len(d.Config.RegionCodes()), "region"),
		term.Plural(d.Config.Hosts, "host"))
}

// configError returns why Load refused the config, or else why something cannot be made from it.
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
		return failWith(err, "correct the costs, or leave --costs out to use the built-in ones")
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
		lines = append(lines, "in all: "+cmp.Or(term.DayShares(p.Total, ceilings), "no fixed amount"))
	}
	if unfit, ok := errors.AsType[*budget.UnfitError](p.Fits(schedule.Tariff)); ok {
		what := strings.Join(append(lines, unfit.What), "; ")
		if d.Config.Pacing {
			return warn(what+"; pacing spreads it over the day", unfit.Cure)
		}
		return fail(BadConfig, what, unfit.Cure)
	}
	return okf("%s", strings.Join(lines, "; "))
}

func checkKey(ctx context.Context, d *Doctor) Finding {
	key, err := d.Config.Key()
	switch {
	case err != nil:
		return failWith(err, "put the key alone into a file of mode 0600 and name it with --key-file")
	case !key.IsZero():
		return okf("from %s", d.Config.KeySource())
	case d.StandIn:
		return okf("none, and the stand-in upstream needs none")
	case !d.Keyed:
		return okf("none, and %s needs none", d.Config.Upstream)
	}
	if s, err := storeSummary(ctx, d); err == nil && d.onlyTried(*s) {
		return okf("none, and the data of a stand-in need none")
	}
	return fail(BadKey, "none: --key-file, credential "+config.Credential+
		", INGEST_KEY_FILE, INGEST_KEY and key_file: name no key",
		"give --key-file FILE; a key that systemd hands to the service is not visible here")
}

// Policy says which of the provider's terms are kept. It only reads.
func (d *Doctor) Policy(ctx context.Context) ([]policy.Verdict, error) {
	t, err := d.Tariff()
	if err != nil {
		return nil, err
	}
	now := d.now()
	f := policy.Facts{Account: d.Config.Account, Reachable: d.Config.Reachable(), OwnFrontEnd: d.Config.OwnFrontEnd,
		NoMetrics: d.Config.HideDerived, Now: now}
	if l, err := openLocal(ctx, d, d.Config.Data); err == nil {
		f.Others, _ = l.OtherAccounts(ctx, f.Account, t.LedgerPools(), now.Add(-t.Horizon()))
		_ = l.Close()
	}
	if s, err := storeSummary(ctx, d); err == nil {
		f.LastUsed = s.DoneAt
	} else if !errors.Is(err, fs.ErrNotExist) {
		f.NoStore = err
	}
	oldest := now.AddDate(0, 0, -t.Policy[terms.Retention].Days)
	for _, dir := range append([]string{d.Config.Data}, d.Config.Backups...) {
		copies, err := store.FindCopies(dir)
		if err != nil {
			f.Unread = append(f.Unread, dir)
			continue
		}
		f.Searched = append(f.Searched, dir)
		for _, c := range copies {
			if c.At.Before(oldest) {
				f.Copies = append(f.Copies, c.Path+" of "+c.At.UTC().Format(time.DateOnly))
			}
		}
	}
	return policy.Judge(t.Policy, f), nil
}

func checkPolicy(ctx context.Context, d *Doctor) Finding {
	verdicts, err := d.Policy(ctx)
	if err != nil || len(verdicts) == 0 {
		return noFinding // costs reports it, or the costs name no clause
	}
	count := map[policy.Status]int{}
	var all, broken, advice []string
	for _, v := range verdicts {
		all, count[v.Status] = append(all, v.String()), count[v.Status]+1
		if v.Status == policy.NotKept {
			broken, advice = append(broken, v.String()), append(advice, v.Advice)
		}
	}
	f := okf("%s", strings.Join(all, "; "))
	f.brief = strings.Join(append(broken, fmt.Sprintf("%d kept, %d yours to answer for: ingest config check lists them",
		count[policy.Kept], count[policy.Yours])), "; ")
	f.Advice = strings.Join(advice, "; ")
	switch {
	case policy.Refusal(verdicts) != nil:
		f.Status, f.Exit = Fail, BadConfig
	case len(advice) > 0:
		f.Status = Warn
	}
	return f
}
