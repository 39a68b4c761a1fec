package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// Status is the content of the status page at one moment.
type Status struct {
	report.Situation
	Details

	At        time.Time
	Slots     []report.SlotDocument // of the last 24 hours, newest first
	Emergency map[string]int64      // spent in 24 hours while the ledger could not answer
	Backup    time.Time             // of the newest backup; zero: none was made
}

// Details are shown below the first screen, except Tops. An empty field has no data or is not known: Errors says why.
type Details struct {
	Tops      map[string]string  // title of the first video in each region's newest chart
	Hours     []map[string]int64 // of the schedule's pool, spent by purpose in each of the last 24 hours, oldest first
	Prices    []Price            // of a day of the schedule, as configured first
	Ledger    report.LedgerDocument
	Kept      ingest.Kept
	Backfills []report.BackfillDocument
	Errors    map[string]error // by part
}

// Price is the price of a day of the schedule if each chart is fetched at that interval.
type Price struct {
	Every time.Duration // 0: as configured
	Cost  map[string]int64
}

// Overall is the worst of all checks, in a word.
func (st Status) Overall() State {
	worst := st.Checks()[0]
	word := "no answer"
	switch {
	case worst.Mood == report.Good:
		word = "all is well"
	case worst.Mood == report.Idle:
		word = "begins"
	case worst.Name == "Ledger" || st.Standing.StoreErr != nil:
		word = worst.Detail
	case worst.Name == "Quota":
		word = "no quota"
		if p := st.wanted(); p != nil && p.For("scheduled").Remaining > 0 {
			word = "short of quota"
		}
	case worst.Name == "Charts":
		trouble, _ := st.Standing.Trouble()
		if word = report.Word(trouble); st.Standing.Stopped() != nil {
			word = worst.Detail
		}
	}
	return State{Mood: worst.Mood, Word: word}
}

// ShowStatus writes the status page.
func (s *Site) ShowStatus(w http.ResponseWriter, r *http.Request, st Status) {
	mood, headline := st.Headline()
	s.Show(w, r, Page{
		Title: headline, Shape: [...]string{report.Good: "●", report.Warn: "▲", report.Bad: "◆", report.Idle: "○"}[mood],
		Tab: "/status", JSON: "/status?format=json", Live: true,
		Main: g.Group{st.sentence(), st.tiles(), st.pool(), st.day(),
			h.Div(h.Class("cols"), st.spenders(), st.next(), st.strips(), h.Div(st.backfills(), st.ledger(), st.kept())),
			st.folded()},
	})
}

// sentence shows the worst problem, the reason, a person's next step, and the four checks.
func (st Status) sentence() g.Node {
	mood, headline := st.Headline()
	cure, reason := st.Cure(), st.Reason()
	if cure.Thing != "" && cure.Command != "ingest doctor" {
		reason = "" // the cure says it
	}
	return h.Section(in(mood, "sentence"),
		h.H1(dot(), h.Span(g.Text(headline))),
		g.If(reason != "", h.P(g.Text(reason))),
		g.If(cure.Thing != "", h.Div(in(report.Bad, "banner"), h.Role("alert"),
			h.P(h.B(g.Text(cure.Thing)), g.Text(" "+cure.Advice)), g.If(cure.Command != "", h.Pre(g.Text(cure.Command))))),
		h.Ul(h.Class("checks"), g.Map(st.Checks(), func(c report.Check) g.Node {
			return h.Li(in(c.Mood, ""), dot(), h.Div(h.B(g.Text(c.Name)), g.Text(" "), h.Span(g.Text(c.Detail))))
		})))
}

// tiles are the regions, each a link to its chart.
func (st Status) tiles() g.Node {
	if st.Fresh == nil {
		return nil
	}
	charts := slices.DeleteFunc(slices.Clone(st.Fresh.Series), func(s report.SeriesAge) bool { return s.Region == "" })
	return g.Group{h.Ul(h.Class("tiles"), h.Aria("label", "Regions"), g.Map(charts, st.tile)), stripLegend()}
}

func (st Status) tile(series report.SeriesAge) g.Node {
	state := st.stateOf(series)
	last := g.Text("")
	if slots := st.slotsOf(series); len(slots) > 0 {
		last = g.Textf("%s %s", hhmm(slots[0].DueAt), slots[0].Outcome)
		if slots[0].Units > 0 {
			last = g.Textf("%s %s, %s", hhmm(slots[0].DueAt), slots[0].Outcome, term.Plural(int(slots[0].Units), "unit"))
		}
	}
	name, link, top := series.Region, "/charts/"+series.Region, term.Clean(st.Tops[series.Region])
	if slices.ContainsFunc(st.Fresh.Series,
		func(s report.SeriesAge) bool { return s.Region == series.Region && s.Job != series.Job }) {
		// the title's job is not known
		name, link, top = name+" "+series.Job, link+"?job="+series.Job, "Chart of the job "+series.Job
	}
	body := g.Group{
		h.Span(h.Class("name"), dot(), h.B(g.Text(name)), g.Text(" "), h.Span(h.Class("word"), g.Text(state.Word))),
		h.Span(h.Class("age"), g.Text(state.Age), g.If(state.Age != "", spoken(" old"))),
		st.strip(series),
		h.Span(h.Class("title"), h.Dir("auto"), g.Text(top)),
		h.Small(h.Class("last"), last),
		h.Small(h.Class("next"), g.Text(state.Next)),
	}
	if series.Slot == nil {
		return h.Li(in(state.Mood, "tile"), h.Div(body))
	}
	return h.Li(in(state.Mood, "tile"), h.A(h.Href(link), body))
}

func (st Status) stateOf(series report.SeriesAge) State {
	if slots := st.slotsOf(series); series.Slot == nil && len(slots) > 0 && slots[0].Outcome == ingest.Claimed {
		return State{Mood: report.Idle, Word: fmt.Sprintf("fetching page %d", slots[0].Pages+1), Next: st.nextOf(series)}
	}
	state := State{Mood: series.Is.Mood(), Word: report.Word(series.Is.State), Next: st.nextOf(series)}
	if series.AgeS != nil {
		state.Age = term.Ago(time.Duration(*series.AgeS) * time.Second)
	}
	return state
}

// Regions says how fresh the first chart of each region is.
func (st Status) Regions() map[string]State {
	states := map[string]State{}
	if st.Fresh == nil {
		return states
	}
	for _, series := range slices.Backward(st.Fresh.Series) {
		states[series.Region] = st.stateOf(series)
	}
	return states
}

// nextOf says when a series is fetched next, as far as that is known.
func (st Status) nextOf(series report.SeriesAge) string {
	switch {
	case st.Quota == nil:
		return "waits"
	case series.ResumesAt != nil:
		return st.nextAt(*series.ResumesAt)
	case series.Attempts > 0:
		return term.Plural(series.Attempts, "attempt")
	case series.OverdueSince != nil:
		return "overdue"
	case series.DueSince != nil:
		return "due"
	}
	for _, next := range st.Next {
		if next.Job == series.Job && next.Region == series.Region {
			return st.nextAt(next.DueAt)
		}
	}
	if series.Slot != nil && series.IntervalS > 0 {
		return st.nextAt(series.Slot.Add(time.Duration(series.IntervalS) * time.Second))
	}
	return ""
}

// nextAt formats a time briefly enough for a tile.
func (st Status) nextAt(t time.Time) string {
	if st.when(t) != hhmm(t) {
		return t.UTC().Format("Mon 15:04")
	}
	return "next " + hhmm(t)
}

// slotsOf returns the slots of a series, newest first.
func (st Status) slotsOf(series report.SeriesAge) []report.SlotDocument {
	var own []report.SlotDocument
	for _, s := range st.Slots {
		if s.Job == series.Job && s.Region == series.Region {
			own = append(own, s)
		}
	}
	return own
}

// moods are the forms of a strip's cells.
var moods = map[ingest.State]report.Mood{
	ingest.Done: report.Good, ingest.Stopped: report.Warn, ingest.Failed: report.Bad,
	ingest.Due: report.Idle, ingest.Claimed: report.Idle, ingest.Skipped: report.Idle, ingest.Missed: report.Idle,
}

// strip shows the outcomes of the last 24 hours.
func (st Status) strip(series report.SeriesAge) g.Node {
	var cells []report.Mood
	for _, slot := range slices.Backward(st.slotsOf(series)) {
		cells = append(cells, slices.Repeat([]report.Mood{moods[slot.Outcome]}, min(slot.Ticks(), StripCells))...)
	}
	return Strip(cmp.Or(st.outcomes(series), "no slot yet"), cells)
}

// outcomes counts the slots by outcome: "46 done, 2 stopped".
func (st Status) outcomes(series report.SeriesAge) (text string) {
	count, order := map[ingest.State]int{}, []ingest.State(nil)
	for _, slot := range st.slotsOf(series) {
		if count[slot.Outcome] == 0 {
			order = append(order, slot.Outcome)
		}
		count[slot.Outcome] += slot.Ticks()
	}
	slices.SortStableFunc(order, func(a, b ingest.State) int { return cmp.Compare(count[b], count[a]) })
	for i, outcome := range order {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", count[outcome], outcome)
	}
	return text
}

// when is a time of day, with its date unless it is today.
func (st Status) when(t time.Time) string {
	if today := st.At.UTC().Truncate(24 * time.Hour); !t.Before(today) && t.Before(today.Add(48*time.Hour)) {
		if t.Before(today.Add(24 * time.Hour)) {
			return hhmm(t)
		}
		return "tomorrow " + hhmm(t)
	}
	return t.UTC().Format("2 Jan 15:04")
}
