package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// Mood is a standing.State as pages colour it.
type Mood = standing.State

// The moods, best first.
const (
	Good = standing.Good
	Idle = standing.Idle
	Warn = standing.Warn
	Bad  = standing.Bad
)

// Situation is a standing with the documents that are printed with it.
type Situation struct {
	Standing standing.Standing
	Quota    *QuotaDocument // nil: the ledger cannot be read
	Next     []NextDocument // until the provider's day ends
	Fresh    *Freshness     // nil: the store cannot be read, or nothing was fetched yet
}

// Check is one of the four things that must be in order.
type Check struct {
	Name   string
	Mood   Mood
	Detail string // a few words
	Says   string // a clause
}

// Headline names the worst trouble in a sentence or two, and its effect on the charts.
func (s Situation) Headline() (Mood, string) {
	worst, charts := s.Checks()[0], s.charts()
	says := s.worst()
	switch {
	case worst.Mood == Good:
		says = []string{charts.Says + ", and the quota lasts"}
	case worst.Mood == Idle:
		says = []string{charts.Says, s.quota().Says}
	case worst.Name != charts.Name && (charts.Mood > Idle || charts.Mood == Idle && worst.Mood == Warn):
		says = append(says, charts.Says)
	}
	return worst.Mood, sentences(says...)
}

// worst is the worst check's sentence and, as bad, ledger and upstream both: either alone would promise that calls go
// on.
func (s Situation) worst() (says []string) {
	checks := s.Checks()
	for i, c := range checks[:2] {
		if i == 0 || c.Mood == Bad && c.Name != s.charts().Name {
			says = append(says, c.Says)
		}
	}
	return says
}

// Verdict is the headline plus everything about the quota, even if all is well.
func (s Situation) Verdict() string {
	worst, charts, left := s.Checks()[0], s.charts(), s.quota()
	switch {
	case worst.Name == left.Name && charts.Mood > Good:
		return sentences(strings.TrimSuffix(ForecastSentence(*s.Quota, s.Next), "."), charts.Says)
	case worst.Name == left.Name && worst.Mood > Good:
		return sentences(strings.TrimSuffix(ForecastSentence(*s.Quota, s.Next), "."))
	case worst.Mood <= Idle || worst.Name == charts.Name:
		return sentences(charts.Says, left.Says)
	case charts.Mood <= Idle:
		return sentences(append(s.worst(), left.Says)...)
	}
	return sentences(append(s.worst(), charts.Says, left.Says)...)
}

func sentences(clauses ...string) string {
	var out []string
	for _, c := range clauses {
		if c != "" {
			out = append(out, strings.ToUpper(c[:1])+c[1:]+".")
		}
	}
	return strings.Join(out, " ")
}

// Checks returns the four checks, worst first. Equally bad ones come in the order ledger, upstream, quota, charts,
// since each may be the reason of the next.
func (s Situation) Checks() []Check {
	checks := []Check{s.ledger(), s.upstream(), s.quota(), s.charts()}
	slices.SortStableFunc(checks, func(a, b Check) int { return cmp.Compare(b.Mood, a.Mood) })
	return checks
}

func (s Situation) ledger() Check {
	st := s.Standing
	goesOn := map[standing.Meanwhile]string{standing.Reads: "nothing is fetched, charts and searches go on",
		standing.Nothing: "nothing is fetched"}[st.Ledger.Meanwhile]
	is := func(word, says string) Check { return Check{"Ledger", st.Ledger.State, word, says} }
	switch {
	case st.Ledger.State == Good:
		return is("answers", "the ledger answers")
	case st.Ledger.State == standing.Idle:
		return is("not asked", "the ledger is not asked while the store cannot be opened")
	// another check says that nothing is fetched
	case st.LedgerErr == nil && (st.Stopped() != nil || st.Upstream.Cause == standing.KeyRefused):
		return is("cannot answer", "the ledger cannot answer")
	case st.LedgerErr == nil && st.StoreErr != nil:
		return is("cannot answer", "the ledger cannot answer: nothing is fetched")
	case st.LedgerErr == nil:
		return is("cannot answer", "the ledger cannot answer: "+WithoutLedger(st.Report.EmergencyLeft))
	}
	word := cmp.Or(map[standing.Cause]string{standing.LedgerMissing: "missing", standing.LedgerDamaged: "damaged",
		standing.LedgerOlderCopy: "an older copy", standing.LedgerIncomplete: "incomplete"}[st.Ledger.Cause],
		"cannot be read")
	if word == "cannot be read" {
		return is(word, "the quota ledger "+word+": "+goesOn)
	}
	return is(word, "the quota ledger is "+word+": "+goesOn)
}

func (s Situation) upstream() Check {
	st := s.Standing
	name := cmp.Or(st.Provider, "the upstream")
	switch {
	case st.StoreErr != nil:
		return Check{"Upstream", st.Upstream.State, "not known", ""}
	case st.Contact == nil:
		return Check{"Upstream", st.Upstream.State, "not asked yet", ""}
	case st.Upstream.Cause == standing.UpstreamSilent:
		silent := term.Ago(term.Second(st.Now).Sub(st.Upstream.Since.Truncate(time.Second)))
		return Check{name, st.Upstream.State, "silent for " + silent,
			fmt.Sprintf("%s has given no usable answer for %s", name, silent)}
	case st.Upstream.Cause == standing.KeyRefused:
		return Check{name, st.Upstream.State, "refuses the key", name + " refuses the key: nothing is fetched"}
	case st.Upstream.Cause == standing.NotAsked && st.Upstream.Since.IsZero():
		return Check{name, st.Upstream.State, "not asked yet", ""}
	case st.Upstream.Cause == standing.NotAsked:
		since := "not asked since " + hour(st.Upstream.Since, st.Now)
		return Check{name, st.Upstream.State, since, name + " was " + since}
	}
	return Check{name, st.Upstream.State, "answered " + hour(st.Upstream.Since, st.Now), name + " answers"}
}

func (s Situation) quota() Check {
	is := s.Standing.Quota
	if is.State == Idle {
		return Check{"Quota", Idle, "not known", ""}
	}
	says, _ := cutForecast(ForecastSentence(*s.Quota, s.Next))
	detail := "not used"
	if p := s.Quota.Wanted(); p != nil {
		detail = term.Thousands(p.For(quota.Scheduled).Remaining) + " left"
	}
	if at := is.RetryAt; !at.IsZero() {
		detail = "back " + at.UTC().Format("15:04") + ", in " + term.Ago(at.Sub(s.Standing.Now))
	}
	return Check{"Quota", is.State, detail, says}
}

// Wanted returns the pool that the schedule needs most of; the last one if it needs nothing, nil if there is none.
func (d QuotaDocument) Wanted() (most *PoolDocument) {
	for i, p := range d.Pools {
		if most == nil || d.Forecast.Scheduled[p.Pool] >= d.Forecast.Scheduled[most.Pool] {
			most = &d.Pools[i]
		}
	}
	return most
}

func (s Situation) charts() Check { return ChartsCheck(s.Standing) }

// ChartsCheck says whether the charts, and what else is fetched, are fresh.
func ChartsCheck(s standing.Standing) Check {
	is := func(detail, says string) Check { return Check{"Charts", s.Charts.State, detail, says} }
	charts, unbegun := standing.CountCharts(s.Series), standing.CountCharts(s.In(standing.Never))
	begun := fmt.Sprintf("%d of %d", charts-unbegun, charts)
	oldest := time.Duration(-1)
	for _, one := range s.Series {
		if !one.Done.DueAt.IsZero() && one.IsChart() {
			oldest = max(oldest, one.Age)
		}
	}
	detail := "oldest " + term.Ago(oldest)
	trouble, those := s.Trouble()
	switch {
	case s.StoreErr != nil:
		if s.Store.Cause == standing.StoreGone {
			return is("gone", "the store is gone")
		}
		return is("cannot be read", "the store cannot be read")
	case s.Stopped() != nil:
		return is("nothing is fetched", "nothing is fetched now")
	case len(those) > 0 && s.Charts.Cause != standing.NotBegun:
		return is(detail, troubleText(s, trouble, those))
	case s.Charts.Cause != standing.NotBegun && charts == 0:
		return is("none wanted", "all that is wanted is fresh")
	case s.Charts.Cause != standing.NotBegun:
		return is(detail, fmt.Sprintf("all %s are fresh", term.Plural(charts, "chart")))
	case !slices.ContainsFunc(s.Series, func(one standing.Series) bool { return one.Running }):
		if s.Empty() {
			return is("none yet", "nothing was fetched yet")
		}
		return is(begun+" are in", begun+" charts are in, the others wait for their first fetch")
	}
	return is(begun+" are in", "the first fetch is running: "+begun+" charts are in")
}

// troubles describes the state of several series, or of one.
var troubles = map[standing.SeriesState][2]string{
	standing.Stale:   {"are stale", "is stale"},
	standing.Waiting: {"wait for quota", "waits for quota"},
	standing.Late:    {"are late", "is late"},
	standing.Failed:  {"are fresh, but their newest fetch failed", "is fresh, but its newest fetch failed"},
	standing.Absent:  {"are not charted", "is not charted"},
	standing.Empty:   {"come empty", "comes empty"},
	standing.Shrunk:  {"come with few videos", "comes with few videos"},
}

// troubleText names the series that are in a state: "DE, FR and IN are stale".
func troubleText(s standing.Standing, state standing.SeriesState, those []standing.Series) string {
	names := term.Texts(those, func(one standing.Series) string {
		if slices.ContainsFunc(s.Series,
			func(other standing.Series) bool { return other.Key == one.Key && other.Job != one.Job }) {
			return one.String()
		}
		return cmp.Or(one.Key, one.Job)
	})
	says := term.Enumerate(names, 3) + " " + troubles[state][0]
	if those[0].Cause == standing.ChannelGone {
		return term.Enumerate(names, 3) + ": deleted or hidden; each slot asks again"
	}
	if n := standing.CountCharts(those); n > 1 && n == standing.CountCharts(s.Series) {
		says = fmt.Sprintf("all %s %s", term.Plural(n, "chart"), troubles[state][0])
	} else if len(names) == 1 {
		says = names[0] + " " + troubles[state][1]
	}
	switch {
	case state == standing.Absent && s.Provider != "":
		says += " by " + s.Provider + " (asked again once a day)"
	case state == standing.Empty || state == standing.Shrunk:
		says += " since " + hour(those[0].Since, s.Now)
	case !those[0].LastRunAt.IsZero():
		says += ": nothing has run since " + hour(those[0].LastRunAt, s.Now)
	}
	return says
}

// hour writes a time; its day only if that is not today.
func hour(t, now time.Time) string {
	if day := 24 * time.Hour; !t.Truncate(day).Equal(now.Truncate(day)) {
		return t.UTC().Format("2006-01-02 15:04")
	}
	return t.UTC().Format("15:04")
}

// Reason gives the cause behind the worst check in one line; "" if all is well.
func (s Situation) Reason() string {
	worst, st := s.Checks()[0], s.Standing
	name := cmp.Or(st.Provider, "the upstream")
	switch {
	case worst.Mood < Warn:
		return ""
	case worst.Name == "Ledger" && (st.LedgerErr != nil || st.Stopped() == nil):
		return term.Clean(st.Ledger.Err.Error())
	case worst.Name == "Quota":
		return s.quotaReason()
	case worst.Name == "Charts" && st.StoreErr != nil:
		return term.Clean(st.StoreErr.Error())
	case (worst.Name == "Charts" || worst.Name == "Ledger") && st.Stopped() != nil:
		return sentences(term.Clean(st.Stopped().Error()))
	case worst.Name == "Charts":
		_, those := st.Trouble()
		if !those[0].LastRunAt.IsZero() {
			return "Is a timer, cron or ingest serve running?"
		}
		return term.Clean(newSeriesAge(those[0]).WithReason())
	case worst.Name == name && st.Upstream.Cause == standing.KeyRefused:
		return "The last call with it was at " + hour(st.Upstream.Since, st.Now) + " UTC."
	case worst.Name == name:
		return fmt.Sprintf("%s in a row had no usable answer since %s, the newest at %s UTC. "+
			"Calls that do not arrive cost nothing.",
			term.Plural(int(st.Contact.Unanswered), "call"), hour(st.Upstream.Since, st.Now), hour(st.Contact.AskedAt, st.Now))
	}
	return ""
}

// quotaReason names the closer of a pool that the schedule needs, or the facts that the headline leaves out.
func (s Situation) quotaReason() string {
	for _, p := range s.Quota.Pools {
		if p.StoppedAt > 0 && p.DrainedUntil != nil && s.Quota.Forecast.Scheduled[p.Pool] > 0 {
			return fmt.Sprintf("The provider refused when we had counted %s of %s: "+
				"something else spends from it, or its limit is lower.", term.Thousands(p.StoppedAt), term.Thousands(p.Limit))
		}
	}
	_, more := cutForecast(ForecastSentence(*s.Quota, s.Next))
	return strings.TrimSpace(more + " " + sentences(s.Quota.Forecast.Others))
}

// cutForecast separates the first clause of a sentence from its explanation.
func cutForecast(sentence string) (clause, more string) {
	sentence = strings.TrimSuffix(sentence, ".")
	for _, mark := range []string{"; ", ": "} {
		if clause, more, ok := strings.Cut(sentence, mark); ok {
			return clause, sentences(more)
		}
	}
	return sentence, ""
}

// Cure returns the first cure of the ledger, the store, the workers and the upstream, if one of them is bad.
func (s Situation) Cure() standing.Cure {
	st := s.Standing
	all := []standing.Condition{st.Ledger, st.Store, st.Upstream}
	if st.Stopped() != nil && st.LedgerErr == nil { // that is worse than a ledger that cheap calls can go on without
		all = slices.Insert(all, 0, st.Charts)
	}
	for _, c := range all {
		if c.State == Bad {
			return c.Cure()
		}
	}
	return standing.Cure{}
}
