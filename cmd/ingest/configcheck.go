package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Validate the configuration and estimate its daily cost", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the config and the costs, and price the schedule",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.checkConfig() },
	})
	return cmd
}

type checkDocument struct {
	Config    string           `json:"config"` // "": none
	Data      string           `json:"data"`
	Ledger    string           `json:"ledger"`
	Store     string           `json:"store"`
	Account   string           `json:"account"`
	Upstream  string           `json:"upstream"`
	CostTable string           `json:"cost_table"`
	Jobs      []checkJob       `json:"jobs"`
	PerDay    map[string]int64 `json:"per_day"`
	Fits      bool             `json:"fits"`
	Warnings  []checkWarning   `json:"warnings"`
}

// checkWarning is something in a cron line that its writer may not mean, with the times when it fires.
type checkWarning struct {
	Job     string      `json:"job"`
	Warning string      `json:"warning"`
	Next    []time.Time `json:"next"`
}

type checkJob struct {
	Job    string           `json:"job"`
	Kind   string           `json:"kind"`
	Slots  int              `json:"slots_per_day"`
	PerDay map[string]int64 `json:"per_day"`
	NextAt time.Time        `json:"next_at"`
	text   string
}

func (a *app) checkConfig() error {
	schedule, price, err := a.pricedSchedule()
	if err != nil {
		return err
	}
	remote, _, err := openRemote(context.Background(), a.cfg)
	if err != nil {
		return err
	}
	if remote != nil {
		_ = remote.Close()
	}
	if _, err := newAPI(a.cfg); err != nil {
		return err
	}
	if a.cfg.ListensBeyond() {
		a.say("others can reach %s: %s", a.cfg.Listen, config.AccessPolicy)
	}
	now := a.clock.Now()
	doc := checkDocument{
		Config: a.cfg.File, Data: a.cfg.Data, Ledger: config.ServerName(a.cfg.Ledger), Store: config.ServerName(a.cfg.Store), Account: a.cfg.Account,
		Upstream: a.cfg.Upstream, CostTable: schedule.Tariff.Table, Jobs: []checkJob{}, PerDay: maps.Clone(price.Total), Warnings: []checkWarning{},
	}
	ceilings := budget.Ceilings(schedule.Tariff)
	for i, j := range price.Jobs {
		text := cmp.Or(term.DayShares(j.Cost, ceilings), a.refreshCost(schedule.Tariff))
		doc.Jobs = append(doc.Jobs, checkJob{j.Job.Name, string(j.Job.Kind), j.Slots, j.Cost, schedule.Jobs[i].Next(now), text})
		for _, w := range schedule.Jobs[i].Warnings(now) {
			doc.Warnings = append(doc.Warnings, checkWarning{j.Job.Name, w, schedule.Jobs[i].NextTimes(now, 5)})
		}
	}
	unfit := price.Fits(schedule.Tariff)
	doc.Fits = unfit == nil
	if a.json {
		err = a.printJSON(doc)
	} else {
		err = doc.print(a.stdout, term.DayShares(price.Total, ceilings))
	}
	if err == nil && unfit != nil {
		err = config.Invalid(unfit)
	}
	return err
}

func (d checkDocument) print(w io.Writer, total string) error {
	file := cmp.Or(d.Config, "none: built-in defaults")
	costs := "upstream " + d.Upstream + ", cost table " + d.CostTable
	if d.Store != "sqlite" {
		costs = "store    " + d.Store + "\n" + costs
	}
	fmt.Fprintf(w, "config   %s\ndata     %s\nledger   %s, account %s\n%s\n\n", file, d.Data, d.Ledger, d.Account, costs)
	d.printJobs(w)
	fmt.Fprintf(w, "%s\n", term.Wrap("in all: "+total, term.Screen, "  "))
	for _, warning := range d.Warnings {
		fmt.Fprintf(w, "%s\n", term.Wrap(fmt.Sprintf("warning: job %s: %s; next:", warning.Job, warning.Warning), 78, "  "))
		for _, t := range warning.Next {
			fmt.Fprintf(w, "  %s\n", term.Stamp(t))
		}
	}
	_, err := fmt.Fprintln(w, "history: 29 days, since the provider wants data refreshed or deleted within 30")
	return err
}

// printJobs aligns the jobs in 80 columns; a price that does not fit is printed pool by pool.
func (d checkDocument) printJobs(w io.Writer) {
	const longest = 20 // name shown, in columns
	names, slots := 0, 0
	for _, j := range d.Jobs {
		names, slots = max(names, min(term.Width(j.Job), longest)), max(slots, len(j.slots()))
	}
	margin := names + len(":  ") + slots + len("  ")
	for _, j := range d.Jobs {
		head := term.Pad(term.Fit(j.Job, longest)+":", names+len(":  ")) + term.Pad(j.slots(), slots+len("  "))
		parts := []string{j.text}
		if margin+term.Width(j.text) > term.Screen {
			parts = strings.SplitAfter(j.text, ", ")
		}
		for _, part := range parts {
			for line := range strings.SplitSeq(term.Wrap(part, term.Screen-margin, "  "), "\n") {
				fmt.Fprintln(w, head+line)
				head = strings.Repeat(" ", margin)
			}
		}
	}
}

func (j checkJob) slots() string { return term.Plural(j.Slots, "slot") + " a day" }

// refreshCost says what a refresh costs, which depends on what the store then has.
func (a *app) refreshCost(tariff *quota.Tariff) string {
	calls := a.provider().calls
	cost, _ := tariff.Cost(calls.Videos(nil).Method) // no error: the price of the day has asked for the same
	return fmt.Sprintf("%s per %d videos unseen for %d days", term.Amounts(cost), calls.Limits().IDsPerCall, ingest.RefreshAfter/(24*time.Hour))
}
