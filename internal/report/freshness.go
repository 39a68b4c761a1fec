package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// Freshness is the age of everything that the schedule fetches, as /freshness answers it.
type Freshness struct {
	At         time.Time   `json:"at"`
	StaleAfter int         `json:"stale_after"` // intervals
	Series     []SeriesAge `json:"series"`

	Upstream *UpstreamDocument `json:"upstream,omitempty"` // null: not known

	// Idle is the other machines that share the store and do not work.
	Idle []ingest.IdleMachine `json:"idle_machines,omitempty"`
}

// SeriesAge is the age of one region of one job, and the state that monitoring looks at.
type SeriesAge struct {
	Job       string       `json:"job"`
	Region    string       `json:"region,omitempty"` // "" for a job without regions
	Slot      *time.Time   `json:"slot"`             // the newest one that is done and whole; null: none
	FetchedAt *time.Time   `json:"fetched_at"`
	AgeS      *int64       `json:"age_s"`      // since Slot was due
	IntervalS int64        `json:"interval_s"` // from Slot to the next one
	Stale     bool         `json:"stale"`      // older than StaleAfter intervals, or never done
	Outcome   ingest.State `json:"outcome"`    // of the newest slot with an outcome; "": none
	Reason    string       `json:"reason"`     // of that outcome
	State     string       `json:"state"`      // fresh, late, stale, empty, shrunk, no quota, no chart, failed or waits
	WaitDocument
	Short // Slot, AgeS and Stale are of the whole chart before

	Is standing.Series `json:"-"`
}

// NewFreshness is the part of a standing that /freshness shows.
func NewFreshness(s standing.Standing) Freshness {
	f := Freshness{At: term.Second(s.Now), StaleAfter: s.StaleAfter, Series: []SeriesAge{}, Idle: s.Idle}
	for _, one := range s.Series {
		f.Series = append(f.Series, newSeriesAge(one))
	}
	if s.Contact != nil {
		f.Upstream = newUpstreamDocument(s)
	}
	return f
}

func newSeriesAge(one standing.Series) SeriesAge {
	d := SeriesAge{Job: one.Job, Region: one.Key, FetchedAt: term.TimeOrNull(one.Done.FetchedAt),
		IntervalS: int64(one.Interval / time.Second),
		Stale:     one.Stale, Outcome: one.Ended.State, Reason: term.Clean(one.Ended.Reason), State: Word(one.State),
		Short: newShort(one), WaitDocument: newWait(one.Wait), Is: one}
	if !one.Done.DueAt.IsZero() {
		d.Slot, d.AgeS = new(one.Done.DueAt.UTC()), new(int64(one.Age/time.Second))
	}
	return d
}

// words are the states that have another name on a screen.
var words = map[standing.SeriesState]string{
	standing.Due: "fresh", standing.Running: "fresh", standing.Slowed: "fresh",
	standing.Waiting: "no quota", standing.Never: "waits", standing.Absent: "no chart",
}

// Word is the state of a series on a screen.
func Word(s standing.SeriesState) string { return cmp.Or(words[s], string(s)) }

// Name returns the series for a person: "chart DE".
func (s SeriesAge) Name() string { return s.Is.String() }

// String returns the series, its age and the thing it waits for: "chart DE (2 h 0 min old, overdue since ...)".
func (s SeriesAge) String() string {
	age := "never done"
	if s.AgeS != nil {
		age = term.Ago(time.Duration(*s.AgeS)*time.Second) + " old"
	}
	if short := s.text(); short != "" {
		age += ", " + short
	}
	if s.OverdueSince != nil {
		age += ", " + s.WaitDocument.String()
	}
	return s.Name() + " (" + age + ")"
}

// WithReason is String plus, if the newest slot is not done, how it ended and why: "chart DE (...), failed: ...".
func (s SeriesAge) WithReason() string {
	if s.Outcome == "" || s.Outcome == ingest.Done || s.ShortSince != nil {
		return s.String()
	}
	return fmt.Sprintf("%s, %s: %s", s, s.Outcome, s.Reason)
}

// StaleSeries describes the stale series of a standing.
func StaleSeries(s standing.Standing, describe func(SeriesAge) string) []string {
	return term.Texts(s.StaleSeries(), func(one standing.Series) string { return describe(newSeriesAge(one)) })
}

// UpstreamDocument says whether the upstream answers, by the calls of all processes that use the store.
type UpstreamDocument struct {
	Name        string     `json:"name"`
	AnsweredAt  *time.Time `json:"answered_at"`  // when it last answered; null: it was never asked, or never answered
	SilentSince *time.Time `json:"silent_since"` // when the first call after that got no usable answer; null: none
	AskedAt     *time.Time `json:"asked_at"`     // when it was last asked
	Unanswered  int64      `json:"unanswered"`   // calls since silent_since
	Unreachable bool       `json:"unreachable"`  // silent for too long to be chance
	// when it last refused the key; null: it did not, or has accepted one since
	KeyRefused *time.Time `json:"key_refused"`

	unasked bool // its silence says nothing of it: no call is made
}

func newUpstreamDocument(s standing.Standing) *UpstreamDocument {
	d := &UpstreamDocument{Name: cmp.Or(s.Provider, "the upstream")}
	if s.Contact == nil {
		return d
	}
	c := s.Contact.NotAfter(s.Now.Add(ingest.ClockAhead))
	d.AnsweredAt, d.SilentSince, d.AskedAt, d.Unanswered = term.TimeOrNull(c.AnsweredAt), term.TimeOrNull(c.SilentSince),
		term.TimeOrNull(c.AskedAt), c.Unanswered
	d.Unreachable = s.Upstream.Cause == standing.UpstreamSilent
	d.unasked = s.Upstream.Cause == standing.NotAsked && d.SilentSince != nil
	if c.KeyRefused() {
		d.KeyRefused = term.TimeOrNull(c.RefusedAt)
	}
	return d
}

// UpstreamText describes the newest calls of a standing in a few words: "has given no usable answer since 2026-02-14
// 10:41:00Z, 4 calls".
func UpstreamText(s standing.Standing) string { return newUpstreamDocument(s).String() }

func (d UpstreamDocument) String() string {
	switch {
	case d.unasked:
		return "has not been asked since " + term.Stamp(*d.AskedAt)
	case d.SilentSince != nil:
		return "has given no usable answer since " + term.Stamp(*d.SilentSince) +
			", " + term.Plural(int(d.Unanswered), "call") + "; last asked " + term.Stamp(*d.AskedAt)
	case d.KeyRefused != nil:
		return "refused the key " + term.Stamp(*d.KeyRefused)
	case d.AnsweredAt != nil:
		return "answered " + term.Stamp(*d.AnsweredAt)
	}
	return "not asked yet"
}
