package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// Freshness is the age of everything that the schedule fetches.
type Freshness struct {
	At         time.Time     `json:"at"`
	StaleAfter int           `json:"stale_after"` // intervals
	Series     []SeriesState `json:"series"`

	Upstream *UpstreamDocument `json:"upstream,omitempty"` // null: not known

	// Idle is the other machines that share the store and do not work.
	Idle []ingest.IdleMachine `json:"idle_machines,omitempty"`

	Resting string `json:"-"` // why nothing is fetched, if it is not the upstream; "": no reason, or not known
}

// WantedSeries says what should be fresh.
type WantedSeries interface {
	// Series returns all series of the config, in its order.
	Series() []ingest.Series
	// Ahead returns how long after t that many slots of the series come due; 0 if there are not that many.
	Ahead(series ingest.Series, t time.Time, slots int) time.Duration
	// Waiting returns the due slots that no run has completed; see regions.Schedule.
	Waiting(l ingest.Latest, now time.Time) map[ingest.Series]ingest.Slot
	// Stale reports whether a series is stale at now. done is when its newest done slot was due, zero if there is none. A
	// series counts as fresh for after intervals.
	Stale(series ingest.Series, done, now time.Time, after int) bool
}

// NewFreshness returns how fresh the wanted series are at now, by their newest slots.
func NewFreshness(wanted WantedSeries, l ingest.Latest, now time.Time, staleAfter int) Freshness {
	f := Freshness{At: term.Second(now), StaleAfter: staleAfter, Series: []SeriesState{}}
	waiting, waits := wanted.Waiting(l, now), NewWaits(l, now)
	for _, series := range wanted.Series() {
		done, ended := l.Done[series], l.Ended[series]
		state := SeriesState{Job: series.Job, Region: series.Key, Outcome: ended.State, Reason: term.Clean(ended.Reason), FetchedAt: term.TimeOrNull(done.FetchedAt), Running: l.Open[series].State == ingest.Claimed && l.Open[series].Lease.After(now)}
		from := now
		if !done.DueAt.IsZero() {
			from = done.DueAt.UTC()
			state.Slot, state.AgeS = &from, new(int64(now.Sub(from)/time.Second))
		}
		state.Stale = wanted.Stale(series, done.DueAt, now, staleAfter)
		state.IntervalS = int64(wanted.Ahead(series, from, 1) / time.Second)
		if slot, ok := waiting[series]; ok {
			state.Wait = waits.Of(slot)
		}
		state.Absent = state.Stale && state.OverdueSince == nil && ended.State == ingest.Skipped && !strings.HasPrefix(ended.Reason, "superseded")
		f.Series = append(f.Series, state)
	}
	if countCharts(f.in(Absent)) == countCharts(f.Series) { // the upstream has nothing at all
		for i := range f.Series {
			f.Series[i].Absent = false
		}
	}
	return f
}

// SeriesState is one region of one job.
type SeriesState struct {
	Job       string       `json:"job"`
	Region    string       `json:"region,omitempty"` // "" for a job without regions
	Slot      *time.Time   `json:"slot"`             // the newest done one; null: none
	FetchedAt *time.Time   `json:"fetched_at"`
	AgeS      *int64       `json:"age_s"`      // since Slot was due
	IntervalS int64        `json:"interval_s"` // from Slot to the next one
	Stale     bool         `json:"stale"`      // older than StaleAfter intervals, or never done
	Outcome   ingest.State `json:"outcome"`    // of the newest slot with an outcome; "": none
	Reason    string       `json:"reason"`     // of that outcome
	Running   bool         `json:"-"`          // a run is fetching it
	Absent    bool         `json:"-"`          // stale, since the upstream has no such chart, but has others
	Wait
}

// Stale returns the stale series that the upstream has.
func (f Freshness) Stale() []SeriesState {
	return f.where(func(s SeriesState) bool { return s.Stale && !s.Absent })
}

// in returns the series in a condition.
func (f Freshness) in(c Condition) []SeriesState {
	return f.where(func(s SeriesState) bool { return s.Condition() == c })
}

func (f Freshness) where(is func(SeriesState) bool) []SeriesState {
	return slices.DeleteFunc(slices.Clone(f.Series), func(s SeriesState) bool { return !is(s) })
}

// Overdue reports whether a series waits for a run, and not for quota.
func (f Freshness) Overdue() bool {
	return slices.ContainsFunc(f.Series, func(s SeriesState) bool { return s.OverdueSince != nil })
}

// Empty reports whether no chart was ever fetched or, if no charts are wanted, nothing at all.
func (f Freshness) Empty() bool {
	charts := countCharts(f.Series) > 0
	return !slices.ContainsFunc(f.Series, func(s SeriesState) bool { return s.Slot != nil && (s.Region != "" || !charts) })
}

// Condition is how fresh a series is, in a word.
type Condition string

// The conditions.
const (
	Fresh   Condition = "fresh"
	Late    Condition = "late"     // overdue but not stale yet
	Stale   Condition = "stale"    // stale, but not for lack of quota
	Unbegun Condition = "waits"    // waiting for its first fetch
	NoQuota Condition = "no quota" // waiting for quota, however old it is
	Failing Condition = "failed"   // fresh, but its newest fetch failed
	Absent  Condition = "no chart" // the upstream has none
)

// Condition returns how fresh the series is.
func (s SeriesState) Condition() Condition {
	switch {
	case s.ResumesAt != nil:
		return NoQuota
	case s.Slot == nil && s.Outcome == "":
		return Unbegun
	case s.Absent:
		return Absent
	case s.Stale:
		return Stale
	case s.OverdueSince != nil:
		return Late
	case s.Outcome == ingest.Failed:
		return Failing
	}
	return Fresh
}

// trouble is a condition that is not well, with what is said of the series in it.
type trouble struct {
	condition        Condition
	mood             Mood
	plural, singular string
}

var troubles = []trouble{
	{Stale, Bad, "are stale", "is stale"},
	{NoQuota, Warn, "wait for quota", "waits for quota"},
	{Late, Warn, "are late", "is late"},
	{Failing, Warn, "are fresh, but their newest fetch failed", "is fresh, but its newest fetch failed"},
	{Absent, Warn, "are not charted", "is not charted"},
}

// worst returns the worst trouble and the series that have it. Of equally bad ones it is what most series have.
func (f Freshness) worst() (worst trouble, those []SeriesState) {
	for _, each := range troubles {
		in := f.in(each.condition)
		if len(in) > 0 && (each.mood > worst.mood || each.mood == worst.mood && len(in) > len(those)) {
			worst, those = each, in
		}
	}
	return worst, those
}

// Worst returns the worst condition of all series.
func (f Freshness) Worst() Condition {
	worst, _ := f.worst()
	return cmp.Or(worst.condition, Fresh)
}

// Name returns the series for a person: "chart DE".
func (s SeriesState) Name() string { return ingest.Series{Job: s.Job, Key: s.Region}.String() }

// SucceededAt returns when the series was last fetched; zero: never.
func (s SeriesState) SucceededAt() time.Time {
	switch {
	case s.FetchedAt != nil:
		return *s.FetchedAt
	case s.Slot != nil: // there was nothing to fetch
		return *s.Slot
	}
	return time.Time{}
}

// String returns the series, its age and what it waits for: "chart DE (2 h 0 min old, overdue since ...)".
func (s SeriesState) String() string {
	age := "never done"
	if s.AgeS != nil {
		age = term.Ago(time.Duration(*s.AgeS)*time.Second) + " old"
	}
	if s.OverdueSince != nil {
		age += ", " + s.Wait.String()
	}
	return s.Name() + " (" + age + ")"
}

// WithReason is String plus, if the newest slot is not done, how it ended and why: "chart DE (...), failed: ...".
func (s SeriesState) WithReason() string {
	if s.Outcome == "" || s.Outcome == ingest.Done {
		return s.String()
	}
	return fmt.Sprintf("%s, %s: %s", s, s.Outcome, s.Reason)
}

// UnreachableAfter is how long an upstream may go without a usable answer before it counts as unreachable: three
// heartbeats of ingest serve.
const UnreachableAfter = 90 * time.Second

// UpstreamDocument says whether the upstream answers, by the calls of all processes that use the store.
type UpstreamDocument struct {
	Name        string     `json:"name"`
	AnsweredAt  *time.Time `json:"answered_at"`  // when it last answered; null: it was never asked, or never answered
	SilentSince *time.Time `json:"silent_since"` // when the first call after that got no usable answer; null: none
	AskedAt     *time.Time `json:"asked_at"`     // when it was last asked
	Unanswered  int64      `json:"unanswered"`   // calls since silent_since
	Unreachable bool       `json:"unreachable"`  // silent for too long to be chance
	KeyRefused  *time.Time `json:"key_refused"`  // when it last refused the key; null: it did not, or has accepted one since
	Unasked     bool       `json:"-"`            // its silence says nothing of it: nobody asks
}

// NewUpstreamDocument returns what the calls show at now. The upstream may be silent for after; 0: UnreachableAfter.
func NewUpstreamDocument(name string, c ingest.Contact, now time.Time, after time.Duration) UpstreamDocument {
	c = c.NotAfter(now.Add(ingest.ClockAhead))
	d := UpstreamDocument{
		Name: cmp.Or(name, "the upstream"), AnsweredAt: term.TimeOrNull(c.AnsweredAt), SilentSince: term.TimeOrNull(c.SilentSince), AskedAt: term.TimeOrNull(c.AskedAt),
		Unanswered: c.Unanswered, Unreachable: !c.SilentSince.IsZero() && now.Sub(c.SilentSince) >= cmp.Or(after, UnreachableAfter),
	}
	if c.KeyRefused() {
		d.KeyRefused = term.TimeOrNull(c.RefusedAt)
	}
	return d
}

// NobodyAsks notes that no call is made now, so that a silence is not the upstream's.
func (d *UpstreamDocument) NobodyAsks() { d.Unreachable, d.Unasked = false, d.SilentSince != nil }

// String describes it in a few words: "has given no usable answer since 2026-02-14 10:41:00Z, 4 calls".
func (d UpstreamDocument) String() string {
	switch {
	case d.Unasked:
		return "has not been asked since " + term.Stamp(*d.AskedAt)
	case d.SilentSince != nil:
		return "has given no usable answer since " + term.Stamp(*d.SilentSince) + ", " + term.Plural(int(d.Unanswered), "call") + "; last asked " + term.Stamp(*d.AskedAt)
	case d.KeyRefused != nil:
		return "refused the key " + term.Stamp(*d.KeyRefused)
	case d.AnsweredAt != nil:
		return "answered " + term.Stamp(*d.AnsweredAt)
	}
	return "not asked yet"
}
