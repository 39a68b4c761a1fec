package web

import (
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
	Spent    []SpentDocument  `json:"spent"` // over the longest window
	Forecast ForecastDocument `json:"forecast"`
}

// PoolDocument is one pool.
type PoolDocument struct {
	Pool         string            `json:"pool"`
	Limit        int64             `json:"limit"`
	DrainedUntil *time.Time        `json:"drained_until"`
	Drift        int64             `json:"drift"`
	StoppedAt    int64             `json:"stopped_at,omitempty"`
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
}

// SpentDocument is what one spender has drawn of a pool.
type SpentDocument struct {
	Purpose quota.Purpose `json:"purpose"`
	Region  string        `json:"region"`
	Method  string        `json:"method"`
	Pool    string        `json:"pool"`
	Amount  int64         `json:"amount"`
}

// ForecastDocument is what the schedule may still spend before the provider's day ends, and whether it is
// there.
type ForecastDocument struct {
	Until     time.Time        `json:"until"`
	Scheduled map[string]int64 `json:"scheduled"` // at most, per pool
	Fits      bool             `json:"fits"`
}

// NewQuotaDocument shows a report of an account that is priced by tariff. Data and Ledger are the caller's to set.
func NewQuotaDocument(r quota.Report, tariff *quota.Tariff, f ForecastDocument) QuotaDocument {
	d := QuotaDocument{
		At: r.At.UTC(), Account: r.Account, Table: tariff.Table,
		Degraded: r.Degraded != nil, Pools: []PoolDocument{}, Spent: []SpentDocument{}, Forecast: f,
	}
	for _, p := range r.Pools {
		pool := PoolDocument{Pool: p.Pool, Limit: p.Limit, DrainedUntil: term.TimeOrNull(p.DrainedUntil), Drift: p.Drift, StoppedAt: p.StoppedAt}
		for _, w := range p.Windows {
			wd := WindowDocument{Window: w.Window.Name, Limit: w.Window.Limit, Used: w.Used}
			if w.Window.Day() {
				wd.Zone, wd.ResetsAt = tariff.Zone.String(), term.TimeOrNull(w.FreesAt)
			} else {
				wd.NextFreeAt = term.TimeOrNull(w.FreesAt)
			}
			pool.Windows = append(pool.Windows, wd)
		}
		for _, purpose := range quota.Purposes() {
			pool.Purposes = append(pool.Purposes, PurposeDocument{purpose, p.Ceilings[purpose], p.Remaining[purpose]})
		}
		d.Pools = append(d.Pools, pool)
	}
	for _, s := range r.Spent {
		d.Spent = append(d.Spent, SpentDocument{s.Who.Purpose, s.Who.Region, s.Who.Method, s.Pool, s.Amount})
	}
	return d
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
}

// NewSlotDocument shows a slot.
func NewSlotDocument(s ingest.Slot) SlotDocument {
	d := SlotDocument{
		Job: s.Job, Region: s.Key, Slot: s.DueAt.UTC(), DueAt: s.DueAt.UTC(), Outcome: s.State, Reason: s.Reason,
		FetchedAt: term.TimeOrNull(s.FetchedAt), Attempt: s.Attempt, Pages: s.Pages, Videos: s.Videos, Units: s.Units,
	}
	if s.State == ingest.Stopped {
		d.RetryAt = term.TimeOrNull(s.RetryAt)
	}
	return d
}
