package regions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/trendvidstream/ingest"
)

// Bounds of an interval.
const (
	MinEvery = time.Minute
	MaxEvery = 30 * 24 * time.Hour
)

// lookBack is how far the time before now is searched for a cron line's last fire, and the time
// after it for its next: 29 February comes within eight years.
const lookBack = 8*366*24*time.Hour + 24*time.Hour

// Schedule is when one job is due. New makes one.
type Schedule struct {
	Job  ingest.Job
	cron cron.Schedule // nil for an interval
}

// New checks a job's timing. Exactly one of Every and Cron must be set.
func New(job ingest.Job) (Schedule, error) {
	s := Schedule{Job: job}
	switch {
	case (job.Every == 0) == (job.Cron == ""):
		return s, fmt.Errorf("job %s: set either every: or cron:", job.Name)
	case job.Cron != "":
		parsed, err := parseCron(job.Cron)
		if err != nil {
			return s, fmt.Errorf("job %s: %w", job.Name, err)
		}
		s.cron = parsed
	case job.Every < MinEvery || job.Every > MaxEvery || job.Every%time.Second != 0:
		return s, fmt.Errorf("job %s: every: %v is not a whole number of seconds from %v to %v: try 30m", job.Name, job.Every, MinEvery, MaxEvery)
	}
	return s, nil
}

func parseCron(line string) (cron.Schedule, error) {
	if zone, rest, _ := strings.Cut(line, " "); strings.HasPrefix(zone, "TZ=") || strings.HasPrefix(zone, "CRON_TZ=") {
		if strings.TrimSpace(rest) == "" {
			return nil, fmt.Errorf("cron: %q is a zone without a line: try %q", line, zone+" */30 * * * *")
		}
	} else {
		line = "CRON_TZ=UTC " + line
	}
	s, err := cron.ParseStandard(line)
	if err != nil {
		return nil, fmt.Errorf("cron: %w: try \"*/30 * * * *\"", err)
	}
	if spec, ok := s.(*cron.SpecSchedule); !ok {
		return nil, fmt.Errorf("cron: %q: write an interval as every:", line)
	} else if spec.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, fmt.Errorf("cron: %q never fires: is there such a day?", line)
	}
	return s, nil
}

// Keys are the keys of the job's slots: its regions, or "" for a job without any.
func (s Schedule) Keys() []string {
	if len(s.Job.Regions) == 0 {
		return []string{""}
	}
	keys := make([]string, len(s.Job.Regions))
	for i, r := range s.Job.Regions {
		keys[i] = string(r)
	}
	return keys
}

// Between is every slot due after from and not after to, oldest first.
//
// An interval is counted from 1970 in UTC and divided over the keys, so that eight regions every 30
// minutes are due 3 min 45 s apart, the same on every host. A cron line is due for all its keys at
// once: who writes 06:00 means 06:00.
func (s Schedule) Between(from, to time.Time) []ingest.SlotKey {
	var out []ingest.SlotKey
	for i, key := range s.Keys() {
		for _, due := range s.times(i, from, to) {
			out = append(out, ingest.SlotKey{Job: s.Job.Name, Key: key, DueAt: due})
		}
	}
	slices.SortStableFunc(out, func(a, b ingest.SlotKey) int { return a.DueAt.Compare(b.DueAt) })
	return out
}

// Latest is the newest slot of every key that is due at now, oldest first.
func (s Schedule) Latest(now time.Time) []ingest.SlotKey {
	var out []ingest.SlotKey
	for i, key := range s.Keys() {
		if due, ok := s.latest(i, now); ok {
			out = append(out, ingest.SlotKey{Job: s.Job.Name, Key: key, DueAt: due})
		}
	}
	slices.SortStableFunc(out, func(a, b ingest.SlotKey) int { return cmp.Compare(a.DueAt.Unix(), b.DueAt.Unix()) })
	return out
}

// Next is when the job is next due for any key, after now.
func (s Schedule) Next(now time.Time) time.Time {
	var next time.Time
	for i := range s.Keys() {
		if t := s.next(i, now); next.IsZero() || t.Before(next) {
			next = t
		}
	}
	return next
}

func (s Schedule) times(i int, from, to time.Time) []time.Time {
	var out []time.Time
	for t := s.next(i, from); !t.IsZero() && !t.After(to); t = s.next(i, t) {
		out = append(out, t)
	}
	return out
}

// next is the first time after t at which key i is due.
func (s Schedule) next(i int, t time.Time) time.Time {
	if s.cron != nil {
		return s.cron.Next(t).UTC()
	}
	every := int64(s.Job.Every / time.Second)
	offset := s.offset(i)
	n := floorDiv(t.Unix()-offset, every) + 1
	return time.Unix(n*every+offset, 0).UTC()
}

func (s Schedule) latest(i int, now time.Time) (time.Time, bool) {
	if s.cron == nil {
		return s.next(i, now).Add(-s.Job.Every), true
	}
	for span := time.Hour; ; span = min(span*24, lookBack) {
		if times := s.times(i, now.Add(-span), now); len(times) > 0 {
			return times[len(times)-1], true
		}
		if span == lookBack {
			return time.Time{}, false
		}
	}
}

// offset is how many seconds into each interval key i is due.
func (s Schedule) offset(i int) int64 {
	return int64(s.Job.Every/time.Second) * int64(i) / int64(len(s.Keys()))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
