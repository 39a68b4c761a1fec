// Package report holds the documents that commands print with --json, and how a terminal shows them. The status page
// and the API serve the same documents. It reads nothing: the maker of a document passes in the facts.
//
// Fields are only ever added. Times are in UTC and whole seconds.
package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// QuotaDocument is the rest of an account's quota, who spent it, and the schedule's need, as ingest quota prints it.
type QuotaDocument struct {
	At       time.Time `json:"at"`
	Account  string    `json:"account"`
	Data     string    `json:"data"`
	Ledger   string    `json:"ledger"`
	Table    string    `json:"cost_table"`
	Degraded bool      `json:"degraded"`
	// The amount that may be spent while the ledger cannot answer; absent while it can. Empty: nothing is fetched.
	EmergencyLeft []EmergencyDocument `json:"emergency_left,omitempty"`
	Pools         []PoolDocument      `json:"pools"`
	Spent         []SpentDocument     `json:"spent"` // as counted by each pool's widest window; with Since, all since then
	Since         *time.Time          `json:"since,omitempty"`
	Forecast      budget.Forecast     `json:"forecast"`
	// spent on charts in the last day without a page to show for it
	Wasted map[string]int64 `json:"wasted,omitempty"`
	// the gateway's answers without a call since the provider's midnight, by pool
	Saved quota.Cost `json:"saved"`
}

// NoteSaved notes the cost of the calls that the gateway avoided on the provider's day by reusing answers.
func (d *QuotaDocument) NoteSaved(calls ingest.CallStats, tariff *quota.Tariff) {
	today := d.At.In(tariff.Zone).Format(time.DateOnly)
	for method, stats := range calls {
		if cost, err := tariff.Cost(method); err == nil && stats.Repeats.Day == today {
			d.Saved.Add(cost, stats.Repeats.Calls)
		}
	}
}

// PoolDocument is a quota.PoolReport as JSON.
type PoolDocument struct {
	Pool         string     `json:"pool"`
	Limit        int64      `json:"limit"`
	DrainedUntil *time.Time `json:"drained_until"`
	// number of the next probe of a doubted refusal, made at DrainedUntil
	Probe     int   `json:"probe,omitempty"`
	Drift     int64 `json:"drift"`
	StoppedAt int64 `json:"stopped_at,omitempty"`
	// provider, hand or unknown (its use is not known), while drained
	DrainedBy string            `json:"drained_by,omitempty"`
	DrainedAt *time.Time        `json:"drained_at,omitempty"` // when; null if the provider did it
	Windows   []WindowDocument  `json:"windows"`
	Purposes  []PurposeDocument `json:"purposes"`

	line int    // line of its limits in the costs
	span string // of the total to post where use is not known
}

// WindowDocument is the use of one window of a pool, and when the pool has more room in it.
type WindowDocument struct {
	Window string `json:"window"`
	Zone   string `json:"zone,omitempty"` // of a day
	Limit  int64  `json:"limit"`
	Used   int64  `json:"used"`
	// How much of this window may be used before each purpose must stop.
	Ceilings map[quota.Purpose]int64 `json:"ceilings"`
	// When the oldest entry of a sliding window leaves: a *time.Time, null while it is empty. It is an interface, so that
	// a day has no such field.
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

// PurposeDocument is the amount of a pool that a purpose may still spend.
type PurposeDocument struct {
	Purpose   quota.Purpose `json:"purpose"`
	Ceiling   int64         `json:"ceiling"`
	Remaining int64         `json:"remaining"`
	ResumesAt *time.Time    `json:"resumes_at"` // when its next call will be admitted; null: now
}

// For returns the amount of the pool that a purpose may still spend.
func (p PoolDocument) For(purpose quota.Purpose) PurposeDocument {
	i := slices.IndexFunc(p.Purposes, func(each PurposeDocument) bool { return each.Purpose == purpose })
	if i < 0 {
		return PurposeDocument{}
	}
	return p.Purposes[i]
}

// SpentDocument is the amount of a pool that one spender has used.
type SpentDocument struct {
	Purpose quota.Purpose `json:"purpose"`
	Region  string        `json:"region"`
	Method  string        `json:"method"`
	Client  string        `json:"client"` // which tool; "": the program itself
	Pool    string        `json:"pool"`
	Amount  int64         `json:"amount"`
	Window  string        `json:"window,omitempty"` // the window that counts it
}

// NewQuotaDocument converts a report on an account priced by tariff. The caller sets Data and Ledger.
func NewQuotaDocument(r quota.Report, tariff *quota.Tariff, f budget.Forecast) QuotaDocument {
	d := QuotaDocument{
		At: term.Second(r.At), Account: r.Account, Table: tariff.Table,
		Degraded: r.Degraded != nil, EmergencyLeft: newEmergencyDocuments(r.EmergencyLeft), Pools: []PoolDocument{},
		Forecast: f, Saved: quota.Cost{},
	}
	widest := map[string]string{}
	for _, p := range r.Pools {
		pool := PoolDocument{Pool: p.Pool, Limit: p.Limit, DrainedUntil: term.FromOrNull(p.DrainedUntil),
			Probe: p.Probe, Drift: p.Drift, StoppedAt: p.StoppedAt}
		switch {
		case !p.DrainedByHand.IsZero():
			pool.DrainedBy, pool.DrainedAt = "hand", term.TimeOrNull(p.DrainedByHand)
		case !p.Unknown.IsZero():
			pool.DrainedBy, pool.DrainedAt = "unknown", term.TimeOrNull(p.Unknown)
		case pool.DrainedUntil != nil:
			pool.DrainedBy = "provider"
		}
		pool.span, _ = p.Total()
		widest[p.Pool] = p.Widest
		if i := slices.IndexFunc(tariff.Pools, func(known quota.Pool) bool { return known.Name == p.Pool }); i >= 0 {
			pool.line = tariff.Pools[i].Line
		}
		for _, w := range p.Windows {
			wd := WindowDocument{Window: w.Window.Name, Limit: w.Window.Limit, Used: w.Used, Ceilings: map[quota.Purpose]int64{}}
			for _, purpose := range quota.Purposes() {
				wd.Ceilings[purpose] = tariff.Ceilings[purpose].Of(w.Window.Limit)
			}
			if w.Window.Day() {
				wd.Zone, wd.ResetsAt = tariff.Zone.String(), term.FromOrNull(w.FreesAt)
			} else {
				wd.NextFreeAt = term.FromOrNull(w.FreesAt)
			}
			pool.Windows = append(pool.Windows, wd)
		}
		for _, purpose := range quota.Purposes() {
			pool.Purposes = append(pool.Purposes,
				PurposeDocument{purpose, p.Ceilings[purpose], p.Remaining[purpose], term.FromOrNull(p.ResumesAt[purpose])})
		}
		d.Pools = append(d.Pools, pool)
	}
	d.Spent = NewSpentDocuments(r.Spent)
	for i, s := range d.Spent {
		d.Spent[i].Window = widest[s.Pool]
	}
	return d
}

// NewSpentDocuments returns the spenders and their amounts.
func NewSpentDocuments(spent []quota.Spent) []SpentDocument {
	docs := []SpentDocument{}
	for _, s := range spent {
		docs = append(docs, SpentDocument{Purpose: s.Who.Purpose, Region: s.Who.Region, Method: s.Who.Method,
			Client: s.Who.Client, Pool: s.Pool, Amount: s.Amount})
	}
	return docs
}

// LedgerDocument is the state of the ledger.
type LedgerDocument struct {
	Generation string     `json:"generation,omitempty"` // of a remote ledger: the one this data directory has synced with
	RetryAt    *time.Time `json:"asked_again"`          // when a ledger that did not answer is tried again; null: now
	Why        string     `json:"why,omitempty"`        // why it did not answer
	Missing    int64      `json:"missing"`              // units that the store's slots spent and the ledger lacks
	ProvenAt   time.Time  `json:"proven_at"`            // when the two were compared
}

// fullest returns the window that is nearest to its limit; of several, the one with the smallest limit.
func fullest[W any](windows []W, of func(W) (used, limit int64)) (found W) {
	most, least := -1.0, int64(0)
	for _, w := range windows {
		used, limit := of(w)
		if share := float64(used) / float64(limit); share > most || share == most && limit < least {
			found, most, least = w, share, limit
		}
	}
	return found
}

// Remainder says in words how much of a pool is left for the schedule after a correction; "": of every used pool.
func Remainder(r quota.Report, pool string) (text string) {
	for _, p := range r.Pools {
		most := fullest(p.Windows, func(w quota.WindowState) (int64, int64) { return w.Used, w.Window.Limit })
		if p.Pool != pool && (pool != "" || most.Used == 0) {
			continue
		}
		text += fmt.Sprintf("; %s: %s of %s used, %s left for the schedule", p.Pool, term.Thousands(most.Used),
			term.Thousands(most.Window.Limit), term.Thousands(p.Remaining[quota.Scheduled]))
		if !p.DrainedUntil.IsZero() {
			text += ", closed until " + term.StampFrom(p.DrainedUntil)
		}
	}
	return text
}
