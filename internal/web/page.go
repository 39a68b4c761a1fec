package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// choices are the intervals offered for pricing.
var choices = []string{"10m", "15m", "20m", "30m", "1h", "2h", "6h"}

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
	v := newView(o, d, s.Version)
	if source, err := s.Source(); err == nil {
		v.setChange(source, r.URL.Query().Get("every"), d.price)
		v.search(r.Context(), source, r.URL.Query().Get("q"))
	}
	v.Moved, v.Nonce = s.Moved, rand.Text()
	var page bytes.Buffer
	_ = v.render(&page) // memory takes it all
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'nonce-%s'; script-src 'nonce-%s'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", v.Nonce, v.Nonce))
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

// setChange prices the schedule with another interval, if one was chosen.
func (v *view) setChange(source *Source, every string, today map[string]int64) {
	for _, c := range choices {
		v.Choices = append(v.Choices, choiceView{c, c == every})
	}
	interval, err := time.ParseDuration(every)
	if every == "" || err != nil || interval < time.Minute || interval > 7*day {
		return
	}
	price, err := source.DayPrice(interval)
	if err != nil {
		v.Change = "Not known: " + term.Clean(err.Error())
		return
	}
	var parts []string
	for pool, n := range price {
		parts = append(parts, fmt.Sprintf("%+d %s a day", n-today[pool], pool))
	}
	v.Change = fmt.Sprintf("Every %s: %s, %s in all.", term.Clean(every), strings.Join(parts, ", "), orNothing(term.Amounts(price)))
}

type foundView struct {
	Title            []part
	Channel, Regions string
}

// part is a piece of a title; Marked: it matched the query.
type part struct {
	Text   string
	Marked bool
}

func (v *view) search(ctx context.Context, source *Source, query string) {
	if v.Query = term.Clean(query); v.Query == "" {
		return
	}
	found, hint, err := source.Search(ctx, query)
	switch {
	case err != nil:
		v.Looked = "Not found out: " + term.Clean(err.Error())
		return
	case hint != "":
		v.Looked = "Nothing found: " + hint + "."
	case len(found.Items) == 0:
		v.Looked = "Nothing found. Looked for " + term.Clean(found.Looked) + "."
	default:
		v.Looked = "Looked for " + term.Clean(found.Looked) + "."
	}
	for _, video := range found.Items {
		var regions []string
		for _, r := range video.Regions {
			regions = append(regions, string(r))
		}
		v.Found = append(v.Found, foundView{parts(video.Title, video.Highlight), term.Clean(video.Channel), strings.Join(regions, " ")})
	}
}

// parts cuts a title at its highlights, which count the characters of the original title.
func parts(title string, highlights [][2]int) (out []part) {
	at := 0
	runes := []rune(title)
	add := func(to int, marked bool) {
		if to = min(to, len(runes)); to > at {
			if text := term.Clean(string(runes[at:to])); text != "" {
				out = append(out, part{text, marked})
			}
			at = to
		}
	}
	for _, h := range highlights {
		add(h[0], false)
		add(h[1], true)
	}
	add(len(runes), false)
	return out
}
