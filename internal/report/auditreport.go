package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// AuditReport answers a provider's form for more quota, as far as the store has the answers.
type AuditReport struct {
	Account   string           `json:"account"`
	Upstream  string           `json:"upstream"`
	CostTable string           `json:"cost_table"`
	Zone      string           `json:"zone"` // time zone of the days
	Since     time.Time        `json:"since"`
	Until     time.Time        `json:"until"`
	Begins    *time.Time       `json:"begins"` // the oldest slot that the store has; null: it has none
	Pools     []AuditPool      `json:"pools"`
	Days      []AuditDay       `json:"days"` // the provider's days, oldest first, without days that had no calls
	Uses      []AuditUse       `json:"uses"`
	Lacked    AuditLacked      `json:"lacked"`
	PerDay    map[string]int64 `json:"per_day"` // cost of the schedule as configured
	Regions   []string         `json:"regions"`
	Policy    []policy.Verdict `json:"policy"`
	Unknown   []string         `json:"unknown"`
}

// AuditPool is how much of a pool was used: the figures that the form asks for.
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

// AuditUse is the use of one job: the form asks for the uses of the quota.
type AuditUse struct {
	Job     string           `json:"job"`
	Kind    ingest.Kind      `json:"kind"`
	Methods []string         `json:"methods"`
	Used    map[string]int64 `json:"used"`
}

// AuditLacked counts the charts that were not fetched, and why: the reason to ask for more quota.
type AuditLacked struct {
	Stopped int `json:"stopped"` // slots that the quota refused
	Missed  int `json:"missed"`  // ticks that passed without a run, or while there was no quota
	Skipped int `json:"skipped"`
	Done    int `json:"done"`
}

var unknownToAudit = []string{
	"your organisation, the number of your project, who uses your client, and why it needs more: that is yours to write",
	"calls that other tools made, by hand or through the gateway: " +
		"the ledger keeps them for a day or so, see ingest quota --all",
	"the spends of slots older than 29 days: they are deleted",
}

// AddUp adds the use of the given slots, day by day: slots of the schedule since d.Since, and slots of backfills that
// spent. methods returns the methods that a slot calls; it is asked once for each job.
func (d AuditReport) AddUp(tariff *quota.Tariff, slots []ingest.Slot,
	methods func(ingest.Slot) ([]string, error)) (AuditReport, error) {
	d.CostTable, d.Zone, d.Since, d.Until = tariff.Table, tariff.Zone.String(), term.Second(d.Since), term.Second(d.Until)
	d.Pools, d.Days, d.Uses, d.Unknown = []AuditPool{}, []AuditDay{}, []AuditUse{}, unknownToAudit
	days, uses, ticks := map[string]quota.Cost{}, map[string]*AuditUse{}, map[ingest.State]int{}
	for _, s := range slots {
		at := s.DueAt
		if !s.FetchedAt.IsZero() {
			at = s.FetchedAt
		}
		if d.Begins == nil || s.DueAt.Before(*d.Begins) {
			d.Begins = term.TimeOrNull(s.DueAt)
		}
		ticks[s.State] += max(s.Count, 1)
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
		days[day].Add(charges, 1)
		quota.Cost(use.Used).Add(charges, 1)
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
	d.Lacked = AuditLacked{Stopped: ticks[ingest.Stopped], Missed: ticks[ingest.Missed], Skipped: ticks[ingest.Skipped],
		Done: ticks[ingest.Done]}
	return d, nil
}

func poolUse(p quota.Pool, days []AuditDay) AuditPool {
	use := AuditPool{Pool: p.Name, Limit: p.Limit()}
	for _, day := range days {
		amount := day.Used[p.Name]
		if use.Used += amount; amount > use.Most {
			use.Most, use.Busiest = amount, day.Day
		}
	}
	use.MeanDay = use.Used / max(int64(len(days)), 1)
	return use
}

// Print writes it as text that can be pasted into a form.
func (d AuditReport) Print(w io.Writer) {
	term.Paragraph(w, fmt.Sprintf("use of %s by account %s, %s to %s", d.Upstream, d.Account,
		term.Stamp(d.Since), term.Stamp(d.Until)))
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
		fmt.Fprintf(w, "  %s\n", term.Wrap(fmt.Sprintf("%s (%s): %s", u.Job, strings.Join(u.Methods, ", "),
			term.Amounts(u.Used)), term.Screen-2, "    "))
	}
	for _, line := range []string{
		fmt.Sprintf("done %s, stopped by quota %s, missed %s, skipped %s", term.Plural(d.Lacked.Done, "slot"),
			term.Thousands(int64(d.Lacked.Stopped)),
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

// AdviceDocument lists changes that would save units, the largest saving first, and the questions that the store
// cannot answer.
type AdviceDocument struct {
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Advice  []Advice  `json:"advice"`
	Unknown []string  `json:"unknown"`

	charts int // that were judged
}

// Advice is one change to make. Savings for the same series do not add up.
type Advice struct {
	UnitsPerDay int64  `json:"units_per_day"`
	What        string `json:"what"` // the observation
	Do          string `json:"do"`
}

// unknownToAdvice are facts that a store does not record.
var unknownToAdvice = []string{
	"the readers of each chart: the store does not record searches and page views",
	"double requests of other tools: only data fetched for the schedule is compared",
}

// judged is how many charts of a series are compared before advice is given.
const judged = 8

// NewAdvice judges the results of charts and refreshes. A part that brought nothing new in at least half of its
// fetches is listed.
func NewAdvice(y ingest.Yields, jobs []ingest.Job) AdviceDocument {
	d := AdviceDocument{Since: term.Second(y.Since), Until: term.Second(y.Until), Advice: []Advice{},
		Unknown: unknownToAdvice}
	days := max(y.Until.Sub(y.Since).Hours()/24, 1)
	add := func(units float64, do, what string, args ...any) {
		if perDay := int64(units/days + 0.5); perDay > 0 {
			d.Advice = append(d.Advice, Advice{UnitsPerDay: perDay, What: fmt.Sprintf(what, args...), Do: do})
		}
	}
	every := map[string]time.Duration{}
	for _, job := range jobs {
		every[job.Name] = job.Every
	}
	same, charts, repeated := 0, 0, 0.0
	for _, s := range y.Series {
		if s.Charts < judged {
			continue
		}
		name, perChart := s.Job+" "+s.Key, float64(s.Units)/float64(s.Charts)
		same, charts, repeated = same+s.Same, charts+s.Charts, repeated+perChart*float64(s.Same)
		last := len(s.Pages)
		saved := 0
		for last > 1 && 2*s.Pages[last-1].Nothing >= s.Pages[last-1].Fetched {
			last--
			saved += s.Pages[last].Fetched
		}
		if last < len(s.Pages) {
			p := s.Pages[last]
			add(float64(saved)*perChart/float64(len(s.Pages)), fmt.Sprintf("a job of its own for it, with pages: %d", last),
				"%s: from page %d on there was no new video in %d of %d fetches", name, last+1, p.Nothing, p.Fetched)
		}
		if 2*s.Still >= s.Charts {
			do := "a job of its own for it, with a longer interval"
			if e := every[s.Job]; e > 0 {
				do = "a job of its own for it, with every: " + strictyaml.FormatDuration(2*e)
			}
			add(float64(s.Units)/2, do, "%s: %d of %d charts had no new video", name, s.Still, s.Charts)
		}
	}
	d.charts = charts
	if same > 0 {
		add(repeated, "the longer intervals advised above; a cache of one interval would have answered these too",
			"%d of %d charts equalled the one before, rank by rank", same, charts)
	}
	if y.Unseen > 0 {
		add(float64(y.RefreshUnits), "leave the job refresh out, if old videos have no readers: "+
			"videos that are not charted are then deleted after 29 days",
			"%s fetched again that no chart has shown since", term.Plural(int(y.Unseen), "video"))
	}
	slices.SortStableFunc(d.Advice, func(a, b Advice) int { return cmp.Compare(b.UnitsPerDay, a.UnitsPerDay) })
	return d
}

// Print shows it.
func (d AdviceDocument) Print(w io.Writer) {
	fmt.Fprintf(w, "possible savings of units, by the charts since %s:\n", term.Stamp(d.Since))
	for _, a := range d.Advice {
		fmt.Fprintf(w, "%6s a day  %s\n", term.Thousands(a.UnitsPerDay), term.Wrap(a.What, term.Screen-14, "              "))
		fmt.Fprintf(w, "              %s\n", term.Wrap("-> "+a.Do, term.Screen-14, "                 "))
	}
	if len(d.Advice) == 0 && d.charts == 0 {
		fmt.Fprintf(w, "nothing can be said yet: no series has %d charts in this time\n", judged)
	} else if len(d.Advice) == 0 {
		term.Paragraph(w,
			"nothing: in every series with eight charts or more, each page had something new in more than half of its fetches")
	}
	printUnknown(w, d.Unknown)
}

func printUnknown(w io.Writer, unknown []string) {
	fmt.Fprintln(w, "not known here:")
	for _, line := range unknown {
		fmt.Fprintf(w, "  %s\n", term.Wrap(line, term.Screen-2, "    "))
	}
}
