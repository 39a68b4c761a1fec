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
	price    int64 // of a slot
}

// demands returns the jobs' need of each pool, longest intervals first. A refresh is left out.
func (s PricedSchedule) demands() (map[string][]demand, error) {
	out := map[string][]demand{}
	for _, schedule := range s.Jobs {
		price, err := s.slotPrice(schedule.Job)
		if err != nil {
			return nil, err
		}
		for pool, amount := range price {
			if amount > 0 {
				out[pool] = append(out[pool], demand{schedule, amount})
			}
		}
	}
	for _, jobs := range out {
		slices.SortStableFunc(jobs, func(a, b demand) int { return cmp.Compare(b.schedule.Job.Every, a.schedule.Job.Every) })
	}
	return out, nil
}

// cost returns the cost of the job's slots that come due within the span.
func (d demand) cost(now time.Time, span time.Duration) int64 {
	return d.price * int64(d.schedule.Count(now, now.Add(span)))
}

// round returns the cost of one slot of each of the job's series.
func (d demand) round() int64 { return d.price * int64(len(d.schedule.Job.Series())) }

// Intervals returns, by job, the interval of each of its series on a day whose whole budget is the schedule's: its
// own, or the longer one that the ceilings pay for beside the other jobs. Jobs with a cron line have none.
func (s PricedSchedule) Intervals(now time.Time) (map[string]time.Duration, error) {
	demands, err := s.demands()
	if err != nil {
		return nil, err
	}
	all, ceilings := map[string]time.Duration{}, Ceilings(s.Tariff, quota.Scheduled)
	for _, schedule := range s.Jobs {
		if schedule.Job.Every > 0 {
			all[schedule.Job.Name] = schedule.Job.Every
		}
	}
	for pool, jobs := range demands {
		for _, own := range jobs {
			b := supply{span: day, left: ceilings[pool]}
			share := b.fill(jobs, own, now)
			if name := own.schedule.Job.Name; all[name] > 0 && b.left > 0 {
				all[name] = max(all[name], time.Duration(float64(day)*float64(own.round())/(float64(b.left)*share)))
			}
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
		if float64(d.schedule.Job.Every)*slots < float64(b.span) {
			break // those with shorter intervals ask for more
		}
		b.left -= d.cost(now, b.span)
		rounds -= d.round()
	}
	return float64(own.round()) / float64(rounds)
}
