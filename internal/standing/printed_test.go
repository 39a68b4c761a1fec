package standing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
)

// printed is the same state as each mouth prints it.
type printed struct {
	quota     string // the first sentences of ingest quota
	mark      string // in the title of the page
	page      string // the page's headline
	reason    string
	cure      standing.Cure
	ready     map[string]report.Result // of /readyz
	readyCode int
	fresh     report.Freshness // of /freshness
	freshCode int
	metrics   map[string]string       // by name and labels
	slots     []report.SeriesDocument // of ingest slots --json
	systemd   string                  // the status of the service
	run       standing.Ending         // of a run with nothing due
	exit      int                     // of ingest quota --purpose scheduled
	next      []string                // of ingest slots --next 2
	doctor    []string                // its rows about the state
	log       []string                // the service's repeats
}

// show lets every mouth print the facts.
func show(t fataler, f standing.Facts) (p printed) {
	site := siteOf(f)
	body := func(path string) (int, string) {
		w := httptest.NewRecorder()
		site.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		return w.Code, w.Body.String()
	}
	s := situationOf(f)
	p.systemd, p.exit = report.StatusLine(site.Standing(t.Context())), s.Standing.ExitCode(quota.Scheduled)
	p.run = s.Standing.Ending(standing.Ending{Outcome: ingest.Done}, []ingest.Series{us, de}, quota.Cost{"units": 384}, false)
	p.reason, p.cure = s.Reason(), s.Cure()
	if p.next = term.Texts(nonempty(report.ClosedText(s.Standing)), oneLine); f.StoreErr == nil {
		p.slots = report.NewSeriesDocuments(s.Standing, "")
		for _, slot := range report.NextSlots(s.Standing, 2, "", false) {
			p.next = append(p.next, oneLine(slot.Key+" "+slot.DueAt.Format("2006-01-02 15:04 ")+slot.Reason))
		}
	}
	d := &doctor.Doctor{Provider: "YouTube", Tariff: func() (*quota.Tariff, error) { return &quota.Tariff{}, nil }}
	for _, judge := range []func(*doctor.Doctor, standing.Standing) doctor.Finding{doctor.JudgeFreshness, doctor.JudgeContact, doctor.JudgePools} {
		if found := judge(d, s.Standing); found.Status != "" {
			p.doctor = append(p.doctor, oneLine(strings.TrimSuffix(fmt.Sprintf("%s %s -> %s", found.Status, found.Detail, found.Advice), " -> ")))
		}
	}
	for _, c := range []standing.Condition{s.Standing.Ledger, s.Standing.Charts} {
		if c.Err != nil {
			p.log = append(p.log, oneLine(fmt.Sprint(report.LogAttrs(c.Err, c.Cause))))
		}
	}
	if p.quota = "-"; s.Quota != nil {
		p.quota = s.Verdict()
	}
	_, page := body("/status")
	title := regexp.MustCompile(`<title>(\S+) (.*?)( [-·–] [^<]*)?</title>`).FindStringSubmatch(page)
	if title == nil {
		t.Fatalf("the page has no title: %.300s", page)
	}
	p.mark, p.page = title[1], html.UnescapeString(title[2])
	var ready struct{ Checks []report.Result }
	code, text := body("/readyz?format=json")
	if err := json.Unmarshal([]byte(text), &ready); err != nil {
		t.Fatalf("/readyz: %v", err)
	}
	p.readyCode, p.ready = code, map[string]report.Result{}
	for _, check := range ready.Checks {
		p.ready[check.Check] = check
	}
	if p.freshCode, text = body("/freshness"); p.freshCode == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &p.fresh); err != nil {
			t.Fatalf("/freshness: %v", err)
		}
	}
	p.metrics = map[string]string{}
	_, text = body("/metrics")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if end := strings.LastIndex(line, " "); end > 0 && !strings.HasPrefix(line, "#") {
			p.metrics[strings.TrimPrefix(line[:end], "ingest_")] = line[end+1:]
		}
	}
	return p
}

func oneLine(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\n", " ")) }

func nonempty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

type fataler interface {
	Context() context.Context
	Fatalf(string, ...any)
}

// siteOf is the page that ingest serve shows at its address.
func siteOf(f standing.Facts) *web.Site {
	now := func() time.Time { return f.Now }
	source := &web.Source{
		Quota: func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
			if f.LedgerErr != nil {
				return report.QuotaDocument{}, f, f.LedgerErr
			}
			return report.NewQuotaDocument(f.Report, &quota.Tariff{}, f.Forecast), f, nil
		},
		Slots:     func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, nil },
		DayPrice:  func(time.Duration) (map[string]int64, error) { return map[string]int64{"units": 384}, nil },
		Kept:      func(context.Context) (ingest.Kept, error) { return ingest.Kept{}, nil },
		Backfills: func(context.Context) ([]report.BackfillDocument, error) { return nil, nil },
		Ledger:    func(context.Context) (report.LedgerDocument, error) { return report.LedgerDocument{}, nil },
		Spent:     func(context.Context, time.Time, time.Duration) ([]quota.Spent, error) { return nil, nil },
		Cost:      func(string) (quota.Cost, error) { return nil, nil },
		Emergency: func(context.Context, time.Time) (quota.Cost, error) { return nil, nil },
	}
	if f.Contact != nil {
		f.Calls = ingest.CallStats{"videos.list": {Contact: *f.Contact}}
	}
	read := func(context.Context) standing.Facts { return f }
	site := &web.Site{Now: now, Alive: func() error { return nil }, Facts: read,
		Status: &web.Status{Now: now, Version: "v1", Facts: read, Source: func() (*web.Source, error) { return source, nil }}}
	site.Pages = &pages.Site{Now: now, Version: "v1", Overall: site.Status.Overall}
	return site
}

// String is the row of the table.
func (p printed) String() string {
	var b strings.Builder
	line := func(mouth, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", mouth, text)
		}
	}
	line("quota", p.quota)
	line("page", p.mark+" "+p.page)
	line("reason", p.reason)
	line("cure", strings.TrimSpace(p.cure.Thing+" "+p.cure.Advice+" "+p.cure.Command))
	for _, check := range []string{"store", "ledger", "key", "workers", "upstream", "freshness"} {
		if r, ok := p.ready[check]; ok {
			line("readyz", fmt.Sprintf("%s %t: %s", check, r.OK, r.Detail))
		}
	}
	var series []string
	for _, one := range p.fresh.Series {
		text := one.Region + " never"
		if one.AgeS != nil {
			text = fmt.Sprintf("%s %d min", one.Region, *one.AgeS/60)
		}
		if one.Stale {
			text += " stale"
		}
		if one.ResumesAt != nil {
			text += " until " + one.ResumesAt.Format("2006-01-02 15:04")
		}
		series = append(series, text)
	}
	for _, one := range p.slots {
		line("slots", one.Line(p.fresh.At))
	}
	for _, text := range p.next {
		line("next", text)
	}
	for _, text := range p.doctor {
		line("doctor", text)
	}
	for _, text := range p.log {
		line("log", text)
	}
	line("series", fmt.Sprintf("%d %s", p.freshCode, strings.Join(series, ", ")))
	var figures []string
	for _, name := range []string{`source_readable{source="ledger"}`, `source_readable{source="store"}`, "quota_degraded", "quota_forecast_fits", "upstream_up", "upstream_key_refused"} {
		if v, ok := p.metrics[name]; ok {
			figures = append(figures, name+" "+v)
		}
	}
	line("metrics", strings.Join(figures, ", "))
	line("systemd", p.systemd)
	run := fmt.Sprintf("%s, exit %d, next at %s", p.run.Outcome, standing.ExitCode(p.run.Outcome), p.run.Next.Format("15:04"))
	if !p.run.RetryAt.IsZero() {
		run += ", again at " + p.run.RetryAt.Format("2006-01-02 15:04")
	}
	line("run", run)
	line("exit", fmt.Sprintf("%d for quota --purpose scheduled", p.exit))
	return b.String()
}

// pairs are states of two troubles at once, by name.
var pairs = [][2]string{
	{"the ledger cannot answer", "the upstream is silent"},
	{"the ledger cannot answer, and no call is cheap", "the upstream is silent"},
	{"the ledger cannot answer", "one is late"},
	{"the ledger cannot answer", "the workers pause"},
	{"the ledger cannot answer", "the store cannot be read"},
	{"the ledger cannot answer, and the emergency budget is used up", "the workers pause"},
	{"the ledger's file is missing", "the store cannot be read"},
	{"the ledger's file is missing", "nothing has run for two days"},
	{"the ledger is damaged", "the upstream refuses the key"},
	{"the clock is before the ledger's newest entry", "the store is damaged"},
	{"the ledger's server is out of memory", "the upstream is silent"},
	{"the upstream refuses the key", "the quota is used up"},
	{"the upstream refuses the key", "the ledger cannot answer"},
	{"the machine's clock is not the database's", "the store is damaged"},
	{"one of three hosts is frozen", "the quota lasts at a slower pace"},
	{"one of three hosts is frozen", "one is stale"},
	{"one of three hosts has not synced since a loss", "one is late"},
	{"one of three hosts has not synced since a loss", "the upstream refuses the key"},
	{"the upstream refuses the key", "the provider says no"},
	{"the upstream refuses the key", "one is stale"},
	{"charts come empty for two days", "the quota lasts at a slower pace"},
	{"charts come empty for two days", "the ledger cannot answer"},
	{"the upstream is silent", "one is stale"},
	{"the upstream is silent", "the quota lasts at a slower pace"},
	{"the quota is used up", "one waits for quota"},
	{"the quota lasts at a slower pace", "the newest fetch of one failed"},
	{"the quota runs out", "one is late"},
	{"a person closed the pool", "the upstream has no such chart"},
	{"the disk is full", "one is stale"},
	{"the disk is full", "the quota is used up"},
	{"the machine's clock is not the database's", "the ledger cannot answer"},
	{"the database takes no writes", "one is late"},
	{"the quota does not last", "the first fetch is running"},
}

// Each state is printed by each mouth in these words. testdata/printed.txt is the table: read it when it changes.
func TestEveryMouthPrintsTheStanding(t *testing.T) {
	var table strings.Builder
	states := 0
	row := func(name string, f standing.Facts) {
		states++
		fmt.Fprintf(&table, "%s\n%s\n", name, show(t, f))
	}
	named := map[string]func(*standing.Facts){}
	for _, tt := range troubles {
		named[tt.name] = tt.make
		f := facts(t)
		tt.make(&f)
		row(tt.name, f)
	}
	for _, pair := range pairs {
		f := facts(t)
		for _, name := range pair {
			if named[name] == nil {
				t.Fatalf("no trouble is called %q", name)
			}
			named[name](&f)
		}
		row(pair[0]+" + "+pair[1], f)
	}
	const golden = "testdata/printed.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if table.String() != string(want) || states < 40 || len(pairs) < 20 {
		t.Errorf("%d states are not printed as in %s; if that is right: go test ./internal/standing -run Mouth -update\n%s", states, golden, firstDifference(table.String(), string(want)))
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: %q, want %q", i+1, a[i], b[i])
		}
	}
	return "one is longer"
}

// Every command, page and metric agrees in every state: on how bad it is, which series are stale and how old, until when
// a series waits, and whether the ledger and the store can be read. A headline is good only while every series' newest chart
// is younger than its bound.
func TestNoTwoMouthsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := facts(t)
		for i, n := 0, rapid.IntRange(0, 4).Draw(t, "troubles"); i < n; i++ {
			rapid.SampledFrom(troubles).Draw(t, "trouble").make(&f)
		}
		if rapid.Bool().Draw(t, "slots") {
			clear(f.Latest.Ended)
			clear(f.Latest.Short)
			for _, series := range []ingest.Series{us, de} {
				age := time.Duration(rapid.IntRange(-1, 300).Draw(t, "age")) * time.Minute
				delete(f.Latest.Done, series)
				if state := rapid.SampledFrom([]ingest.State{ingest.Done, ingest.Failed, ingest.Stopped, ingest.Skipped, ingest.Missed}).Draw(t, "state"); age >= 0 {
					end(&f, series, ingest.Done, age+30*time.Minute)
					slot := end(&f, series, state, age)
					if state == ingest.Stopped {
						slot.RetryAt = noon.Add(time.Duration(rapid.IntRange(-1, 20).Draw(t, "back")) * time.Hour)
						f.Latest.Ended[series] = slot
					}
				}
			}
		}
		p, s := show(t, f), standing.At(f)
		mood, headline := situationOf(f).Headline()
		if marks := map[standing.State]string{standing.Good: "●", standing.Warn: "▲", standing.Bad: "◆", standing.Idle: "○"}; mood != s.Worst().State ||
			p.mark != marks[mood] || p.page != headline {
			t.Fatalf("the standing is %s, the headline %s %q, the page's %s %q", s.Worst().State, mood, headline, p.mark, p.page)
		}
		readable := map[bool]string{true: "1", false: "0"}
		if down := s.Ledger.State == standing.Bad; down != (p.exit == standing.ExitUnavailable) || down == p.ready["ledger"].OK {
			t.Fatalf("the ledger is %s, quota exits with %d, and /readyz says %+v", s.Ledger.State, p.exit, p.ready["ledger"])
		}
		cut := strings.HasSuffix(p.systemd, "…") // its end is not shown, where freshness stands
		if nothing := strings.Contains(p.systemd, "nothing stale"); f.StoreErr == nil && !cut && nothing != p.ready["freshness"].OK {
			t.Fatalf("systemd shows %q, and /readyz says %+v", p.systemd, p.ready["freshness"])
		}
		if p.metrics[`source_readable{source="store"}`] != readable[f.StoreErr == nil] || (p.freshCode == http.StatusOK) != (f.StoreErr == nil) {
			t.Fatalf("the store: %v, /freshness %d, metrics %v", f.StoreErr, p.freshCode, p.metrics)
		}
		for part, is := range map[string]standing.Condition{"store": s.Store, "ledger": s.Ledger, "upstream": s.Upstream, "quota": s.Quota, "charts": s.Charts} {
			if name := fmt.Sprintf("condition{cause=%q,part=%q}", is.Cause, part); p.metrics[name] != fmt.Sprint(int(is.State)) {
				t.Fatalf("the %s is %s for %q, and the metrics have %s %s", part, is.State, is.Cause, name, p.metrics[name])
			}
		}
		if p.metrics[`source_readable{source="ledger"}`] != readable[s.Ledger.State == standing.Good] {
			t.Fatalf("the ledger is %s, and the metrics say %v", s.Ledger.State, p.metrics)
		}
		if unreadable := strings.Contains(p.systemd, "store: "); unreadable != (f.StoreErr != nil) {
			t.Fatalf("systemd shows %q, and the store: %v", p.systemd, f.StoreErr)
		}
		if closed := strings.Contains(strings.Join(p.next, "\n"), "until this is mended"); closed != (f.LedgerErr != nil || f.Report.Degraded != nil) {
			t.Fatalf("slots --next says %q, and the ledger is %s", p.next, s.Ledger.State)
		}
		for _, row := range p.doctor {
			fine, _, _ := strings.Cut(row, " ")
			if strings.HasPrefix(row, "ok all") && len(s.StaleSeries()) > 0 || strings.Contains(row, "is stale") && len(s.StaleSeries()) == 0 {
				t.Fatalf("the doctor says %q, and %d series are stale", row, len(s.StaleSeries()))
			}
			if strings.Contains(row, "YouTube") && !strings.Contains(row, "chart") && (fine == "ok") != (s.Upstream.State <= standing.Idle) {
				t.Fatalf("the doctor says %q, and the upstream is %s", row, s.Upstream.State)
			}
		}
		for _, said := range p.log {
			if !strings.Contains(said, "cause="+string(s.Ledger.Cause)+" ") && !strings.Contains(said, "cause="+string(s.Charts.Cause)+" ") {
				t.Fatalf("the log says %q, and the causes are %q and %q", said, s.Ledger.Cause, s.Charts.Cause)
			}
		}
		if f.StoreErr != nil {
			return
		}
		stale, back, next := 0, time.Time{}, time.Time{}
		for i, one := range p.fresh.Series {
			labels := fmt.Sprintf("{job=%q,region=%q}", one.Job, one.Region)
			if p.metrics["freshness_stale"+labels] != readable[one.Stale] {
				t.Fatalf("%s is stale: %t, and the metrics say %s, want %v", one.Region, one.Stale, p.metrics["freshness_stale"+labels], readable[one.Stale])
			}
			if one.AgeS != nil && p.metrics["freshness_age_seconds"+labels] != fmt.Sprint(float64(*one.AgeS)) &&
				p.metrics["freshness_age_seconds"+labels] != fmt.Sprintf("%d", *one.AgeS) {
				t.Fatalf("%s is %d s old, and the metrics say %s", one.Region, *one.AgeS, p.metrics["freshness_age_seconds"+labels])
			}
			if is := s.Series[i]; one.ResumesAt != nil && !one.ResumesAt.Equal(is.ResumesAt) || (one.ResumesAt != nil) != (is.State == standing.Waiting) {
				t.Fatalf("%s waits until %v, and its state is %s until %s", one.Region, one.ResumesAt, is.State, is.ResumesAt)
			}
			said := p.slots[i]
			if at := said.NextAt; at != nil && (next.IsZero() || at.Before(next)) {
				next = *at
			}
			if !reflect.DeepEqual(said.WaitDocument, one.WaitDocument) || !reflect.DeepEqual(said.DoneAt, one.Slot) ||
				(said.ShortSince != nil) != (one.ShortSince != nil) {
				t.Fatalf("slots says %+v, and /freshness %+v", said, one)
			}
			if one.ResumesAt != nil && (back.IsZero() || one.ResumesAt.Before(back)) {
				back = *one.ResumesAt
			}
			if one.Stale && s.Series[i].State != standing.Absent {
				stale++
			}
			const bound = 3 * 30 * time.Minute
			if young := one.Slot != nil && f.Now.Sub(*one.Slot) <= bound; mood == standing.Good && !young {
				t.Fatalf("%q, and %s is of %v", headline, one.Region, one.Slot)
			}
		}
		if code := standing.ExitCode(p.run.Outcome); (code == standing.ExitStopped) != !back.IsZero() || !p.run.RetryAt.Equal(back) {
			t.Fatalf("a run exits with %d until %s, and /freshness says that the first goes on at %s", code, p.run.RetryAt, back)
		}
		if !p.run.Next.Equal(next) || !strings.Contains(p.systemd, term.Stamp(next)) {
			t.Fatalf("a run says that the next slot is at %s, slots at %s, and systemd %q", p.run.Next, next, p.systemd)
		}
		if p.ready["freshness"].OK != (stale == 0) {
			t.Fatalf("%d are stale, and /readyz says %+v", stale, p.ready["freshness"])
		}
		if silent := s.Upstream.Cause == standing.UpstreamSilent; p.ready["upstream"].OK == silent || silent && p.metrics["upstream_up"] == "1" {
			t.Fatalf("the upstream is silent: %t, /readyz says %+v, the metrics %s", silent, p.ready["upstream"], p.metrics["upstream_up"])
		}
	})
}
