package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// The program's hourly predictions are compared with what happened.

// saying is one prediction of our worker.
type saying struct {
	at    time.Time
	next  time.Time     // when a chart is next fetched
	held  bool          // until then nothing is left
	every time.Duration // from one chart of a series to its next
	why   string        // what it was computed from, for -trace
	fits  time.Time     // until when everything fits as configured; zero: no prediction
}

// said counts predictions, and how many were true.
type said struct{ All, True int }

func (s *said) count(true bool) {
	s.All++
	if true {
		s.True++
	}
}

func (s said) and(other said) said { return said{s.All + other.All, s.True + other.True} }

// near reports whether a prediction is within 10 %, or 15 minutes, of what came.
func near(said, came time.Duration) bool {
	return (said - came).Abs() <= max(15*time.Minute, came/10)
}

// say records the program's present predictions, by the same parts as its quota and slots commands.
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
	forecast, err := p.schedule.Forecast(r, pace, pace.Schedule.Waiting(latest, now), now)
	if err != nil {
		return err
	}
	s := saying{at: now, every: p.every}
	for _, slot := range pace.Schedule.Upcoming(latest, now, 1, func(s ingest.Series) bool { return s.Job == "chart" }) {
		s.next, s.held = slot.DueAt, slot.RetryAt.After(now)
	}
	for _, job := range pace.Jobs {
		if job.Job.Name == "chart" {
			s.every, s.held = job.Round, s.held || job.Hold.After(now)
			if job.Waits { // it says until when, but gives no interval
				s.every = 0
			}
		}
	}
	s.why = pace.String()
	if traced {
		for i, p := range planned.Pools {
			if p.Pool == "units" {
				for j, w := range p.Windows {
					s.why += fmt.Sprintf("; %s used %d, expected %d, frees %s", w.Window.Name, r.Pools[i].Windows[j].Used, w.Used, w.FreesAt.Format("15:04"))
				}
				s.why += fmt.Sprintf("; drained %s; resumes %s", p.DrainedUntil.Format("15:04"), p.ResumesAt[quota.Scheduled].Format("02 15:04"))
			}
		}
		for _, j := range pace.Jobs {
			s.why += fmt.Sprintf("; gap %s hold %s last %s most %d", j.Gap, j.Hold.Format("15:04"), j.Last.Format("15:04"), j.Most)
		}
	}
	if forecast.Fits {
		s.fits = forecast.Until
	}
	rec.sayings = append(rec.sayings, s)
	return nil
}

// truth compares predictions with what came: the next chart of any series of the first host, the intervals between
// charts at that time, and whether any was stopped.
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
			tally := &next
			if s.held {
				tally = &resumes
			}
			tally.count(near(max(0, s.next.Sub(s.at)), charts[i].Sub(s.at)))
			rec.trace(map[bool]string{false: "next", true: "resumes"}[s.held], s, max(0, s.next.Sub(s.at)), charts[i].Sub(s.at))
		}
		if came := rec.interval(s.at, regions); came > 0 && s.every > 0 {
			every.count(near(s.every, came))
			rec.trace("interval", s, s.every, came)
			if traced {
				mean, n := time.Duration(0), 0
				for _, r := range regions {
					times := rec.charts[string(r)]
					if i, _ := slices.BinarySearchFunc(times, s.at, time.Time.Compare); i+1 < len(times) {
						mean, n = mean+times[i+1].Sub(times[i]), n+1
					}
				}
				if n == len(regions) {
					rec.trace("forward", s, s.every, mean/time.Duration(n))
				}
			}
		}
		if !s.fits.IsZero() {
			fits.count(!slices.ContainsFunc(rec.stops, func(t time.Time) bool {
				i := after(t)
				late := i == len(charts) || charts[i].Sub(t) > rec.world.every // a shorter stop costs no chart
				return late && t.After(s.at) && t.Before(s.fits)
			}))
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

// trace prints a prediction that was not true.
func (rec *recorder) trace(what string, s saying, said, came time.Duration) {
	if traced && !near(said, came) {
		fmt.Printf("%s %s: said %s, came %s (%s)\n", s.at.Format("01-02 15:04"), what, said.Round(time.Second), came.Round(time.Second), s.why)
	}
}
