package web

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// view is the page as plain values, in order: text ready to be read, and lengths ready to be drawn. It is made from the
// documents that commands print.
type view struct {
	Nonce, Version, At string
	Moved              string // says that the clock was moved; "": it was not
	Sentence, Short    string
	Mood               mood
	Troubles           []string // what could not be read
	Stale              string   // which series are stale, since the sentence is about quota alone; "": none

	Pools     []poolView
	Clocks    []clockView
	Burn      *burnView // nil: not known
	Spent     []spentView
	SpentMore string
	Next      []nextView
	Series    []seriesView
	Strips    []stripView
	Refusals  []refusalView
	Drift     []string
	Today     string
	Choices   []choiceView
	Change    string
	Ledger    []fact
	Policy    []fact
	Backfills []report.BackfillDocument

	Query, Looked string
	Found         []foundView
}

// mood is a class of the style sheet. Nothing is expressed by colour alone.
type mood string

const (
	good mood = "good"
	warn mood = "warn"
	bad  mood = "bad"
)

type (
	fact     struct{ Name, Value string }
	poolView struct {
		Name, Closed string
		Bars         []barView
		Purposes     []purposeView
	}
	purposeView struct{ Purpose, Ceiling, Left string }
	barView     struct {
		Window, Used, Limit, Label string
		Width                      int64 // of 1,000
		Marks                      []int64
		Mood                       mood
	}
	clockView struct{ What, When, In string }
	spentView struct{ Purpose, Region, Method, Amount string }
	nextView  struct {
		Due, Job, Region, Price, Fits string
		Mood                          mood
	}
	seriesView struct {
		Job, Region, Age, Interval, State string
		Mood                              mood
	}
	refusalView struct{ Name, Due, Reason, Retry string }
	choiceView  struct {
		Value  string
		Chosen bool
	}
)

// newView returns the view of what was read.
func newView(o overview, d details, version string) view {
	v := view{Version: version, At: term.Stamp(o.at), Sentence: "The ledger could not be read.", Mood: bad}
	for what, err := range map[string]error{"ledger": o.quotaErr, "store": o.storeErr} {
		if err != nil {
			v.Troubles = append(v.Troubles, "The "+what+" cannot be read: "+term.Clean(err.Error()))
		}
	}
	if o.quotaErr == nil {
		v.Sentence, v.Mood = report.OutlookSentence(o.quota, d.next), warn
		if o.quota.Degraded {
			v.Mood = bad
		} else if o.quota.Forecast.Fits {
			v.Mood = good
		}
		v.setQuota(o.quota, o.at)
		v.Burn = newBurn(o, d)
		v.setNext(o.quota, d.next)
	}
	v.Short, _, _ = strings.Cut(v.Sentence, ":")
	v.setSlots(o)
	v.setFacts(o, d)
	return v
}

func (v *view) setQuota(d report.QuotaDocument, now time.Time) {
	for _, p := range d.Pools {
		pool := poolView{Name: p.Pool}
		if p.DrainedUntil != nil {
			pool.Closed = "Closed until " + term.StampFrom(*p.DrainedUntil) + "."
		}
		for _, w := range p.Windows {
			pool.Bars = append(pool.Bars, newBar(p, w))
			if at := w.FreesAt(); at != nil {
				what := fmt.Sprintf("%s, %s: units free from", p.Pool, w.Window)
				if w.ResetsAt != nil {
					what = fmt.Sprintf("%s: the provider’s day turns%s", p.Pool, d.InZone())
				}
				v.Clocks = append(v.Clocks, clockView{what, term.StampFrom(*at), "in " + term.Ago(at.Sub(now))})
			}
		}
		for _, of := range p.Purposes {
			pool.Purposes = append(pool.Purposes, purposeView{string(of.Purpose), term.Thousands(of.Ceiling), term.Thousands(of.Remaining)})
		}
		v.Pools = append(v.Pools, pool)
		v.Drift = append(v.Drift, drift(p))
	}
	const most = 12
	for _, s := range d.Spent[:min(most, len(d.Spent))] {
		v.Spent = append(v.Spent, spentView{string(s.Purpose), cmp.Or(s.Region, "–"), s.Method, term.Amount(s.Amount, s.Pool)})
	}
	if n := len(d.Spent) - most; n > 0 {
		v.SpentMore = fmt.Sprintf("And %d more.", n)
	}
}

func newBar(p report.PoolDocument, w report.WindowDocument) barView {
	part := func(n int64) int64 { return min(1000*n/max(w.Limit, 1), 1000) }
	b := barView{Window: w.Window, Used: term.Thousands(w.Used), Limit: term.Thousands(w.Limit), Width: part(w.Used), Mood: good}
	var ceilings []string
	for _, of := range p.Purposes {
		share := w.Ceilings[of.Purpose]
		b.Marks = append(b.Marks, min(part(share), 997))
		ceilings = append(ceilings, fmt.Sprintf("%s stops at %s", of.Purpose, term.Thousands(share)))
		if of.Purpose == quota.Scheduled && w.Used >= share {
			b.Mood = bad
		} else if of.Purpose == quota.Scheduled && w.Used*5 >= share*4 {
			b.Mood = warn
		}
	}
	b.Label = fmt.Sprintf("%s, window %s: %s of %s used; %s", p.Pool, b.Window, b.Used, b.Limit, strings.Join(ceilings, ", "))
	return b
}

func drift(p report.PoolDocument) string {
	switch {
	case p.Drift > 0:
		return fmt.Sprintf("%s: the provider stopped at %s of %s: %s were spent beyond our knowledge.", p.Pool, term.Thousands(p.StoppedAt), term.Thousands(p.Limit), term.Thousands(p.Drift))
	case p.StoppedAt > 0:
		return fmt.Sprintf("%s: the provider stopped where we had counted %s of %s.", p.Pool, term.Thousands(p.StoppedAt), term.Thousands(p.Limit))
	}
	return p.Pool + ": the provider has not said no."
}

func (v *view) setNext(d report.QuotaDocument, next []report.NextDocument) {
	const most = 8
	verdicts := report.Verdicts(d, next)
	for i, n := range next[:min(most, len(next))] {
		row := nextView{term.Stamp(n.DueAt), n.Job, cmp.Or(n.Region, "–"), term.Amounts(n.Cost), "yes", good}
		switch {
		case len(n.Cost) == 0:
			row.Price = "what is due"
		case d.Degraded:
			row.Fits, row.Mood = "not known", warn
		case verdicts[i] == report.FitsLater:
			row.Fits, row.Mood = verdicts[i], warn
		case verdicts[i] != report.FitsNow:
			row.Fits, row.Mood = "no", bad
		}
		v.Next = append(v.Next, row)
	}
}

func (v *view) setSlots(o overview) {
	for _, of := range o.fresh.Series {
		row := seriesView{of.Job, cmp.Or(of.Region, "–"), "never", term.Ago(time.Duration(of.IntervalS) * time.Second), "fresh", good}
		if of.AgeS != nil {
			row.Age = term.Ago(time.Duration(*of.AgeS) * time.Second)
		}
		if of.Stale {
			row.State, row.Mood = "stale", bad
		}
		if of.Outcome != "" && of.Outcome != ingest.Done {
			row.State += ", " + string(of.Outcome)
		}
		v.Series = append(v.Series, row)
		v.Strips = append(v.Strips, newStrip(of, o.slots))
	}
	var stale []string
	for _, of := range o.fresh.Stale() {
		stale = append(stale, of.Name())
	}
	if len(stale) > 0 {
		v.Stale = "Stale: " + term.Enumerate(stale, 4) + "."
	}
	for _, s := range o.slots {
		if s.Outcome == ingest.Stopped {
			v.addRefusal(s)
		}
	}
}

// addRefusal adds a slot stopped by quota to the refusal with the same reason and retry time, or as a new one.
func (v *view) addRefusal(s report.SlotDocument) {
	const most = 4
	row := refusalView{Name: strings.TrimSpace(s.Job + " " + s.Region), Due: term.Stamp(s.DueAt), Reason: term.Fit(s.Reason, 400)}
	if s.RetryAt != nil {
		row.Retry = term.StampFrom(*s.RetryAt)
	}
	for i := range v.Refusals {
		if r := &v.Refusals[i]; r.Reason == row.Reason && r.Retry == row.Retry {
			r.Name += ", " + row.Name
			return
		}
	}
	if len(v.Refusals) < most {
		v.Refusals = append(v.Refusals, row)
	}
}

func (v *view) setFacts(o overview, d details) {
	v.Today = "As configured, a day of the schedule costs " + orNothing(term.Amounts(d.price)) + "."
	l := d.ledger
	state := "answers"
	if o.quotaErr != nil || o.quota.Degraded {
		state = "cannot answer"
	}
	v.Ledger = []fact{{"State", state}, {"Kind", o.quota.Ledger}, {"Account", o.quota.Account}, {"Costs", o.quota.Table}}
	if l.Generation != "" {
		v.Ledger = append(v.Ledger, fact{"Generation", l.Generation})
	}
	if l.AskedAgain != nil {
		v.Ledger = append(v.Ledger, fact{"Asked again", term.StampFrom(*l.AskedAgain) + ": " + term.Clean(l.Why)})
	}
	if len(o.emergency) > 0 {
		v.Ledger = append(v.Ledger, fact{"Spent without it", term.Amounts(o.emergency) + " in 24 h"})
	}
	proven := "holds all that the slots spent, compared at " + term.Stamp(l.ProvenAt)
	if err := d.errs["ledger"]; err != nil {
		proven = "not known: " + term.Clean(err.Error())
	} else if l.Missing > 0 {
		proven = fmt.Sprintf("lacks %s units that the slots spent: ingest quota rebuild", term.Thousands(l.Missing))
	}
	v.Ledger = append(v.Ledger, fact{"Proof", proven})
	oldest := "nothing is stored"
	if !d.oldest.IsZero() {
		oldest = d.oldest.UTC().Format(time.DateOnly) + ", " + term.Ago(o.at.Sub(d.oldest)) + " old"
	}
	v.Policy = []fact{{"Oldest data", oldest}, {"Kept at most", "29 days: older data is refreshed or deleted"}, {"Backups", backups(d, o.at)}}
	for _, b := range d.backfills {
		b.What = term.Clean(b.What)
		v.Backfills = append(v.Backfills, b)
	}
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

func orNothing(amounts string) string {
	if amounts == "" {
		return "nothing that is counted"
	}
	return amounts
}
