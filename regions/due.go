package regions

import (
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// Schedule is when each of the configured jobs is due: Due has the slots to add, Upcoming the next ones, and Stale
// judges the age of a series. For one job see JobSchedule.
type Schedule []JobSchedule

// NewSchedule checks the jobs' timing, and refuses two jobs of one name.
func NewSchedule(jobs []ingest.Job) (Schedule, error) {
	var all Schedule
	for _, job := range jobs {
		if slices.ContainsFunc(all, func(s JobSchedule) bool { return s.Job.Name == job.Name }) {
			return nil, fmt.Errorf("two jobs are called %q: give each its own name", job.Name)
		}
		s, err := NewJobSchedule(job)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Due returns the slots to add at now: the slots that came due after known, the newest stored due time of each
// series. The newest slot of a series is due, and older ones are missed, since past charts cannot be fetched. A
// series not in known gets only its latest slot. Slots missed more than ingest.KeepFor ago are left out, as no report
// looks back that far. Ticks that a paced job leaves out are not slots, and not missed.
func (all Schedule) Due(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	var out []ingest.Slot
	oldest := now.Add(-ingest.KeepFor)
	for _, s := range all {
		if s.paced() {
			out = append(out, s.dueAtPace(known, now)...)
			continue
		}
		for i := range s.keys {
			latest := s.latest(i, now)
			newest, seen := known[ingest.Series{Job: s.Job.Name, Key: s.keys[i]}]
			if seen && !latest.After(newest) {
				continue
			}
			if seen {
				if newest.Before(oldest) {
					newest = oldest
				}
				for _, due := range s.times(i, newest, latest.Add(-time.Second)) {
					out = append(out, s.slot(i, due, ingest.Missed, "nothing ran while it was the newest"))
				}
			}
			out = append(out, s.slot(i, latest, ingest.Due, ""))
		}
	}
	return out
}

// Next returns the next due time after now; the zero time for a schedule without jobs.
func (all Schedule) Next(now time.Time) time.Time {
	var next time.Time
	for _, s := range all {
		t := s.Next(now)
		switch {
		case s.paced():
			t = s.pace.next(now)
		case s.held(now) && t.Before(s.pace.Hold):
			t = s.pace.Hold
		}
		if next.IsZero() || !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

func (s JobSchedule) slot(i int, due time.Time, state ingest.State, reason string) ingest.Slot {
	return ingest.Slot{SlotKey: s.slotKey(i, due), Kind: s.Job.Kind, State: state, Reason: reason}
}
