package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// rereadAfter bounds how often the slots are read for the pages, however many ask.
const rereadAfter = time.Second

// Freshness is how old everything is that the schedule wants.
type Freshness struct {
	At         time.Time     `json:"at"`
	StaleAfter int           `json:"stale_after"` // intervals
	Series     []SeriesState `json:"series"`
}

// SeriesState is one region of one job.
type SeriesState struct {
	Job       string       `json:"job"`
	Region    string       `json:"region,omitempty"` // "" for a job without regions
	Slot      *time.Time   `json:"slot"`             // the newest that is done; null: none ever was
	FetchedAt *time.Time   `json:"fetched_at"`
	AgeS      *int64       `json:"age_s"`      // since Slot was due
	IntervalS int64        `json:"interval_s"` // from Slot to the next one
	Stale     bool         `json:"stale"`      // older than StaleAfter intervals, or never done
	Outcome   ingest.State `json:"outcome"`    // of the newest slot that has one; "": none has
	Reason    string       `json:"reason"`     // of that outcome
}

// Freshness reads how fresh everything is.
func (s *Site) Freshness(ctx context.Context) (Freshness, error) {
	f := Freshness{At: s.Now().UTC(), StaleAfter: s.StaleAfter, Series: []SeriesState{}}
	for _, of := range s.Schedule.Series() {
		done, ended, err := s.Slots.Last(ctx, of)
		if err != nil {
			return f, err
		}
		f.Series = append(f.Series, f.state(s.Schedule, of, done, ended))
	}
	return f, nil
}

// recent is Freshness, and may be a little old.
func (s *Site) recent(ctx context.Context) (Freshness, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && time.Since(s.at) < rereadAfter {
		return s.fresh, nil
	}
	f, err := s.Freshness(ctx)
	if err == nil {
		s.fresh, s.at = f, time.Now()
	}
	return f, err
}

func (f Freshness) state(schedule Schedule, of ingest.Series, done, ended ingest.Slot) SeriesState {
	state := SeriesState{Job: of.Job, Region: of.Key, Outcome: ended.State, Reason: term.Clean(ended.Reason)}
	from := f.At
	if !done.DueAt.IsZero() {
		due, age := done.DueAt.UTC(), f.At.Sub(done.DueAt)
		seconds := int64(age / time.Second)
		from, state.Slot, state.AgeS = due, &due, &seconds
		if fetched := done.FetchedAt.UTC(); !done.FetchedAt.IsZero() {
			state.FetchedAt = &fetched
		}
	}
	state.Stale = schedule.Stale(of, done.DueAt, f.At, f.StaleAfter)
	state.IntervalS = int64(schedule.Ahead(of, from, 1) / time.Second)
	return state
}

// lookFresh is the last check of /readyz.
func (s *Site) lookFresh(ctx context.Context) (string, error) {
	f, err := s.recent(ctx)
	if err != nil {
		return "", fmt.Errorf("not known: %w", err)
	}
	stale := f.Stale()
	if len(stale) == 0 {
		return fmt.Sprintf("all %d are fresh", len(f.Series)), nil
	}
	const most = 8
	more := ""
	if len(stale) > most {
		more = fmt.Sprintf(" and %d more", len(stale)-most)
	}
	var names []string
	for _, state := range stale[:min(most, len(stale))] {
		names = append(names, state.String())
	}
	return "", fmt.Errorf("%d of %d are stale: %s%s", len(stale), len(f.Series), strings.Join(names, ", "), more)
}

// Stale is the series that are.
func (f Freshness) Stale() []SeriesState {
	var stale []SeriesState
	for _, state := range f.Series {
		if state.Stale {
			stale = append(stale, state)
		}
	}
	return stale
}

// Name is the series for a person: "chart DE".
func (s SeriesState) Name() string { return strings.TrimSpace(s.Job + " " + s.Region) }

// succeededAt is when the series was last fetched; zero: never.
func (s SeriesState) succeededAt() time.Time {
	switch {
	case s.FetchedAt != nil:
		return *s.FetchedAt
	case s.Slot != nil: // there was nothing to fetch
		return *s.Slot
	}
	return time.Time{}
}

// String is the series and how old it is: "chart DE (2h0m0s)".
func (s SeriesState) String() string {
	age := "never done"
	if s.AgeS != nil {
		age = (time.Duration(*s.AgeS) * time.Second).String()
	}
	return s.Name() + " (" + age + ")"
}

// freshness is always JSON.
func (s *Site) freshness(w http.ResponseWriter, r *http.Request) {
	f, err := s.recent(r.Context())
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, term.Clean(err.Error())+"\n")
		return
	}
	writeJSON(w, http.StatusOK, f)
}
