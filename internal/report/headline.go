package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// Mood is how good or bad something is.
type Mood int

// The moods, best first.
const (
	Good Mood = iota
	Idle      // not known, or not begun
	Warn      // less than was configured, but it recovers by itself
	Bad       // a person may have to act
)

func (m Mood) String() string { return [...]string{"good", "idle", "warn", "bad"}[m] }

// Situation is what the headline is computed from. ingest quota, the status page and /readyz judge by it.
type Situation struct {
	Quota    *QuotaDocument // nil: QuotaErr says why the ledger cannot be read
	QuotaErr error
	Next     []NextDocument // until the provider's day ends
	Fresh    *Freshness     // nil: StoreErr says why the store cannot be read, or nothing was fetched yet
	StoreErr error
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
	says := []string{worst.Says}
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

// Verdict is the headline plus everything about the quota, even if all is well.
func (s Situation) Verdict() string {
	worst, charts, left := s.Checks()[0], s.charts(), s.quota()
	switch {
	case worst.Name == left.Name && charts.Mood > Good:
		return sentences(strings.TrimSuffix(OutlookSentence(*s.Quota, s.Next), "."), charts.Says)
	case worst.Name == left.Name && worst.Mood > Good:
		return sentences(strings.TrimSuffix(OutlookSentence(*s.Quota, s.Next), "."))
	case worst.Mood <= Idle || worst.Name == charts.Name:
		return sentences(charts.Says, left.Says)
	case charts.Mood <= Idle:
		return sentences(worst.Says, left.Says)
	}
	return sentences(worst.Says, charts.Says, left.Says)
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
	gone := "nothing is fetched, charts and searches go on"
	if s.StoreErr != nil {
		gone = "nothing is fetched"
	}
	switch {
	case s.Quota == nil && errors.Is(s.QuotaErr, quota.ErrCorrupt):
		return Check{"Ledger", Bad, "damaged", "the quota ledger is damaged: " + gone}
	case s.Quota == nil && errors.Is(s.QuotaErr, quota.ErrMissing):
		return Check{"Ledger", Bad, "missing", "the quota ledger is missing: " + gone}
	case s.Quota == nil:
		return Check{"Ledger", Bad, "cannot be read", "the quota ledger cannot be read: " + gone}
	case s.Quota.Degraded && s.resting() != "": // the charts say that nothing is fetched
		return Check{"Ledger", Bad, "cannot answer", "the ledger cannot answer"}
	case s.Quota.Degraded && s.StoreErr != nil:
		return Check{"Ledger", Bad, "cannot answer", "the ledger cannot answer: nothing is fetched"}
	case s.Quota.Degraded:
		return Check{"Ledger", Bad, "cannot answer", "the ledger cannot answer: " + s.Quota.withoutLedger()}
	}
	return Check{"Ledger", Good, "answers", "the ledger answers"}
}

func (s Situation) resting() string {
	if s.Fresh == nil || s.Quota != nil && s.Quota.Closed() { // the ledger is why, and says so
		return ""
	}
	return s.Fresh.Resting
}

func (s Situation) upstream() Check {
	switch {
	case s.StoreErr != nil:
		return Check{Name: "Upstream", Mood: Idle, Detail: "not known"}
	case s.Fresh == nil || s.Fresh.Upstream == nil:
		return Check{Name: "Upstream", Mood: Idle, Detail: "not asked yet"}
	}
	u := *s.Fresh.Upstream
	switch {
	case u.Unreachable:
		silent := term.Ago(s.Fresh.At.Sub(*u.SilentSince))
		return Check{u.Name, Bad, "silent for " + silent, fmt.Sprintf("%s has given no usable answer for %s", u.Name, silent)}
	case u.KeyRefused != nil:
		return Check{u.Name, Bad, "refuses the key", u.Name + " refuses the key: nothing is fetched"}
	case u.Unasked:
		since := "not asked since " + hour(*u.AskedAt, s.Fresh.At)
		return Check{u.Name, Idle, since, u.Name + " was " + since}
	case u.AnsweredAt != nil:
		return Check{u.Name, Good, "answered " + hour(*u.AnsweredAt, s.Fresh.At), u.Name + " answers"}
	}
	return Check{Name: u.Name, Mood: Idle, Detail: "not asked yet"}
}

func (s Situation) quota() Check {
	if s.Quota == nil || s.Quota.Degraded {
		return Check{Name: "Quota", Mood: Idle, Detail: "not known"}
	}
	says, _ := cutOutlook(OutlookSentence(*s.Quota, s.Next))
	if at := s.Quota.Forecast.BackAt; s.Quota.Forecast.State == budget.UsedUp && !at.IsZero() {
		return Check{"Quota", Warn, "back " + at.UTC().Format("15:04") + ", in " + term.Ago(at.Sub(s.Quota.At)), says}
	}
	mood := Warn
	if s.Quota.Forecast.Fits {
		mood = Good
	}
	detail := "not used"
	if p := s.Quota.Wanted(); p != nil {
		detail = term.Thousands(p.For(quota.Scheduled).Remaining) + " left"
	}
	return Check{"Quota", mood, detail, says}
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

func (s Situation) charts() Check {
	switch {
	case s.StoreErr != nil:
		return Check{"Charts", Bad, "cannot be read", "the store cannot be read"}
	case s.Fresh == nil:
		return Freshness{}.Check()
	}
	fresh := *s.Fresh
	fresh.Resting = s.resting()
	return fresh.Check()
}

// Check says whether the charts, and what else is fetched, are fresh.
func (f Freshness) Check() Check {
	running := slices.ContainsFunc(f.Series, func(s SeriesState) bool { return s.Running })
	if f.Resting != "" {
		return Check{"Charts", Bad, "nothing is fetched", "nothing is fetched now"}
	}
	if f.Empty() && !running {
		return Check{"Charts", Idle, "none yet", "nothing was fetched yet"}
	}
	oldest := int64(-1)
	for _, series := range f.Series {
		if series.AgeS != nil && series.Region != "" {
			oldest = max(oldest, *series.AgeS)
		}
	}
	charts, detail := countCharts(f.Series), "oldest "+term.Ago(time.Duration(oldest)*time.Second)
	if trouble, those := f.worst(); len(those) > 0 {
		says := f.say(those, trouble.plural, trouble.singular)
		switch {
		case trouble.condition == Absent && f.Upstream != nil:
			says += " by " + f.Upstream.Name + ", which is asked once a day"
		case those[0].LastRunAt != nil:
			says += ": nothing has run since " + hour(*those[0].LastRunAt, f.At)
		}
		return Check{"Charts", trouble.mood, detail, says}
	}
	unbegun := countCharts(f.in(Unbegun))
	begun := fmt.Sprintf("%d of %d", charts-unbegun, charts)
	switch {
	case unbegun > 0 && running:
		return Check{"Charts", Idle, begun + " are in", "the first fetch is running: " + begun + " charts are in"}
	case unbegun > 0:
		return Check{"Charts", Idle, begun + " are in", begun + " charts are in, the others wait for their first fetch"}
	case charts == 0:
		return Check{"Charts", Good, "none wanted", "all that is wanted is fresh"}
	}
	return Check{"Charts", Good, detail, fmt.Sprintf("all %s are fresh", term.Plural(charts, "chart"))}
}

// hour writes a time; its day only if that is not today.
func hour(t, now time.Time) string {
	if day := 24 * time.Hour; !t.Truncate(day).Equal(now.Truncate(day)) {
		return t.UTC().Format("2006-01-02 15:04")
	}
	return t.UTC().Format("15:04")
}

// say names the series that are in a condition: "DE, FR and IN are stale".
func (f Freshness) say(those []SeriesState, plural, singular string) string {
	if n := countCharts(those); n > 1 && n == countCharts(f.Series) {
		return fmt.Sprintf("all %s %s", term.Plural(n, "chart"), plural)
	}
	names := term.Texts(those, func(s SeriesState) string {
		if jobs := f.where(func(other SeriesState) bool { return other.Region == s.Region }); len(jobs) > 1 {
			return s.Name()
		}
		return cmp.Or(s.Region, s.Job)
	})
	if len(names) == 1 {
		return names[0] + " " + singular
	}
	return term.Enumerate(names, 3) + " " + plural
}

// countCharts returns how many of the series are charts, which have a region.
func countCharts(all []SeriesState) (n int) {
	for _, s := range all {
		if s.Region != "" {
			n++
		}
	}
	return n
}

// Reason says in one line what is behind the worst check; "" if all is well.
func (s Situation) Reason() string {
	worst := s.Checks()[0]
	switch {
	case worst.Mood < Warn:
		return ""
	case worst.Name == "Ledger" && s.Quota == nil:
		return term.Clean(s.QuotaErr.Error())
	case worst.Name == "Ledger" && s.resting() != "":
		return sentences(s.Fresh.Resting)
	case worst.Name == "Quota":
		return s.quotaReason()
	case worst.Name == "Charts" && s.StoreErr != nil:
		return term.Clean(s.StoreErr.Error())
	case worst.Name == "Charts" && s.Fresh.Resting != "":
		return sentences(s.Fresh.Resting)
	case worst.Name == "Charts":
		_, those := s.Fresh.worst()
		if those[0].LastRunAt != nil {
			return "Is a timer, cron or ingest serve running?"
		}
		return term.Clean(those[0].WithReason())
	case worst.Name != "Ledger":
		u := s.Fresh.Upstream
		if u.KeyRefused != nil {
			return "The last call with it was at " + hour(*u.KeyRefused, s.Fresh.At) + " UTC."
		}
		return fmt.Sprintf("%s in a row had no usable answer since %s, the newest at %s UTC. Calls that do not arrive cost nothing.",
			term.Plural(int(u.Unanswered), "call"), hour(*u.SilentSince, s.Fresh.At), hour(*u.AskedAt, s.Fresh.At))
	}
	return ""
}

// quotaReason says who closed a pool that the schedule needs, or what the headline leaves out.
func (s Situation) quotaReason() string {
	for _, p := range s.Quota.Pools {
		if p.StoppedAt > 0 && p.DrainedUntil != nil && s.Quota.Forecast.Scheduled[p.Pool] > 0 {
			return fmt.Sprintf("The provider refused when we had counted %s of %s: something else spends of it, or its limit is lower.", term.Thousands(p.StoppedAt), term.Thousands(p.Limit))
		}
	}
	_, more := cutOutlook(OutlookSentence(*s.Quota, s.Next))
	return strings.TrimSpace(more + " " + sentences(s.Quota.Forecast.Others))
}

// cutOutlook separates the first clause of a sentence from its explanation.
func cutOutlook(sentence string) (clause, more string) {
	sentence = strings.TrimSuffix(sentence, ".")
	for _, mark := range []string{"; ", ": "} {
		if clause, more, ok := strings.Cut(sentence, mark); ok {
			return clause, sentences(more)
		}
	}
	return sentence, ""
}

// Cure returns what a person must repair, how, and the command for it; "" if nothing.
func (s Situation) Cure() (thing, advice, command string) {
	switch {
	case s.Quota == nil && errors.Is(s.QuotaErr, quota.ErrCorrupt):
		return "quota.db is damaged.", "Move it aside and count again what the store knows was spent:", "ingest quota rebuild --replace"
	case s.Quota == nil && errors.Is(s.QuotaErr, quota.ErrMissing):
		return "quota.db is missing.", "Put it back, or rebuild it from the store:", "ingest quota rebuild"
	case s.Quota == nil && errors.Is(s.QuotaErr, quota.ErrClosed):
		return "quota.db lacks what was spent.", "Put it back, or rebuild it from the store:", "ingest quota rebuild"
	case s.Quota == nil:
		return "The quota ledger cannot be read.", "This says why:", "ingest doctor"
	case s.StoreErr != nil:
		return "The store cannot be read.", "This says why; with --repair it mends what can be mended:", "ingest doctor"
	case s.Fresh != nil && s.Fresh.Upstream != nil && s.Fresh.Upstream.KeyRefused != nil:
		return "The API key is refused.", "Give another one; with one call this says why:", "ingest doctor --online"
	}
	return "", "", ""
}
