package budget

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// demand is one job's need of a pool.
type demand struct {
	schedule regions.JobSchedule
	price    int64 // of a slot
}

// demands returns what the jobs need of a pool. changed replaces the job of its name. A refresh is left out.
func (s PricedSchedule) demands(changed ingest.Job, pool string) ([]demand, error) {
	var out []demand
	for _, schedule := range s.Jobs {
		job := schedule.Job
		if job.Name == changed.Name {
			job = changed
		}
		price, err := s.slotPrice(job)
		if err != nil {
			return nil, err
		}
		if price[pool] > 0 {
			out = append(out, demand{schedule, price[pool]})
		}
	}
	return out, nil
}

// slots returns how many slots of the job come due within the span.
func (d demand) slots(now time.Time, span time.Duration) int64 {
	return int64(len(d.schedule.Between(now, now.Add(span))))
}

// round returns the cost of one slot of each of the job's series.
func (d demand) round() int64 { return d.price * int64(max(1, len(d.schedule.Job.Regions))) }

// fill subtracts from what is left the cost of jobs that keep their intervals or have a cron line. It returns the named
// job's share of the rest, among the jobs that are stretched alike. The share of a job that keeps its interval is 1,
// since what is left pays for it.
func (b *supply) fill(jobs []demand, name string, now time.Time) (share float64) {
	var stretched []demand
	for _, d := range jobs {
		if d.schedule.Job.Every == 0 {
			b.left -= d.price * d.slots(now, b.span)
		} else {
			stretched = append(stretched, d)
		}
	}
	for { // each job that asks for less than the others get leaves more for them
		rounds := int64(0)
		for _, d := range stretched {
			rounds += d.round()
		}
		modest := slices.IndexFunc(stretched, func(d demand) bool {
			slots := float64(b.left) / float64(rounds) // per series in the span
			return d.schedule.Job.Name != name && float64(d.schedule.Job.Every)*slots >= float64(b.span)
		})
		if modest < 0 {
			own := slices.IndexFunc(stretched, func(d demand) bool { return d.schedule.Job.Name == name })
			return float64(stretched[own].round()) / float64(rounds)
		}
		b.left -= stretched[modest].price * stretched[modest].slots(now, b.span)
		stretched = slices.Delete(stretched, modest, modest+1)
	}
}
