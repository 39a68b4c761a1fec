package report

import (
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

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
