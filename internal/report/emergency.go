package report

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// EmergencyDocument is the amount of a pool that the schedule may spend while the ledger cannot answer.
type EmergencyDocument struct {
	Pool      string     `json:"pool"`
	Remaining int64      `json:"remaining"`
	ResumesAt *time.Time `json:"resumes_at"` // when some is left again; null: some is left now, or the time is not known
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
	amounts, resumes := map[string]int64{}, time.Time{}
	for _, l := range left {
		amounts[l.Pool] = l.Remaining
		if l.ResumesAt.After(resumes) {
			resumes = l.ResumesAt
		}
	}
	switch {
	case !standing.NothingGoesOn(left):
		return "cheap calls go on from the emergency budget (" + term.Amounts(amounts) + " left), expensive ones wait"
	case len(left) == 0:
		return "nothing is fetched"
	case resumes.IsZero():
		return "nothing is fetched, as the budget for calls without the ledger is used up"
	}
	return "nothing is fetched, as the budget for calls without the ledger is used up until " + term.StampFrom(resumes)
}

// ClosedText describes the runs' fetching while the ledger cannot answer; "" if it can.
func ClosedText(st standing.Standing) string {
	switch {
	case st.LedgerErr != nil:
		return fmt.Sprintf("until this is mended no run fetches the due slots: %v", st.LedgerErr)
	case st.Report.Degraded != nil:
		return fmt.Sprintf("until this is mended %s: %v", WithoutLedger(st.Report.EmergencyLeft), st.Report.Degraded)
	}
	return ""
}

// LogAttrs gives an error's cause and cure to a log, in the words of the status page.
func LogAttrs(err error, unknown standing.Cause) []any {
	c := standing.Condition{Cause: standing.CauseOf(err, unknown), Err: err}
	cure := c.Cure()
	return []any{slog.Any("error", err), slog.String("cause", string(c.Cause)),
		slog.String("cure", strings.TrimSpace(cure.Advice+" "+cure.Command))}
}
