package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// The documents as a terminal shows them.

// Print shows the document in 80 columns, with the next slots, and with bars on a terminal.
func (d QuotaDocument) Print(w io.Writer, next []NextDocument) error {
	if !d.Degraded {
		fmt.Fprintf(w, "%s\n\n", term.Wrap(OutlookSentence(d, next), term.Screen, ""))
	}
	fmt.Fprintf(w, "account %s, ledger %s, costs %s\ndata %s\n", d.Account, d.Ledger, d.Table, d.Data)
	if d.Degraded {
		_, err := fmt.Fprintln(w, "DEGRADED: the ledger cannot answer; cheap calls go on from the emergency\nbudget, expensive ones fail closed")
		return err
	}
	for _, p := range d.Pools {
		if err := p.print(w, d.At); err != nil {
			return err
		}
	}
	if err := d.printSpent(w); err != nil {
		return err
	}
	if err := d.printNext(w, next); err != nil || len(d.Forecast.Scheduled) == 0 {
		return err
	}
	fits := "which fits"
	switch {
	case d.Forecast.Fits:
	case d.Forecast.Pacing != "":
		fits = "which is more than is left"
	case d.refillAt(next, Fitting(d, next)) != nil:
		fits = "which is more than is left now; more comes back from " + term.StampFrom(*d.refillAt(next, Fitting(d, next))) + " on"
	default:
		fits = "which is more than is left: it will be stopped"
	}
	needs := term.Wrap(term.Amounts(d.Forecast.Scheduled)+", "+fits, term.Screen-2, "  ")
	if d.Forecast.Pacing != "" {
		needs += "\n  " + term.Wrap(d.Forecast.Pacing, term.Screen-2, "  ")
	}
	_, err := fmt.Fprintf(w, "\nforecast: until %s the schedule wants up to\n  %s\n", term.Stamp(d.Forecast.Until), needs)
	return err
}

// print shows the pool as of a time.
func (p PoolDocument) print(w io.Writer, at time.Time) error {
	fmt.Fprintf(w, "\n%s: limit %s\n", p.Pool, term.Thousands(p.Limit))
	switch {
	case p.Probe > 0:
		text := fmt.Sprintf("closed until %s: the provider said no at %s, which is doubted: one call asks again then (%d of %d); to open it: ingest quota drain %s --lift",
			term.StampFrom(*p.DrainedUntil), term.Thousands(p.StoppedAt), p.Probe, quota.Probes, p.Pool)
		fmt.Fprintf(w, "  %s\n", term.Wrap(text, term.Screen-2, "  "))
	case p.DrainedUntil != nil:
		text := "the provider said no: closed"
		if p.DrainedAt != nil {
			text = "closed by hand at " + term.Stamp(*p.DrainedAt) + ","
		}
		text = fmt.Sprintf("%s until %s; to open it: ingest quota drain %s --lift", text, term.StampFrom(*p.DrainedUntil), p.Pool)
		fmt.Fprintf(w, "  %s\n", term.Wrap(text, term.Screen-2, "  "))
	}
	if p.Drift > 0 && p.Probe == 0 {
		fmt.Fprintf(w, "  upstream stopped at %s of %s: somebody else spends of it, or set the\n  limit to %s in the costs\n",
			term.Thousands(p.StoppedAt), term.Thousands(p.Limit), term.Thousands(p.StoppedAt/100*100))
	}
	err := term.Table(w, func(w io.Writer) {
		for _, win := range p.Windows {
			line := fmt.Sprintf("  window %s\t%s used", win.Window, term.Thousands(win.Used))
			if term.Styled(w) {
				line += "\t" + term.Bar(win.Used, win.Limit, 12)
			}
			if win.ResetsAt != nil {
				line += fmt.Sprintf("\tturns at %s (%s)", term.Stamp(*win.ResetsAt), win.Zone)
			} else if t, ok := win.NextFreeAt.(*time.Time); ok && t != nil {
				line += "\tits oldest leaves at " + term.StampFrom(*t)
			}
			fmt.Fprintln(w, line)
		}
	})
	if err != nil {
		return err
	}
	return term.Table(w, func(w io.Writer) {
		for _, left := range p.Purposes {
			line := fmt.Sprintf("  %s\t%s left of %s", left.Purpose, term.Thousands(left.Remaining), term.Thousands(left.Ceiling))
			if t := left.ResumesAt; t != nil {
				line += fmt.Sprintf(", resumes %s (in %s)", term.StampFrom(*t), term.Ago(t.Sub(at)))
			}
			fmt.Fprintln(w, line)
		}
	})
}

// printSpent shows who spent most; the rest is in --json.
func (d QuotaDocument) printSpent(w io.Writer) error {
	head, none := "spent, as far as a window still counts it:", "no window counts anything spent"
	if d.Since != nil {
		head = "spent since " + term.Stamp(*d.Since) + ":"
		none = "nothing was spent since " + term.Stamp(*d.Since)
	}
	if len(d.Spent) == 0 {
		_, err := fmt.Fprintf(w, "\n%s\n", none)
		return err
	}
	fmt.Fprintf(w, "\n%s\n", head)
	const most = 12
	err := term.Table(w, func(w io.Writer) {
		for _, s := range d.Spent[:min(most, len(d.Spent))] {
			line := fmt.Sprintf("  %s\t%s\t%s\t%s", s.Purpose, s.Region, s.Method, term.Amount(s.Amount, s.Pool))
			if s.Window != "" {
				line += "\t(" + s.Window + ")"
			}
			fmt.Fprintln(w, line)
		}
	})
	if len(d.Spent) > most {
		fmt.Fprintf(w, "  and %d more: --json has them all\n", len(d.Spent)-most)
	}
	return err
}

// printNext shows the next few slots, and whether what is left pays for them.
func (d QuotaDocument) printNext(w io.Writer, next []NextDocument) error {
	if len(next) == 0 {
		return nil
	}
	const most = 4
	fmt.Fprintln(w, "\nnext:")
	verdicts := Verdicts(d, next)
	return term.Table(w, func(w io.Writer) {
		for i, slot := range next[:min(most, len(next))] {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", term.Stamp(slot.DueAt), strings.TrimSpace(slot.Job+" "+slot.Region), term.Amounts(slot.Cost), verdicts[i])
		}
	})
}
