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
}

// AtPace returns the schedule with these jobs paced, by name, and no others.
func (all Schedule) AtPace(paces map[string]Pace) Schedule {
	out := slices.Clone(all)
	for i := range out {
		out[i].pace = nil
		if pace, ok := paces[out[i].Job.Name]; ok {
			out[i].pace = &pace
		}
	}
	return out
}

// longestWaiting returns the key whose newest slot is oldest; of equals, the one that the job names first.
func longestWaiting(keys []string, newest map[string]time.Time) string {
	return slices.MinFunc(keys, func(a, b string) int { return newest[a].Compare(newest[b]) })
}

// dueAtPace returns the slots of a paced job that are due: each key that never was, or whose newest slot is older than
// two rounds, as after a time in which nothing ran; if there is no such key, one after each Gap.
func (s JobSchedule) dueAtPace(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	pace := s.pace
	var out []ingest.Slot
	var waiting []string // keys that are not overdue
	newestOf := map[string]time.Time{}
	for i, key := range s.keys {
		newest, seen := known[ingest.Series{Job: s.Job.Name, Key: key}]
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
		key := longestWaiting(waiting, newestOf)
		waiting = slices.DeleteFunc(waiting, func(k string) bool { return k == key })
		out = append(out, s.slot(slices.Index(s.keys, key), due, ingest.Due, ""))
	}
	return out
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

// Upcoming returns the next n slots after now, soonest first, only of the given key unless it is "". Those of a paced
// job hold as long as what is left of its budget stays what it is.
func (all Schedule) Upcoming(known map[ingest.Series]time.Time, now time.Time, n int, key string) []ingest.Slot {
	var slots []ingest.Slot
	for _, s := range all {
		if s.pace != nil {
			slots = append(slots, s.upcomingAtPace(known, now, n, key)...)
		} else {
			slots = append(slots, s.upcoming(now, n, key)...)
		}
	}
	slices.SortStableFunc(slots, func(a, b ingest.Slot) int { return a.DueAt.Compare(b.DueAt) })
	return slots[:min(n, len(slots))]
}

func (s JobSchedule) upcomingAtPace(known map[ingest.Series]time.Time, now time.Time, n int, key string) (out []ingest.Slot) {
	if key != "" && !slices.Contains(s.keys, key) {
		return nil
	}
	newest := map[string]time.Time{}
	for _, k := range s.keys {
		newest[k] = known[ingest.Series{Job: s.Job.Name, Key: k}]
	}
	for due := s.pace.next(now); len(out) < n; due = due.Add(s.pace.Gap) {
		k := longestWaiting(s.keys, newest)
		if newest[k] = due; key == "" || k == key {
			out = append(out, s.slot(slices.Index(s.keys, k), due.Truncate(time.Second), ingest.Due, ""))
		}
	}
	return out
}

func (s JobSchedule) upcoming(now time.Time, n int, key string) (out []ingest.Slot) {
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
