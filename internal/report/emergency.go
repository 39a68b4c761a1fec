package report

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// EmergencyDocument is the amount of a pool that the schedule may spend while the ledger cannot answer.
type EmergencyDocument struct {
	Pool      string     `json:"pool"`
	Remaining int64      `json:"remaining"`
	ResumesAt *time.Time `json:"resumes_at"` // when there is some again; null: there is, or it is not known
}

func newEmergencyDocuments(left []quota.EmergencyLeft) (docs []EmergencyDocument) {
	for _, l := range left {
		docs = append(docs, EmergencyDocument{l.Pool, l.Remaining, term.FromOrNull(l.ResumesAt)})
	}
	return docs
}

// WithoutLedger describes the fetching while the ledger cannot answer: "cheap calls go on from the emergency budget
// (18 units left), expensive ones wait".
func WithoutLedger(left []quota.EmergencyLeft) string {
	return QuotaDocument{EmergencyLeft: newEmergencyDocuments(left)}.withoutLedger()
}

func (d QuotaDocument) withoutLedger() string {
	amounts, resumes := map[string]int64{}, time.Time{}
	for _, l := range d.EmergencyLeft {
		amounts[l.Pool] = l.Remaining
		if l.ResumesAt != nil && l.ResumesAt.After(resumes) {
			resumes = *l.ResumesAt
		}
	}
	switch {
	case !d.nothingGoesOn():
		return "cheap calls go on from the emergency budget (" + term.Amounts(amounts) + " left), expensive ones wait"
	case len(d.EmergencyLeft) == 0:
		return "nothing is fetched"
	case resumes.IsZero():
		return "nothing is fetched, as the budget for calls without the ledger is used up"
	}
	return "nothing is fetched, as the budget for calls without the ledger is used up until " + term.StampFrom(resumes)
}

func (d QuotaDocument) nothingGoesOn() bool {
	return len(d.EmergencyLeft) == 0 || slices.ContainsFunc(d.EmergencyLeft, func(l EmergencyDocument) bool { return l.Remaining == 0 })
}

// Closed reports whether nothing is fetched because the ledger cannot answer.
func (d QuotaDocument) Closed() bool { return d.Degraded && d.nothingGoesOn() }
