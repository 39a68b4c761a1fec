package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// backfillDocument is a backfill in JSON: what was asked for, how far it has come, what is to be paid.
type backfillDocument struct {
	backfillLine

	Order     ingest.Order `json:"order,omitempty"`
	CreatedAt time.Time    `json:"created_at"`
	Cancelled *time.Time   `json:"cancelled_at"`
	Table     string       `json:"cost_table"` // that the price is under
	Under     string       `json:"planned_under"`

	Known    int                  `json:"known"`    // left out, since they had just been fetched
	GivenUp  int                  `json:"given_up"` // ids that cannot be looked up
	Waiting  int                  `json:"waiting"`  // ids that are found and not yet looked up
	Again    int                  `json:"again"`    // pages paid for once more, since the upstream refused their token
	RetryAt  *time.Time           `json:"retry_at"`
	LastAt   *time.Time           `json:"last_at"`
	Held     *time.Time           `json:"claimed_until,omitempty"` // when what is claimed is due again, should its run have died
	Failures []failureDocument    `json:"failures,omitempty"`
	Price    map[string]rangeJSON `json:"price"` // of what is still to do, per pool
	Assuming string               `json:"assuming,omitempty"`
	Likely   int64                `json:"likely_units,omitempty"` // of what is still to do, if it costs what was done; 0: not known
	Asked    quota.Cost           `json:"asked,omitempty"`        // spent to ask how large channels are
	Today    todayDocument        `json:"today"`
	Days     *rangeJSON           `json:"days"` // of the provider's; null: the schedule leaves too little
	EndsAt   *time.Time           `json:"ends_at"`

	Found    bool           `json:"planned_before,omitempty"`
	IDs      int            `json:"ids,omitempty"` // read just now, each once
	Repeated int            `json:"repeated,omitempty"`
	Wrong    int            `json:"wrong_lines,omitempty"`
	Rejected []rejectedLine `json:"rejected,omitempty"` // the first of those lines
}

// backfillLine is what the list of all backfills says of one.
type backfillLine struct {
	ID       string              `json:"id"`
	Kind     ingest.BackfillKind `json:"kind"`
	What     string              `json:"what"` // in words
	Outcome  ingest.State        `json:"outcome"`
	Wait     bool                `json:"wait"`   // ingest serve may carry it on
	Pieces   map[string]int      `json:"pieces"` // by state, and their total
	Units    int64               `json:"units"`  // spent so far
	Videos   int                 `json:"videos"` // fetched and kept
	Vanished int                 `json:"vanished"`
}

func newBackfillLine(b store.BackfillStatus) backfillLine {
	l := backfillLine{b.ID, b.Kind, whatOf(b.Backfill), b.State(), b.Wait, map[string]int{"total": 0}, b.Units, b.Videos, b.Vanished}
	for state, n := range b.Pieces {
		l.Pieces[string(state)] = n
		l.Pieces["total"] += n
	}
	return l
}

type rangeJSON struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// todayDocument is what there is to spend before the provider's day ends.
type todayDocument struct {
	Until time.Time        `json:"until"`
	Left  map[string]int64 `json:"left"` // for backfills
	Kept  map[string]int64 `json:"kept"` // for the schedule
}

type failureDocument struct {
	Piece  string `json:"piece"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

// document is the plan without failures.
func (p *pricedBackfill) document() backfillDocument {
	d := backfillDocument{
		backfillLine: newBackfillLine(p.BackfillStatus), CreatedAt: p.Created.UTC(), Cancelled: term.TimeOrNull(p.Cancelled),
		Table: p.table, Under: p.Table, Known: p.Known, GivenUp: p.GivenUp, Waiting: p.Waiting, Again: p.Again,
		RetryAt: term.TimeOrNull(p.RetryAt), LastAt: term.TimeOrNull(p.LastAt), Held: term.TimeOrNull(p.HeldUntil), Found: p.found,
		Price: map[string]rangeJSON{}, Assuming: p.assuming, Asked: p.asked, Today: todayDocument{p.Until, map[string]int64{}, map[string]int64{}},
		Likely: p.estimate.Likely(p.DoneUnits, p.Pieces[ingest.Done], p.Open()),
	}
	if p.Kind == ingest.BackfillSearch {
		d.Order = p.Spec.Order
	}
	for pool := range p.perCall {
		d.Price[pool] = rangeJSON{p.estimate.Low[pool], p.estimate.High[pool]}
		d.Today.Kept[pool] = p.Cost[pool]
		if !p.degraded {
			d.Today.Left[pool] = p.Left[pool]
		}
	}
	low, ok := p.Days(p.estimate.Low, p.perCall)
	if high, allOK := p.Days(p.estimate.High, p.perCall); ok && allOK && p.Open() > 0 && !p.degraded {
		d.Days = &rangeJSON{int64(low), int64(high)}
		d.EndsAt = term.TimeOrNull(p.Ends(high))
	}
	if p.ids != nil {
		d.IDs, d.Repeated, d.Wrong, d.Rejected = len(p.ids.IDs), p.ids.Repeated, p.ids.Wrong, shownLines(p.ids.Rejected)
	}
	return d
}

// whatOf is what a backfill fetches, in words.
func whatOf(b ingest.Backfill) string {
	switch b.Kind {
	case ingest.BackfillUploads:
		const most = 3
		names := b.Spec.Channels
		if len(names) > most {
			return fmt.Sprintf("uploads of %s and %s", strings.Join(names[:most], ", "), term.Plural(len(names)-most, "more channel"))
		}
		return "uploads of " + strings.Join(names, ", ")
	case ingest.BackfillSearch:
		q := b.Spec.Query
		what := fmt.Sprintf("search for %q", term.Clean(q.Text))
		if q.Region != "" {
			what += " in " + string(q.Region)
		}
		if !q.After.IsZero() {
			what += fmt.Sprintf(", published from %s until %s", day(q.After), day(q.Before))
		}
		return what
	case ingest.BackfillVideos:
		return "videos by their ids"
	default:
		return "videos last fetched more than " + spanText(b.Spec.OlderThan) + " before"
	}
}

// day is a time as short as it can be said.
func day(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return term.Stamp(t)
}

// spanText is a length of time in its largest unit: "7 days", "36 hours", "90m0s".
func spanText(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return term.Plural(int(d/(24*time.Hour)), "day")
	case d%time.Hour == 0:
		return term.Plural(int(d/time.Hour), "hour")
	default:
		return d.String()
	}
}

// backfillDocument is the present state of a backfill, with its first failures.
func (a *app) backfillDocument(ctx context.Context, w *fetchRuntime, id string) (backfillDocument, error) {
	const failuresShown = 10 // retry does them all
	status, err := findBackfill(ctx, w.store, id)
	if err != nil {
		return backfillDocument{}, err
	}
	p, err := a.priced(ctx, w, status)
	if err != nil {
		return backfillDocument{}, err
	}
	d := p.document()
	failures, err := w.store.FailedPieces(ctx, p.ID, failuresShown)
	for _, f := range failures {
		d.Failures = append(d.Failures, failureDocument(f))
	}
	return d, err
}
