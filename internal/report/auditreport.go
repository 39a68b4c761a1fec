package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// AuditReport answers a provider's form for more quota, as far as the store knows.
type AuditReport struct {
	Account   string           `json:"account"`
	Upstream  string           `json:"upstream"`
	CostTable string           `json:"cost_table"`
	Zone      string           `json:"zone"` // in which days begin and end
	Since     time.Time        `json:"since"`
	Until     time.Time        `json:"until"`
	Begins    *time.Time       `json:"begins"` // the oldest slot that the store has; null: it has none
	Pools     []AuditPool      `json:"pools"`
	Days      []AuditDay       `json:"days"` // of the provider, oldest first; those without calls are left out
	Uses      []AuditUse       `json:"uses"`
	Lacked    AuditLacked      `json:"lacked"`
	PerDay    map[string]int64 `json:"per_day"` // what the schedule as configured costs
	Regions   []string         `json:"regions"`
	Policy    []policy.Verdict `json:"policy"`
	Unknown   []string         `json:"unknown"`
}

// AuditPool is how much of a pool was used.
type AuditPool struct {
	Pool    string `json:"pool"`
	Limit   int64  `json:"limit"`
	Used    int64  `json:"used"`
	MeanDay int64  `json:"mean_day"` // of the days with calls
	Busiest string `json:"busiest"`  // day; "": none
	Most    int64  `json:"most"`     // on that day
}

// AuditDay is the use of one day, by pool.
type AuditDay struct {
	Day  string           `json:"day"`
	Used map[string]int64 `json:"used"`
}

// AuditUse is the use of one job.
type AuditUse struct {
	Job     string           `json:"job"`
	Kind    ingest.Kind      `json:"kind"`
	Methods []string         `json:"methods"`
	Used    map[string]int64 `json:"used"`
}

// AuditLacked lists charts that were not fetched.
type AuditLacked struct {
	Stopped int `json:"stopped"` // slots that the quota refused
	Missed  int `json:"missed"`  // ticks that passed without a run, or while there was no quota
	Skipped int `json:"skipped"`
	Done    int `json:"done"`
}

var unknownToAudit = []string{
	"your organisation, the number of your project, who uses your client, and why it needs more: that is yours to write",
	"calls that other tools made, by hand or through the gateway: the ledger keeps them for a day or so, see ingest quota --all",
	"what was spent on slots that are older than 29 days: they are deleted",
}

// AddUp adds what slots, due since then, of the schedule and of backfills that spent, have used, day by day, to a report
// that says whose it is. methods returns those that a slot calls; it is asked once for each job.
func (d AuditReport) AddUp(tariff *quota.Tariff, slots []ingest.Slot, methods func(ingest.Slot) ([]string, error)) (AuditReport, error) {
	d.CostTable, d.Zone, d.Since, d.Until = tariff.Table, tariff.Zone.String(), term.Second(d.Since), term.Second(d.Until)
	d.Pools, d.Days, d.Uses, d.Unknown = []AuditPool{}, []AuditDay{}, []AuditUse{}, unknownToAudit
	days, uses := map[string]quota.Cost{}, map[string]*AuditUse{}
	for _, s := range slots {
		at := s.DueAt
		if !s.FetchedAt.IsZero() {
			at = s.FetchedAt
		}
		if d.Begins == nil || s.DueAt.Before(*d.Begins) {
			d.Begins = term.TimeOrNull(s.DueAt)
		}
		d.Lacked.add(s)
		if s.Units == 0 {
			continue
		}
		charges := s.Charges
		if charges == nil {
			charges = map[string]int64{"units": s.Units}
		}
		day := at.In(tariff.Zone).Format(time.DateOnly)
		if days[day] == nil {
			days[day] = quota.Cost{}
		}
		use := uses[s.Job]
		if use == nil {
			called, err := methods(s)
			if err != nil {
				return d, err
			}
			use = &AuditUse{Job: s.Job, Kind: s.Kind, Methods: called, Used: map[string]int64{}}
			uses[s.Job] = use
		}
		for pool, amount := range charges {
			days[day][pool] += amount
			use.Used[pool] += amount
		}
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		d.Days = append(d.Days, AuditDay{day, days[day]})
	}
	for _, job := range slices.Sorted(maps.Keys(uses)) {
		d.Uses = append(d.Uses, *uses[job])
	}
	for _, p := range tariff.Pools {
		d.Pools = append(d.Pools, poolUse(p, d.Days))
	}
	return d, nil
}

func (l *AuditLacked) add(s ingest.Slot) {
	ticks := max(s.Count, 1)
	switch s.State {
	case ingest.Done:
		l.Done += ticks
	case ingest.Stopped:
		l.Stopped += ticks
	case ingest.Missed:
		l.Missed += ticks
	case ingest.Skipped:
		l.Skipped += ticks
	case ingest.Due, ingest.Claimed, ingest.Failed: // not for lack of quota
	}
}

func poolUse(p quota.Pool, days []AuditDay) AuditPool {
	of := AuditPool{Pool: p.Name, Limit: p.Limit()}
	for _, day := range days {
		amount := day.Used[p.Name]
		if of.Used += amount; amount > of.Most {
			of.Most, of.Busiest = amount, day.Day
		}
	}
	of.MeanDay = of.Used / max(int64(len(days)), 1)
	return of
}

// Print shows it as text that can be pasted into a form.
func (d AuditReport) Print(w io.Writer) {
	term.Paragraph(w, fmt.Sprintf("use of %s by account %s, %s to %s", d.Upstream, d.Account, term.Stamp(d.Since), term.Stamp(d.Until)))
	fmt.Fprintf(w, "%s with calls, counted in %s; cost table %s\n\n", term.Plural(len(d.Days), "day"), d.Zone, d.CostTable)
	term.Table(w, func(t io.Writer) {
		fmt.Fprintln(t, "POOL\tLIMIT A DAY\tMEAN DAY\tBUSIEST DAY")
		for _, p := range d.Pools {
			busiest := "unused"
			if p.Most > 0 {
				busiest = term.Thousands(p.Most) + " on " + p.Busiest
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Pool, term.Thousands(p.Limit), term.Thousands(p.MeanDay), busiest)
		}
	})
	fmt.Fprintln(w, "\nspent on:")
	for _, u := range d.Uses {
		fmt.Fprintf(w, "  %s\n", term.Wrap(fmt.Sprintf("%s (%s): %s", u.Job, strings.Join(u.Methods, ", "), term.Amounts(u.Used)), term.Screen-2, "    "))
	}
	for _, line := range []string{
		fmt.Sprintf("done %s, stopped by quota %s, missed %s, skipped %s", term.Plural(d.Lacked.Done, "slot"), term.Thousands(int64(d.Lacked.Stopped)),
			term.Thousands(int64(d.Lacked.Missed)), term.Thousands(int64(d.Lacked.Skipped))),
		"the schedule as configured needs a day: " + term.Amounts(d.PerDay),
		"regions: " + strings.Join(d.Regions, ", "),
		"kept for 29 days, then fetched again or deleted",
	} {
		term.Paragraph(w, line)
	}
	for _, v := range d.Policy {
		term.Paragraph(w, "policy "+v.String())
	}
	printUnknown(w, d.Unknown)
}
