package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// price is what a schedule costs over a span of time, at most, per job and in all.
type price struct {
	jobs  []jobPrice
	total quota.Cost
}

type jobPrice struct {
	job   ingest.Job
	slots int
	cost  quota.Cost // empty for a job whose price depends on what is stored
}

// priceOf prices every slot due after from and not after to: slots x the pages of each x what the
// upstream's call costs. A chart that ends early costs less.
func priceOf(plan regions.Plan, up fetch.Upstream, tariff *quota.Tariff, from, to time.Time) (price, error) {
	p := price{total: quota.Cost{}}
	for _, s := range plan {
		j := jobPrice{job: s.Job, slots: len(s.Between(from, to)), cost: quota.Cost{}}
		calls, err := fetch.JobCalls(up, s.Job)
		if err != nil {
			return p, fmt.Errorf("price job %s: %w", s.Job.Name, err)
		}
		for _, of := range calls.PerPage(up.Limits()) {
			cost, err := tariff.Cost(of.Method)
			if err != nil {
				return p, fmt.Errorf("price job %s: %w", s.Job.Name, err)
			}
			for pool, amount := range cost.Times(int64(of.Calls) * int64(s.Job.Pages) * int64(j.slots)) {
				j.cost[pool] += amount
				p.total[pool] += amount
			}
		}
		p.jobs = append(p.jobs, j)
	}
	return p, nil
}

// fits checks that a day's schedule and a backfill at its ceiling go together under the ceiling of
// the schedule: otherwise a backfill in the morning leaves regions stale in the evening.
func (p price) fits(tariff *quota.Tariff) error {
	for _, pool := range tariff.Pools {
		need := p.total[pool.Name]
		if need == 0 {
			continue
		}
		for _, w := range pool.Windows {
			if !w.Day() && w.Length < 24*time.Hour {
				continue // a day's price says nothing about an hour
			}
			need := need
			if !w.Day() {
				need = int64(float64(need) * w.Length.Hours() / 24)
			}
			scheduled := tariff.Ceilings[quota.Scheduled].Of(w.Limit)
			backfill := tariff.Ceilings[quota.Backfill].Of(w.Limit)
			if need+backfill > scheduled {
				return fmt.Errorf("the schedule does not fit: a day of it costs %s, a backfill may use %s, and the schedule has to stop at %s of %s in window %s: "+
					"fetch less often (every:), fewer pages or regions, or lower ceilings.backfill in the costs",
					term.Amount(need, pool.Name), term.Thousands(backfill), term.Thousands(scheduled), term.Thousands(w.Limit), w.Name)
			}
		}
	}
	return nil
}

// line is one price for a person: "1,536 units a day of 9,500 (16 %)".
func priceLine(cost quota.Cost, tariff *quota.Tariff) string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(cost)) {
		for _, pool := range tariff.Pools {
			if pool.Name != name {
				continue
			}
			limit := int64(quota.MaxLimit)
			for _, w := range pool.Windows {
				limit = min(limit, w.Limit)
			}
			ceiling := tariff.Ceilings[quota.Scheduled].Of(limit)
			if out != "" {
				out += ", "
			}
			out += fmt.Sprintf("%s a day of %s (%d %%)", term.Amount(cost[name], name), term.Thousands(ceiling), 100*cost[name]/max(ceiling, 1))
		}
	}
	return out
}
