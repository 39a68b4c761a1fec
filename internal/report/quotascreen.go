package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// QuotaScreen shows a quota document to a person, with the slots until the provider's day ends.
type QuotaScreen struct {
	QuotaDocument

	Next     []NextDocument    `json:"-"`
	Standing standing.Standing `json:"-"`
	All      bool              `json:"-"` // everything, instead of a few lines on the used pools
}

// Print shows the screen in 80 columns: first whether the quota lasts. Without All it has at most eight lines in any
// case.
func (d QuotaScreen) Print(w io.Writer) {
	verdict := Situation{Standing: d.Standing, Quota: &d.QuotaDocument, Next: d.Next}.Verdict()
	fmt.Fprintf(w, "%s\n\n", term.Wrap(verdict, term.Screen, ""))
	if d.All {
		d.printAll(w)
		return
	}
	most := cmp.Or(d.scarce(), d.Wanted())
	var others, unused []string
	for _, p := range d.Pools {
		switch {
		case p.Pool == most.Pool:
			d.printPool(w, p)
		case p.DrainedUntil != nil:
			others = append(others, p.Pool+" closed")
		case p.Fullest().Used == 0:
			unused = append(unused, fmt.Sprintf("%s (%s)", p.Pool, term.Thousands(p.Limit)))
		default:
			others = append(others, fmt.Sprintf("%s %s of %s used", p.Pool, term.Thousands(p.Fullest().Used),
				term.Thousands(p.Fullest().Limit)))
		}
	}
	d.printSaved(w)
	if d.Since != nil {
		d.printSpent(w)
	}
	last := "more: ingest quota --all"
	if len(unused) > 0 {
		last = "unused: " + strings.Join(unused, ", ") + "; " + last
	}
	if len(others) > 0 {
		last = strings.Join(others, ", ") + "; " + last
	}
	term.Paragraph(w, last)
}

// printPool shows in a few lines how much of a pool is used, the schedule's need, and the rest for each purpose.
func (d QuotaScreen) printPool(w io.Writer, p PoolDocument) {
	var used, left []string
	until := ""
	for i, win := range p.Windows {
		text := term.Thousands(win.Used)
		if i == 0 || win.Limit != p.Windows[0].Limit {
			text += " of " + term.Thousands(win.Limit)
		}
		if i == 0 {
			text += " used"
		}
		if win.ResetsAt != nil {
			text += " today, until " + term.When(w, *win.ResetsAt, d.At)
			if !win.ResetsAt.Before(d.Forecast.Until) { // which is the next day's end while the grace of this one counts
				until = "then"
			}
		} else {
			text += " in " + win.Window
		}
		used = append(used, text)
	}
	term.Paragraph(w, p.Pool+": "+strings.Join(used, "; "))
	say := func(text string) { fmt.Fprintf(w, "  %s\n", term.Wrap(text, term.Screen-2, "  ")) }
	if p.LimitText() != "" {
		say(p.stopText() + ": others spend from it, or its limit has changed")
	}
	if p.DrainedAt != nil {
		say("to open it: " + p.Lift())
	}
	if p.DrainedUntil != nil {
		return // the verdict says that nothing is left
	}
	if d.Forecast.Scheduled[p.Pool] > 0 {
		say(d.needText(w, p, until))
	}
	for _, each := range p.Purposes {
		if each.Purpose != quota.Client { // --all shows the rest for other tools
			left = append(left, fmt.Sprintf("%s %s", each.Purpose, term.Thousands(each.Remaining)))
		}
	}
	say("left: " + strings.Join(left, ", "))
}

// printAll shows every pool, window and purpose, who spent it, and the next slots.
func (d QuotaScreen) printAll(w io.Writer) {
	say := func(text string) {
		if text != "" {
			fmt.Fprintf(w, "  %s\n", term.Wrap(text, term.Screen-2, "  "))
		}
	}
	for _, p := range d.Pools {
		fmt.Fprintf(w, "%s: limit %s\n", p.Pool, term.Thousands(p.Limit))
		if p.DrainedUntil != nil {
			say(p.ClosedText() + "; to open it: " + p.Lift())
		}
		say(p.LimitText())
		if d.Forecast.Scheduled[p.Pool] > 0 {
			say(d.needText(w, p, ""))
		}
		p.printTables(w, d.At)
	}
	say(d.Forecast.Others)
	d.printSaved(w)
	if !d.Degraded { // otherwise both are unknown
		d.printSpent(w)
		d.printNext(w)
	}
	fmt.Fprintf(w, "account %s, ledger %s, costs %s; data %s\n", d.Account, d.Ledger, d.Table, d.Data)
}

func (d QuotaScreen) printSaved(w io.Writer) {
	if len(d.Saved) > 0 {
		fmt.Fprintf(w, "saved today by the gateway: %s\n", term.Amounts(d.Saved))
	}
}

// Fullest returns the window that is nearest to its limit: windows may have unlike limits.
func (p PoolDocument) Fullest() WindowDocument {
	return fullest(p.Windows, func(w WindowDocument) (int64, int64) { return w.Used, w.Limit })
}

// needText gives the schedule's remaining need of the pool, and the rest beside it. until is the end of that time, ""
// if it was not said yet.
func (d QuotaScreen) needText(w io.Writer, p PoolDocument, until string) string {
	until = cmp.Or(until, term.When(w, d.Forecast.Until, d.At))
	text := fmt.Sprintf("the schedule needs up to %s until %s: ", term.Thousands(d.Forecast.Scheduled[p.Pool]), until)
	if aside := d.Forecast.SetAside[p.Pool]; aside > 0 {
		rest := term.Thousands(aside)
		if refresh := d.Forecast.Refresh[p.Pool]; refresh > 0 {
			rest = fmt.Sprintf("the refresh %s", term.Thousands(refresh))
			if aside > refresh {
				rest += ", all else " + term.Thousands(aside-refresh)
			}
		} else {
			rest = "all else " + rest
		}
		text = fmt.Sprintf("charts need up to %s until %s, %s: ", term.Thousands(d.Forecast.Scheduled[p.Pool]), until, rest)
	}
	if spare := d.Forecast.Spare[p.Pool]; spare < 0 {
		return text + term.Thousands(-spare) + " too many"
	}
	return text + term.Thousands(d.Forecast.Spare[p.Pool]) + " to spare"
}

// ClosedText says who closed the pool, and until when.
func (p PoolDocument) ClosedText() string {
	until := term.StampFrom(*p.DrainedUntil)
	switch {
	case p.Probe > 0:
		return fmt.Sprintf("closed until %s: the provider refused at %s of %s, far below the limit, "+
			"so one call tries again then (probe %d)",
			until, term.Thousands(p.StoppedAt), term.Thousands(p.Limit), p.Probe)
	case p.DrainedBy == "unknown":
		return "closed because its use is not known, until " + until
	case p.DrainedAt != nil:
		return fmt.Sprintf("closed by hand at %s, until %s", term.Stamp(*p.DrainedAt), until)
	}
	return "the provider refused: closed until " + until
}

// Lift is the command that opens the pool.
func (p PoolDocument) Lift() string {
	if p.DrainedBy == "unknown" {
		return "ingest quota post " + p.Pool + " N (the provider's console shows how much was spent " + p.span + ")"
	}
	return "ingest quota drain " + p.Pool + " --lift"
}

// LimitText says which limit the upstream seems to apply; "" if it has not stopped short of ours, or that is doubted.
func (p PoolDocument) LimitText() string {
	if p.Drift == 0 || p.Probe > 0 {
		return ""
	}
	step := int64(1) // assumes that a limit is a round number
	if p.StoppedAt >= 1_000 {
		step = 100
	}
	text := "the upstream " + p.stopText() + ": another program spends from it, or its limit has changed: set it to " +
		term.Thousands(p.StoppedAt/step*step) + " in the costs"
	if p.line > 0 {
		text += fmt.Sprintf(", line %d", p.line)
	}
	return text
}

// stopText gives the use when the upstream stopped: "stopped at 6,812 of 10,000".
func (p PoolDocument) stopText() string {
	return fmt.Sprintf("stopped at %s of %s", term.Thousands(p.StoppedAt), term.Thousands(p.Limit))
}

// printTables shows all windows, with bars on a terminal, and all purposes.
func (p PoolDocument) printTables(w io.Writer, now time.Time) {
	term.Table(w, func(w io.Writer) {
		for _, win := range p.Windows {
			line := fmt.Sprintf("  window %s\t%s used", win.Window, term.Thousands(win.Used))
			if term.Styled(w) && term.Columns(w) >= 90 {
				line += "\t" + term.Bar(win.Used, win.Limit, 12)
			}
			if win.ResetsAt != nil {
				line += fmt.Sprintf("\tturns at %s (%s)", term.Stamp(*win.ResetsAt), win.Zone)
			} else if at := win.FreesAt(); at != nil {
				line += "\tthe first units come back at " + term.StampFrom(*at)
			}
			fmt.Fprintln(w, line)
		}
	})
	term.Table(w, func(w io.Writer) {
		for _, left := range p.Purposes {
			line := fmt.Sprintf("  %s\t%s left of %s", left.Purpose, term.Thousands(left.Remaining),
				term.Thousands(left.Ceiling))
			if left.ResumesAt != nil {
				line += ", resumes " + term.When(w, *left.ResumesAt, now)
			}
			fmt.Fprintln(w, line)
		}
		fmt.Fprintln(w)
	})
}

// printSpent shows who spent most; the rest is in --json.
func (d QuotaScreen) printSpent(w io.Writer) {
	head := "spent, in the longest window of each pool:"
	if d.Since != nil {
		head = "spent since " + term.Stamp(*d.Since) + ":"
	}
	if len(d.Spent) == 0 {
		head += " nothing"
	}
	const most = 12
	fmt.Fprintln(w, head)
	term.Table(w, func(w io.Writer) {
		for _, s := range d.Spent[:min(most, len(d.Spent))] {
			line := fmt.Sprintf("  %s\t%s\t%s\t%s", s.Purpose, cmp.Or(s.Region, s.Client), s.Method,
				term.Amount(s.Amount, s.Pool))
			if s.Window != "" {
				line += "\t(" + s.Window + ")"
			}
			fmt.Fprintln(w, line)
		}
	})
	if len(d.Spent) > most {
		fmt.Fprintf(w, "  and %d more: --json has them all\n", len(d.Spent)-most)
	}
	if len(d.Wasted) > 0 {
		fmt.Fprintf(w, "  wasted by charts in the last day: %s\n", term.Amounts(d.Wasted))
	}
	fmt.Fprintln(w)
}

// printNext shows the next few slots, and whether there is quota for them.
func (d QuotaScreen) printNext(w io.Writer) {
	if len(d.Next) == 0 {
		return
	}
	const most = 4
	fmt.Fprintln(w, "next:")
	term.Table(w, func(w io.Writer) {
		for _, slot := range d.Next[:min(most, len(d.Next))] {
			verdict := slot.Verdict()
			if slot.Overdue {
				verdict += ", overdue"
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", term.Stamp(slot.DueAt), ingest.Series{Job: slot.Job, Key: slot.Region},
				term.Amounts(slot.Cost), verdict)
		}
		fmt.Fprintln(w)
	})
}
