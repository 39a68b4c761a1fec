package regions

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// Pace spreads out a job's slots when its budget does not pay for its interval. budget.PricedSchedule.Pace computes it;
// AtPace puts it into a schedule.
type Pace struct {
	// Gap is the time between slots of the job, whose keys take turns. 0: the job is not paced.
	Gap time.Duration
	// Round is the time between slots of a series, and the age limit of its data: Gap times the number of keys. While
	// nothing is left until Hold, Gap is only a wait, and Round comes from the number of slots that a whole window's
	// budget pays for. 0 for the job's own interval.
	Round time.Duration
	// Eases is when a window that slows the job has more room. From then on, Eased is the time between its slots; 0:
	// Gap stays.
	Eases time.Time
	Eased time.Duration
	// Last is when the job's newest slot, of any key, was due; zero if it has none.
	Last time.Time
	// Hold is the time until which the budget pays for no slot at all; zero if it pays for the next one. A job with
	// only a Hold keeps its interval: its slots are added, and wait for quota.
	Hold time.Time
	// UsedUp means that nothing is left until Hold, and series wait for that. Otherwise Hold only delays the next
	// turn.
	UsedUp bool
	// Most is how many slots the budget pays for now.
	Most int
	// Paid is when the budget pays for the next slot of the job, for the one after it and so on. Later slots, and times
	// that have passed, hold nothing back.
	Paid []time.Time
}

// paidAt returns when the budget pays for the job's n-th slot from now on, the first being 0; zero if it does now.
func (p *Pace) paidAt(n int, now time.Time) (at time.Time) {
	if p == nil {
		return at
	}
	if p.Hold.After(now) {
		at = p.Hold
	}
	if n < len(p.Paid) && p.Paid[n].After(at) && p.Paid[n].After(now) {
		at = p.Paid[n]
	}
	return at
}

// gapAt returns the time between the job's slots at t.
func (p *Pace) gapAt(t time.Time) time.Duration {
	if p.Eased > 0 && !t.Before(p.Eases) {
		return max(time.Second, p.Eased)
	}
	return max(time.Second, p.Gap)
}

// overdue is the age of a key's newest slot beyond which the key does not wait for its turn, with this many keys.
func (p *Pace) overdue(keys int) time.Duration { return 2 * p.Gap * time.Duration(keys) }

// after returns the turn after another one, if none is taken before now.
func (p *Pace) after(turn, now time.Time) time.Time {
	next := turn.Add(p.gapAt(ingest.Later(turn, now)))
	if p.Eased > 0 && next.After(p.Eases) {
		next = ingest.Later(turn.Add(p.Eased), earlier(next, p.Eases))
	}
	return next
}

// RoundAt returns the time that the given number of turns after one at t takes.
func (p *Pace) RoundAt(t time.Time, turns int) time.Duration {
	turn := t
	for range turns {
		turn = p.after(turn, t)
	}
	return turn.Sub(t)
}

// AtPace returns the schedule with exactly these jobs paced, by name.
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

// Waking returns the schedule of a machine that does not always run: wakes returns the first time at or after its
// argument when the machine runs.
func (all Schedule) Waking(wakes func(time.Time) time.Time) Schedule {
	out := slices.Clone(all)
	for i := range out {
		out[i].wakes = wakes
	}
	return out
}

// paced reports whether the job's slots are spread out.
func (s JobSchedule) paced() bool { return s.pace != nil && s.pace.Gap > 0 }

// held reports whether the budget pays for no slot of the job.
func (s JobSchedule) held(now time.Time) bool { return s.pace != nil && s.pace.Hold.After(now) }

// longestWaiting returns the key whose newest slot is oldest; of equals, the first.
func longestWaiting(keys []string, newest map[string]time.Time) string {
	return slices.MinFunc(keys, func(a, b string) int { return newest[a].Compare(newest[b]) })
}

// dueAtPace returns the due slots of a paced job: one for each key without a slot and, as far as the budget pays for
// them now, for each key whose newest slot is older than two rounds, as after a pause; if there is no such key, one
// after each Gap.
func (s JobSchedule) dueAtPace(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	pace := s.pace
	var out []ingest.Slot
	var waiting, overdue []string // keys that are not overdue, and overdue keys
	newestOf := map[string]time.Time{}
	for i, key := range s.keys {
		newest, seen := known[ingest.Series{Job: s.Job.Name, Key: key}]
		latest := s.latest(i, now)
		switch {
		case !seen:
			out = append(out, s.slot(i, latest, ingest.Due, ""))
		case latest.Sub(newest) > pace.overdue(len(s.keys)):
			overdue, newestOf[key] = append(overdue, key), newest
		default:
			waiting, newestOf[key] = append(waiting, key), newest
		}
	}
	tick := time.Time{} // the newest of all keys
	for i := range s.keys {
		tick = ingest.Later(tick, s.latest(i, now))
	}
	for left := pace.Most - len(out); left > 0 && len(overdue) > 0; left-- {
		key := longestWaiting(overdue, newestOf)
		overdue = slices.DeleteFunc(overdue, func(k string) bool { return k == key })
		due := tick.Add(-time.Duration(len(overdue)) * time.Second) // they take their next turns in the same order
		out = append(out, s.slot(slices.Index(s.keys, key), due, ingest.Due, ""))
	}
	if len(out) > 0 || len(overdue) > 0 || now.Before(pace.Hold) {
		return out
	}
	reached := int64(now.Sub(pace.Last) / max(pace.Gap, time.Second))
	left := min(int64(len(waiting)), int64(pace.Most), reached)
	turn := reached - left // earlier turns are given up
	if left > 1 {          // runs are rarer than turns: the next one may pay for the others
		turn = max(0, reached-int64(len(waiting)))
	}
	for ; left > 0; left-- {
		turn++
		due := pace.Last.Add(time.Duration(turn) * pace.Gap).Truncate(time.Second)
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
