package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// CheckDocument is the cost of a day under the configuration, as ingest config check prints it.
type CheckDocument struct {
	Config    string           `json:"config"` // "": none
	Data      string           `json:"data"`
	Ledger    string           `json:"ledger"`
	Store     string           `json:"store"`
	Account   string           `json:"account"`
	Upstream  string           `json:"upstream"`
	CostTable string           `json:"cost_table"`
	Jobs      []CheckJob       `json:"jobs"`
	PerDay    map[string]int64 `json:"per_day"`
	Fits      bool             `json:"fits"`
	Warnings  []CheckWarning   `json:"warnings"`

	Policy []policy.Verdict `json:"policy"` // what else the provider's terms ask
	Total  string           `json:"-"`      // the price of all jobs in words
}

// CheckWarning is something that a cron line's writer probably did not mean, with its firing times. Without a job it
// concerns the costs.
type CheckWarning struct {
	Job     string      `json:"job"`
	Warning string      `json:"warning"`
	Next    []time.Time `json:"next"`
}

// CheckJob is the daily cost of one job, by pool.
type CheckJob struct {
	Job    string           `json:"job"`
	Kind   string           `json:"kind"`
	Slots  int              `json:"slots_per_day"`
	PerDay map[string]int64 `json:"per_day"`
	NextAt time.Time        `json:"next_at"`
	Price  string           `json:"-"` // in words
}

// AddJobs adds the jobs of a schedule with their prices and warnings about their times. The cost of a refresh is known
// only when it runs.
func (d *CheckDocument) AddJobs(s budget.PricedSchedule, price budget.Price, now time.Time) {
	ceilings := budget.Ceilings(s.Tariff, quota.Scheduled)
	cost, _ := s.Tariff.Cost(s.Upstream.Videos(nil).Method) // no error: pricing the day has looked up the same
	each, days := s.Upstream.Limits().IDsPerCall, ingest.RefreshAfter/(24*time.Hour)
	refresh := fmt.Sprintf("%s per %d videos unseen for %d days, and every %[3]d days for those kept fresh",
		term.Amounts(cost), each, days)
	if counts, ok := s.CountCost(); ok {
		refresh += fmt.Sprintf(", %s a day per %d for their counts", term.Amounts(counts), each)
	}
	intervals, _ := s.Intervals(now)
	for i, j := range price.Jobs {
		d.Jobs = append(d.Jobs, CheckJob{
			Job: j.Job.Name, Kind: string(j.Job.Kind), Slots: j.Slots, PerDay: j.Cost, NextAt: s.Jobs[i].Next(now),
			Price: cmp.Or(term.DayShares(j.Cost, ceilings), map[ingest.Kind]string{ingest.KindRefresh: refresh}[j.Job.Kind]) +
				uploadsPrice(j, each) + oncePrice(j, each) + turns(j.Job, intervals[j.Job.Name]),
		})
		for _, w := range s.Jobs[i].Warnings(now) {
			d.Warnings = append(d.Warnings, CheckWarning{Job: j.Job.Name, Warning: w, Next: s.Jobs[i].NextTimes(now, 5)})
		}
	}
}

// turns says how often each of a job's queries is asked; "" for other jobs.
func turns(job ingest.Job, every time.Duration) string {
	if len(job.Queries) == 0 || every == 0 {
		return ""
	}
	return fmt.Sprintf(", %d queries: each every %s", len(job.Queries), term.Ago(every))
}

// oncePrice gives the price of a job's first look-ups, and how charted videos are priced; "" for other jobs.
func oncePrice(j budget.JobPrice, perLookUp int) (parts string) {
	if units := j.Once(perLookUp); units > 0 {
		parts = fmt.Sprintf(", once %s at most for first look-ups", term.Plural(units, "unit"))
	}
	if j.Job.Charted > 0 {
		parts += ", at first for each place in a chart, then for as many videos as its last slot had"
	}
	return parts
}

// uploadsPrice gives the parts of the price of a job of uploads, and the cost of a day with 20 uploads; "" for other
// jobs.
func uploadsPrice(j budget.JobPrice, perLookUp int) string {
	channels := len(j.Job.Channels)
	if channels == 0 {
		return ""
	}
	lookUps := j.Slots / (channels + 1)
	each, lists := j.Cost.MaxCharge()/int64(max(j.Slots, 1)), j.Slots-lookUps
	return fmt.Sprintf(", %d for the lists of %s, at most %d for look-ups of up to %d new videos, "+
		"about %d in all where 20 come in a day",
		each*int64(lists), term.Plural(channels, "channel"), each*int64(lookUps),
		perLookUp, j.Expected(20).MaxCharge())
}

// Print shows it in 80 columns.
func (d CheckDocument) Print(w io.Writer) {
	file := cmp.Or(d.Config, "none: built-in defaults")
	costs := "upstream " + d.Upstream + ", cost table " + d.CostTable
	if d.Store != "sqlite" {
		costs = "store    " + d.Store + "\n" + costs
	}
	fmt.Fprintf(w, "config   %s\ndata     %s\nledger   %s, account %s\n%s\n\n", file, d.Data, d.Ledger, d.Account, costs)
	d.printJobs(w)
	term.Paragraph(w, "in all: "+cmp.Or(d.Total, "no fixed amount"))
	for _, warning := range d.Warnings {
		text := "warning: " + warning.Warning
		if warning.Job != "" {
			text = fmt.Sprintf("warning: job %s: %s; next:", warning.Job, warning.Warning)
		}
		fmt.Fprintf(w, "%s\n", term.Wrap(text, 78, "  "))
		for _, t := range warning.Next {
			fmt.Fprintf(w, "  %s\n", term.Stamp(t))
		}
	}
	for _, v := range d.Policy {
		term.Paragraph(w, "policy "+v.String())
		if v.Advice != "" {
			fmt.Fprintf(w, "  %s\n", term.Wrap("-> "+v.Advice, term.Screen-2, "     "))
		}
		if v.Status != policy.Kept {
			if v.Source != "" {
				fmt.Fprintf(w, "  %s: %s\n", v.Read, v.Source)
			}
		}
	}
	fmt.Fprintln(w, "history: 29 days, since the provider wants data refreshed or deleted within 30")
}

// printJobs aligns the jobs in 80 columns; a price that does not fit is printed pool by pool.
func (d CheckDocument) printJobs(w io.Writer) {
	const longest = 20 // columns of the name shown
	names, slots := 0, 0
	for _, j := range d.Jobs {
		names, slots = max(names, min(term.Width(j.Job), longest)), max(slots, len(j.slots()))
	}
	margin := names + len(":  ") + slots + len("  ")
	for _, j := range d.Jobs {
		head := term.Pad(term.Fit(j.Job, longest)+":", names+len(":  ")) + term.Pad(j.slots(), slots+len("  "))
		parts := []string{j.Price}
		if margin+term.Width(j.Price) > term.Screen {
			parts = strings.SplitAfter(j.Price, ", ")
		}
		for _, part := range parts {
			for line := range strings.SplitSeq(term.Wrap(part, term.Screen-margin, "  "), "\n") {
				fmt.Fprintln(w, head+line)
				head = strings.Repeat(" ", margin)
			}
		}
	}
}

func (j CheckJob) slots() string { return term.Plural(j.Slots, "slot") + " a day" }
