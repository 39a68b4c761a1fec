package web

import (
	"context"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// statusPage serves the status page, and as JSON the documents that it is made of.
func (s *Site) statusPage(w http.ResponseWriter, r *http.Request) {
	o := s.Status.overviewOrWhyNot(r.Context())
	d := s.Status.details(r.Context(), o)
	if o.storeErr == nil {
		o.storeErr = d.storeErr()
	}
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, newStatusDocument(o, d))
		return
	}
	st := pages.Status{
		Situation: o.situation(), At: o.at, Slots: o.slots, Tops: d.tops, Hours: d.hours, Prices: d.prices,
		Ledger: d.ledger, Emergency: o.emergency, Kept: d.kept, Backup: d.backup, Backfills: d.backfills, Errors: d.errs,
	}
	st.Next = d.next
	s.Pages.ShowStatus(w, r, st)
}

// homePage is the first chart; the status page, while there is none or none can be read.
func (s *Site) homePage(w http.ResponseWriter, r *http.Request) {
	o := s.Status.overviewOrWhyNot(r.Context())
	if s.Pages.Library == nil || wantsJSON(r) || o.storeErr != nil || o.fresh.Empty() {
		s.statusPage(w, r)
		return
	}
	s.Pages.Chart(w, r)
}

// Regions says how fresh each region's chart is.
func (s *Status) Regions(ctx context.Context) map[string]pages.RegionState {
	o := s.overviewOrWhyNot(ctx)
	return pages.Status{Situation: o.situation(), At: o.at, Slots: o.slots}.Regions()
}

// Overall is the worst of all, for the head of every page.
func (s *Status) Overall(ctx context.Context) pages.State {
	o := s.overviewOrWhyNot(ctx)
	if o.storeErr == nil {
		o.storeErr = s.detailed.last(detailsFor).storeErr()
	}
	return pages.Status{Situation: o.situation()}.Overall()
}

// overviewOrWhyNot is an overview, or one that says why nothing can be read.
func (s *Status) overviewOrWhyNot(ctx context.Context) overview {
	o, err := s.overview(ctx)
	if err != nil {
		return overview{at: s.Now().UTC(), quotaErr: err, storeErr: err}
	}
	return o
}

// situation is the input of the headline. An error of one source hides nothing of the other.
func (o overview) situation() (s report.Situation) {
	if s.QuotaErr = o.quotaErr; o.quotaErr == nil {
		s.Quota = &o.quota
	}
	if s.StoreErr = o.storeErr; o.storeErr == nil {
		s.Fresh = &o.fresh
	}
	return s
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
	Kept      report.KeptDocument       `json:"kept"`
	Oldest    *time.Time                `json:"oldest"`
	Backup    *time.Time                `json:"backup"` // when ingest backup last made one
	Errors    map[string]string         `json:"errors"` // by part
}

func newStatusDocument(o overview, d details) statusDocument {
	doc := statusDocument{
		Freshness: o.fresh, Slots: o.slots, Next: d.next, Ledger: d.ledger, PerDay: map[string]int64{}, Backfills: d.backfills,
		Kept: d.kept, Oldest: term.TimeOrNull(d.kept.Oldest), Backup: term.TimeOrNull(d.backup), Errors: map[string]string{},
	}
	for _, price := range d.prices[:min(1, len(d.prices))] {
		doc.PerDay = price.Cost
	}
	errs := map[string]error{"quota": o.quotaErr, "store": o.storeErr}
	if o.quotaErr == nil {
		doc.Quota = &o.quota
	}
	for part, err := range d.errs {
		errs[part] = err
	}
	for part, err := range errs {
		if err != nil {
			doc.Errors[part] = term.Clean(err.Error())
		}
	}
	return doc
}
