package web

import (
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// The documents that commands print with --json and that the pages show, so that both agree. Fields are only ever
// added. Times are in UTC.

// QuotaDocument is what is left of an account's quota, who spent it, and what the schedule will need.
type QuotaDocument struct {
	At       time.Time        `json:"at"`
	Account  string           `json:"account"`
	Data     string           `json:"data"`
	Ledger   string           `json:"ledger"`
	Table    string           `json:"cost_table"`
	Degraded bool             `json:"degraded"`
	Pools    []PoolDocument   `json:"pools"`
	Spent    []SpentDocument  `json:"spent"` // what the widest window of each pool counts; with Since, all since then
	Since    *time.Time       `json:"since,omitempty"`
	Forecast ForecastDocument `json:"forecast"`
}

// PoolDocument is one pool.
type PoolDocument struct {
	Pool         string            `json:"pool"`
	Limit        int64             `json:"limit"`
	DrainedUntil *time.Time        `json:"drained_until"`
	Probe        int               `json:"probe,omitempty"` // number of the next probe of a doubted refusal, made at DrainedUntil
	Drift        int64             `json:"drift"`
	StoppedAt    int64             `json:"stopped_at,omitempty"`
	DrainedBy    string            `json:"drained_by,omitempty"` // provider or hand, while drained
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
	// When the oldest entry of a sliding window leaves: a *time.Time, null while it is empty. It is an interface, so
	// that a day has no such field.
	NextFreeAt any        `json:"next_free_at,omitempty"`
	ResetsAt   *time.Time `json:"resets_at,omitempty"` // of a day
}

// FreesAt returns when the window next has more room; nil while it is empty.
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
	ResumesAt *time.Time    `json:"resumes_at"` // when its next call will be admitted; null: now
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

// ForecastDocument is what the schedule may still spend before the provider's day ends, and whether that is left.
type ForecastDocument struct {
	Until     time.Time        `json:"until"`
	Scheduled map[string]int64 `json:"scheduled"` // at most, per pool
	Fits      bool             `json:"fits"`
	Pacing    string           `json:"pacing,omitempty"` // how the schedule is stretched to what is left; "": it is not
}

// NewQuotaDocument returns a report of an account priced by tariff as a document. The caller sets Data and Ledger.
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

// NothingLeft reports whether some pool would refuse the next call of a purpose; "" is no purpose.
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

// NewSpentDocuments returns who spent what.
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
	RetryAt      *time.Time       `json:"retry_at"` // after a refusal: when the same call will be admitted
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

// NewTakeDocument returns the decision about a call of that cost.
func NewTakeDocument(d quota.Decision, cost quota.Cost) TakeDocument {
	doc := TakeDocument{
		Allowed: d.Allowed, Method: d.Who.Method, Purpose: d.Who.Purpose, Charges: cost,
		Remaining: map[string]int64{}, RetryAfterMS: d.RetryAfter.Milliseconds(), Degraded: d.Degraded,
	}
	for _, p := range d.Pools {
		if !d.Degraded { // else what remains is not known
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

	// Set for consecutive missed ticks, which are one slot, due when the last of them was.
	Count      int        `json:"count,omitempty"`
	FirstDueAt *time.Time `json:"first_due_at,omitempty"`
}

// ticks returns how many ticks the slot stands for.
func (d SlotDocument) ticks() int { return max(d.Count, 1) }

// NewSlotDocument returns a slot as a document.
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

// NextDocument is a future slot.
type NextDocument struct {
	Job    string           `json:"job"`
	Region string           `json:"region,omitempty"`
	DueAt  time.Time        `json:"due_at"`
	Cost   map[string]int64 `json:"cost"` // at most, per pool; empty if it depends on what is stored
}

// LedgerDocument is the state of the ledger.
type LedgerDocument struct {
	Generation string     `json:"generation,omitempty"` // of a remote ledger that this data directory has synced with
	AskedAgain *time.Time `json:"asked_again"`          // when a ledger that did not answer is asked again; null: now
	Why        string     `json:"why,omitempty"`        // it did not answer
	Missing    int64      `json:"missing"`              // units that the store's slots spent and the ledger lacks
	ProvenAt   time.Time  `json:"proven_at"`            // when the two were compared
}

// BackfillDocument is a backfill's progress.
type BackfillDocument struct {
	ID      string       `json:"id"`
	What    string       `json:"what"`
	Outcome ingest.State `json:"outcome"`
	Ended   int          `json:"ended"` // of Pieces
	Pieces  int          `json:"pieces"`
	Units   int64        `json:"units"`
}

// Freshness is the age of everything that the schedule fetches.
type Freshness struct {
	At         time.Time     `json:"at"`
	StaleAfter int           `json:"stale_after"` // intervals
	Series     []SeriesState `json:"series"`
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
	Outcome   ingest.State `json:"outcome"`    // of the newest slot that has one; "": none
	Reason    string       `json:"reason"`     // of that outcome
}

// Stale returns the stale series.
func (f Freshness) Stale() []SeriesState {
	var stale []SeriesState
	for _, state := range f.Series {
		if state.Stale {
			stale = append(stale, state)
		}
	}
	return stale
}

// Name returns the series for a person: "chart DE".
func (s SeriesState) Name() string { return strings.TrimSpace(s.Job + " " + s.Region) }

// succeededAt returns when the series was last fetched; zero: never.
func (s SeriesState) succeededAt() time.Time {
	switch {
	case s.FetchedAt != nil:
		return *s.FetchedAt
	case s.Slot != nil: // there was nothing to fetch
		return *s.Slot
	}
	return time.Time{}
}

// String returns the series and its age: "chart DE (2h0m0s)".
func (s SeriesState) String() string {
	age := "never done"
	if s.AgeS != nil {
		age = (time.Duration(*s.AgeS) * time.Second).String()
	}
	return s.Name() + " (" + age + ")"
}
