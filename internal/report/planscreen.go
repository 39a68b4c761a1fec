package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/term"
)

// Print shows the plan in 80 columns.
func (d PlanDocument) Print(w io.Writer) {
	title := d.ID
	switch {
	case d.Cancelled != nil:
		title += ", cancelled at " + term.Stamp(*d.Cancelled)
	case d.Found:
		title += ", planned before"
	}
	term.Paragraph(w, title+": "+d.What)
	d.line(w, "pieces", d.piecesText())
	switch {
	case d.ClaimedUntil != nil && d.Cancelled != nil:
		d.line(w, "claimed", "by a run in progress, which ends with the page in flight")
	case d.ClaimedUntil != nil:
		d.line(w, "claimed", "by a run in progress; if it died, free again at "+term.StampFrom(*d.ClaimedUntil))
	}
	if d.IDs > 0 {
		d.line(w, "ids", d.idsText())
	}
	d.printSpent(w)
	d.printLacks(w)
	if d.Outcome == ingest.Done || d.Outcome == ingest.Failed || d.Outcome == ingest.Skipped {
		d.printFailures(w)
		if !d.Found {
			return
		}
		next := "next: the same with --again plans it again"
		if d.RetryCost > 0 && d.RetryCost < d.RepeatCost {
			next = fmt.Sprintf("next: ingest backfill retry %s, for about %s; --again costs about %s",
				d.ID, term.Amount(d.RetryCost, "units"), term.Amount(d.RepeatCost, "units"))
		}
		term.Paragraph(w, next)
		return
	}
	price := "price"
	if d.begun() {
		price = "to go"
	}
	d.line(w, price, d.priceText())
	d.line(w, "today", d.todayText())
	d.line(w, "will take", d.daysText())
	d.line(w, "later", upkeepText(d.Upkeep))
	if d.RetryAt != nil {
		d.line(w, "retry at", term.StampFrom(*d.RetryAt))
	}
	d.printFailures(w)
	fmt.Fprintf(w, "next: %s\n", d.nextText())
}

// begun reports whether any piece was paid for or done.
func (d PlanDocument) begun() bool {
	return d.Units > 0 || d.Pieces[string(ingest.Done)] > 0
}

func (d PlanDocument) nextText() string {
	text := "ingest backfill run " + d.ID
	switch {
	case d.Exhausted:
		text += " asks for more: all that was confirmed is spent"
	case d.Wait:
		text = "ingest serve carries it on, or " + text
	}
	if len(d.Today.Left) > 0 && d.Days == nil && d.Never != "" {
		text += ", once it fits"
	}
	if d.Pieces[string(ingest.Due)]+d.Pieces[string(ingest.Stopped)] == 0 {
		text += ", if that run has died"
	}
	return text
}

func (d PlanDocument) idsText() string {
	text := term.Thousands(int64(d.IDs))
	if d.Repeated > 0 {
		text += ", " + term.Thousands(int64(d.Repeated)) + " repeated"
	}
	if d.Wrong > 0 {
		text += ", " + term.Plural(d.Wrong, "line") + " left out"
	}
	return text
}

// line prints a name, and a text in as many lines as it needs.
func (d PlanDocument) line(w io.Writer, name, text string) {
	const column = 12
	lines := term.Wrap(text, term.Screen-column, "")
	fmt.Fprintf(w, "  %s%s\n", term.Pad(name, column-2), strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", column)))
}

func (d PlanDocument) piecesText() string {
	total := d.Pieces["total"]
	if total == 0 {
		return "none: there is nothing to fetch"
	}
	parts := []string{term.Thousands(int64(total))}
	for _, s := range []ingest.State{ingest.Done, ingest.Due, ingest.Claimed, ingest.Stopped,
		ingest.Failed, ingest.Skipped} {
		switch n := d.Pieces[string(s)]; n {
		case 0:
		case total:
			all := "all "
			if n == 1 {
				all = ""
			}
			return fmt.Sprintf("%s, %s%s", parts[0], all, s)
		default:
			parts = append(parts, fmt.Sprintf("%s %s", term.Thousands(int64(n)), s))
		}
	}
	return strings.Join(parts, ", ")
}

// priceText gives the rest of the price. Once some pieces are done, their cost predicts the rest better than the
// plan's assumption.
func (d PlanDocument) priceText() string {
	pools := term.Texts(slices.Sorted(maps.Keys(d.Price)),
		func(pool string) string { return rangeText(d.Price[pool], pool) })
	text := cmp.Or(strings.Join(pools, ", "), "nothing")
	switch {
	case d.Under != d.Table:
		text += " (cost table " + d.Table + "; it was planned under " + d.Under + ")"
	case !d.begun():
		text += " (cost table " + d.Table + ")"
	}
	switch {
	case d.Likely > 0:
		text += "; about " + term.Amount(d.Likely, "units") + ", if the rest costs as much as the " +
			term.Plural(d.Pieces[string(ingest.Done)], "piece") + " done did"
	case d.Assuming != "":
		text += ", if " + d.Assuming
	}
	if len(d.Asked) > 0 {
		text += "; asking cost " + term.Amounts(d.Asked)
	}
	return text
}

func (d PlanDocument) todayText() string {
	if len(d.Today.Left) == 0 {
		return "the rest is not known: the ledger cannot answer"
	}
	kept := map[string]int64{}
	for pool, n := range d.Today.Kept {
		if n > 0 {
			kept[pool] = n
		}
	}
	text := fmt.Sprintf("%s left for it until %s", term.Amounts(d.Today.Left), term.Stamp(d.Today.Until))
	if len(kept) > 0 {
		text += ", beside " + term.Amounts(kept) + " kept for the schedule"
	}
	return text
}

func (d PlanDocument) daysText() string {
	switch {
	case len(d.Today.Left) == 0:
		return "not known"
	case d.Days == nil:
		return d.Never
	}
	if d.Days.High == 1 {
		return "1 day: the rest of today is enough"
	}
	return fmt.Sprintf("%s, until %s at the latest", rangeText(*d.Days, "days"), term.Stamp(*d.EndsAt))
}

// rangeText returns a range of a pool's amounts: "1 to 5 units".
func rangeText(r budget.Range, pool string) string {
	if r.Low == r.High {
		return term.Amount(r.High, pool)
	}
	return term.Thousands(r.Low) + " to " + term.Amount(r.High, pool)
}

func (d PlanDocument) printSpent(w io.Writer) {
	if d.Units == 0 && d.Videos == 0 && d.Vanished == 0 && d.GivenUp == 0 && d.Known == 0 {
		return
	}
	text := term.Amount(d.Units, "units")
	if len(d.Charges) > 0 {
		text = term.Amounts(d.Charges)
	}
	text += ", for " + term.Plural(d.Videos, "video")
	if d.Lost > 0 {
		text += fmt.Sprintf("; %s of that for calls that died with their run", term.Amount(d.Lost, "units"))
	}
	for _, more := range []struct {
		n    int
		what string
	}{
		{d.Known, "known already"},
		{d.Vanished, "that the upstream does not have"},
		{d.GivenUp, "that cannot be looked up"},
		{d.Waiting, "waiting to be looked up"},
	} {
		if more.n > 0 {
			text += fmt.Sprintf("; %s %s", term.Thousands(int64(more.n)), more.what)
		}
	}
	if d.PaidTwice > 0 {
		text += "; " + term.Plural(d.PaidTwice, "page") + " paid for once more, since the upstream refused their tokens"
	}
	d.line(w, "spent", text)
}

func (d PlanDocument) printFailures(w io.Writer) {
	if len(d.Failures) == 0 {
		return
	}
	fmt.Fprintln(w, "  failed:")
	for _, f := range d.Failures {
		what := f.Piece
		if f.ID != "" {
			what = f.ID
		}
		fmt.Fprintf(w, "    %s\n", term.Wrap(term.Fit(what, 44)+": "+f.Reason, 76, "      "))
	}
	fmt.Fprintf(w, "  to try them again: ingest backfill retry %s\n", d.ID)
}

func (d PlanDocument) printLacks(w io.Writer) {
	const most = 8
	for i, l := range d.Incomplete {
		if i == most {
			d.line(w, "", fmt.Sprintf("and %s more: --json lists them", term.Thousands(int64(len(d.Incomplete)-most))))
			break
		}
		name := ""
		if i == 0 {
			name = "lacks"
		}
		d.line(w, name, l.String())
	}
}

// NeedText says how much is still needed.
func (d PlanDocument) NeedText() string {
	if d.Likely > 0 {
		return term.Amount(d.Likely, "units") + " more, and the same command asks for them"
	}
	most := map[string]int64{}
	for pool, price := range d.Price {
		most[pool] = price.High
	}
	return term.Amounts(most) + " more at most, and the same command asks for them"
}

// upkeepText says how long the videos are kept, and the cost.
func upkeepText(u budget.Upkeep) string {
	text := ""
	if u.RefreshUnits.High > 0 {
		often := " from day 25 to fetch each again once; "
		if u.Rule == ingest.KeepFresh {
			often = " every 25 days to keep them fresh; "
		}
		text = rangeText(u.RefreshUnits, "units") + often
	}
	if u.CountCalls.High > 0 {
		text += rangeText(u.CountCalls, "batch_stats") + " a day for their counts; "
	}
	switch {
	case u.DeletedAfter == 0:
		return text + "kept for as long as the upstream has them"
	case u.Rule == ingest.KeepFresh:
		text += "no job of kind refresh keeps them fresh; "
	case u.Rule == ingest.LetGo:
		text += "never refreshed; "
	}
	return text + fmt.Sprintf("deleted by day %d unless found again", u.DeletedAfter)
}
