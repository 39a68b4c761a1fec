package regions

import (
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/trendvidstream/ingest"
)

// Bounds of an interval.
const (
	MinEvery = time.Minute
	MaxEvery = 30 * 24 * time.Hour
)

// cronSpread is the longest span, in seconds, over which the keys of a cron line are spread.
const cronSpread = 30 * 60

// robfig/cron can run these schedules too.
var (
	_ cron.Schedule = JobSchedule{}
	_ cron.Schedule = Schedule(nil)
)

// JobSchedule is when one job is due, by its interval or cron line; NewJobSchedule makes one. It knows no stored slots:
// for these see Schedule.
type JobSchedule struct {
	Job   ingest.Job
	keys  []string                  // of the job's slots
	cron  *cronLine                 // nil for an interval
	pace  *Pace                     // nil: not paced
	wakes func(time.Time) time.Time // the first time at or after a time when something runs; nil: always
}

// NewJobSchedule checks a job's timing: exactly one of Every and Cron must be set, and no region twice. An error says
// what to write instead.
func NewJobSchedule(job ingest.Job) (JobSchedule, error) {
	s := JobSchedule{Job: job}
	for _, series := range job.Series() {
		if slices.Contains(s.keys, series.Key) {
			return s, fmt.Errorf("job %q: region %q is named twice", job.Name, series.Key)
		}
		s.keys = append(s.keys, series.Key)
	}
	switch {
	case (job.Every == 0) == (job.Cron == ""):
		return s, fmt.Errorf("job %q: set either every: or cron:, such as every: 30m", job.Name)
	case job.Cron != "":
		parsed, err := parseCron(job.Cron)
		if err != nil {
			return s, fmt.Errorf("job %q: %w", job.Name, err)
		}
		s.cron = parsed
	case job.Every < MinEvery || job.Every > MaxEvery || job.Every%time.Second != 0:
		return s, fmt.Errorf("job %q: every: %v is not a whole number of seconds from %v to %v: try 30m",
			job.Name, job.Every, MinEvery, MaxEvery)
	}
	return s, nil
}

// Keys returns the keys of the job's slots: its regions, or "" for a job without any.
func (s JobSchedule) Keys() []string { return slices.Clone(s.keys) }

// Between returns every slot due after from and not after to, oldest first.
//
// An interval is counted from 1970 in UTC and divided over the keys: eight regions every 30 minutes are due 3 min 45 s
// apart, on every host alike. The default is the time from one tick of a cron line to the next, but at most 30
// minutes of it: of a line for 06:00 the first region is due at 06:00, the last before 06:30. With Job.AtOnce nothing
// is divided.
func (s JobSchedule) Between(from, to time.Time) []ingest.SlotKey {
	var out []ingest.SlotKey
	for i := range s.keys {
		for _, due := range s.times(i, from, to) {
			out = append(out, s.slotKey(i, due))
		}
	}
	slices.SortStableFunc(out, byDue)
	return out
}

// Count returns how many slots Between returns.
func (s JobSchedule) Count(from, to time.Time) (n int) {
	for i := range s.keys {
		if s.cron != nil {
			n += len(s.times(i, from, to))
			continue
		}
		every, offset := s.interval(i)
		n += max(0, int((to.Unix()-offset)/every-(from.Unix()-offset)/every))
	}
	return n
}

// Latest returns the newest slot of every key that is due at now, oldest first.
func (s JobSchedule) Latest(now time.Time) []ingest.SlotKey {
	var out []ingest.SlotKey
	for i := range s.keys {
		out = append(out, s.slotKey(i, s.latest(i, now)))
	}
	slices.SortStableFunc(out, byDue)
	return out
}

// Next returns when the job is next due for any key, after now.
func (s JobSchedule) Next(now time.Time) (soonest time.Time) {
	for i := range s.keys {
		if t := s.next(i, now); soonest.IsZero() || t.Before(soonest) {
			soonest = t
		}
	}
	return soonest
}

// NextTimes returns the next n times after now when the job's first key is due, soonest first.
func (s JobSchedule) NextTimes(now time.Time, n int) []time.Time {
	var out []time.Time
	for t := s.next(0, now); len(out) < n; t = s.next(0, t) {
		out = append(out, t)
	}
	return out
}

func (s JobSchedule) slotKey(i int, due time.Time) ingest.SlotKey {
	return ingest.SlotKey{Job: s.Job.Name, Key: s.keys[i], DueAt: due}
}

// times returns when key i is due after from and not after to, oldest first.
func (s JobSchedule) times(i int, from, to time.Time) []time.Time {
	var out []time.Time
	for t := s.next(i, from); !t.After(to); t = s.next(i, t) {
		out = append(out, t)
	}
	return out
}

// next returns the first time after t when key i is due.
func (s JobSchedule) next(i int, t time.Time) time.Time {
	if s.cron != nil {
		due := s.staggered(i, s.cron.latest(t.Unix()))
		if due <= t.Unix() {
			due = s.staggered(i, s.cron.next(t.Unix()))
		}
		return time.Unix(due, 0).UTC()
	}
	every, offset := s.interval(i)
	return time.Unix(((t.Unix()-offset)/every+1)*every+offset, 0).UTC()
}

// latest returns the last time, not after now, when key i is due.
func (s JobSchedule) latest(i int, now time.Time) time.Time {
	if s.cron != nil {
		tick := s.cron.latest(now.Unix())
		due := s.staggered(i, tick)
		if due > now.Unix() {
			due = s.staggered(i, s.cron.latest(tick-1))
		}
		return time.Unix(due, 0).UTC()
	}
	every, offset := s.interval(i)
	return time.Unix((now.Unix()-offset)/every*every+offset, 0).UTC()
}

// interval returns the job's interval, and the offset into it at which key i is due, both in seconds.
func (s JobSchedule) interval(i int) (every, offset int64) {
	every = int64(s.Job.Every / time.Second)
	return every, s.offset(i, every)
}

// staggered returns when key i is due for a tick of the cron line.
func (s JobSchedule) staggered(i int, tick int64) int64 {
	if i == 0 || s.Job.AtOnce {
		return tick
	}
	return tick + s.offset(i, min(s.cron.next(tick)-tick, cronSpread))
}

// offset returns the part of a span, in seconds, after which key i is due.
func (s JobSchedule) offset(i int, span int64) int64 {
	if s.Job.AtOnce {
		return 0
	}
	return span * int64(i) / int64(len(s.keys))
}

func byDue(a, b ingest.SlotKey) int { return a.DueAt.Compare(b.DueAt) }

func bySlotDue(a, b ingest.Slot) int { return byDue(a.SlotKey, b.SlotKey) }
