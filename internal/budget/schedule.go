// Package budget prices schedules and backfills before they run, and computes the schedule's remaining need before
// the provider's midnight and the rest beside it. It only computes: callers pass in the knowledge about the past.
package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/amount"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

const day = 24 * time.Hour

// PricedSchedule has the due times of the jobs, the upstream that their slots call, and the costs of those calls.
type PricedSchedule struct {
	Jobs     regions.Schedule
	Upstream fetch.Upstream
	Tariff   *quota.Tariff
	Hosts    int // how many use the ledger, each with its own store, as far as known; 0: only this one
	// WholePages keeps the pages of a paced chart as configured, however rare it gets.
	WholePages bool
	Idle       IdleHours      // hours that nothing is planned for
	Counted    map[string]int // by job of charted videos: how many its last slot counted; nil: not known
	Pages      map[string]int // by job of charts: how many its last slot has; nil: not known
}

// Price is the most that a schedule costs over a span of time, per job and in total. For a backfill's see Estimate.
type Price struct {
	Jobs  []JobPrice
	Total quota.Cost
}

// JobPrice is the price of one job's slots over a span of time. Price adds them up.
type JobPrice struct {
	Job   ingest.Job
	Slots int
	Cost  quota.Cost // empty for a job whose price depends on stored rows
}

// Expected returns the cost of a job of uploads, by pool, if the given number of videos come in the span, at random
// times: a slot that finds none makes no look-up.
func (j JobPrice) Expected(uploads int) quota.Cost {
	series := len(j.Job.Series())
	lookUps := float64(j.Slots) / float64(series)
	made := lookUps * (1 - math.Pow(1-1/max(lookUps, 1), float64(uploads)))
	expected := quota.Cost{}
	for pool, cost := range j.Cost {
		expected[pool] = cost - int64(math.Round(float64(cost)*(lookUps-made)/float64(j.Slots)))
	}
	return expected
}

// Once returns how many more units the first slots of a job take, at most: to find each channel and look its newest
// videos up, or to look up the videos of a list, perLookUp in a call.
func (j JobPrice) Once(perLookUp int) int {
	return 2*len(j.Job.Channels) + ceilDiv(len(j.Job.Videos), perLookUp)
}

// DayPrice prices the day that begins now.
func (s PricedSchedule) DayPrice(now time.Time) (Price, error) { return s.Price(now, now.Add(day)) }

// Price prices every slot due after from and by to. A list that ends early costs less.
func (s PricedSchedule) Price(from, to time.Time) (Price, error) {
	p := Price{Total: quota.Cost{}}
	for _, schedule := range s.Jobs {
		slot, err := s.slotPrice(schedule.Job)
		if err != nil {
			return p, err
		}
		slots := schedule.Count(from, to)
		cost := slot.Times(int64(slots))
		p.Total.Add(cost, 1)
		p.Jobs = append(p.Jobs, JobPrice{Job: schedule.Job, Slots: slots, Cost: cost})
	}
	return p, nil
}

// PricedSlot is a future slot and the most that it costs; its Cost is empty if that depends on stored rows.
type PricedSlot struct {
	ingest.SlotKey
	Cost quota.Cost
	Fits bool // it is paid for when it is due; see Foresee
}

// ChartsEvery returns the jobs with charts fetched at that interval; 0: unchanged.
func ChartsEvery(jobs []ingest.Job, every time.Duration) []ingest.Job {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		if jobs[i].Kind == ingest.KindChart && every > 0 {
			jobs[i].Every, jobs[i].Cron = every, ""
		}
	}
	return jobs
}

// slotPrice returns the most that one slot of a job costs; empty if that depends on stored rows.
func (s PricedSchedule) slotPrice(job ingest.Job) (quota.Cost, error) {
	calls, err := fetch.JobCalls(s.Upstream, job)
	if err != nil {
		return nil, fmt.Errorf("price job %s: %w", job.Name, err)
	}
	if err := s.affords(job, calls.Methods()); err != nil {
		return nil, err
	}
	slot := quota.Cost{}
	if job.Kind == ingest.KindUploads { // a page of a list, or a look-up for all channels
		costs, err := BackfillCalls(ingest.BackfillUploads, s.Upstream, s.Tariff)
		return costs.PerCall(), err
	}
	if job.Kind == ingest.KindVideos {
		cost, err := s.Tariff.Cost(calls.Lookup)
		return cost.Times(int64(ceilDiv(s.videosOf(job), s.Upstream.Limits().IDsPerCall))), err
	}
	for _, call := range calls.PerPage(s.Upstream.Limits()) {
		cost, err := s.Tariff.Cost(call.Method)
		if err != nil {
			return nil, fmt.Errorf("price job %s: %w", job.Name, err)
		}
		slot.Add(cost, int64(call.Calls*job.Pages))
	}
	return slot, nil
}

// videosOf returns how many videos a slot of a watch list counts. Of charted ones that is as many as its last slot
// counted or, before the first, as many as all charts of the schedule have places.
func (s PricedSchedule) videosOf(job ingest.Job) int {
	if counted, known := s.Counted[job.Name]; known || job.Charted == 0 {
		return max(counted, len(job.Videos))
	}
	limits, places := s.Upstream.Limits(), 0
	for _, schedule := range s.Jobs {
		if chart := schedule.Job; chart.Kind == ingest.KindChart {
			places += len(chart.Regions) * min(chart.Pages, limits.ChartPages) * limits.PerPage
		}
	}
	return len(job.Videos) + places
}

// lastSizes returns the number of videos of the newest done slot of each job of charted videos, and the number of pages
// of each job of charts.
func (s PricedSchedule) lastSizes(slots []ingest.Slot) (videos, pages map[string]int) {
	videos, pages, newest := map[string]int{}, map[string]int{}, map[string]time.Time{}
	for _, schedule := range s.Jobs {
		for _, slot := range slots {
			job := schedule.Job
			if slot.Job != job.Name || slot.State != ingest.Done || !slot.DueAt.After(newest[job.Name]) {
				continue
			}
			if newest[job.Name] = slot.DueAt; job.Charted > 0 {
				videos[job.Name] = slot.Videos
			} else if job.Kind == ingest.KindChart {
				pages[job.Name] = slot.Pages
			}
		}
	}
	return videos, pages
}

// affords returns an ErrNeverFits if a job calls a method that costs more than the job may ever spend.
func (s PricedSchedule) affords(job ingest.Job, methods []string) error {
	purpose := purposeOf(job.Kind)
	ceilings := Ceilings(s.Tariff, purpose)
	for _, method := range methods {
		cost, err := s.Tariff.Cost(method)
		if err != nil {
			return fmt.Errorf("price job %s: %w", job.Name, err)
		}
		for _, pool := range s.Tariff.PoolNames() {
			if cost[pool] > ceilings[pool] {
				return fmt.Errorf("job %s %w: %s costs %d of %s, and purpose %s may use %d of it: "+
					"raise the limit or ceilings.%s in the costs",
					job.Name, quota.ErrNeverFits, method, cost[pool], pool, purpose, ceilings[pool], purpose)
			}
		}
	}
	return nil
}

func purposeOf(kind ingest.Kind) quota.Purpose {
	if kind == ingest.KindRefresh {
		return quota.Refresh
	}
	return quota.Scheduled
}

// NeverCalled warns of each method that costs more than any purpose may ever spend.
func NeverCalled(t *quota.Tariff) (warnings []string) {
	most := map[string]int64{}
	for _, purpose := range quota.Purposes() {
		for pool, ceiling := range Ceilings(t, purpose) {
			most[pool] = max(most[pool], ceiling)
		}
	}
	for _, method := range slices.Sorted(maps.Keys(t.Methods)) {
		for _, pool := range t.PoolNames() {
			if cost := t.Methods[method][pool]; cost > most[pool] {
				warnings = append(warnings, fmt.Sprintf("%s costs %d %s, and no purpose may use more than %d: "+
					"it can never be called", method, cost, pool, most[pool]))
			}
		}
	}
	return warnings
}

// UnfitError is a schedule that the quota does not pay for, and a schedule that it would pay for.
type UnfitError struct{ What, Cure string }

func (e *UnfitError) Error() string { return e.What + ": " + e.Cure }

// Fits checks that a day at this price and a backfill at its ceiling fit together under the schedule's ceiling.
// Otherwise a backfill in the morning leaves regions stale in the evening. A window shorter than a day must admit a day
// of the schedule. The error is an *UnfitError about the window that lacks most.
func (p Price) Fits(t *quota.Tariff) error {
	var worst *UnfitError
	most := 0.0
	for _, pool := range t.Pools {
		for _, w := range pool.Windows {
			if unfit, over := p.unfit(t, pool.Name, w); unfit != nil && over > most {
				worst, most = unfit, over
			}
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}

// unfit returns the error of a window that does not pay for a day, and the day's cost as a multiple of the window's
// amount for the schedule; nil if the day fits.
func (p Price) unfit(t *quota.Tariff, pool string, w quota.Window) (unfit *UnfitError, over float64) {
	total := p.Total[pool]
	need, scheduled := inWindow(total, w), t.Ceilings[quota.Scheduled].Of(w.Limit)
	backfill, through := t.Ceilings[quota.Backfill].Of(w.Limit), perDay(scheduled, w)
	const begins = "the schedule does not fit: a day of it costs "
	n := amount.Thousands
	switch {
	case total == 0:
	case !w.Day() && w.Length < day: // slots that are due at once wait for the next minute
		if total > through {
			return &UnfitError{fmt.Sprintf(begins+"%s, and window %s lets %s of them through in a day, %s of %s at a time",
				amount.Of(total, pool), w.Name, n(through), n(scheduled), n(w.Limit)),
				fmt.Sprintf("fetch less often (%s), fewer pages or regions", p.longerIntervals(total, through, total)),
			}, float64(total) / float64(max(through, 1))
		}
	case need+backfill > scheduled:
		return &UnfitError{fmt.Sprintf(
			begins+"%s, a backfill may use %s, and the schedule has to stop at %s of %s in window %s",
			amount.Of(need, pool), n(backfill), n(scheduled), n(w.Limit), w.Name),
			fmt.Sprintf("fetch less often (%s), fewer pages or regions, or lower ceilings.backfill in the costs",
				p.longerIntervals(need, scheduled-backfill, scheduled)),
		}, float64(need+backfill) / float64(max(scheduled, 1))
	}
	return nil, 0
}

// longerIntervals names the intervals at which a day that needs that much would fit: beside a backfill at its ceiling,
// and alone under the whole ceiling.
func (p Price) longerIntervals(need, beside, alone int64) string {
	var every time.Duration
	for _, j := range p.Jobs {
		if j.Job.Every > 0 && j.Cost.MaxCharge() > 0 {
			if every > 0 && every != j.Job.Every {
				return "every:" // there is more than one interval
			}
			every = j.Job.Every
		}
	}
	if every == 0 || alone <= 0 {
		return "every:"
	}
	fits := func(room int64) string {
		const step = 5 * time.Minute
		d := time.Duration(float64(every) * float64(need) / float64(room))
		return "every: " + strictyaml.FormatDuration((d+step-1)/step*step)
	}
	if beside <= 0 {
		return fits(alone) + " fits where no backfill runs"
	}
	text := fits(beside) + " fits"
	if need > alone && fits(alone) != fits(beside) {
		text += ", or " + fits(alone) + " where no backfill runs"
	}
	return text
}

// Ceilings returns the ceiling of a purpose in each pool, in the window that allows least.
func Ceilings(t *quota.Tariff, purpose quota.Purpose) map[string]int64 {
	ceilings := map[string]int64{}
	for _, pool := range t.Pools {
		least := int64(quota.MaxLimit)
		for _, w := range pool.Windows {
			least = min(least, t.Ceilings[purpose].Of(w.Limit))
		}
		ceilings[pool.Name] = least
	}
	return ceilings
}

// inWindow converts an amount per day to an amount per window.
func inWindow(amount int64, w quota.Window) int64 {
	if w.Day() {
		return amount
	}
	return int64(float64(amount) * w.Length.Hours() / day.Hours())
}

func perDay(amount int64, w quota.Window) int64 {
	if w.Day() {
		return amount
	}
	return int64(float64(amount) / w.Length.Hours() * day.Hours())
}
