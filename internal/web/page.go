package web

import (
	"context"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// statusPage serves the status page, or as JSON the documents that it shows.
func (s *Site) statusPage(w http.ResponseWriter, r *http.Request) {
	d := s.Status.details(r.Context())
	st := s.Status.overview(r.Context()).with(d)
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, newStatusDocument(st))
		return
	}
	s.Pages.ShowStatus(w, r, st)
}

// homePage is the first chart, or the status page if there is none or it cannot be read.
func (s *Site) homePage(w http.ResponseWriter, r *http.Request) {
	o := s.Status.overview(r.Context())
	if fresh := o.Fresh; s.Pages.Documents == nil || wantsJSON(r) || fresh == nil ||
		o.Standing.Empty() || !s.Pages.Chart(w, r) {
		s.statusPage(w, r)
	}
}

// Overall is the worst state of all, for the head of every page.
func (s *Status) Overall(ctx context.Context) pages.State { return s.now(ctx).Overall() }

// Regions says how fresh each region's chart is.
func (s *Status) Regions(ctx context.Context) map[string]pages.State {
	return s.now(ctx).Regions()
}

// now is the status with the details that are already known.
func (s *Status) now(ctx context.Context) pages.Status {
	known, _ := s.detailed.Kept("")
	return s.overview(ctx).with(known)
}

// statusDocument is the page's content as JSON.
type statusDocument struct {
	Quota     *report.QuotaDocument     `json:"quota"` // null: the ledger's file could not be read
	Freshness report.Freshness          `json:"freshness"`
	Slots     []report.SlotDocument     `json:"slots"` // of the last 24 hours
	Next      []report.NextDocument     `json:"next"`  // until the provider's day ends
	Ledger    report.LedgerDocument     `json:"ledger"`
	PerDay    map[string]int64          `json:"per_day"`
	Backfills []report.BackfillDocument `json:"backfills"`
	Kept      ingest.Kept               `json:"kept"`
	Oldest    *time.Time                `json:"oldest"`
	Backup    *time.Time                `json:"backup"` // when ingest backup last made one
	Errors    map[string]string         `json:"errors"` // by part
}

func newStatusDocument(st pages.Status) statusDocument {
	doc := statusDocument{
		Quota: st.Quota, Slots: st.Slots, Next: st.Next, Ledger: st.Ledger, PerDay: map[string]int64{},
		Backfills: st.Backfills,
		Kept:      st.Kept, Oldest: term.TimeOrNull(st.Kept.Oldest), Backup: term.TimeOrNull(st.Backup),
		Errors: map[string]string{},
	}
	if st.Fresh != nil {
		doc.Freshness = *st.Fresh
	}
	if len(st.Prices) > 0 {
		doc.PerDay = st.Prices[0].Cost
	}
	note := func(part string, err error) {
		if err != nil {
			doc.Errors[part] = term.Clean(err.Error())
		}
	}
	note("quota", st.Standing.LedgerErr)
	note("store", st.Standing.StoreErr)
	for part, err := range st.Errors {
		note(part, err)
	}
	return doc
}
