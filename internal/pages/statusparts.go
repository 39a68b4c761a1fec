package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// The parts of the status page below its first screen.

// spenders lists the spends of the longest window, one line per purpose, client, method and pool.
func (st Status) spenders() g.Node {
	if !st.known() {
		spent := map[string]int64{}
		for _, slot := range st.Slots {
			for pool, n := range slot.Charges {
				spent[pool] += n
			}
		}
		return section("Who spent them",
			h.P(h.Class("soft"), g.Text("The store says that slots spent "+cmp.Or(term.Amounts(spent), "nothing")+
				" in the last 24 hours. Only the ledger knows the spends of backfills and other tools.")))
	}
	type spender struct{ purpose, client, method, pool string }
	var order []spender
	sum, regions := map[spender]int64{}, map[spender][]string{}
	for _, s := range st.Quota.Spent {
		who := spender{string(s.Purpose), s.Client, s.Method, s.Pool}
		if sum[who] == 0 {
			order = append(order, who)
		}
		if sum[who] += s.Amount; s.Region != "" && !slices.Contains(regions[who], s.Region) {
			regions[who] = append(regions[who], s.Region)
		}
	}
	if len(order) == 0 {
		return section("Who spent them", h.P(h.Class("soft"), g.Text("Nothing was spent in the longest window.")))
	}
	saved := g.If(len(st.Quota.Saved) > 0,
		h.P(h.Class("soft"), g.Text("Saved today by the gateway: "+term.Amounts(st.Quota.Saved)+".")))
	return section("Who spent them", saved, table("Who spent them",
		[]string{"Purpose", "For", "Method,wide", "Spent,num"}, g.Map(order, func(who spender) g.Node {
			spentFor := cmp.Or(who.client, strings.Join(regions[who], " "), "–")
			if n := len(regions[who]); n > 3 && who.client == "" {
				spentFor = term.Plural(n, "region")
			}
			return h.Tr(cell(who.purpose), cell(spentFor), h.Td(h.Class("wide"), g.Text(who.method)),
				figure(term.Amount(sum[who], who.pool)))
		})))
}

// missing names the part whose failure hides the quota: the ledger, or the store, because the page asks no ledger
// while the store fails.
func (st Status) missing() string {
	if st.Standing.Ledger.State == standing.Idle {
		return "store"
	}
	return "ledger"
}

// next lists the next slots, and whether quota is left for them.
func (st Status) next() g.Node {
	const most = 6
	switch {
	case st.Quota == nil:
		return section("What comes next", h.P(h.Class("soft"), g.Text("Everything waits for the "+st.missing()+".")))
	case st.Fresh == nil:
		return section("What comes next", h.P(h.Class("soft"), g.Text("Not known while the store cannot be read.")))
	case len(st.Next) == 0:
		why := "Nothing is due until the provider's day ends."
		if i := slices.IndexFunc(st.Fresh.Series, func(s report.SeriesAge) bool { return s.ResumesAt != nil }); i >= 0 {
			why = "Nothing: the charts wait for quota until " + st.when(*st.Fresh.Series[i].ResumesAt) + "."
		}
		return section("What comes next", h.P(h.Class("soft"), g.Text(why)))
	}
	silent := st.Fresh.Upstream != nil && st.Fresh.Upstream.Unreachable
	var rows g.Group
	for _, slot := range st.Next[:min(most, len(st.Next))] {
		verdict := slot.Verdict()
		if silent && verdict == report.FitsNow {
			verdict = "when " + st.Fresh.Upstream.Name + " answers"
		}
		if st.Quota.Degraded {
			verdict = "waits for the ledger, unless it is cheap"
			if st.Standing.Paused != nil || st.Standing.Closed() {
				verdict = "waits for the ledger"
			}
		}
		if slot.Overdue {
			verdict += ", overdue"
		}
		rows = append(rows, h.Tr(cell(st.when(slot.DueAt)), cell(slot.Name()), figure(cmp.Or(term.Amounts(slot.Cost), "–")),
			h.Td(h.Class("soft"), g.Text(verdict))))
	}
	return section("What comes next", table("What comes next", []string{"Time", "What", "Cost,num", "Quota"}, rows))
}

// run is consecutive slots of a series with the same outcome and the same reason.
type run struct {
	newest report.SlotDocument
	oldest time.Time
	ticks  int
}

// strips shows the slots of the last 24 hours by series, with the reasons of slots that are not done.
func (st Status) strips() g.Node {
	if st.Fresh == nil {
		return nil
	}
	const most = 2 // per series, to keep the page small: ingest slots has them all
	lost := report.LostTicks(st.Slots, len(st.Fresh.Series))
	return section("Slots, last 24 hours", g.If(lost != "", h.P(in(report.Warn, "lost"), dot(), h.Span(g.Text(lost)))),
		g.Iff(st.Standing.Hooks.State != report.Good, func() g.Node {
			return h.P(in(report.Warn, "lost"), dot(), h.Span(g.Text(st.Standing.Hooks.Err.Error()+
				". "+st.Standing.Hooks.Cure().Advice+" "), h.Code(g.Text(st.Standing.Hooks.Cure().Command))))
		}), g.Map(st.Fresh.Idle, func(m ingest.IdleMachine) g.Node {
			return h.P(in(report.Warn, "lost"), dot(), h.Span(g.Text(m.String())))
		}), g.Map(st.Fresh.Series, func(series report.SeriesAge) g.Node {
			var runs []run
			for _, slot := range st.slotsOf(series) {
				oldest := slot.DueAt
				if slot.FirstDueAt != nil {
					oldest = *slot.FirstDueAt
				}
				if n := len(runs); n > 0 && runs[n-1].newest.Outcome == slot.Outcome && runs[n-1].newest.Reason == slot.Reason {
					runs[n-1].oldest, runs[n-1].ticks = oldest, runs[n-1].ticks+slot.Ticks()
				} else if slot.Reason != "" {
					runs = append(runs, run{slot, oldest, slot.Ticks()})
				}
			}
			inside := h.P(h.Class("soft"), g.Text("No slot has a reason."))
			if len(runs) > 0 {
				inside = table("Reasons", []string{"Due", "Outcome", "Why"}, g.Map(runs[:min(most, len(runs))], func(r run) g.Node {
					when := st.when(r.newest.DueAt)
					if r.ticks > 1 {
						when = st.when(r.oldest) + " to " + when
					}
					return h.Tr(cell(when), h.Td(in(moods[r.newest.Outcome], ""),
						h.Span(h.Class("word"), g.Text(fmt.Sprintf("%d %s", r.ticks, r.newest.Outcome)))), cell(r.newest.Reason))
				}))
			}
			return h.Details(h.Summary(h.B(g.Text(cmp.Or(series.Region, series.Job))), g.Text(" "),
				st.strip(series), g.Text(" "), h.Small(g.Text(cmp.Or(st.outcomes(series), "none yet")))), inside)
		}))
}

func (st Status) backfills() g.Node {
	if len(st.Backfills) == 0 {
		return nil
	}
	return section("Backfills", g.Map(st.Backfills, func(b report.BackfillDocument) g.Node {
		text := fmt.Sprintf("%s, %s of %s pieces, %s", b.Outcome, term.Thousands(int64(b.Ended)),
			term.Thousands(int64(b.Pieces)), cmp.Or(term.Amounts(b.Charges), "nothing spent"))
		part := 100 * float64(b.Ended) / float64(max(b.Pieces, 1))
		return g.Group{
			h.P(h.B(g.Text(b.ID)), g.Text(" "), h.Span(h.Dir("auto"), g.Text(term.Clean(b.What))),
				g.Text(" "), h.Small(g.Text(text))),
			Bar{Label: fmt.Sprintf("%.0f %% done", part), Used: part}.Node(),
		}
	}))
}

func (st Status) ledger() g.Node {
	state := "answers"
	switch {
	case st.Quota == nil:
		state = "cannot be read"
		if st.Standing.Ledger.State == standing.Idle {
			state = "not asked"
		}
	case st.Quota.Degraded:
		state = "cannot answer"
	}
	list := [][2]string{{"State", state}}
	if at := st.Ledger.RetryAt; at != nil {
		list = append(list, [2]string{"Asked again", st.when(*at) + ": " + term.Clean(st.Ledger.Why)})
	}
	if st.known() {
		list = append(list, [2]string{"Kind", st.Quota.Ledger}, [2]string{"Account", st.Quota.Account},
			[2]string{"Costs", st.Quota.Table})
	}
	if st.Ledger.Generation != "" {
		list = append(list, [2]string{"Generation", st.Ledger.Generation})
	}
	if len(st.Emergency) > 0 {
		list = append(list, [2]string{"Spent without it", term.Amounts(st.Emergency) + " in 24 h"})
	}
	verified := ""
	switch {
	case !st.known(): // the ledger cannot say
	case st.Errors["ledger"] != nil:
		verified = "not known: " + term.Clean(st.Errors["ledger"].Error())
	case st.Ledger.Missing > 0:
		verified = "it lacks " + term.Amount(st.Ledger.Missing, "units") + " that the slots spent: ingest quota rebuild"
	case !st.Ledger.ProvenAt.IsZero():
		verified = "every recorded fetch is in it, checked " + st.when(st.Ledger.ProvenAt)
	}
	if verified != "" {
		list = append(list, [2]string{"Verified", verified})
	}
	return section("Ledger", facts(list))
}

// backupEvery is the age at which another backup is due.
const backupEvery = 7 * 24 * time.Hour

func (st Status) kept() g.Node {
	if st.Standing.StoreErr != nil {
		return section("Kept data", h.P(h.Class("soft"), g.Text("Not known while the store cannot be read.")))
	}
	videos, backup := "none", "none was made: ingest backup FILE"
	if oldest := st.Kept.Oldest; !oldest.IsZero() {
		videos = fmt.Sprintf("%s, in %s; the oldest of %s, %s ago", term.Thousands(st.Kept.Videos),
			term.Plural(int(st.Kept.Charts), "chart"), st.when(oldest), term.Ago(st.At.Sub(oldest)))
	}
	if !st.Backup.IsZero() {
		if backup = fmt.Sprintf("%s, %s ago", st.when(st.Backup),
			term.Ago(max(st.At.Sub(st.Backup), 0))); st.At.Sub(st.Backup) >= backupEvery {
			backup += ": another one is due, ingest backup FILE"
		}
	}
	return section("Kept data", facts([][2]string{{"Videos", videos}, {"Backup", backup}}))
}
