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

// Status is the content of the status page, read at one moment.
type Status struct {
	report.Situation
	Details

	At        time.Time
	Slots     []report.SlotDocument // of the last 24 hours, newest first
	Emergency map[string]int64      // spent in 24 hours while the ledger could not answer
	Backup    time.Time             // the newest; zero: none was made
}

// Details are below the first screen, apart from Tops. An empty field is not there, or not known: Errors says why.
type Details struct {
	Tops      map[string]string  // title of the first video in each region's newest chart
	Hours     []map[string]int64 // spent by each purpose of the schedule's pool in each of the last 24 hours, oldest first
	Prices    []Price            // of a day of the schedule, as configured first
	Ledger    report.LedgerDocument
	Kept      report.KeptDocument
	Backfills []report.BackfillDocument
	Errors    map[string]error // by part
}

// Price is the price of a day of the schedule if each chart is fetched so often.
type Price struct {
	Every time.Duration // 0: as configured
	Cost  map[string]int64
}

// Overall is the worst of all checks, in a word.
func (st Status) Overall() State {
	worst := st.Checks()[0]
	mood := Mood(worst.Mood.String())
	switch {
	case mood == Good:
		return State{mood, "all is well"}
	case mood == Idle:
		return State{mood, "begins"}
	case worst.Name == "Ledger" || st.StoreErr != nil:
		return State{mood, worst.Detail}
	case worst.Name == "Quota":
		if p := st.wanted(); p != nil {
			if _, _, left := ceilings(*p); left > 0 {
				return State{mood, "short of quota"}
			}
		}
		return State{mood, "no quota"}
	case worst.Name == "Charts":
		return State{mood, map[Mood]string{Bad: "stale", Warn: "late"}[mood]}
	}
	return State{mood, "no answer"}
}

// ShowStatus writes the status page.
func (s *Site) ShowStatus(w http.ResponseWriter, r *http.Request, st Status) {
	mood, headline := st.Headline()
	s.Show(w, r, Page{
		Title: headline, Mood: Mood(mood.String()), Tab: "/status", JSON: "/status?format=json", Live: true,
		Main: g.Group{st.sentence(), st.tiles(), st.pool(), st.day(),
			h.Div(h.Class("cols"), st.spenders(), st.next(), st.strips(), h.Div(st.backfills(), st.ledger(), st.kept())), st.folded()},
	})
}

// sentence is what is worst, the reason, what a person must do, and the four checks.
func (st Status) sentence() g.Node {
	mood, headline := st.Headline()
	thing, advice, command := st.Cure()
	reason := st.Reason()
	if thing != "" && command != "ingest doctor" {
		reason = "" // the cure says it
	}
	return h.Section(Mood(mood.String()).Class("sentence"),
		h.H1(Dot(), h.Span(g.Text(headline))),
		g.If(reason != "", h.P(g.Text(reason))),
		g.If(thing != "", h.Div(Bad.Class("banner"), h.Role("alert"), h.P(h.B(g.Text(thing)), g.Text(" "+advice)), h.Pre(g.Text(command)))),
		h.Ul(h.Class("checks"), g.Map(st.Checks(), func(c report.Check) g.Node {
			return h.Li(Mood(c.Mood.String()).Class(""), Dot(), h.Div(h.B(g.Text(c.Name)), g.Text(" "), h.Span(g.Text(c.Detail))))
		})))
}

// tiles are the regions, each a link to its chart.
func (st Status) tiles() g.Node {
	if st.Fresh == nil {
		return nil
	}
	charts := slices.DeleteFunc(slices.Clone(st.Fresh.Series), func(s report.SeriesState) bool { return s.Region == "" })
	return h.Ul(h.Class("tiles"), h.Aria("label", "Regions"), g.Map(charts, st.tile))
}

func (st Status) tile(of report.SeriesState) g.Node {
	state, age := st.stateOf(of), ""
	if of.AgeS != nil {
		age = term.Ago(time.Duration(*of.AgeS) * time.Second)
	}
	last := g.Text("")
	if slots := st.slotsOf(of); len(slots) > 0 {
		last = g.Textf("%s %s", hhmm(slots[0].DueAt), slots[0].Outcome)
		if slots[0].Units > 0 {
			last = g.Textf("%s %s, %s", hhmm(slots[0].DueAt), slots[0].Outcome, term.Plural(int(slots[0].Units), "unit"))
		}
	}
	body := g.Group{
		h.Span(h.Class("name"), Dot(), h.B(g.Text(of.Region)), g.Text(" "), h.Span(h.Class("word"), g.Text(state.Word))),
		h.Span(h.Class("age"), g.Text(age), g.If(age != "", spoken(" old"))),
		st.strip(of),
		h.Span(h.Class("title"), h.Dir("auto"), g.Text(term.Clean(st.Tops[of.Region]))),
		h.Small(h.Class("last"), last),
		h.Small(h.Class("next"), g.Text(st.nextOf(of))),
	}
	if of.Slot == nil {
		return h.Li(state.Mood.Class("tile"), h.Div(body))
	}
	return h.Li(state.Mood.Class("tile"), h.A(h.Href("/charts/"+of.Region), body))
}

// stateOf says how fresh a series is.
func (st Status) stateOf(of report.SeriesState) State {
	if slots := st.slotsOf(of); of.Slot == nil {
		if len(slots) > 0 && slots[0].Outcome == ingest.Claimed {
			return State{Idle, fmt.Sprintf("fetching page %d", slots[0].Pages+1)}
		}
	}
	condition := of.Condition()
	mood := map[report.Condition]Mood{report.Fresh: Good, report.Late: Warn, report.NoQuota: Warn, report.Stale: Bad, report.Unbegun: Idle}[condition]
	return State{mood, string(condition)}
}

// Regions says how fresh the first chart of each region is.
func (st Status) Regions() map[string]RegionState {
	states := map[string]RegionState{}
	if st.Fresh == nil {
		return states
	}
	for _, of := range slices.Backward(st.Fresh.Series) {
		states[of.Region] = RegionState{st.stateOf(of), st.nextOf(of)}
	}
	return states
}

// nextOf says when a series is fetched next, as far as that is known.
func (st Status) nextOf(of report.SeriesState) string {
	switch {
	case st.Quota == nil:
		return "waits"
	case of.ResumesAt != nil:
		return st.nextAt(*of.ResumesAt)
	case of.Attempts > 0:
		return term.Plural(of.Attempts, "attempt")
	case of.OverdueSince != nil:
		return "overdue"
	case of.DueSince != nil:
		return "due"
	}
	for _, next := range st.Next {
		if next.Job == of.Job && next.Region == of.Region {
			return st.nextAt(next.DueAt)
		}
	}
	if of.Slot != nil && of.IntervalS > 0 {
		return st.nextAt(of.Slot.Add(time.Duration(of.IntervalS) * time.Second))
	}
	return ""
}

// nextAt is a time in the little room that a tile has.
func (st Status) nextAt(t time.Time) string {
	if st.when(t) != hhmm(t) {
		return t.UTC().Format("Mon 15:04")
	}
	return "next " + hhmm(t)
}

// slotsOf returns the slots of a series, newest first.
func (st Status) slotsOf(of report.SeriesState) []report.SlotDocument {
	var own []report.SlotDocument
	for i := range st.Slots {
		if s := &st.Slots[i]; s.Job == of.Job && s.Region == of.Region {
			own = append(own, *s)
		}
	}
	return own
}

// moods are the forms of a strip's cells.
var moods = map[ingest.State]Mood{ingest.Done: Good, ingest.Stopped: Warn, ingest.Failed: Bad, ingest.Due: Idle, ingest.Claimed: Idle, ingest.Skipped: Idle, ingest.Missed: Idle}

// strip shows the outcomes of the last 24 hours.
func (st Status) strip(of report.SeriesState) g.Node {
	var cells []Mood
	for _, slot := range slices.Backward(st.slotsOf(of)) {
		cells = append(cells, slices.Repeat([]Mood{moods[slot.Outcome]}, min(slot.Ticks(), StripCells))...)
	}
	return Strip(cmp.Or(st.outcomes(of), "no slot yet"), cells)
}

// outcomes counts the slots by outcome: "46 done, 2 stopped".
func (st Status) outcomes(of report.SeriesState) (text string) {
	count, order := map[ingest.State]int{}, []ingest.State(nil)
	for _, slot := range st.slotsOf(of) {
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

// when is a time of day, with its day if that is not today's.
func (st Status) when(t time.Time) string {
	if today := st.At.UTC().Truncate(24 * time.Hour); !t.Before(today) && t.Before(today.Add(48*time.Hour)) {
		if t.Before(today.Add(24 * time.Hour)) {
			return hhmm(t)
		}
		return "tomorrow " + hhmm(t)
	}
	return t.UTC().Format("2 Jan 15:04")
}
