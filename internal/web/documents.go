package web

import (
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// The documents that commands print with --json and that the pages show: one truth for both. Fields are only ever
// added. Times are in UTC.

// QuotaDocument is what is left of an account's quota, who spent it, and what the schedule wants of it.
type QuotaDocument struct {
	At       time.Time        `json:"at"`
	Account  string           `json:"account"`
	Data     string           `json:"data"`
	Ledger   string           `json:"ledger"`
	Table    string           `json:"cost_table"`
	Degraded bool             `json:"degraded"`
	Pools    []PoolDocument   `json:"pools"`
	Spent    []SpentDocument  `json:"spent"` // what the widest window of each pool counts; with Since: all since then
	Since    *time.Time       `json:"since,omitempty"`
	Forecast ForecastDocument `json:"forecast"`
}

// PoolDocument is one pool.
type PoolDocument struct {
	Pool         string            `json:"pool"`
	Limit        int64             `json:"limit"`
	DrainedUntil *time.Time        `json:"drained_until"`
	Probe        int               `json:"probe,omitempty"` // asks then whether the provider's no, which is doubted, still holds
	Drift        int64             `json:"drift"`
	StoppedAt    int64             `json:"stopped_at,omitempty"`
	DrainedBy    string            `json:"drained_by,omitempty"` // provider or hand, while it is drained
	DrainedAt    *time.Time        `json:"drained_at,omitempty"` // by hand
	Windows      []WindowDocument  `json:"windows"`
	Purposes     []PurposeDocument `json:"purposes"`
}

// WindowDocument is what one window of a pool has used.
type WindowDocument struct {
	Window string `json:"window"`
	Zone   string `json:"zone,omitempty"` // of a day
	Limit  int64  `json:"limit"`
	Used   int64  `json:"used"`
	// Of a sliding window, when its oldest entry leaves: a *time.Time, null while it is empty. In an
	// interface, so that a day has no such field.
	NextFreeAt any        `json:"next_free_at,omitempty"`
	ResetsAt   *time.Time `json:"resets_at,omitempty"` // of a day
}

// FreesAt is when the window next has more room; nil while it is empty.
func (w WindowDocument) FreesAt() *time.Time {
	if at, ok := w.NextFreeAt.(*time.Time); ok {
		return at
	}
	return w.ResetsAt
}

// PurposeDocument is what a purpose may still spend of a pool.
type PurposeDocument struct {
	Purpose   quota.Purpose `json:"purpose"`
	Ceiling   int64         `json:"ceiling"`
	Remaining int64         `json:"remaining"`
	ResumesAt *time.Time    `json:"resumes_at"` // when its next call will be admitted; null: it would be now
}

// SpentDocument is what one spender has drawn of a pool.
type SpentDocument struct {
	Purpose quota.Purpose `json:"purpose"`
	Region  string        `json:"region"`
	Method  string        `json:"method"`
	Pool    string        `json:"pool"`
	Amount  int64         `json:"amount"`
	Window  string        `json:"window,omitempty"` // that counts it
}

// ForecastDocument is what the schedule may still spend before the provider's day ends, and whether it is
// there.
type ForecastDocument struct {
	Until     time.Time        `json:"until"`
	Scheduled map[string]int64 `json:"scheduled"` // at most, per pool
	Fits      bool             `json:"fits"`
	Pacing    string           `json:"pacing,omitempty"` // how the schedule is stretched to what is left; "" where it is not
}

// NewQuotaDocument shows a report of an account that is priced by tariff. Data and Ledger are the caller's to set.
func NewQuotaDocument(r quota.Report, tariff *quota.Tariff, f ForecastDocument) QuotaDocument {
	d := QuotaDocument{
		At: term.Second(r.At), Account: r.Account, Table: tariff.Table,
		Degraded: r.Degraded != nil, Pools: []PoolDocument{}, Forecast: f,
	}
	widest := map[string]string{}
	for _, p := range r.Pools {
		pool := PoolDocument{Pool: p.Pool, Limit: p.Limit, DrainedUntil: term.FromOrNull(p.DrainedUntil), Probe: p.Probe, Drift: p.Drift, StoppedAt: p.StoppedAt}
		if pool.DrainedAt = term.TimeOrNull(p.DrainedByHand); pool.DrainedAt != nil {
			pool.DrainedBy = "hand"
		} else if pool.DrainedUntil != nil {
			pool.DrainedBy = "provider"
		}
		widest[p.Pool] = p.Widest
		for _, w := range p.Windows {
			wd := WindowDocument{Window: w.Window.Name, Limit: w.Window.Limit, Used: w.Used}
			if w.Window.Day() {
				wd.Zone, wd.ResetsAt = tariff.Zone.String(), term.FromOrNull(w.FreesAt)
			} else {
				wd.NextFreeAt = term.FromOrNull(w.FreesAt)
			}
			pool.Windows = append(pool.Windows, wd)
		}
		for _, purpose := range quota.Purposes() {
			pool.Purposes = append(pool.Purposes, PurposeDocument{purpose, p.Ceilings[purpose], p.Remaining[purpose], term.FromOrNull(p.ResumesAt[purpose])})
		}
		d.Pools = append(d.Pools, pool)
	}
	d.Spent = NewSpentDocuments(r.Spent)
	for i, s := range d.Spent {
		d.Spent[i].Window = widest[s.Pool]
	}
	return d
}

// NothingLeft reports whether some pool would refuse the next call of a purpose; "" is none.
func (d QuotaDocument) NothingLeft(of quota.Purpose) bool {
	for _, p := range d.Pools {
		for _, left := range p.Purposes {
			if left.Purpose == of && (left.Remaining == 0 || left.ResumesAt != nil) {
				return true
			}
		}
	}
	return false
}

// NewSpentDocuments shows who spent what.
func NewSpentDocuments(spent []quota.Spent) []SpentDocument {
	docs := []SpentDocument{}
	for _, s := range spent {
		docs = append(docs, SpentDocument{Purpose: s.Who.Purpose, Region: s.Who.Region, Method: s.Who.Method, Pool: s.Pool, Amount: s.Amount})
	}
	return docs
}

// TakeDocument is one decision of the ledger.
type TakeDocument struct {
	Allowed      bool             `json:"allowed"`
	Method       string           `json:"method"`
	Purpose      quota.Purpose    `json:"purpose"`
	Charges      map[string]int64 `json:"charges"`   // what the call costs
	Remaining    map[string]int64 `json:"remaining"` // for this purpose
	RetryAfterMS int64            `json:"retry_after_ms"`
	RetryAt      *time.Time       `json:"retry_at"` // of a refusal: the same call will be admitted then
	RefusedBy    *RefusedBy       `json:"refused_by"`
	Degraded     bool             `json:"degraded"`
}

// RefusedBy is the window that refused a take.
type RefusedBy struct {
	Pool    string `json:"pool"`
	Window  string `json:"window"`
	Used    int64  `json:"used"`
	Ceiling int64  `json:"ceiling"`
	Limit   int64  `json:"limit"`
}

// NewTakeDocument shows the decision about a call of that cost.
func NewTakeDocument(d quota.Decision, cost quota.Cost) TakeDocument {
	doc := TakeDocument{
		Allowed: d.Allowed, Method: d.Who.Method, Purpose: d.Who.Purpose, Charges: cost,
		Remaining: map[string]int64{}, RetryAfterMS: d.RetryAfter.Milliseconds(), Degraded: d.Degraded,
	}
	for _, p := range d.Pools {
		if !d.Degraded { // what remains is not known then
			doc.Remaining[p.Pool] = p.Remaining
		}
	}
	if r := d.Refusal; r != nil {
		doc.RetryAt = term.FromOrNull(d.RetryAt)
		doc.RefusedBy = &RefusedBy{r.Pool, r.Window, r.Used, r.Ceiling, r.Limit}
	}
	return doc
}

// SlotDocument is a slot.
type SlotDocument struct {
	Job       string       `json:"job"`
	Region    string       `json:"region,omitempty"`
	Slot      time.Time    `json:"slot"`
	DueAt     time.Time    `json:"due_at"`
	Outcome   ingest.State `json:"outcome"`
	Reason    string       `json:"reason"`
	RetryAt   *time.Time   `json:"retry_at"`
	FetchedAt *time.Time   `json:"fetched_at"`
	Attempt   int          `json:"attempt"`
	Pages     int          `json:"pages"`
	Videos    int          `json:"videos"`
	Units     int64        `json:"units"`

	// Of missed ticks in a row, which are one slot due when the last of them was.
	Count      int        `json:"count,omitempty"`
	FirstDueAt *time.Time `json:"first_due_at,omitempty"`
}

// ticks is how many ticks the slot stands for.
func (d SlotDocument) ticks() int { return max(d.Count, 1) }

// NewSlotDocument shows a slot.
func NewSlotDocument(s ingest.Slot) SlotDocument {
	d := SlotDocument{
		Job: s.Job, Region: s.Key, Slot: term.Second(s.DueAt), DueAt: term.Second(s.DueAt), Outcome: s.State, Reason: s.Reason,
		FetchedAt: term.TimeOrNull(s.FetchedAt), Attempt: s.Attempt, Pages: s.Pages, Videos: s.Videos, Units: s.Units,
		Count: s.Count, FirstDueAt: term.TimeOrNull(s.FirstDueAt),
	}
	if s.State == ingest.Stopped {
		d.RetryAt = term.FromOrNull(s.RetryAt)
	}
	return d
}

// NextDocument is a slot to come.
type NextDocument struct {
	Job    string           `json:"job"`
	Region string           `json:"region,omitempty"`
	DueAt  time.Time        `json:"due_at"`
	Cost   map[string]int64 `json:"cost"` // at most, per pool; empty where it depends on what is stored
}

// LedgerDocument is how the ledger stands.
type LedgerDocument struct {
	Generation string     `json:"generation,omitempty"` // of a remote ledger that this data directory has synced with
	AskedAgain *time.Time `json:"asked_again"`          // when a ledger that was silent is asked again; null: now
	Why        string     `json:"why,omitempty"`        // it was silent
	Missing    int64      `json:"missing"`              // units that the store's slots spent and the ledger lacks
	ProvenAt   time.Time  `json:"proven_at"`            // when the two were compared
}

// BackfillDocument is how far a backfill has come.
type BackfillDocument struct {
	ID      string       `json:"id"`
	What    string       `json:"what"`
	Outcome ingest.State `json:"outcome"`
	Ended   int          `json:"ended"` // of Pieces
	Pieces  int          `json:"pieces"`
	Units   int64        `json:"units"`
}

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
