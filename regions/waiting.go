package regions

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// Waiting returns, by series, the slots that have come due and that no run has completed. It goes by schedule and
// clock, since rows are only added while something runs. DueAt is the newest waiting tick of the series and FirstDueAt
// the oldest. RetryAt is when the quota that the slot waits for comes back, the least fresh series first; zero if it
// only waits for a run. The slots that a pace leaves out have not come due. A slot's row, if there is one, has the
// outcome of its runs.
func (all Schedule) Waiting(l ingest.Latest, now time.Time) map[ingest.Series]ingest.Slot {
	waiting, known := map[ingest.Series]ingest.Slot{}, l.Known()
	for _, s := range all {
		slots := s.waiting(l, now)
		if s.paced() && !s.pace.UsedUp {
			slots = s.waitingAtPace(l, known, now)
		}
		slices.SortStableFunc(slots,
			func(a, b ingest.Slot) int { return l.Done[a.Series()].DueAt.Compare(l.Done[b.Series()].DueAt) })
		for n, slot := range slots {
			row := unfinished(l, slot.Series(), now)
			slot.Attempt, slot.Reason, slot.Pages, slot.Videos = row.Attempt, row.Reason, row.Pages, row.Videos
			slot.Units, slot.Charges = row.Units, row.Charges
			if row.State == ingest.Stopped && row.RetryAt.After(now) {
				slot.RetryAt = row.RetryAt
			}
			if at := s.pace.paidAt(n, now); !at.IsZero() {
				slot.RetryAt = at
			}
			waiting[slot.Series()] = slot
		}
	}
	return waiting
}

// waiting returns the slots of a job that have come due since a run last worked on their series.
func (s JobSchedule) waiting(l ingest.Latest, now time.Time) (out []ingest.Slot) {
	for i, key := range s.keys {
		latest := s.latest(i, now)
		worked := workedOn(l, ingest.Series{Job: s.Job.Name, Key: key}, now)
		if !latest.After(worked) {
			continue
		}
		slot := s.slot(i, latest, ingest.Due, "")
		slot.FirstDueAt = latest
		if !worked.IsZero() {
			slot.FirstDueAt = s.next(i, worked)
		}
		out = append(out, slot)
	}
	return out
}

// waitingAtPace is waiting for a paced job, without the ticks that it leaves out.
func (s JobSchedule) waitingAtPace(l ingest.Latest, known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	out := s.dueAtPace(known, now)
	for i, key := range s.keys {
		row := unfinished(l, ingest.Series{Job: s.Job.Name, Key: key}, now)
		added := slices.ContainsFunc(out, func(slot ingest.Slot) bool { return slot.Key == key })
		if row.State != "" && !added {
			out = append(out, s.slot(i, row.DueAt, ingest.Due, ""))
		}
	}
	round := s.pace.Gap * time.Duration(len(s.keys))
	for i, slot := range out {
		out[i].FirstDueAt = slot.DueAt
		// nothing has run for more than a round
		if newest, seen := known[slot.Series()]; seen && slot.DueAt.Sub(newest) > 2*round {
			out[i].FirstDueAt = newest.Add(round)
		}
	}
	return out
}

// unfinished returns the newest row of a series if it still has to be done, otherwise the zero Slot.
func unfinished(l ingest.Latest, series ingest.Series, now time.Time) ingest.Slot {
	open, ended := l.Open[series], l.Ended[series]
	switch {
	case open.State == ingest.Claimed && open.Lease.After(now): // a run works on it
	case open.State != "" && open.DueAt.After(ended.DueAt):
		return open
	case ended.State == ingest.Stopped && ended.DueAt.After(open.DueAt):
		return ended
	}
	return ingest.Slot{}
}

// workedOn returns the due time of a series' newest slot that needs no run any more: it is done, failed or skipped for
// a reason of its own, or a run works on it.
func workedOn(l ingest.Latest, series ingest.Series, now time.Time) time.Time {
	worked, open, ended := l.Done[series].DueAt, l.Open[series], l.Ended[series]
	superseded := ended.State == ingest.Skipped && open.DueAt.After(ended.DueAt)
	if (ended.State == ingest.Failed || ended.State == ingest.Skipped) && !superseded && ended.DueAt.After(worked) {
		worked = ended.DueAt
	}
	if open.State == ingest.Claimed && open.Lease.After(now) && open.DueAt.After(worked) {
		worked = open.DueAt
	}
	return worked
}

// How far ahead the search for upcoming slots goes: twice as far each time.
const firstSpan, lastSpan = time.Hour, 64 * 24 * time.Hour

// Upcoming returns the next n slots of the series that are wanted, soonest first: first waiting slots, then coming
// ones. A slot that waits for quota is due when the quota comes back. Slots of a paced job assume that its remaining
// budget does not change.
func (all Schedule) Upcoming(l ingest.Latest, now time.Time, n int, wanted func(ingest.Series) bool) []ingest.Slot {
	all = slices.DeleteFunc(slices.Clone(all),
		func(s JobSchedule) bool { return !slices.ContainsFunc(Schedule{s}.Series(), wanted) })
	var slots []ingest.Slot
	for span := firstSpan; len(slots) < n && span < lastSpan; span *= 2 {
		slots = slices.DeleteFunc(all.Until(l, now, now.Add(span)), func(s ingest.Slot) bool { return !wanted(s.Series()) })
	}
	return slots[:min(n, len(slots))]
}

// Nexts returns the first slot of Upcoming of each series.
func (all Schedule) Nexts(l ingest.Latest, now time.Time) map[ingest.Series]ingest.Slot {
	waiting, known, next := all.Waiting(l, now), l.Known(), map[ingest.Series]ingest.Slot{}
	for _, s := range all {
		for span, want := firstSpan, len(next)+len(s.keys); len(next) < want && span < lastSpan; span *= 2 {
			for _, slot := range s.until(waiting, known, now, now.Add(span)) {
				if _, earlier := next[slot.Series()]; !earlier {
					next[slot.Series()] = slot
				}
			}
		}
	}
	return next
}

// Until is Upcoming for all slots due at to or earlier.
func (all Schedule) Until(l ingest.Latest, now, to time.Time) []ingest.Slot {
	waiting, known := all.Waiting(l, now), l.Known()
	var slots []ingest.Slot
	for _, s := range all {
		slots = append(slots, s.until(waiting, known, now, to)...)
	}
	slices.SortStableFunc(slots, bySlotDue)
	return slots
}

func (s JobSchedule) until(waiting map[ingest.Series]ingest.Slot, known map[ingest.Series]time.Time,
	now, to time.Time) (slots []ingest.Slot) {
	for _, key := range s.keys {
		slot, ok := waiting[ingest.Series{Job: s.Job.Name, Key: key}]
		if ok && slot.RetryAt.After(now) {
			slot.DueAt = slot.RetryAt.Add(time.Second - 1).Truncate(time.Second) // a slot is due at a whole second
		}
		if ok && !slot.DueAt.After(to) {
			slots = append(slots, slot)
		}
	}
	for _, slot := range s.coming(known, waiting, now, to) {
		if !slot.DueAt.Before(waiting[slot.Series()].RetryAt) {
			slots = append(slots, slot)
		}
	}
	slices.SortStableFunc(slots, bySlotDue)
	return slots
}

// coming returns the slots of a job that come due after now and not after to, beside the waiting ones.
func (s JobSchedule) coming(known map[ingest.Series]time.Time, waiting map[ingest.Series]ingest.Slot,
	now, to time.Time) []ingest.Slot {
	if s.paced() {
		return s.comingAtPace(known, waiting, now, to)
	}
	from := now
	if s.held(now) {
		from = s.pace.Hold // slots that wait for it are due then
	}
	var out []ingest.Slot
	for _, k := range s.Between(from, to) {
		if s.wakes != nil {
			k.DueAt = s.wakes(k.DueAt)
		}
		out = append(out, ingest.Slot{SlotKey: k, Kind: s.Job.Kind, State: ingest.Due})
	}
	return out
}

// comingAtPace is coming for a paced job: its keys take turns, one step apart, and none comes before it is paid for. As
// in dueAtPace, turns that pass while nothing is paid for are taken together as soon as it is, each key once.
func (s JobSchedule) comingAtPace(known map[ingest.Series]time.Time, waiting map[ingest.Series]ingest.Slot,
	now, to time.Time) (out []ingest.Slot) {
	last, newest, n := s.pace.Last, map[string]time.Time{}, 0
	for _, key := range s.keys {
		series := ingest.Series{Job: s.Job.Name, Key: key}
		newest[key] = known[series]
		if slot, ok := waiting[series]; ok { // the others follow it
			newest[key] = slot.DueAt
			last, n = ingest.Later(last, slot.DueAt), n+1
		}
	}
	for range s.keys { // the overdue ones come as soon as they are paid for
		key := longestWaiting(s.keys, newest)
		due := ingest.Later(now.Add(time.Second), s.pace.paidAt(n, now)).Truncate(time.Second)
		if newest[key].IsZero() || now.Sub(newest[key]) <= s.pace.overdue(len(s.keys)) || due.After(to) {
			break
		}
		newest[key] = due
		out, n = append(out, s.slot(slices.Index(s.keys, key), due, ingest.Due, "")), n+1
	}
	soonest := ingest.Later(now, s.pace.paidAt(n, now))
	step, turn := s.pace.gapAt(soonest), s.pace.after(last, soonest)
	if passed := soonest.Sub(last) / step; n > 0 {
		turn = last.Add(max(passed, 0) * step).Add(step)
	} else if keys := time.Duration(len(s.keys)); passed > keys {
		turn = last.Add((passed - keys + 1) * step)
	}
	for ; ; turn = s.pace.after(turn, soonest) {
		due := ingest.Later(ingest.Later(turn, s.pace.paidAt(n, now)), now.Add(time.Second)).Truncate(time.Second)
		if s.wakes != nil {
			due = s.wakes(due)
		}
		if due.After(to) {
			return out
		}
		key := longestWaiting(s.keys, newest)
		if newest[key].Equal(due) { // all come then, once something runs again
			continue
		}
		newest[key] = due
		out, n = append(out, s.slot(slices.Index(s.keys, key), due, ingest.Due, "")), n+1
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
