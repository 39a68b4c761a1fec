package budget

import (
	"cmp"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// demand is one job's need of a pool.
type demand struct {
	schedule regions.JobSchedule
	price    int64         // of a slot
	every    time.Duration // of a series, as far as the other pools pay for it: the job's own, or longer; 0: a cron line
}

// demandRounds is how often the demands are computed from the intervals that the demands before leave. A job that two
// pools slow needs more than one round.
const demandRounds = 3

// demands returns the jobs' need of each pool, longest intervals first. A job that another pool slows needs less than
// its own interval would take: a search that may be made 95 times a day looks up 95 pages. A refresh is left out.
func (s PricedSchedule) demands(now time.Time) (map[string][]demand, error) {
	out := map[string][]demand{}
	for _, schedule := range s.Jobs {
		price, err := s.slotPrice(schedule.Job)
		if err != nil {
			return nil, err
		}
		for pool, amount := range price {
			if amount > 0 {
				out[pool] = append(out[pool], demand{schedule, amount, schedule.Job.Every})
			}
		}
	}
	for n := 0; n < demandRounds && len(out) > 1; n++ {
		paid := s.paidIntervals(out, now)
		for pool, jobs := range out {
			for i, d := range jobs {
				jobs[i].every = d.schedule.Job.Every
				for other, intervals := range paid {
					if other != pool && d.schedule.Job.Every > 0 {
						jobs[i].every = max(jobs[i].every, intervals[d.schedule.Job.Name])
					}
				}
			}
			slices.SortStableFunc(jobs, func(a, b demand) int { return cmp.Compare(b.every, a.every) })
		}
	}
	return out, nil
}

// cost returns the cost of the job's slots within the span.
func (d demand) cost(now time.Time, span time.Duration) int64 {
	if d.every > d.schedule.Job.Every {
		return int64(float64(d.round()) * float64(span) / float64(d.every))
	}
	return d.price * int64(d.schedule.Count(now, now.Add(span)))
}

// round returns the cost of one slot of each of the job's series.
func (d demand) round() int64 { return d.price * int64(len(d.schedule.Job.Series())) }

// paidIntervals returns, by pool and job, the interval of each of the job's series on a day when the schedule has the
// whole budget: its own, or the longer one that the pool's ceiling pays for beside the other jobs. Jobs with a cron
// line have none.
func (s PricedSchedule) paidIntervals(demands map[string][]demand, now time.Time) map[string]map[string]time.Duration {
	paid, ceilings := map[string]map[string]time.Duration{}, Ceilings(s.Tariff, quota.Scheduled)
	for pool, jobs := range demands {
		paid[pool] = map[string]time.Duration{}
		for _, own := range jobs {
			every, name := own.schedule.Job.Every, own.schedule.Job.Name
			if every == 0 {
				continue
			}
			paid[pool][name] = every
			b := supply{span: day, left: ceilings[pool]}
			if share := b.fill(jobs, own, now); b.left > 0 {
				paid[pool][name] = max(every, time.Duration(float64(day)*float64(own.round())/(float64(b.left)*share)))
			}
		}
	}
	return paid
}

// Intervals returns, by job, the interval of each of its series on a day when the schedule has the whole budget: its
// own, or the longer one that the ceilings pay for beside the other jobs. Jobs with a cron line have none.
func (s PricedSchedule) Intervals(now time.Time) (map[string]time.Duration, error) {
	demands, err := s.demands(now)
	if err != nil {
		return nil, err
	}
	all := map[string]time.Duration{}
	for _, schedule := range s.Jobs {
		if schedule.Job.Every > 0 {
			all[schedule.Job.Name] = schedule.Job.Every
		}
	}
	for _, paid := range s.paidIntervals(demands, now) {
		for job, interval := range paid {
			all[job] = max(all[job], interval)
		}
	}
	return all, nil
}

// fill subtracts from the rest the cost of the other jobs that keep their intervals or have a cron line. It returns
// own's share of the rest, among the jobs that are stretched alike. The share of a job that keeps its interval is 1,
// since the rest pays for it. jobs are all jobs, as demands returns them; own may have fewer pages than there.
func (b *supply) fill(jobs []demand, own demand, now time.Time) (share float64) {
	var stretched []demand
	rounds := own.round()
	for _, d := range jobs {
		switch {
		case d.schedule.Job.Every == 0:
			b.left -= d.cost(now, b.span)
		case d.schedule.Job.Name != own.schedule.Job.Name:
			stretched = append(stretched, d)
			rounds += d.round()
		}
	}
	for _, d := range stretched { // each job that asks for less than the others get leaves more for them
		slots := float64(b.left) / float64(rounds) // per series in the span
		if float64(d.every)*slots < float64(b.span) {
			break // those with shorter intervals ask for more
		}
		b.left -= d.cost(now, b.span)
		rounds -= d.round()
	}
	return float64(own.round()) / float64(rounds)
}
