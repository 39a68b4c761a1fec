package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

type quotaDocument struct {
	At       time.Time        `json:"at"`
	Account  string           `json:"account"`
	Data     string           `json:"data"`
	Ledger   string           `json:"ledger"`
	Table    string           `json:"cost_table"`
	Degraded bool             `json:"degraded"`
	Pools    []poolDocument   `json:"pools"`
	Spent    []spentDocument  `json:"spent"` // over the longest window
	Forecast forecastDocument `json:"forecast"`
}

type poolDocument struct {
	Pool         string            `json:"pool"`
	Limit        int64             `json:"limit"`
	DrainedUntil *time.Time        `json:"drained_until"`
	Drift        int64             `json:"drift"`
	StoppedAt    int64             `json:"stopped_at,omitempty"`
	Windows      []windowDocument  `json:"windows"`
	Purposes     []purposeDocument `json:"purposes"`
}

type windowDocument struct {
	Window string `json:"window"`
	Zone   string `json:"zone,omitempty"` // of a day
	Limit  int64  `json:"limit"`
	Used   int64  `json:"used"`
	// Of a sliding window, when its oldest entry leaves: a *time.Time, null while it is empty. In an
	// interface, so that a day has no such field.
	NextFreeAt any        `json:"next_free_at,omitempty"`
	ResetsAt   *time.Time `json:"resets_at,omitempty"` // of a day
}

type purposeDocument struct {
	Purpose   quota.Purpose `json:"purpose"`
	Ceiling   int64         `json:"ceiling"`
	Remaining int64         `json:"remaining"`
}

type spentDocument struct {
	Purpose quota.Purpose `json:"purpose"`
	Region  string        `json:"region"`
	Method  string        `json:"method"`
	Pool    string        `json:"pool"`
	Amount  int64         `json:"amount"`
}

// forecastDocument is what the schedule may still spend before the provider's day ends, and whether it is
// there.
type forecastDocument struct {
	Until     time.Time        `json:"until"`
	Scheduled map[string]int64 `json:"scheduled"` // at most, per pool
	Fits      bool             `json:"fits"`
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
	r, err := g.Report(ctx)
	if errors.Is(err, quota.ErrUnavailable) {
		r.Degraded, err = err, nil
	}
	if err != nil {
		return err
	}
	schedule, err := scheduleOf(a.cfg)
	if err != nil {
		return err
	}
	forecast, err := schedule.Forecast(r, g.Now())
	if err != nil {
		return err
	}
	doc := newQuotaDocument(r, g.Tariff, forecast)
	doc.Data, doc.Ledger = a.cfg.Data, ledgerName(a.cfg.Ledger)
	err = a.show(doc)
	if err == nil && r.Degraded != nil {
		err = codeError{exitUnavailable, r.Degraded}
	}
	return err
}

func newQuotaDocument(r quota.Report, tariff *quota.Tariff, f budget.Forecast) quotaDocument {
	d := quotaDocument{
		At: r.At.UTC(), Account: r.Account, Table: tariff.Table,
		Degraded: r.Degraded != nil, Pools: []poolDocument{}, Spent: []spentDocument{}, Forecast: forecastDocument(f),
	}
	for _, p := range r.Pools {
		pool := poolDocument{Pool: p.Pool, Limit: p.Limit, DrainedUntil: term.TimeOrNull(p.DrainedUntil), Drift: p.Drift, StoppedAt: p.StoppedAt}
		for _, w := range p.Windows {
			wd := windowDocument{Window: w.Window.Name, Limit: w.Window.Limit, Used: w.Used}
			if w.Window.Day() {
				wd.Zone, wd.ResetsAt = tariff.Zone.String(), term.TimeOrNull(w.FreesAt)
			} else {
				wd.NextFreeAt = term.TimeOrNull(w.FreesAt)
			}
			pool.Windows = append(pool.Windows, wd)
		}
		for _, purpose := range quota.Purposes() {
			pool.Purposes = append(pool.Purposes, purposeDocument{purpose, p.Ceilings[purpose], p.Remaining[purpose]})
		}
		d.Pools = append(d.Pools, pool)
	}
	for _, s := range r.Spent {
		d.Spent = append(d.Spent, spentDocument{s.Who.Purpose, s.Who.Region, s.Who.Method, s.Pool, s.Amount})
	}
	return d
}

func (d quotaDocument) print(w io.Writer) error {
	fmt.Fprintf(w, "account %s, ledger %s, costs %s\ndata %s\n", d.Account, d.Ledger, d.Table, d.Data)
	if d.Degraded {
		_, err := fmt.Fprintln(w, "DEGRADED: the ledger cannot answer; cheap calls go on from the emergency\nbudget, expensive ones fail closed")
		return err
	}
	for _, p := range d.Pools {
		if err := p.print(w); err != nil {
			return err
		}
	}
	if err := d.printSpent(w); err != nil || len(d.Forecast.Scheduled) == 0 {
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

func (p poolDocument) print(w io.Writer) error {
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
func (d quotaDocument) printSpent(w io.Writer) error {
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
