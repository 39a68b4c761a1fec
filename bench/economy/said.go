package main

import (
	"context"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// What the program says once an hour about what will come is compared with what came.

// saying is what our worker said at one time.
type saying struct {
	at    time.Time
	next  time.Time     // when a chart is next fetched
	held  bool          // until then nothing is left
	every time.Duration // from one chart of a series to its next
	fits  time.Time     // until when everything fits as configured; zero: not said
}

// said counts how often it was true.
type said struct{ All, True int }

func (s *said) count(true bool) {
	s.All++
	if true {
		s.True++
	}
}

// near reports whether what was said is within 10 %, or 15 minutes, of what came.
func near(said, came time.Duration) bool {
	return (said - came).Abs() <= max(15*time.Minute, came/10)
}

// say records what the program says now, by the same parts as its quota and slots commands.
func (p *program) say(ctx context.Context, rec *recorder) error {
	r, err := p.governor.Report(ctx)
	if err != nil {
		return err
	}
	now := p.now()
	latest, err := p.store.Latest(ctx, now)
	if err != nil {
		return err
	}
	planned, _ := p.watch.Expect(ctx, r)
	pace := p.schedule.Pace(planned, latest.Known(), now)
	forecast, err := p.schedule.Forecast(planned, pace.Schedule.Waiting(latest, now), now)
	if err != nil {
		return err
	}
	s := saying{at: now, every: p.every}
	for _, slot := range pace.Schedule.Upcoming(latest, now, len(p.regions)+len(p.also)+2, "") {
		if slot.Job == "chart" {
			s.next, s.held = slot.DueAt, slot.RetryAt.After(now)
			break
		}
	}
	for _, job := range pace.Jobs {
		if job.Job.Name == "chart" {
			s.every, s.held = job.Round, s.held || job.Hold.After(now)
		}
	}
	if forecast.Fits && len(pace.Jobs) == 0 {
		s.fits = forecast.Until
	}
	rec.sayings = append(rec.sayings, s)
	return nil
}

// truth compares what was said with what came: the next chart of any series of the first host, the intervals between
// charts that were under way, and whether any was stopped.
func (rec *recorder) truth(regions []ingest.Region) (next, resumes, every, fits said) {
	var charts []time.Time
	for _, r := range regions {
		charts = append(charts, rec.charts[string(r)]...)
	}
	slices.SortFunc(charts, time.Time.Compare)
	after := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(charts, t, time.Time.Compare)
		return i
	}
	for _, s := range rec.sayings {
		if i := after(s.at.Add(time.Second)); i < len(charts) && !s.next.IsZero() {
			of := &next
			if s.held {
				of = &resumes
			}
			of.count(near(max(0, s.next.Sub(s.at)), charts[i].Sub(s.at)))
		}
		if came := rec.interval(s.at, regions); came > 0 {
			every.count(near(s.every, came))
		}
		if !s.fits.IsZero() {
			fits.count(!slices.ContainsFunc(rec.stops, func(t time.Time) bool { return t.After(s.at) && t.Before(s.fits) }))
		}
	}
	return next, resumes, every, fits
}

// interval returns the mean time between the charts before and after a time; 0 if some series has none.
func (rec *recorder) interval(at time.Time, regions []ingest.Region) (mean time.Duration) {
	for _, r := range regions {
		times := rec.charts[string(r)]
		i, _ := slices.BinarySearchFunc(times, at, time.Time.Compare)
		if i == 0 || i == len(times) {
			return 0
		}
		mean += times[i].Sub(times[i-1]) / time.Duration(len(regions))
	}
	return mean
}
