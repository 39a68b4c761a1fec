package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/term"
)

// AdviceDocument lists changes that would save units, the most first, and what cannot be known about them.
type AdviceDocument struct {
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Advice  []Advice  `json:"advice"`
	Unknown []string  `json:"unknown"`
}

// Advice is one thing to do. Its saving does not add up with those of others for the same series.
type Advice struct {
	UnitsPerDay int64  `json:"units_per_day"`
	What        string `json:"what"` // that was seen
	Do          string `json:"do"`
}

// unknownToAdvice is what a store does not record.
var unknownToAdvice = []string{
	"who reads what: the store does not record what is searched for or looked at",
	"what other tools ask for twice: only what was fetched for the schedule is compared",
}

// judged is how many charts of a series are compared before anything is said of it.
const judged = 8

// NewAdvice judges what charts and refreshes brought. A part that brought nothing new in half of its fetches, or more
// often, is worth a line.
func NewAdvice(y ingest.Yields, jobs []ingest.Job) AdviceDocument {
	d := AdviceDocument{Since: term.Second(y.Since), Until: term.Second(y.Until), Advice: []Advice{}, Unknown: unknownToAdvice}
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
				do = "a job of its own for it, with every: " + budget.Every(2*e)
			}
			add(float64(s.Units)/2, do, "%s: %d of %d charts had no new video", name, s.Still, s.Charts)
		}
	}
	if same > 0 {
		add(repeated, "longer intervals where it says so above; a cache of one interval would have answered these",
			"%d of %d charts were the one before again, rank by rank", same, charts)
	}
	if y.Unseen > 0 {
		add(float64(y.RefreshUnits), "leave the job refresh out, if nobody reads them: what is not charted is then deleted after 29 days",
			"%s fetched again that no chart has shown since", term.Plural(int(y.Unseen), "video"))
	}
	slices.SortStableFunc(d.Advice, func(a, b Advice) int { return cmp.Compare(b.UnitsPerDay, a.UnitsPerDay) })
	return d
}

// Print shows it.
func (d AdviceDocument) Print(w io.Writer) {
	fmt.Fprintf(w, "what would save units, by the charts since %s:\n", term.Stamp(d.Since))
	for _, a := range d.Advice {
		fmt.Fprintf(w, "%6s a day  %s\n", term.Thousands(a.UnitsPerDay), term.Wrap(a.What, term.Screen-14, "              "))
		fmt.Fprintf(w, "              %s\n", term.Wrap("-> "+a.Do, term.Screen-14, "                 "))
	}
	if len(d.Advice) == 0 {
		term.Paragraph(w, "nothing: of the series with more than eight charts, each page brings something new in more than half of its fetches")
	}
	printUnknown(w, d.Unknown)
}

func printUnknown(w io.Writer, unknown []string) {
	fmt.Fprintln(w, "not known here:")
	for _, line := range unknown {
		fmt.Fprintf(w, "  %s\n", term.Wrap(line, term.Screen-2, "    "))
	}
}
