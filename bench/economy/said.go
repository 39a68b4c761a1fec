package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota"
)

// The program's hourly predictions are compared with the later facts.

// mouths are the kinds of predictions.
var mouths = []string{"next chart", "each series", "headline", "resumes at", "interval", "fits", "does not fit", "exit code"}

// saying is the program's prediction at one time, by its commands, its metrics and the exit code of its last run.
type saying struct {
	at       time.Time
	next     map[ingest.Series]time.Time // when each series is next fetched
	orLater  map[ingest.Series]bool      // or later
	every    time.Duration               // from one chart of a series to its next; 0: no prediction
	last     time.Time                   // when the slot was due that every counts from
	sleeps   time.Time                   // when the sentence expects no more runs; zero: it does not say
	overdue  int                         // the charts that come first, before that pace begins
	ends     time.Time                   // of the day that every is of; zero: it has no end
	resumes  time.Time                   // when the schedule's next call is admitted; zero: it has something left
	closed   time.Time                   // until when a pool is closed, which the headline says then
	doubted  bool                        // the headline, and resumes, say only when one call asks again
	forecast budget.Forecast
	stopped  bool   // the run at that time ended with exit code 75
	refused  bool   // a slot of that run was stopped
	why      string // its source, for -trace
}

// tolerance is the least distance allowed between a true prediction and the event.
const tolerance = 15 * time.Minute

// near reports whether a prediction is within 10 %, or 15 minutes, of the fact.
func near(said, came time.Duration) bool {
	return (max(said, 0) - came).Abs() <= max(tolerance, came/10)
}

// standingStore is the store as standing.Facts.ReadStore asks for it.
type standingStore struct{ *program }

func (s standingStore) Latest(ctx context.Context) (ingest.Latest, error) {
	return s.store.Latest(ctx, s.now())
}

func (s standingStore) CallStats(ctx context.Context) (ingest.CallStats, error) {
	return s.store.CallStats(ctx)
}

// say records the program's present predictions, by the same parts as its commands.
func (p *program) say(ctx context.Context, rec *recorder, worked []ingest.SlotResult) error {
	now := p.now()
	f := standing.Facts{Now: now}
	f.ReadStore(ctx, standingStore{p})
	f.Report, f.LedgerErr = p.governor.Report(ctx)
	if err := f.Foresee(ctx, p.schedule, p.watch); err != nil {
		return err
	}
	s := saying{at: now, next: map[ingest.Series]time.Time{}, orLater: map[ingest.Series]bool{}, every: p.every, forecast: f.Forecast, why: f.Pace.String()}
	for series, slot := range f.Pace.Schedule.Nexts(f.Latest, now) {
		s.next[series], s.orLater[series] = slot.DueAt, f.Forecast.Unsure(slot.DueAt)
	}
	for _, slot := range f.Pace.Schedule.Waiting(f.Latest, now) {
		s.stopped = s.stopped || slot.RetryAt.After(now)
	}
	for _, slot := range worked {
		s.refused = s.refused || slot.State == ingest.Stopped
	}
	s.stopped = s.stopped || s.refused
	for _, job := range f.Pace.Jobs {
		if job.Job.Name == "chart" {
			s.every, s.last, s.ends, s.sleeps, s.overdue = job.Round, job.Last, job.Ends, job.Sleeps, job.Overdue
			if job.Waits { // it says until when, but gives no interval
				s.every = 0
			}
		}
	}
	for _, pool := range f.Pace.Resume(f.Report).Pools {
		if pool.Pool == "units" && pool.Remaining[quota.Scheduled] == 0 {
			s.resumes = pool.ResumesAt[quota.Scheduled]
		}
		if !pool.DrainedUntil.IsZero() && f.Forecast.Scheduled[pool.Pool] > 0 && !f.Forecast.Fits {
			s.closed, s.doubted = pool.DrainedUntil, pool.Probe > 0
		}
		if traced {
			s.why += fmt.Sprintf("; %s drained %s resumes %s", pool.Pool, pool.DrainedUntil.Format("15:04"), pool.ResumesAt[quota.Scheduled].Format("02 15:04"))
		}
	}
	if traced {
		for _, j := range f.Pace.Jobs {
			s.why += fmt.Sprintf("; gap %s round %s hold %s last %s most %d", j.Gap, j.Round, j.Hold.Format("15:04"), j.Last.Format("15:04"), j.Most)
		}
		s.why += fmt.Sprintf("; %s sure %s fits %v runs out %s back %s", f.Forecast.State, f.Forecast.SureUntil.Format("02 15:04"), f.Forecast.Fits, f.Forecast.RunsOutAt.Format("15:04"), f.Forecast.BackAt.Format("02 15:04"))
	}
	rec.sayings = append(rec.sayings, s)
	return nil
}

// truth compares the predictions of the first host with the facts. Predictions on the day of a surprise are counted
// apart.
func (rec *recorder) truth(up *upstream) (usual, surprised tally) {
	usual, surprised = tally{}, tally{}
	var charts []time.Time
	for series, times := range rec.fetched {
		if series.Key != "" {
			charts = append(charts, times...)
		}
	}
	slices.SortFunc(charts, time.Time.Compare)
	refusals := firstRefusals(up)
	for _, s := range rec.sayings {
		t, refused := usual, time.Time{}
		if day := up.day(s.at); surprise(up.taken, day) {
			t, refused = surprised, refusals[day]
		}
		rec.judge(s, charts, t, refused)
	}
	return usual, surprised
}

// firstRefusals returns when the provider first refused a call on each of its days.
func firstRefusals(up *upstream) map[int]time.Time {
	first := map[int]time.Time{}
	for _, call := range up.sim.Log() {
		if day := up.day(call.At); call.Refused == "units" && call.Fault == "" && first[day].IsZero() {
			first[day] = call.At
		}
	}
	return first
}

// judge compares one prediction with the facts; charts are the charts of all series. refused is the day's first
// refusal, if nothing told of it: before, a false prediction of the time after it could not be known.
func (rec *recorder) judge(s saying, charts []time.Time, t tally, refused time.Time) {
	untrue := func(mouth string, came time.Time, format string, args ...any) {
		if s.at.Before(refused) && came.After(refused) {
			t.hide(mouth)
		}
		if traced {
			fmt.Printf("%s %s: %s (%s)\n", s.at.Format("01-02 15:04"), mouth, fmt.Sprintf(format, args...), s.why)
		}
	}
	count := func(mouth string, said, came time.Time) {
		if said = rec.nextRun(said); !t.count(mouth, near(said.Sub(s.at), came.Sub(s.at))) {
			untrue(mouth, came, "said %s, came %s", said.Format("02 15:04"), came.Format("02 15:04"))
		}
	}
	is := func(mouth string, came bool) {
		if !t.count(mouth, came) {
			untrue(mouth, rec.to, "not true")
		}
	}
	soonest := time.Time{}
	for series, next := range s.next {
		if came, ok := after(rec.fetched[series], s.at); ok && s.orLater[series] && came.After(next) {
			t.count("each series", true)
		} else if ok {
			count("each series", next, came)
		}
		if series.Key != "" && (soonest.IsZero() || next.Before(soonest)) {
			soonest = next
		}
	}
	came, ok := after(charts, s.at)
	if !ok {
		return
	}
	count("next chart", soonest, came)
	if asked, _ := after(rec.asked, s.at); s.doubted && !s.resumes.IsZero() && near(s.resumes.Sub(s.at), s.closed.Sub(s.at)) {
		count("resumes at", s.resumes, asked) // else the pace names the hour of a chart
	} else if !s.resumes.IsZero() {
		count("resumes at", s.resumes, came)
	}
	if said, interval := rec.interval(s); interval > 0 && s.every > 0 && !t.count("interval", near(said, interval)) {
		untrue("interval", s.at.Add(interval), "said %s, as %s, came %s", s.every, said, interval)
	}
	if traced && s.stopped {
		fmt.Printf("%s stopped, refused %v (%s)\n", s.at.Format("01-02 15:04"), s.refused, s.why)
	}
	is("exit code", s.stopped && (s.refused || rec.hole(s, charts)) || !s.stopped && !s.refused)
	f := s.forecast
	if wanted, got := rec.wanted(s.at, f.Until), rec.got(s.at, f.Until); wanted > len(rec.sizes) && f.Until.Before(rec.to) {
		if f.Fits {
			is("fits", got >= wanted-len(rec.sizes))
		} else {
			is("does not fit", got < wanted)
		}
	}
	rec.judgeHeadline(s, charts, count, is)
}

// judgeHeadline compares the sentence about the quota with the facts. count compares a time with its fact, is records
// whether the rest came true.
func (rec *recorder) judgeHeadline(s saying, charts []time.Time, count func(mouth string, said, came time.Time), is func(string, bool)) {
	f, turn := s.forecast, s.every/time.Duration(len(rec.world.regions))
	came, _ := after(charts, s.at)
	switch stop, stops := rec.nextStop(s.at, charts, turn); {
	case s.doubted:
	case !s.closed.IsZero():
		count("headline", s.closed, came)
	case f.State == budget.Slower && !f.SureUntil.IsZero(): // it promises nothing of the time from then on
		if s.at.Before(f.SureUntil) {
			is("headline", !stops || !stop.Before(f.SureUntil))
		}
	case f.State == budget.Lasts || f.State == budget.Slower:
		is("headline", !stops || !stop.Before(f.Until))
	case f.State == budget.UsedUp:
		count("headline", f.BackAt, came)
	case f.State == budget.RunsOut && stops && f.BackAt.After(f.RunsOutAt):
		count("headline", f.RunsOutAt, stop)
	default:
		is("headline", false)
	}
}

// after returns the first of the times that is a second after t, or later.
func after(times []time.Time, t time.Time) (time.Time, bool) {
	i, _ := slices.BinarySearchFunc(times, t.Add(time.Second), time.Time.Compare)
	if i == len(times) {
		return t, false
	}
	return times[i], true
}

// hole reports whether charts were further apart at that time than two turns of the predicted interval.
func (rec *recorder) hole(s saying, charts []time.Time) bool {
	i, _ := slices.BinarySearchFunc(charts, s.at, time.Time.Compare)
	return i == 0 || i == len(charts) || charts[i].Sub(charts[i-1]) > 2*s.every/time.Duration(len(rec.world.regions))+15*time.Minute
}

// nextStop returns when quota next stopped a run, and no chart came for a turn afterwards, nor in the first run after
// that. A stop is not judged if the simulation ends before.
func (rec *recorder) nextStop(at time.Time, charts []time.Time, turn time.Duration) (time.Time, bool) {
	stops := slices.Clone(rec.stops)
	for _, s := range rec.sayings {
		if s.stopped {
			stops = append(stops, s.at)
		}
	}
	slices.SortFunc(stops, time.Time.Compare)
	for _, stop := range stops {
		came, ok := after(charts, stop)
		if !ok {
			came = rec.to
		}
		if stop.After(at) && came.After(rec.nextRun(stop.Add(turn)).Add(tolerance)) {
			return stop, true
		}
	}
	return at, false
}

// wanted returns how many charts are configured to be due between two times.
func (rec *recorder) wanted(from, to time.Time) (n int) {
	for _, every := range rec.sizes {
		n += int(max(0, to.Sub(from)) / every)
	}
	return n
}

// got returns how many came.
func (rec *recorder) got(from, to time.Time) (n int) {
	for series := range rec.sizes {
		for _, t := range rec.fetched[series] {
			if t.After(from) && !t.After(to) {
				n++
			}
		}
	}
	return n
}

// nextRun returns when the next run fetches a slot that is due then.
func (rec *recorder) nextRun(due time.Time) time.Time {
	if tick := rec.world.tick; tick > 0 {
		return rec.from.Add((due.Sub(rec.from) + tick - 1).Truncate(tick))
	}
	return due
}

// interval returns how long the round takes that is under way at the time of a prediction, as predicted and in fact,
// without hours when our machine sleeps: from the last chart before to as many charts later as there are regions. If
// the prediction ends earlier, it is the pace until the first chart after that; if the provider may refuse, or no run is
// expected, from an hour on, it is the pace of the turns that are due before. Where runs are rare, the predicted round begins when the
// last slot was due, and ends with the next run. Both are 0 if that is not known.
func (rec *recorder) interval(s saying) (said, came time.Duration) {
	var charts []time.Time
	for _, r := range rec.world.regions {
		charts = append(charts, rec.charts[string(r)]...)
	}
	slices.SortFunc(charts, time.Time.Compare)
	first, _ := slices.BinarySearchFunc(charts, s.at.Add(time.Second), time.Time.Compare) // after the charts of this run
	first += s.overdue
	keys := len(rec.world.regions)
	last := first - 1 + keys
	if next, _ := slices.BinarySearchFunc(charts, s.ends, time.Time.Compare); !s.ends.IsZero() {
		last = max(first, min(last, next))
	}
	for _, until := range []time.Time{s.forecast.SureUntil, s.sleeps} { // the turns that are due before
		if !until.IsZero() && first > 0 && s.every > 0 {
			turns := max(0, until.Sub(charts[first-1])*time.Duration(keys)/s.every)
			last = min(last, first-1+int(turns))
		}
	}
	if first == 0 || last < first || last >= len(charts) || !s.ends.IsZero() && !s.at.Before(s.ends) {
		return 0, 0
	}
	from, turns := charts[first-1], time.Duration(last-first+1)
	whole := func(to time.Time) time.Duration {
		return rec.awake(from, to) * time.Duration(keys) / turns
	}
	if said = s.every; rec.world.tick > 0 && !s.last.IsZero() {
		said = whole(rec.nextRun(s.last.Add(s.every * turns / time.Duration(keys))))
	}
	return said, whole(charts[last])
}

// awake returns the time between two times without the hours when our machine sleeps.
func (rec *recorder) awake(from, to time.Time) time.Duration {
	sum := to.Sub(from)
	for t := from; t.Before(to); t = t.Add(time.Minute) {
		if rec.world.trouble.asleep(t) {
			sum -= time.Minute
		}
	}
	return sum
}
