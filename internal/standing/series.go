package standing

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
)

// SeriesState is how fresh a series is, or why it cannot be. Pages, readiness and alerts are made from it.
type SeriesState string

// The states of a series.
const (
	Fresh   SeriesState = "fresh"
	Due     SeriesState = "due"     // fresh, and its next slot waits for a run
	Running SeriesState = "running" // fresh, and a run is fetching the next slot
	Slowed  SeriesState = "paced"   // fresh at the pace that the quota pays for
	Late    SeriesState = "late"    // not stale yet, but no run has reached its slot for OverdueAfter
	Waiting SeriesState = "waiting" // for quota, however old it is
	Stale   SeriesState = "stale"   // and not for lack of quota
	Empty   SeriesState = "empty"   // its newest chart has no videos, whether or not it is stale
	Shrunk  SeriesState = "shrunk"  // its newest chart lacks most of its usual videos, whether or not it is stale
	Absent  SeriesState = "absent"  // stale, since the upstream has no such chart, but has others
	Failed  SeriesState = "failed"  // fresh, but its newest fetch failed
	Never   SeriesState = "never"   // it waits for its first fetch
)

// Mood says how bad the state of the series is.
func (s Series) Mood() State {
	if (s.State == Empty || s.State == Shrunk) && s.Stale {
		return Bad
	}
	return s.State.mood()
}

func (s SeriesState) mood() State {
	switch s {
	case Stale:
		return Bad
	case Never:
		return Idle
	case Waiting, Late, Failed, Absent, Empty, Shrunk:
		return Warn
	case Fresh, Due, Running, Slowed:
	}
	return Good
}

// OverdueAfter is how long a slot may wait for a run before it counts as overdue: a timer fires every few minutes.
const OverdueAfter = 10 * time.Minute

// Series is one region or channel of one job: how fresh it is, why it is not fresher, and when its next slot is due.
type Series struct {
	ingest.Series
	Kind  ingest.Kind // of its job
	State SeriesState
	Cause Cause // "": fresh
	Since time.Time

	Done     ingest.Slot   // its newest done slot that is not short; the zero Slot: none
	Ended    ingest.Slot   // its newest slot with an outcome; the zero Slot: none
	Age      time.Duration // since Done was due; 0: never
	Interval time.Duration // from Done to the next slot
	Stale    bool          // older than StaleAfter intervals, or never done
	Running  bool          // a run is fetching it
	Wait
}

// Wait is the reason why the next slot of a series waits; the zero Wait if none has come due.
type Wait struct {
	DueSince     time.Time // since when a slot of the series waits
	OverdueSince time.Time // the same, if no run has come for OverdueAfter
	// if no run has come: when the last run fetched something or, if it fetched nothing, the newest time due then
	LastRunAt time.Time
	ResumesAt time.Time // when the quota that it waits for comes back
	Attempts  int       // runs that have tried it
}

func (s *Standing) judgeSeries() {
	s.known, s.lastRun = s.Latest.Known(), s.Latest.LastFetch()
	for _, due := range s.known { // a run that fetched nothing has added rows
		s.lastRun = ingest.Later(s.lastRun, due)
	}
	if s.StoreErr != nil {
		return
	}
	schedule := s.Pace.Schedule
	s.Waiting = schedule.Waiting(s.Latest, s.Now)
	charts, absent := 0, 0
	for _, name := range schedule.Series() {
		open := s.Latest.Open[name]
		one := Series{Series: name, Kind: schedule.Kind(name), Done: s.Latest.Whole(name), Ended: s.Latest.Ended[name],
			Running: open.State == ingest.Claimed && open.Lease.After(s.Now)}
		from := s.Now
		if !one.Done.DueAt.IsZero() {
			from = one.Done.DueAt.UTC()
			one.Age = s.Now.Sub(from)
		}
		one.Interval, one.Stale = schedule.Ahead(name, from, 1), schedule.Stale(name, one.Done.DueAt, s.Now, s.StaleAfter)
		if slot, ok := s.Waiting[name]; ok {
			one.Wait = s.WaitOf(slot)
		}
		s.judge(&one)
		if one.IsChart() {
			charts++
			if one.State == Absent {
				absent++
			}
		}
		s.Series = append(s.Series, one)
	}
	for i := range s.Series {
		if one := &s.Series[i]; one.State == Absent && one.IsChart() && absent == charts { // the upstream has nothing at all
			one.State, one.Cause = Stale, NoRun
		}
	}
}

// WaitOf names the thing that a slot of Waiting waits for.
func (s Standing) WaitOf(slot ingest.Slot) Wait {
	w := Wait{DueSince: slot.FirstDueAt, Attempts: slot.Attempt}
	if slot.RetryAt.After(s.Now) {
		w.ResumesAt = slot.RetryAt
		return w
	}
	if _, began := s.known[slot.Series()]; !began || s.Now.Sub(slot.FirstDueAt) < OverdueAfter {
		return w // a series that no run has begun waits for the first one
	}
	w.OverdueSince = w.DueSince
	if s.lastRun.Before(slot.FirstDueAt) {
		w.LastRunAt = s.lastRun
	}
	return w
}

// GivenBack returns the oldest slot that a run has given back, which says why; the zero Slot if there is none.
func (s Standing) GivenBack() (oldest ingest.Slot) {
	for _, open := range s.Latest.Open {
		if open.Reason != "" && !open.DueAt.After(s.Now) && (oldest.Reason == "" || open.DueAt.Before(oldest.DueAt)) {
			oldest = open
		}
	}
	return oldest
}

// judge sets the state of a series. The first state that applies counts.
func (s Standing) judge(one *Series) {
	ended := one.Ended.State
	absent := ended == ingest.Skipped && one.OverdueSince.IsZero() && !strings.HasPrefix(one.Ended.Reason, "superseded")
	short, isShort := s.Latest.Short[one.Series]
	set := func(state SeriesState, cause Cause, since time.Time) {
		one.State, one.Cause, one.Since = state, cause, since
	}
	switch {
	case !one.ResumesAt.IsZero():
		set(Waiting, QuotaUsed, one.DueSince)
	case one.Done.DueAt.IsZero() && (ended == "" || s.Contact != nil && s.Contact.NeverAnswered()):
		set(Never, NotBegun, one.DueSince)
	case absent && one.Kind == ingest.KindUploads && one.Key != "":
		set(Absent, ChannelGone, one.Ended.DueAt)
	case one.Stale && absent:
		set(Absent, NoChart, one.Ended.DueAt)
	case one.Stale && !one.LastRunAt.IsZero():
		set(Stale, NoRun, one.LastRunAt)
	case one.Stale && ended == ingest.Failed:
		set(Stale, FetchFailed, one.Ended.DueAt)
	case isShort && s.Latest.Done[one.Series].Videos > 0:
		set(Shrunk, ChartShrunk, short.Since.DueAt)
	case isShort:
		set(Empty, ChartEmpty, short.Since.DueAt)
	case one.Stale:
		set(Stale, Overdue, one.DueSince)
	case !one.OverdueSince.IsZero():
		set(Late, Overdue, one.OverdueSince)
	case ended == ingest.Failed:
		set(Failed, FetchFailed, one.Ended.DueAt)
	case one.Running:
		set(Running, "", s.Latest.Open[one.Series].DueAt)
	case !one.DueSince.IsZero():
		set(Due, "", one.DueSince)
	case slices.ContainsFunc(s.Pace.Jobs, func(j budget.JobPace) bool { return j.Job.Name == one.Job }):
		set(Slowed, Paced, one.Done.DueAt)
	default:
		set(Fresh, "", one.Done.FetchedAt)
	}
}

// In returns the series in a state.
func (s Standing) In(state SeriesState) []Series {
	return slices.DeleteFunc(slices.Clone(s.Series), func(one Series) bool { return one.State != state })
}

// StaleSeries returns the stale series that the upstream has, also the ones that wait for quota.
func (s Standing) StaleSeries() []Series {
	return slices.DeleteFunc(slices.Clone(s.Series), func(one Series) bool { return !one.Stale || one.State == Absent })
}

// Trouble returns the worst state of all series, and the series in it; of two equally bad states the one with more
// series. If no series is in trouble, it returns none.
func (s Standing) Trouble() (worst SeriesState, those []Series) {
	worst = Fresh
	bad := Good
	for _, each := range []SeriesState{Stale, Waiting, Late, Failed, Absent, Empty, Shrunk} {
		in := s.In(each)
		if len(in) == 0 {
			continue
		}
		mood := moodOf(in)
		if mood > bad || mood == bad && len(in) > len(those) {
			worst, those, bad = each, in, mood
		}
	}
	return worst, those
}

// moodOf returns the worst mood of one or more series.
func moodOf(those []Series) State {
	return slices.MaxFunc(those, func(a, b Series) int { return cmp.Compare(a.Mood(), b.Mood()) }).Mood()
}

// Empty reports whether no chart was ever fetched or, if no charts are wanted, nothing at all.
func (s Standing) Empty() bool {
	charts := CountCharts(s.Series) > 0
	return !slices.ContainsFunc(s.Series,
		func(one Series) bool { return !one.Done.DueAt.IsZero() && (one.IsChart() || !charts) })
}

// IsChart reports whether the series is a region's chart.
func (s Series) IsChart() bool { return s.Key != "" && (s.Kind == ingest.KindChart || s.Kind == "") }

// CountCharts returns how many of the series are charts.
func CountCharts(all []Series) (n int) {
	for _, one := range all {
		if one.IsChart() {
			n++
		}
	}
	return n
}

// SucceededAt returns when the series was last fetched; zero: never.
func (s Series) SucceededAt() time.Time {
	if s.Done.FetchedAt.IsZero() { // there was nothing to fetch
		return s.Done.DueAt
	}
	return s.Done.FetchedAt
}
