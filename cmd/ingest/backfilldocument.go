package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// backfillDocument is a backfill in JSON: what was asked for, how far it has come, what is to be paid.
type backfillDocument struct {
	ID        string              `json:"id"`
	Kind      ingest.BackfillKind `json:"kind"`
	What      string              `json:"what"` // in words
	Order     ingest.Order        `json:"order,omitempty"`
	CreatedAt time.Time           `json:"created_at"`
	Cancelled *time.Time          `json:"cancelled_at"`
	Wait      bool                `json:"wait"`       // ingest serve may carry it on
	Table     string              `json:"cost_table"` // that the price is under
	Under     string              `json:"planned_under"`

	Outcome  ingest.State         `json:"outcome"`
	Pieces   map[string]int       `json:"pieces"` // by state, and their total
	Units    int64                `json:"units"`  // spent so far
	Videos   int                  `json:"videos"` // fetched and kept
	Known    int                  `json:"known"`  // left out, since they had just been fetched
	Vanished int                  `json:"vanished"`
	GivenUp  int                  `json:"given_up"` // ids that cannot be looked up
	Waiting  int                  `json:"waiting"`  // ids that are found and not yet looked up
	Again    int                  `json:"again"`    // pages paid for once more, since the upstream refused their token
	RetryAt  *time.Time           `json:"retry_at"`
	LastAt   *time.Time           `json:"last_at"`
	Failures []failureDocument    `json:"failures,omitempty"`
	Price    map[string]rangeJSON `json:"price"` // of what is still to do, per pool
	Assuming string               `json:"assuming,omitempty"`
	Asked    quota.Cost           `json:"asked,omitempty"` // spent to ask how large channels are
	Today    todayDocument        `json:"today"`
	Days     *rangeJSON           `json:"days"` // of the provider's; null: the schedule leaves too little
	EndsAt   *time.Time           `json:"ends_at"`

	Found    bool           `json:"planned_before,omitempty"`
	IDs      int            `json:"ids,omitempty"` // read just now, each once
	Repeated int            `json:"repeated,omitempty"`
	Wrong    int            `json:"wrong_lines,omitempty"`
	Rejected []rejectedLine `json:"rejected,omitempty"` // the first of those lines
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
func (p *planned) document() backfillDocument {
	d := backfillDocument{
		ID: p.ID, Kind: p.Kind, What: whatOf(p.Backfill), CreatedAt: p.Created.UTC(), Cancelled: timeOrNull(p.Cancelled), Wait: p.Wait,
		Table: p.table, Under: p.Table, Outcome: outcomeOf(p.BackfillStatus), Pieces: map[string]int{"total": 0}, Units: p.Units, Videos: p.Videos,
		Known: p.Known, Vanished: p.Vanished, GivenUp: p.GivenUp, Waiting: p.Waiting, Again: p.Again, RetryAt: timeOrNull(p.RetryAt),
		LastAt: timeOrNull(p.LastAt), Price: map[string]rangeJSON{}, Assuming: p.price.assuming, Asked: p.asked,
		Today: todayDocument{p.until, map[string]int64{}, map[string]int64{}}, Found: p.found,
	}
	if p.Kind == ingest.BackfillSearch {
		d.Order = p.Spec.Order
	}
	for state, n := range p.Pieces {
		d.Pieces[string(state)] = n
		d.Pieces["total"] += n
	}
	for pool := range p.call {
		d.Price[pool] = rangeJSON{p.price.low[pool], p.price.high[pool]}
		d.Today.Kept[pool] = p.cost[pool]
		if !p.unknown {
			d.Today.Left[pool] = p.left[pool]
		}
	}
	low, ok := p.days(p.price.low, p.call)
	if high, allOK := p.days(p.price.high, p.call); ok && allOK && p.Open() > 0 && !p.unknown {
		d.Days = &rangeJSON{int64(low), int64(high)}
		d.EndsAt = timeOrNull(p.ends(high, p.zone))
	}
	if p.ids != nil {
		d.IDs, d.Repeated, d.Wrong, d.Rejected = len(p.ids.ids), p.ids.repeated, p.ids.wrong, p.ids.rejected
	}
	return d
}

// outcomeOf is where a backfill is, in the words of slots.
func outcomeOf(b store.BackfillStatus) ingest.State {
	switch {
	case !b.Cancelled.IsZero():
		return ingest.Skipped
	case b.Open() == 0 && b.Pieces[ingest.Failed] > 0:
		return ingest.Failed
	case b.Open() == 0:
		return ingest.Done
	case b.Pieces[ingest.Claimed] > 0:
		return ingest.Claimed
	case b.Pieces[ingest.Stopped] > 0:
		return ingest.Stopped
	default:
		return ingest.Due
	}
}

// whatOf is what a backfill fetches, in words.
func whatOf(b ingest.Backfill) string {
	switch b.Kind {
	case ingest.BackfillUploads:
		const most = 3
		names := b.Spec.Channels
		if len(names) > most {
			return fmt.Sprintf("uploads of %s and %s", strings.Join(names[:most], ", "), plural(len(names)-most, "more channel"))
		}
		return "uploads of " + strings.Join(names, ", ")
	case ingest.BackfillSearch:
		q := b.Spec.Query
		what := fmt.Sprintf("search for %q", clean(q.Text))
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
		return "videos last fetched more than " + b.Spec.OlderThan.String() + " before"
	}
}

// day is a time as short as it can be said.
func day(t time.Time) string {
	if t.Equal(t.Truncate(fullDay)) {
		return t.UTC().Format(time.DateOnly)
	}
	return stamp(t)
}

// print is the plan in 80 columns.
func (d backfillDocument) print(w io.Writer) error {
	title := d.ID
	if d.Found {
		title += ", planned before"
	}
	fmt.Fprintln(w, wrap(title+": "+d.What, 80, "  "))
	d.line(w, "pieces", d.piecesText())
	if d.IDs > 0 {
		d.line(w, "ids", fmt.Sprintf("%s, %s repeated, %s left out", thousands(int64(d.IDs)), thousands(int64(d.Repeated)), plural(d.Wrong, "line")))
	}
	d.printSpent(w)
	if d.Outcome == ingest.Done || d.Outcome == ingest.Failed || d.Outcome == ingest.Skipped {
		return d.printFailures(w)
	}
	d.line(w, "price", d.priceText())
	d.line(w, "today", d.todayText())
	d.line(w, "will take", d.daysText())
	if d.RetryAt != nil {
		d.line(w, "retry at", stampFrom(*d.RetryAt))
	}
	if err := d.printFailures(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "next: ingest backfill run %s\n", d.ID)
	return err
}

// line prints a name and a text of as many lines as it needs.
func (d backfillDocument) line(w io.Writer, name, text string) {
	const column = 12
	lines := wrap(text, 80-column, "")
	fmt.Fprintf(w, "  %s%s\n", pad(name, column-2), strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", column)))
}

func (d backfillDocument) piecesText() string {
	parts := []string{thousands(int64(d.Pieces["total"]))}
	for _, s := range []ingest.State{ingest.Done, ingest.Due, ingest.Claimed, ingest.Stopped, ingest.Failed, ingest.Skipped} {
		if n := d.Pieces[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(int64(n)), s))
		}
	}
	return strings.Join(parts, ", ")
}

func (d backfillDocument) priceText() string {
	text := "nothing"
	for _, pool := range sortedKeys(d.Price) {
		if text == "nothing" {
			text = ""
		} else {
			text += ", "
		}
		if r := d.Price[pool]; r.Low == r.High {
			text += poolText(r.Low, pool)
		} else {
			text += rangeText(r) + " " + pool
		}
	}
	text += " (cost table " + d.Table
	if d.Under != d.Table {
		text += "; it was planned under " + d.Under
	}
	text += ")"
	if d.Assuming != "" {
		text += ", if " + d.Assuming
	}
	if len(d.Asked) > 0 {
		text += "; asking cost " + costText(d.Asked)
	}
	return text
}

func (d backfillDocument) todayText() string {
	if len(d.Today.Left) == 0 {
		return "what is left is not known: the ledger cannot answer"
	}
	return fmt.Sprintf("%s left for it until %s, beside %s kept for the schedule", costText(d.Today.Left), stamp(d.Today.Until), costText(d.Today.Kept))
}

func (d backfillDocument) daysText() string {
	switch {
	case len(d.Today.Left) == 0:
		return "not known"
	case d.Days == nil:
		return "for ever: the schedule leaves less than a call a day; fetch less often (every:), or raise ceilings.backfill in the costs"
	}
	days := rangeText(*d.Days) + " days"
	if d.Days.High == 1 {
		days = "1 day"
	}
	return fmt.Sprintf("%s, until %s at the latest", days, stamp(*d.EndsAt))
}

func rangeText(r rangeJSON) string {
	if r.Low == r.High {
		return thousands(r.Low)
	}
	return thousands(r.Low) + " to " + thousands(r.High)
}

// printSpent says what came in, where anything did.
func (d backfillDocument) printSpent(w io.Writer) {
	if d.Units == 0 && d.Videos == 0 && d.Vanished == 0 && d.GivenUp == 0 && d.Known == 0 {
		return
	}
	text := fmt.Sprintf("%s, for %s", poolText(d.Units, "units"), plural(d.Videos, "video"))
	for _, more := range []struct {
		n    int
		what string
	}{
		{d.Known, "known already"},
		{d.Vanished, "vanished"},
		{d.GivenUp, "that cannot be looked up"},
		{d.Waiting, "waiting to be looked up"},
	} {
		if more.n > 0 {
			text += fmt.Sprintf("; %s %s", thousands(int64(more.n)), more.what)
		}
	}
	if d.Again > 0 {
		text += "; " + plural(d.Again, "page") + " paid for once more, since the upstream refused their tokens"
	}
	d.line(w, "spent", text)
}

func (d backfillDocument) printFailures(w io.Writer) error {
	if len(d.Failures) == 0 {
		return nil
	}
	fmt.Fprintln(w, "  failed:")
	for _, f := range d.Failures {
		what := f.Piece
		if f.ID != "" {
			what = f.ID
		}
		fmt.Fprintf(w, "    %s\n", wrap(fit(what, 44)+": "+f.Reason, 76, "      "))
	}
	_, err := fmt.Fprintf(w, "  to try them again: ingest backfill retry %s\n", d.ID)
	return err
}
