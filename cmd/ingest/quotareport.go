package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
)

// quotaScreen is a quota document for a person, with the slots until the provider's day ends.
type quotaScreen struct {
	web.QuotaDocument
	next []web.NextDocument
	bars bool // it is a terminal
}

// withGovernor opens the ledger for a command that fetches nothing.
func (a *app) withGovernor(ctx context.Context, do func(context.Context, *quota.Governor) error) error {
	g, closeLedger, err := a.governor(ctx)
	if err != nil {
		return err
	}
	defer closeLedger()
	return do(ctx, g)
}

// quotaReport prints what is left. It spends nothing.
func (a *app) quotaReport(ctx context.Context, g *quota.Governor) error {
	doc, degraded, err := a.quotaDocument(ctx, g)
	if err != nil {
		return err
	}
	screen := quotaScreen{QuotaDocument: doc, bars: a.marker(false) == term.Bold}
	if screen.next, err = a.nextSlots(doc.Forecast.Until); err != nil {
		return err
	}
	err = a.show(screen)
	if err == nil && degraded != nil {
		err = codeError{exitUnavailable, degraded}
	}
	return err
}

// quotaDocument is what is left. degraded is why the ledger cannot answer, nil where it can.
func (a *app) quotaDocument(ctx context.Context, g *quota.Governor) (doc web.QuotaDocument, degraded, err error) {
	r, err := g.Report(ctx)
	if errors.Is(err, quota.ErrUnavailable) {
		r.Degraded, err = err, nil
	}
	if err != nil {
		return doc, nil, err
	}
	schedule, err := scheduleOf(a.cfg)
	if err != nil {
		return doc, nil, err
	}
	forecast, err := schedule.Forecast(r, g.Now())
	doc = web.NewQuotaDocument(r, g.Tariff, web.ForecastDocument(forecast))
	doc.Data, doc.Ledger = a.cfg.Data, ledgerName(a.cfg.Ledger)
	return doc, r.Degraded, err
}

func (d quotaScreen) print(w io.Writer) error {
	if !d.Degraded {
		fmt.Fprintf(w, "%s\n\n", term.Wrap(web.Outlook(d.QuotaDocument, d.next), term.Screen, ""))
	}
	fmt.Fprintf(w, "account %s, ledger %s, costs %s\ndata %s\n", d.Account, d.Ledger, d.Table, d.Data)
	if d.Degraded {
		_, err := fmt.Fprintln(w, "DEGRADED: the ledger cannot answer; cheap calls go on from the emergency\nbudget, expensive ones fail closed")
		return err
	}
	for _, p := range d.Pools {
		if err := printPool(w, p, d.bars); err != nil {
			return err
		}
	}
	if err := d.printSpent(w); err != nil {
		return err
	}
	if err := d.printNext(w); err != nil || len(d.Forecast.Scheduled) == 0 {
		return err
	}
	fits := "which fits"
	if !d.Forecast.Fits {
		fits = "which is more than is left: it will be stopped"
	}
	needs := term.Wrap(term.Amounts(d.Forecast.Scheduled)+", "+fits, term.Screen-2, "  ")
	_, err := fmt.Fprintf(w, "\nforecast: until %s the schedule wants up to\n  %s\n", term.Stamp(d.Forecast.Until), needs)
	return err
}

func printPool(w io.Writer, p web.PoolDocument, bars bool) error {
	fmt.Fprintf(w, "\n%s: limit %s\n", p.Pool, term.Thousands(p.Limit))
	if p.DrainedUntil != nil {
		fmt.Fprintf(w, "  spent by the provider's word until %s\n", term.StampFrom(*p.DrainedUntil))
	}
	if p.Drift > 0 {
		fmt.Fprintf(w, "  upstream stopped at %s of %s: somebody else spends of it, or set the\n  limit to %s in the costs\n",
			term.Thousands(p.StoppedAt), term.Thousands(p.Limit), term.Thousands(p.StoppedAt/100*100))
	}
	err := term.Table(w, func(w io.Writer) {
		for _, win := range p.Windows {
			line := fmt.Sprintf("  window %s\t%s used", win.Window, term.Thousands(win.Used))
			if bars {
				line += "\t" + term.Bar(win.Used, win.Limit, 12)
			}
			if win.ResetsAt != nil {
				line += fmt.Sprintf("\tturns at %s (%s)", term.Stamp(*win.ResetsAt), win.Zone)
			} else if t, ok := win.NextFreeAt.(*time.Time); ok && t != nil {
				line += "\tfrees from " + term.StampFrom(*t)
			}
			fmt.Fprintln(w, line)
		}
	})
	if err != nil {
		return err
	}
	var left []string
	for _, purpose := range p.Purposes {
		left = append(left, fmt.Sprintf("%s %s", purpose.Purpose, term.Thousands(purpose.Remaining)))
	}
	_, err = fmt.Fprintf(w, "  left: %s\n", strings.Join(left, ", "))
	return err
}

// printSpent shows who spent most; the rest is in --json.
func (d quotaScreen) printSpent(w io.Writer) error {
	if len(d.Spent) == 0 {
		_, err := fmt.Fprintln(w, "\nnothing was spent in the longest window")
		return err
	}
	fmt.Fprintln(w, "\nspent in the longest window:")
	const most = 12
	err := term.Table(w, func(w io.Writer) {
		for _, s := range d.Spent[:min(most, len(d.Spent))] {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", s.Purpose, s.Region, s.Method, term.Amount(s.Amount, s.Pool))
		}
	})
	if len(d.Spent) > most {
		fmt.Fprintf(w, "  and %d more: --json has them all\n", len(d.Spent)-most)
	}
	return err
}

// printNext shows the first of the slots to come, and whether what is left pays for them.
func (d quotaScreen) printNext(w io.Writer) error {
	if len(d.next) == 0 {
		return nil
	}
	const most = 4
	fmt.Fprintln(w, "\nnext:")
	fits := web.Fitting(d.QuotaDocument, d.next)
	return term.Table(w, func(w io.Writer) {
		for i, slot := range d.next[:min(most, len(d.next))] {
			verdict := "fits"
			if !fits[i] {
				verdict = "does not fit"
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", term.Stamp(slot.DueAt), strings.TrimSpace(slot.Job+" "+slot.Region), term.Amounts(slot.Cost), verdict)
		}
	})
}
