package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// QuotaScreen is a quota document for a person, with the slots until the provider's day ends.
type QuotaScreen struct {
	QuotaDocument

	Next     []NextDocument `json:"-"`
	Fresh    *Freshness     `json:"-"` // nil: nothing was fetched yet
	StoreErr error          `json:"-"` // why the store cannot be read
	All      bool           `json:"-"` // everything, instead of a few lines on what is in use
}

// Print shows the screen in 80 columns: first whether the quota lasts.
func (d QuotaScreen) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", term.Wrap(Situation{Quota: &d.QuotaDocument, Next: d.Next, Fresh: d.Fresh, StoreErr: d.StoreErr}.Verdict(), term.Screen, ""))
	var unused []string
	for _, p := range d.Pools {
		if !d.All && p.Used() == 0 && p.DrainedUntil == nil && d.Forecast.Scheduled[p.Pool] == 0 {
			unused = append(unused, fmt.Sprintf("%s (%s)", p.Pool, term.Thousands(p.Limit)))
		} else {
			d.printPool(w, p)
		}
	}
	if len(unused) > 0 {
		term.Paragraph(w, "unused: "+strings.Join(unused, ", "))
	}
	if len(d.Saved) > 0 {
		fmt.Fprintf(w, "saved today by the gateway: %s\n", term.Amounts(d.Saved))
	}
	if d.All || d.Since != nil {
		d.printSpent(w)
	}
	if d.All {
		d.printNext(w)
	}
	more := "more: ingest quota --all"
	if d.All || d.Degraded {
		more = "data " + d.Data
	}
	fmt.Fprintf(w, "account %s, ledger %s, costs %s; %s\n", d.Account, d.Ledger, d.Table, more)
}

// printPool shows what is used of a pool, what the schedule needs of it, and what each purpose has left.
func (d QuotaScreen) printPool(w io.Writer, p PoolDocument) {
	say := func(text string) { fmt.Fprintf(w, "  %s\n", term.Wrap(text, term.Screen-2, "  ")) }
	if d.All {
		fmt.Fprintf(w, "%s: limit %s\n", p.Pool, term.Thousands(p.Limit))
	} else {
		term.Paragraph(w, p.useText(w, d.At))
	}
	if p.DrainedUntil != nil {
		say(p.ClosedText() + "; to open it: " + p.Lift())
	}
	if text := p.LimitText(); text != "" {
		say(text)
	}
	if d.Forecast.Scheduled[p.Pool] > 0 && (d.All || p.DrainedUntil == nil) {
		say(d.needText(w, p))
	}
	if d.All {
		p.printTables(w, d.At)
	} else {
		say(p.leftText(w, d.At))
	}
}

// Used returns the most that a window of the pool counts as used.
func (p PoolDocument) Used() (most int64) {
	for _, w := range p.Windows {
		most = max(most, w.Used)
	}
	return most
}

// useText says in a line what each window counts.
func (p PoolDocument) useText(w io.Writer, now time.Time) string {
	var parts []string
	for _, win := range p.Windows {
		text := fmt.Sprintf("%s of %s used in %s", term.Thousands(win.Used), term.Thousands(win.Limit), win.Window)
		if win.ResetsAt != nil {
			text = fmt.Sprintf("%s of %s today, until %s", term.Thousands(win.Used), term.Thousands(win.Limit), term.When(w, *win.ResetsAt, now))
		}
		parts = append(parts, text)
	}
	return p.Pool + ": " + strings.Join(parts, "; ")
}

// needText says what the schedule still needs of the pool, and what that leaves.
func (d QuotaScreen) needText(w io.Writer, p PoolDocument) string {
	need, spare := term.Thousands(d.Forecast.Scheduled[p.Pool]), d.Forecast.Spare[p.Pool]
	text := fmt.Sprintf("the schedule needs up to %s until %s: ", need, term.When(w, d.Forecast.Until, d.At))
	if aside := d.Forecast.SetAside[p.Pool]; aside > 0 {
		text = fmt.Sprintf("charts need up to %s until %s, all else %s: ", need, term.When(w, d.Forecast.Until, d.At), term.Thousands(aside))
	}
	if spare >= 0 {
		return text + term.Thousands(spare) + " to spare"
	}
	text += term.Thousands(-spare) + " too many"
	if at := d.refillAt(d.Next, Fitting(d.QuotaDocument, d.Next)); at != nil && d.Forecast.Pacing == "" {
		text += "; more comes back from " + term.StampFrom(*at) + " on"
	}
	return text
}

// leftText states how much each purpose may still spend, those first that wait for more.
func (p PoolDocument) leftText(w io.Writer, now time.Time) string {
	var open []string
	var until []time.Time
	closed := map[time.Time][]string{}
	for _, of := range p.Purposes {
		switch text := fmt.Sprintf("%s %s", of.Purpose, term.Thousands(of.Remaining)); {
		case of.Purpose == quota.Client: // other tools': --all has it
		case of.ResumesAt == nil:
			open = append(open, text)
		default:
			if closed[*of.ResumesAt] == nil {
				until = append(until, *of.ResumesAt)
			}
			closed[*of.ResumesAt] = append(closed[*of.ResumesAt], text)
		}
	}
	var parts []string
	for _, at := range until {
		parts = append(parts, fmt.Sprintf("%s (more at %s)", strings.Join(closed[at], ", "), term.When(w, at, now)))
	}
	return "left: " + strings.Join(append(parts, open...), ", ")
}

// ClosedText says who closed the pool, and until when.
func (p PoolDocument) ClosedText() string {
	until := term.StampFrom(*p.DrainedUntil)
	switch {
	case p.Probe > 0:
		return fmt.Sprintf("closed until %s: the provider refused at %s of %s, far below the limit, so one call tries again then (probe %d)",
			until, term.Thousands(p.StoppedAt), term.Thousands(p.Limit), p.Probe)
	case p.DrainedAt != nil:
		return fmt.Sprintf("closed by hand at %s, until %s", term.Stamp(*p.DrainedAt), until)
	}
	return "the provider said no: closed until " + until
}

// Lift is the command that opens the pool.
func (p PoolDocument) Lift() string { return "ingest quota drain " + p.Pool + " --lift" }

// LimitText says which limit the upstream seems to keep; "" if it has not stopped short of ours, or that is doubted.
func (p PoolDocument) LimitText() string {
	if p.Drift == 0 || p.Probe > 0 {
		return ""
	}
	step := int64(1) // a limit is a round number
	if p.StoppedAt >= 1_000 {
		step = 100
	}
	text := fmt.Sprintf("the upstream stopped at %s of %s: somebody else spends of it, or its limit has changed: set it to %s in the costs",
		term.Thousands(p.StoppedAt), term.Thousands(p.Limit), term.Thousands(p.StoppedAt/step*step))
	if p.line > 0 {
		text += fmt.Sprintf(", line %d", p.line)
	}
	return text
}

// printTables shows all windows, with bars on a terminal, and all purposes.
func (p PoolDocument) printTables(w io.Writer, now time.Time) {
	term.Table(w, func(w io.Writer) {
		for _, win := range p.Windows {
			line := fmt.Sprintf("  window %s\t%s used", win.Window, term.Thousands(win.Used))
			if term.Styled(w) {
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
			line := fmt.Sprintf("  %s\t%s left of %s", left.Purpose, term.Thousands(left.Remaining), term.Thousands(left.Ceiling))
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
			line := fmt.Sprintf("  %s\t%s\t%s\t%s", s.Purpose, cmp.Or(s.Region, s.Client), s.Method, term.Amount(s.Amount, s.Pool))
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
		fmt.Fprintf(w, "  by charts in the last day, in vain: %s\n", term.Amounts(d.Wasted))
	}
	fmt.Fprintln(w)
}

// printNext shows the next few slots, and whether what is left pays for them.
func (d QuotaScreen) printNext(w io.Writer) {
	if len(d.Next) == 0 {
		return
	}
	const most = 4
	fmt.Fprintln(w, "next:")
	verdicts := Verdicts(d.QuotaDocument, d.Next)
	term.Table(w, func(w io.Writer) {
		for i, slot := range d.Next[:min(most, len(d.Next))] {
			if slot.Overdue {
				verdicts[i] += ", overdue"
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", term.Stamp(slot.DueAt), strings.TrimSpace(slot.Job+" "+slot.Region), term.Amounts(slot.Cost), verdicts[i])
		}
		fmt.Fprintln(w)
	})
}
