package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// rareChart is how far apart a region's charts may be before they get fewer pages. Two charts a day of half the pages
// show more arrivals and departures than one whole chart. Two a day are some seconds further apart than half a day,
// since a sliding window counts a call until the grace has passed.
const rareChart = 12*time.Hour + time.Minute

// tooRareChart is the same for as many pages as the last chart has: a failed call or two must not change the number.
const tooRareChart = 15 * time.Hour

// PacedSchedule is a PricedSchedule slowed down to the rest of the quota, and says how much it is slowed.
type PacedSchedule struct {
	Schedule  regions.Schedule
	Jobs      []JobPace    // the slowed jobs; none: the schedule is as configured
	Report    quota.Report // the report that it was computed from, with the others' expected takes
	Others    string       // the others' expected takes, in words; "": little
	Refresh   quota.Cost   // the refreshes' expected takes until the provider's day ends
	SureUntil time.Time    // see Forecast

	holds map[string]time.Time // by job: until when nothing is left for it
}

// heldUntil returns until when nothing is left for a job, the earliest of all; zero if all have something left.
func (p PacedSchedule) heldUntil() (until time.Time) {
	for _, hold := range p.holds {
		until = earlier(until, hold)
	}
	return until
}

// delayed is how much longer than a turn a paced job may wait for units: then the screens say that it has nothing left.
const delayed = 15 * time.Minute

// String says how each job is paced and why; "" if none is. A job that waits has no pace.
func (p PacedSchedule) String() string {
	var all []string
	for _, job := range p.Jobs {
		// its next slot is on another day, with an unknown pace
		overnight := !job.Ends.IsZero() && !job.Hold.Before(job.Ends)
		if job.Gap > 0 && !job.Waits && !overnight {
			all = append(all, job.String())
		}
	}
	return strings.Join(all, "; ")
}

// slows reports whether a job has fewer slots than configured, or waits.
func (p PacedSchedule) slows(job string) bool {
	return slices.ContainsFunc(p.Jobs, func(paced JobPace) bool { return paced.Job.Name == job })
}

// delays reports whether a job waits, or its pace makes a slot late by more than delayed between two times.
func (p PacedSchedule) delays(job string, from, until time.Time) bool {
	return slices.ContainsFunc(p.Jobs, func(paced JobPace) bool {
		late := float64(until.Sub(from)) * (1 - float64(paced.Job.Every)/float64(max(paced.Round, paced.Job.Every)))
		return paced.Job.Name == job && (paced.Waits || paced.UsedUp || late > float64(delayed))
	})
}

// Resume returns a report whose purpose with nothing left resumes no earlier than the pace lets its jobs, unless one
// call is admitted before that, to ask whether a doubted refusal is still in force.
func (p PacedSchedule) Resume(r quota.Report) quota.Report {
	r.Pools = slices.Clone(r.Pools)
	for i, pool := range r.Pools {
		for _, job := range p.Jobs {
			at, waits := pool.ResumesAt[quota.Scheduled]
			if waits && pool.Probe == 0 && job.Pool == pool.Pool && job.Hold.After(at) {
				r.Pools[i].ResumesAt = maps.Clone(pool.ResumesAt)
				r.Pools[i].ResumesAt[quota.Scheduled] = job.Hold
			}
		}
	}
	return r
}

// JobPace is a job whose budget cannot pay for its interval: its slots are spread over the rest of the budget.
type JobPace struct {
	regions.Pace
	Job    ingest.Job
	Pages  int    // of a chart: fewer than the job has if whole charts would be too rare
	Pool   string // the pool that slows it
	Budget int64  // the amount of that pool that the schedule may use in the limiting window
	Left   int64  // the part of Budget that is not used yet, if that window is the provider's day
	Window string
	Ends   time.Time // of that window, if it is the provider's day
	Sleeps time.Time // when no run is expected for hours; zero: not known
	Wakes  time.Time // when those hours end
	// Overdue is how many series have waited for more than two rounds, as after a pause: they come before the pace.
	Overdue int
	Waits   bool // for the pool to open, or for its window to end: it has no interval at present
}

// String describes the pace for a person: "chart every 2 h 45 m instead of 30 m: 285 units in 24h".
func (p JobPace) String() string {
	round, every := intervalText(p.Round), intervalText(p.Job.Every)
	if round == every { // longer by seconds
		round = fmt.Sprintf("%s %d s", round, max(1, (p.Round-p.Job.Every)/time.Second))
	}
	s := fmt.Sprintf("%s every %s instead of %s: %d %s in %s", p.Job.Name, round, every, p.Budget, p.Pool, p.Window)
	if !p.Ends.IsZero() {
		s = fmt.Sprintf("%s every %s instead of %s: %d %s left in the day that ends %s", p.Job.Name, round, every, p.Left,
			p.Pool, p.Ends.UTC().Format("15:04Z"))
	}
	if p.Pages < p.Job.Pages {
		s += fmt.Sprintf(", %d of %d pages", p.Pages, p.Job.Pages)
	}
	if !p.Sleeps.IsZero() {
		s += fmt.Sprintf(", no run expected from %s to %s", p.Sleeps.UTC().Format("15:04Z"), p.Wakes.UTC().Format("15:04Z"))
	}
	if p.Overdue > 0 {
		s += fmt.Sprintf(", after %d that are overdue", p.Overdue)
	}
	return s
}

// intervalText formats a duration for a person, in hours and minutes.
func intervalText(d time.Duration) string {
	minutes := int64((d + 30*time.Second) / time.Minute)
	switch h, m := minutes/60, minutes%60; {
	case h == 0:
		return fmt.Sprintf("%d m", m)
	case m == 0:
		return fmt.Sprintf("%d h", h)
	default:
		return fmt.Sprintf("%d h %d m", h, m)
	}
}

// Pace finds the jobs whose interval costs more than a report says is left, and spreads them over the rest of the
// provider's day, and over the whole length of sliding windows. known is when the newest slot of each series was due.
// Equal reports, slots and times give equal paces on every host. While the ledger is degraded nothing is paced, since
// calls are then bounded in another way.
//
// The interval of a series is its own or T, if that is longer; T is the shortest interval that the budget pays for: a
// job that asks for little keeps its interval, and the others are stretched alike. A job with a cron line is not
// stretched, since 06:00 means 06:00: its price is set aside. OthersWatch.Expect sets a refresh's part aside too: the
// provider's rules demand it.
func (s PricedSchedule) Pace(r quota.Report, known map[ingest.Series]time.Time, now time.Time) PacedSchedule {
	out := PacedSchedule{Schedule: s.Jobs, Report: r, holds: map[string]time.Time{}}
	if r.Degraded != nil {
		return out
	}
	jobs, err := s.jobPaces(r, known, now)
	if err != nil {
		return out // a method without a price: its first call reports that
	}
	paces := s.holds(r, now)
	for i := range jobs {
		job := &jobs[i]
		// The first call is admitted later than at a window's first renewal, and a slot is not due before its turn.
		job.Hold = latest(job.Hold, paces[job.Job.Name].Hold)
		due, turn := latest(now, job.Last.Add(job.Gap)), job.Gap
		if job.Waits { // its gap ends with the day; a round of 0 is not known
			turn = job.Round / time.Duration(len(job.Job.Series()))
			due = latest(now.Add(-day), job.Last.Add(turn))
		}
		if job.Hold.After(now) && !job.Last.IsZero() && job.Round > 0 {
			job.Hold = latest(job.Hold, job.Last.Add(job.Gap))
		}
		job.UsedUp = job.Hold.After(now) && s.awake(due, job.Hold) > turn+delayed
		if job.UsedUp {
			out.holds[job.Job.Name] = job.Hold
		}
		paces[job.Job.Name] = job.Pace
	}
	out.Schedule, out.Jobs = s.Jobs.AtPace(paces), jobs
	if s.Idle != 0 {
		out.Schedule = out.Schedule.Waking(s.Idle.wakes)
	}
	return out
}

// NextAt returns the waiting slots and those due by to, at that pace. The times of paced jobs are right as long as the
// budget does not change.
func (s PricedSchedule) NextAt(pace PacedSchedule, l ingest.Latest, now, to time.Time) ([]PricedSlot, error) {
	costs, last := map[string]quota.Cost{}, map[string]time.Time{}
	for _, schedule := range s.Jobs {
		job := schedule.Job
		last[job.Name] = to
		for _, paced := range pace.Jobs {
			if paced.Job.Name == job.Name && paced.Gap > 0 {
				job.Pages = paced.Pages
				last[job.Name] = to.Add(-paced.Gap/2 - 1) // a slot at the very end belongs to the next day
			}
		}
		var err error
		if costs[job.Name], err = s.slotPrice(job); err != nil {
			return nil, err
		}
	}
	var next []PricedSlot
	for _, slot := range pace.Schedule.Until(l, now, to) {
		if !slot.DueAt.After(last[slot.Job]) {
			next = append(next, PricedSlot{SlotKey: slot.SlotKey, Cost: costs[slot.Job]})
		}
	}
	return next, nil
}

// Held returns the schedule as configured, with the times until which a job has nothing left; see regions.Pace.
func (s PricedSchedule) Held(r quota.Report, now time.Time) PacedSchedule {
	holds, until := s.holds(r, now), map[string]time.Time{}
	for job, pace := range holds {
		until[job] = pace.Hold
	}
	return PacedSchedule{Schedule: s.Jobs.AtPace(holds), Report: r, holds: until}
}

// holds returns the jobs that have nothing left, and until when they wait.
func (s PricedSchedule) holds(r quota.Report, now time.Time) map[string]regions.Pace {
	holds := map[string]regions.Pace{}
	for _, schedule := range s.Jobs {
		if hold := s.heldUntil(schedule.Job, r); r.Degraded == nil && hold.After(now) {
			holds[schedule.Job.Name] = regions.Pace{Hold: hold}
		}
	}
	return holds
}

// heldUntil returns when a job that has nothing left has its next call admitted; zero if it has something left.
func (s PricedSchedule) heldUntil(job ingest.Job, r quota.Report) (until time.Time) {
	calls, err := fetch.JobCalls(s.Upstream, job)
	if err != nil {
		return until
	}
	purpose := purposeOf(job.Kind)
	cost, err := s.Tariff.Cost(calls.Methods()[0])
	for _, p := range r.Pools {
		if at := p.ResumesAt[purpose]; err == nil && cost[p.Pool] > 0 && p.Remaining[purpose] == 0 && at.After(until) {
			until = at
		}
	}
	return until
}

// jobPaces returns the jobs that Pace stretches.
func (s PricedSchedule) jobPaces(r quota.Report, known map[ingest.Series]time.Time, now time.Time) ([]JobPace, error) {
	demands, err := s.demands(now)
	if err != nil {
		return nil, err
	}
	var out []JobPace
	for _, schedule := range s.Jobs {
		if schedule.Job.Every == 0 || schedule.Job.Kind == ingest.KindRefresh {
			continue
		}
		pace := JobPace{Job: schedule.Job, Pages: schedule.Job.Pages}
		pace.Sleeps, pace.Wakes = s.Idle.next(now)
		for _, k := range schedule.Keys() {
			pace.Last = latest(pace.Last, known[ingest.Series{Job: schedule.Job.Name, Key: k}])
		}
		for ; ; pace.Pages-- {
			if err := s.stretch(&pace, schedule, demands, r, now); err != nil {
				return nil, err
			}
			asksForMore := !s.WholePages && schedule.Job.Kind == ingest.KindChart && schedule.Job.Every < rareChart
			most := rareChart
			if pace.Pages == s.Pages[schedule.Job.Name] {
				most = tooRareChart
			}
			if !asksForMore || pace.Pages == 1 || pace.Round > 0 && pace.Round <= most {
				break
			}
		}
		for _, k := range schedule.Keys() {
			t, seen := known[ingest.Series{Job: schedule.Job.Name, Key: k}]
			if seen && pace.Gap > 0 && now.Sub(t) > 2*pace.Gap*time.Duration(len(schedule.Keys())) {
				pace.Overdue++
			}
		}
		if pace.Gap > 0 || pace.Hold.After(now) {
			out = append(out, pace)
		}
	}
	return out, nil
}

// stretch sets the gap of a job with p.Pages pages; 0 if the budget pays for its interval.
func (s PricedSchedule) stretch(p *JobPace, schedule regions.JobSchedule, demands map[string][]demand,
	r quota.Report, now time.Time) error {
	job := p.Job
	job.Pages = p.Pages
	price, err := s.slotPrice(job)
	if err != nil {
		return err
	}
	keys := len(job.Series())
	spare := func(pool string) int64 { return retryRoom(job, price[pool]) }
	closed := false
	p.Pace = regions.Pace{Last: p.Last, Round: job.Every, Most: keys, Paid: make([]time.Time, keys),
		Eased: job.Every / time.Duration(keys)}
	for i, pool := range s.Tariff.Pools {
		if price[pool.Name] == 0 || i >= len(r.Pools) {
			continue
		}
		for _, w := range r.Pools[i].Windows {
			b := s.supplyOf(r.Pools[i], w, r.Spent, p.Last, now)
			left := b.left
			b.left -= spare(pool.Name)
			if s.Hosts > 1 { // another host's chart may be running when one begins
				b.left -= price[pool.Name]
			}
			own := demand{schedule, price[pool.Name], job.Every}
			share, budget := b.fill(demands[pool.Name], own, now), b.budget
			b.wake(p, s.Tariff.Grace, price[pool.Name], share)
			gap, eases := b.gap(price[pool.Name], share), now.Add(b.whole)
			p.Eased = max(p.Eased, s.gapAfter(b, demands[pool.Name], own, spare(pool.Name), now))
			if gap > job.Every/time.Duration(keys) {
				if sustained := b.sustainableGap(price[pool.Name], spare(pool.Name), share, s.awake(now, b.renews),
					s.awake(latest(p.Last, now.Add(-day)), now)); sustained > gap {
					gap, eases = sustained, b.renews
				}
			}
			if gap > p.Gap && gap > job.Every/time.Duration(keys) {
				p.Gap, p.Pool, p.Budget, p.Window, p.Ends = gap, pool.Name, budget, w.Window.Name, time.Time{}
				if p.Left, p.Eases = left, eases; w.Window.Day() {
					p.Ends, p.Eases = b.ends, b.ends
				}
				if p.Round = b.round(gap, price[pool.Name], share) * time.Duration(keys); p.Round > 0 {
					p.Round = max(p.Round, job.Every)
				}
				p.Waits = p.Round == 0 || b.spent && b.left < price[pool.Name]
			}
			closed = closed || b.closed
			fits := int(max(0, (b.now.left-spare(pool.Name))/price[pool.Name]))
			p.Most = min(p.Most, fits)
			for n := fits; n < keys; n++ {
				p.Paid[n] = latest(p.Paid[n], b.roomAt(price[pool.Name]*int64(n+1)+spare(pool.Name), price[pool.Name], gap))
			}
			p.Hold = latest(p.Hold, p.Paid[0])
		}
	}
	p.Waits = p.Waits || closed
	if p.Gap > 0 && p.Ends.IsZero() && p.Round > 0 && !p.Last.IsZero() {
		p.Round = max(p.RoundAt(p.Last, keys), job.Every)
	}
	return nil
}

// gapAfter returns the time between slots that a whole length of a window pays for.
func (s PricedSchedule) gapAfter(b supply, demands []demand, own demand, spare int64, now time.Time) time.Duration {
	b.span, b.left, b.spent = b.whole, b.budget-spare, false
	if s.Hosts > 1 {
		b.left -= own.price
	}
	return b.gap(own.price, b.fill(demands, own, now))
}

// retryRoom returns the amount that must be left for a chart's retries, besides its price, when it begins; 0 for
// other jobs.
func retryRoom(job ingest.Job, price int64) int64 {
	if job.Kind != ingest.KindChart || job.Pages == 0 {
		return 0
	}
	return price * int64(fetch.Spare(job.Pages)) / int64(job.Pages)
}
