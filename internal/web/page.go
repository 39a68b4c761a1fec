package web

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// page serves the status page: the documents of one moment, without any external resource.
func (s *Status) page(w http.ResponseWriter, r *http.Request) {
	o, err := s.overview(r.Context())
	if err != nil {
		o = overview{at: s.Now().UTC(), quotaErr: err, storeErr: err}
	}
	d := s.details(r.Context(), o)
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, newStatusDocument(o, d))
		return
	}
	p := statusPage{o: o, d: d, version: s.Version, moved: s.Moved, nonce: rand.Text(), every: r.URL.Query().Get("every"), query: r.URL.Query().Get("q")}
	p.source, _ = s.Source() // the overview has the error
	var page bytes.Buffer
	_ = p.render(r.Context(), &page) // memory takes it all
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'nonce-%s'; script-src 'nonce-%s'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", p.nonce, p.nonce))
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(page.Bytes())
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
	Oldest    *time.Time                `json:"oldest"`
	Backup    *time.Time                `json:"backup"` // when ingest backup last made one
	Errors    map[string]string         `json:"errors"` // by part
}

func newStatusDocument(o overview, d details) statusDocument {
	doc := statusDocument{
		Freshness: o.fresh, Slots: o.slots, Next: d.next, Ledger: d.ledger, PerDay: d.price, Backfills: d.backfills,
		Oldest: term.TimeOrNull(d.oldest), Backup: term.TimeOrNull(d.backup), Errors: map[string]string{},
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
