package web

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// The parts of the page about slots and what they brought, in order.

func (p *statusPage) next() g.Node {
	if err := p.d.errs["next"]; err != nil || len(p.d.next) == 0 {
		text := "Nothing is due before the provider’s day turns."
		if err != nil {
			text = "Not known: " + term.Clean(err.Error())
		}
		return section("next", "What comes next", "ingest slots --next 8", h.P(g.Text(text)))
	}
	const most = 8
	verdicts := report.Verdicts(p.o.quota, p.d.next)
	var rows g.Group
	for i, n := range p.d.next[:min(most, len(p.d.next))] {
		fits, state := "yes", good
		if verdicts[i] == report.FitsLater {
			fits, state = verdicts[i], warn
		} else if verdicts[i] != report.FitsNow && len(n.Cost) > 0 {
			fits, state = "no", bad
		}
		rows = append(rows, h.Tr(h.Td(moment(term.Stamp(n.DueAt))), cell(n.Job), cell(cmp.Or(n.Region, "–")),
			figure(cmp.Or(term.Amounts(n.Cost), "what is due")), moodCell(state, fits)))
	}
	return section("next", "What comes next", "ingest slots --next 8",
		table("The next slots", []column{{"Due", false}, {"Job", false}, {"Region", false}, {"Price", true}, {"Fits", false}}, rows))
}

func (p *statusPage) fresh() g.Node {
	if p.o.storeErr != nil {
		return nil
	}
	return section("fresh", "How old the data is", "ingest slots --since 24h",
		table("Age of data", []column{{"Job", false}, {"Region", false}, {"Age", true}, {"Interval", true}, {"State", false}}, g.Map(p.o.fresh.Series, seriesRow)),
		h.H3(g.Text("Slots of the last 24 hours")),
		g.Map(p.o.fresh.Series, func(s report.SeriesState) g.Node { return strip(s, p.o.slots) }))
}

func seriesRow(s report.SeriesState) g.Node {
	age, state, text := "never", good, "fresh"
	if s.AgeS != nil {
		age = term.Ago(time.Duration(*s.AgeS) * time.Second)
	}
	if s.Stale {
		state, text = bad, "stale"
	}
	if s.Outcome != "" && s.Outcome != ingest.Done {
		text += ", " + string(s.Outcome)
	}
	return h.Tr(cell(s.Job), rowHead(cmp.Or(s.Region, "–")), figure(age), figure(term.Ago(time.Duration(s.IntervalS)*time.Second)), moodCell(state, text))
}

// refusal is the slots that were stopped by quota for one reason, until one time.
type refusal struct{ names, due, reason, retry string }

// refusals returns the newest refusals.
func refusals(slots []report.SlotDocument) (list []refusal) {
	const most = 4
next:
	for _, s := range slots {
		if s.Outcome != ingest.Stopped {
			continue
		}
		name := strings.TrimSpace(s.Job + " " + s.Region)
		row := refusal{name, term.Stamp(s.DueAt), term.Fit(s.Reason, 400), ""}
		if s.RetryAt != nil {
			row.retry = term.StampFrom(*s.RetryAt)
		}
		for i := range list {
			if r := &list[i]; r.reason == row.reason && r.retry == row.retry {
				r.names += ", " + name
				continue next
			}
		}
		if len(list) < most {
			list = append(list, row)
		}
	}
	return list
}

func (p *statusPage) refusals() g.Node {
	if p.o.storeErr != nil {
		return nil
	}
	return section("refusals", "Refused lately", "ingest slots --outcome stopped", list(g.Map(refusals(p.o.slots), func(r refusal) g.Node {
		return h.Li(h.B(g.Text(r.names)), g.Text(", the newest due "+r.due+": "+r.reason), g.If(r.retry != "", g.Group{g.Text("; again at "), moment(r.retry)}))
	}), h.P(g.Text("No slot was stopped by quota in the last 24 hours."))))
}

func (p *statusPage) policy() g.Node {
	kept := []fact{{"Kept at most", "29 days: older data is refreshed or deleted"}}
	if p.o.storeErr == nil {
		kept = append([]fact{{"Oldest data", p.oldest()}}, append(kept, fact{"Backups", backups(p.d, p.o.at)})...)
	}
	var backfills g.Node
	if len(p.d.backfills) > 0 {
		backfills = g.Group{
			h.H3(g.Text("Backfills")),
			table("Backfills", []column{{"Backfill", false}, {"What", false}, {"Outcome", false}, {"Pieces", false}, {"Units", true}}, g.Map(p.d.backfills, func(b report.BackfillDocument) g.Node {
				ended, pieces := strconv.Itoa(b.Ended), strconv.Itoa(b.Pieces)
				return h.Tr(rowHead(b.ID), cell(term.Clean(b.What)), cell(string(b.Outcome)),
					h.Td(h.Progress(h.Value(ended), h.Max(pieces), h.Aria("label", b.ID)), g.Text(" "+ended+" of "+pieces)), figure(term.Thousands(b.Units)))
			})), sourceLine("ingest backfill status"),
		}
	}
	return section("policy", "What is kept", "ingest doctor", facts(kept), backfills)
}

func (p *statusPage) oldest() string {
	switch {
	case p.d.errs["oldest"] != nil:
		return "not known: " + term.Clean(p.d.errs["oldest"].Error())
	case p.d.oldest.IsZero():
		return "nothing is stored"
	}
	return p.d.oldest.UTC().Format(time.DateOnly) + ", " + term.Ago(p.o.at.Sub(p.d.oldest)) + " old"
}

// backupEvery is the age at which the newest backup makes another one due.
const backupEvery = 7 * day

func backups(d details, now time.Time) string {
	const how = ": ingest backup FILE makes one"
	age := now.Sub(d.backup)
	switch {
	case d.errs["backup"] != nil:
		return "not known: " + term.Clean(d.errs["backup"].Error())
	case d.backup.IsZero():
		return "due, none was made so far" + how
	case age >= backupEvery:
		return fmt.Sprintf("due, the newest is of %s, %s old%s", d.backup.UTC().Format(time.DateOnly), term.Ago(age), how)
	}
	return fmt.Sprintf("the newest is of %s, %s old; the next is due on %s", d.backup.UTC().Format(time.DateOnly), term.Ago(max(age, 0)), d.backup.Add(backupEvery).UTC().Format(time.DateOnly))
}

func (p *statusPage) search(ctx context.Context) g.Node {
	var found g.Node
	if query := term.Clean(p.query); query != "" && p.source != nil {
		found = p.find(ctx)
	}
	return section("search", "Search", "ingest search",
		h.Form(h.Action(""), h.Method("get"), h.Role("search"), h.Label(h.For("q"), g.Text("In titles, channels and tags")), g.Text(" "),
			h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Value(term.Clean(p.query)), h.MaxLength("200")), g.Text(" "), h.Button(g.Text("Search"))),
		found)
}

// find searches for what the reader typed.
func (p *statusPage) find(ctx context.Context) g.Node {
	found, hint, err := p.source.Search(ctx, p.query)
	looked := "Looked for " + term.Clean(found.Looked) + "."
	switch {
	case err != nil:
		return h.P(g.Text("The search failed: " + term.Clean(err.Error())))
	case hint != "":
		looked = "Nothing found: " + hint + "."
	case len(found.Items) == 0:
		looked = "Nothing found. " + looked
	}
	return g.Group{h.P(g.Text(looked)), h.Ol(g.Map(found.Items, func(video report.SearchItem) g.Node {
		var regions []string
		for _, r := range video.Regions {
			regions = append(regions, string(r))
		}
		return h.Li(marked(video.Title, video.Highlight), g.Text(" "), h.Span(g.Text(term.Clean(video.Channel)+" "+strings.Join(regions, " "))))
	}))}
}

// marked returns a title with its highlights, which count the characters of the original title.
func marked(title string, highlights [][2]int) (out g.Group) {
	at := 0
	runes := []rune(title)
	add := func(to int, mark bool) {
		if to = min(to, len(runes)); to <= at {
			return
		}
		text := g.Text(term.Clean(string(runes[at:to])))
		if at = to; mark {
			text = h.Mark(text)
		}
		out = append(out, text)
	}
	for _, span := range highlights {
		add(span[0], false)
		add(span[1], true)
	}
	add(len(runes), false)
	return out
}
