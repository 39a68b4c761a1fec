package regions

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// Pace is how a job's slots are spread out when its budget does not pay for its interval.
type Pace struct {
	// Gap is the time from one slot of the job to the next, whatever its key: the keys take turns.
	Gap time.Duration
	// Round is the time from one slot of a series to its next, by which its data are judged: Gap times the number of
	// keys or, while nothing is left until Hold and Gap is only a wait, what the budget of a whole window pays for. 0
	// for the job's own interval.
	Round time.Duration
	// Last is when the job's newest slot, of any key, was due; zero if it has none.
	Last time.Time
	// Hold is the time until which the budget pays for no slot at all; zero if it pays for the next one.
	Hold time.Time
	// Most is how many slots the budget pays for at present.
	Most int
	// Weights says how much the age of each key counts; a key that is missing counts 1. With equal weights the key
	// whose newest slot is oldest comes first.
	Weights map[string]float64
}

// nextKey returns the key whose turn it is at t: the one with the highest weighted age; of equals, the one that the job
// names first.
func (p Pace) nextKey(keys []string, newest map[string]time.Time, t time.Time) string {
	counts := func(key string) float64 {
		weight, ok := p.Weights[key]
		if !ok {
			weight = 1
		}
		return weight * t.Sub(newest[key]).Seconds()
	}
	best := keys[0]
	for _, key := range keys[1:] {
		if counts(key) > counts(best) {
			best = key
		}
	}
	return best
}

// Paced is a schedule some of whose jobs are paced; Paces holds these by name.
type Paced struct {
	Schedule
	Paces map[string]Pace
}

// Due is like Schedule.Due, except for paced jobs. Of these, a key is due if it never was, or if its newest slot is
// older than two rounds, as after a time in which nothing ran; if there is no such key, one is due after each Gap. The
// ticks that a paced job leaves out are not slots: nobody has missed them.
func (p Paced) Due(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	var out []ingest.Slot
	for _, s := range p.Schedule {
		pace, ok := p.Paces[s.Job.Name]
		if !ok {
			out = append(out, Schedule{s}.Due(known, now)...)
			continue
		}
		out = append(out, s.duePaced(pace, known, now)...)
	}
	return out
}

func (s JobSchedule) duePaced(pace Pace, known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	var out []ingest.Slot
	var waiting []string // keys that are not overdue
	newestOf := map[string]time.Time{}
	for i, key := range s.keys {
		of := ingest.Series{Job: s.Job.Name, Key: key}
		newest, seen := known[of]
		latest, ok := s.latest(i, now)
		switch {
		case ok && (!seen || latest.Sub(newest) > 2*pace.Gap*time.Duration(len(s.keys))):
			out = append(out, s.slot(i, latest, ingest.Due, ""))
		case seen:
			waiting, newestOf[key] = append(waiting, key), newest
		}
	}
	if len(out) > 0 || now.Before(pace.Hold) {
		return out
	}
	reached := int64(now.Sub(pace.Last) / max(pace.Gap, time.Second))
	for left := min(int64(len(waiting)), int64(pace.Most), reached); left > 0; left-- {
		due := pace.Last.Add(time.Duration(reached-left+1) * pace.Gap).Truncate(time.Second)
		key := pace.nextKey(waiting, newestOf, due)
		waiting = slices.DeleteFunc(waiting, func(k string) bool { return k == key })
		out = append(out, s.slot(slices.Index(s.keys, key), due, ingest.Due, ""))
	}
	return out
}

// Next returns when anything is next due, after now.
func (p Paced) Next(now time.Time) time.Time {
	var next time.Time
	for _, s := range p.Schedule {
		t := s.Next(now)
		if pace, ok := p.Paces[s.Job.Name]; ok {
			t = pace.next(now)
		}
		if next.IsZero() || !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

// next returns when the job's next slot is due, after now.
func (p Pace) next(now time.Time) time.Time {
	next := p.Last.Add(p.Gap)
	if next.Before(p.Hold) {
		next = p.Hold
	}
	if !next.After(now) { // due, but not added yet
		next = now.Add(time.Second)
	}
	return next.Truncate(time.Second).UTC()
}

// Ahead is like Schedule.Ahead, at the current pace.
func (p Paced) Ahead(of ingest.Series, t time.Time, slots int) time.Duration {
	ahead := p.Schedule.Ahead(of, t, slots)
	if pace, ok := p.Paces[of.Job]; ok {
		ahead = max(ahead, time.Duration(slots)*pace.Round)
	}
	return ahead
}

// Stale is like Schedule.Stale, at the current pace.
func (p Paced) Stale(of ingest.Series, done, now time.Time, after int) bool {
	return p.Schedule.Stale(of, done, now, after) && (done.IsZero() || now.Sub(done) > p.Ahead(of, done, after))
}

// Upcoming returns the next n slots after now, soonest first, only of the given key unless it is "". Those of a paced
// job hold as long as what is left of its budget stays what it is.
func (p Paced) Upcoming(known map[ingest.Series]time.Time, now time.Time, n int, key string) []ingest.Slot {
	var slots []ingest.Slot
	for _, s := range p.Schedule {
		slots = append(slots, s.upcoming(p.Paces, known, now, n, key)...)
	}
	slices.SortStableFunc(slots, func(a, b ingest.Slot) int { return a.DueAt.Compare(b.DueAt) })
	return slots[:min(n, len(slots))]
}

func (s JobSchedule) upcoming(paces map[string]Pace, known map[ingest.Series]time.Time, now time.Time, n int, key string) (out []ingest.Slot) {
	if pace, ok := paces[s.Job.Name]; ok {
		if key != "" && !slices.Contains(s.keys, key) {
			return nil
		}
		newest := map[string]time.Time{}
		for _, k := range s.keys {
			newest[k] = known[ingest.Series{Job: s.Job.Name, Key: k}]
		}
		for due := pace.next(now); len(out) < n; due = due.Add(pace.Gap) {
			k := pace.nextKey(s.keys, newest, due)
			if newest[k] = due; key == "" || k == key {
				out = append(out, s.slot(slices.Index(s.keys, k), due.Truncate(time.Second), ingest.Due, ""))
			}
		}
		return out
	}
	for span := time.Hour; len(out) < n && span < 64*24*time.Hour; span *= 2 {
		out = out[:0]
		for _, k := range s.Between(now, now.Add(span)) {
			if key == "" || k.Key == key {
				out = append(out, ingest.Slot{SlotKey: k, Kind: s.Job.Kind, State: ingest.Due})
			}
		}
	}
	return out
}
