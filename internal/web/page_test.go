package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

const hostileText = "<script>alert(1)</script>\u202e\x1b[31m\"'>&{{.}}"

// paged returns the fresh site with all that the page shows.
func paged() (*web.Site, *web.Source) {
	site, source := sourced()
	source.Spent = func(_ context.Context, since time.Time) ([]report.SpentDocument, error) {
		if hours := int64(noon.Sub(since) / time.Hour); hours > 0 {
			return []report.SpentDocument{{Purpose: quota.Scheduled, Pool: "units", Amount: hours * 60}, {Purpose: quota.Manual, Pool: "search", Amount: hours}}, nil
		}
		return nil, nil
	}
	source.Next = func(context.Context, time.Time) (next []report.NextDocument, err error) {
		for i, region := range []string{"US", "DE", "GB", "FR", "IN", "BR", "AU", "CA", "JP"} {
			next = append(next, report.NextDocument{Job: "chart", Region: region, DueAt: noon.Add(time.Duration(i) * time.Minute), Cost: map[string]int64{"units": 118}})
		}
		return next, nil
	}
	source.DayPrice = func(every time.Duration) (map[string]int64, error) {
		if every == 15*time.Minute {
			return map[string]int64{"units": 3072}, nil
		}
		return map[string]int64{"units": 1536}, nil
	}
	source.Ledger = func(context.Context) (report.LedgerDocument, error) {
		return report.LedgerDocument{Generation: "5eed", ProvenAt: noon}, nil
	}
	source.Backup = func(context.Context) (time.Time, error) { return noon.AddDate(0, 0, -3), nil }
	source.Oldest = func(context.Context) (time.Time, error) { return noon.AddDate(0, 0, -12), nil }
	source.Backfills = func(context.Context) ([]report.BackfillDocument, error) {
		return []report.BackfillDocument{{ID: "uploads-1", What: hostileText, Outcome: ingest.Claimed, Ended: 17, Pieces: 40, Units: 171}}, nil
	}
	source.Search = func(context.Context, string) (report.SearchDocument, string, error) {
		return report.SearchDocument{Looked: hostileText, Items: []report.SearchItem{
			{VideoID: "a", Title: "The world cup", Highlight: [][2]int{{4, 9}}, Channel: hostileText, Regions: []ingest.Region{"US"}},
			{VideoID: "b", Title: hostileText, Highlight: [][2]int{{1, 7}, {9, 900}}},
		}}, "", nil
	}
	return site, source
}

var (
	tags   = regexp.MustCompile(`(?s)<(script|style)[ >].*?</(script|style)>|<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// textOf returns what a person reads of a page.
func textOf(body string) string {
	return spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(body, " ")), " ")
}

// TestThePageShowsTheDocuments: every figure of quota --json and of the slots is on the page, and the page's own JSON
// is those documents.
func TestThePageShowsTheDocuments(t *testing.T) {
	site, _ := paged()
	resp, body := get(t, site, "/?every=15m")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
	text := textOf(body)
	var want []string
	d := shown()
	for _, p := range d.Pools {
		for _, w := range p.Windows {
			want = append(want, fmt.Sprintf("%s %s of %s used", w.Window, term.Thousands(w.Used), term.Thousands(w.Limit)), term.StampFrom(*w.FreesAt()))
		}
		for _, of := range p.Purposes {
			want = append(want, fmt.Sprintf("%s %s %s", of.Purpose, term.Thousands(of.Ceiling), term.Thousands(of.Remaining)))
		}
	}
	for _, s := range d.Spent {
		region := s.Region
		if region == "" {
			region = "–"
		}
		want = append(want, fmt.Sprintf("%s %s %s %s", s.Purpose, region, s.Method, term.Amount(s.Amount, s.Pool)))
	}
	want = append(want,
		report.OutlookSentence(d, nil),
		"search: the provider refused when we had counted 39 of 100: another tool may have spent 61.", "units: no difference; the provider has not refused a call.",
		"Closed until 2026-02-15 08:00:00Z.",
		"scheduled: 1,440 units", "the schedule wants 1,280 units more", // 24 hours of 60
		"2026-02-14 12:00:00Z chart US 118 units yes", "2026-02-14 12:03:00Z chart FR 118 units yes", "2026-02-14 12:04:00Z chart IN 118 units no", // 475 are left
		"chart US 30 min 30 min fresh", "chart DE 1 done, 1 stopped",
		"Every 15m: +1536 units a day, 3,072 units in all.", "a day of the schedule costs 1,536 units",
		"Generation 5eed", "Verified every recorded fetch is in the ledger, checked at 2026-02-14 12:00:00Z", "3 units in 24 h",
		"2026-02-02, 12 days old", "Backups the newest is of 2026-02-11, 3 days old; the next is due on 2026-02-18", "17 of 40 171",
	)
	for _, s := range want {
		if !strings.Contains(text, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	if strings.Contains(body, "/data") {
		t.Error("the page shows a path of the machine")
	}
	if strings.Contains(text, "chart JP") {
		t.Error("more than eight slots to come")
	}
	if t.Failed() {
		t.Log(text)
	}
	_, body = get(t, site, "/?format=json")
	var doc struct{ Quota report.QuotaDocument }
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	d.Data = "" // a path of the machine
	printed, _ := json.Marshal(d)
	answered, _ := json.Marshal(doc.Quota)
	if string(printed) != string(answered) {
		t.Errorf("the page's JSON has\n%s\nwant what quota --json prints\n%s", answered, printed)
	}
}

var order = []string{"pools", "clocks", "burn", "who", "next", "fresh", "refusals", "drift", "change", "ledger", "policy", "search"}

// TestThePageIsReadFromTheTop: its parts have headings, in order of importance, after the one sentence.
func TestThePageIsReadFromTheTop(t *testing.T) {
	site, _ := paged()
	_, body := get(t, site, "/")
	at := strings.Index(body, "<h1")
	for _, id := range order {
		next := strings.Index(body, `<h2 id="`+id+`">`)
		if next < at || at < 0 {
			t.Errorf("%s is not where it belongs", id)
		}
		at = next
		if !strings.Contains(body, `aria-labelledby="`+id+`"`) {
			t.Errorf("section %s has no label", id)
		}
	}
	if strings.Count(body, "<h1") != 1 {
		t.Error("not one h1")
	}
}

// TestThePageLoadsNothingAndRunsNothingElse: its policy allows only the style and the script with its nonce, which is
// different each time, and nothing refers elsewhere.
func TestThePageLoadsNothingAndRunsNothingElse(t *testing.T) {
	site, _ := paged()
	resp, body := get(t, site, "/")
	policy := resp.Header.Get("Content-Security-Policy")
	nonce := regexp.MustCompile(`script-src 'nonce-([A-Z2-7]{26})'`).FindStringSubmatch(policy)
	if nonce == nil || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Fatalf("the policy is %s", policy)
	}
	if n := strings.Count(body, `nonce="`+nonce[1]+`"`); n != 2 {
		t.Errorf("%d elements carry the nonce, want the style and the script", n)
	}
	if regexp.MustCompile(`(?i)(src|href|action)="?(https?:|//)|url\(|@import| on[a-z]+=| style=`).MatchString(body) {
		t.Error("something refers elsewhere, or needs more than the policy allows")
	}
	again, _ := get(t, site, "/")
	if again.Header.Get("Content-Security-Policy") == policy {
		t.Error("two answers have one nonce")
	}
	if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%v", resp.Header)
	}
	if _, other := get(t, site, "/nothing"); !strings.Contains(other, "404") {
		t.Errorf("another path answers %q", other)
	}
}

// TestHostileTitlesAreTextOnThePage: those of the upstream, of a reason, of a query.
func TestHostileTitlesAreTextOnThePage(t *testing.T) {
	site, source := paged()
	source.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) {
		return []report.SlotDocument{{Job: "chart", Region: "US", DueAt: noon.Add(-time.Hour), Outcome: ingest.Stopped, Reason: hostileText, RetryAt: pointer(noon.Add(time.Hour))}}, nil
	}
	_, body := get(t, site, "/?q="+"%3Cscript%3Ealert(1)%3C/script%3E%22%27%3E%E2%80%AE&every=%3Cb%3E")
	if n := strings.Count(body, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, s := range []string{"\u202e", "\x1b", "alert(1)</", "<b>'"} {
		if strings.Contains(body, s) {
			t.Errorf("%q is on the page", s)
		}
	}
	if !strings.Contains(body, "The <mark>world</mark> cup") {
		t.Error("what was asked for is not marked")
	}
	if !strings.Contains(textOf(body), "<script>alert(1)</script>") {
		t.Error("the text itself is gone")
	}
	if !strings.Contains(body, "again at <time datetime=\"2026-02-14 13:00:00Z\">") {
		t.Error("a refusal has no time")
	}
}

// onlyTheLedgerKnows is on no page while the ledger cannot answer.
var onlyTheLedgerKnows = []string{"What is left", "When it comes back", "The last 24 hours JSON", "Who spent it", "What comes next", "Nothing is due", "Our count", "Verified"}

// TestThePageSaysWhatCannotBeRead: the page is served even if nothing else can be, and leaves out what nobody can know
// then.
func TestThePageSaysWhatCannotBeRead(t *testing.T) {
	down := errors.New("connection <refused>")
	tests := []struct {
		name string
		down func(*web.Site, *web.Source)
		want []string
		not  []string
	}{
		{"ledger", func(_ *web.Site, s *web.Source) {
			s.Quota = func(context.Context) (report.QuotaDocument, error) {
				return report.QuotaDocument{Degraded: true, Ledger: "redis"}, nil
			}
		}, []string{"The ledger cannot answer: cheap calls go on", "State cannot answer", "chart US 30 min"}, onlyTheLedgerKnows},
		{"ledger's file", func(_ *web.Site, s *web.Source) {
			s.Quota = func(context.Context) (report.QuotaDocument, error) { return report.QuotaDocument{}, down }
		}, []string{"The ledger cannot be read: connection <refused>", "chart US 30 min"}, onlyTheLedgerKnows},
		{"store", func(_ *web.Site, s *web.Source) {
			s.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, down }
			s.Oldest = func(context.Context) (time.Time, error) { return time.Time{}, down }
		}, []string{"The store cannot be read: connection <refused>", "1,536 of 10,001 used"}, []string{"Oldest data", "Backups", "No slot was stopped"}},
		{"all", func(site *web.Site, _ *web.Source) {
			site.Status.Source = func() (*web.Source, error) { return nil, down }
		}, []string{"The ledger cannot be read", "The store cannot be read"}, onlyTheLedgerKnows},
		{"units that the ledger lacks", func(_ *web.Site, s *web.Source) {
			s.Ledger = func(context.Context) (report.LedgerDocument, error) { return report.LedgerDocument{Missing: 1234}, nil }
		}, []string{"lacks 1,234 units that the slots spent: ingest quota rebuild"}, []string{"every recorded fetch is in the ledger"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			site, source := paged()
			tt.down(site, source)
			resp, body := get(t, site, "/")
			text := textOf(body)
			for _, s := range tt.want {
				if resp.StatusCode != 200 || !strings.Contains(text, s) {
					t.Errorf("%d, without %q:\n%s", resp.StatusCode, s, text)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(text, s) {
					t.Errorf("the page says %q, which nobody can know:\n%s", s, text)
				}
			}
			if resp, body := get(t, site, "/?format=json"); resp.StatusCode != 200 || !json.Valid([]byte(body)) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestTheStripSaysEachReasonOnce: an afternoon in which the machine was off does not hide what failed before it.
func TestTheStripSaysEachReasonOnce(t *testing.T) {
	site, source := paged()
	source.Slots = func(context.Context, time.Time) (slots []report.SlotDocument, err error) {
		for i := range 10 {
			slots = append(slots, report.SlotDocument{Job: "chart", Region: "US", DueAt: noon.Add(-time.Duration(i+1) * 30 * time.Minute), Outcome: ingest.Missed, Reason: "nothing ran"})
		}
		return append(slots, report.SlotDocument{Job: "chart", Region: "US", DueAt: noon.Add(-6 * time.Hour), Outcome: ingest.Failed, Reason: "no route to host"}), nil
	}
	_, body := get(t, site, "/")
	ticks := source.Slots
	source.Slots = func(ctx context.Context, since time.Time) ([]report.SlotDocument, error) { // the same as one slot
		slots, err := ticks(ctx, since)
		row := slots[0]
		row.Count, row.FirstDueAt = 10, &slots[9].DueAt
		return []report.SlotDocument{row, slots[10]}, err
	}
	if _, folded := get(t, site, "/"); textOf(folded) != textOf(body) {
		t.Errorf("ten missed ticks in a row are shown as\n%s", textOf(folded))
	}
	if _, metrics := get(t, site, "/metrics"); !strings.Contains(metrics, `ingest_slots{job="chart",outcome="missed"} 10`) {
		t.Error("the metrics count no ticks")
	}
	text := textOf(body)
	for _, s := range []string{
		"chart US 1 failed, 10 missed 2026-02-14 07:00:00Z to 11:30:00Z, 10 missed: nothing ran", "2026-02-14 06:00:00Z failed: no route to host",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("the page lacks %q:\n%s", s, text)
		}
	}
}

// TestThePageSaysAtOnceWhatIsStale: the sentence above it is about quota alone.
func TestThePageSaysAtOnceWhatIsStale(t *testing.T) {
	site, _ := paged()
	if _, body := get(t, site, "/"); strings.Contains(textOf(body), "Stale:") {
		t.Error("something is said to be stale that is not")
	}
	site, _ = paged()
	site.Schedule = manyRegions()
	if _, body := get(t, site, "/"); !regexp.MustCompile(`to spare\. Stale: chart GB, chart FR, chart IN, chart BR and \d+ more\. Why\?`).MatchString(textOf(body)) {
		t.Errorf("the page does not begin with what is stale:\n%.300s", textOf(body))
	}
}

func TestThePageSaysWhenABackupIsDue(t *testing.T) {
	for want, made := range map[string]time.Time{
		"Backups due, none was made so far: ingest backup FILE makes one": {}, "Backups due, the newest is of 2026-02-06, 8 days old: ingest backup": noon.AddDate(0, 0, -8),
	} {
		site, source := paged()
		source.Backup = func(context.Context) (time.Time, error) { return made, nil }
		if _, body := get(t, site, "/"); !strings.Contains(textOf(body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestThePageIsSmall: 16 regions with a day of mixed outcomes, and everything else at its longest.
func TestThePageIsSmall(t *testing.T) {
	site, source := paged()
	site.Schedule = manyRegions()
	states := []ingest.State{ingest.Done, ingest.Stopped, ingest.Failed, ingest.Missed}
	source.Slots = func(context.Context, time.Time) (slots []report.SlotDocument, err error) {
		for i := range 48 {
			for j, of := range site.Schedule.Series() {
				slots = append(slots, report.SlotDocument{Job: of.Job, Region: of.Key, DueAt: noon.Add(-time.Duration(i) * 30 * time.Minute),
					Outcome: states[(i+j)%4], Reason: strings.Repeat("pool units, window day: 9,500 of 9,500 ", 3)})
			}
		}
		return slots, nil
	}
	_, body := get(t, site, "/?q=cup&every=15m")
	if n := len(body); n >= 60_000 {
		t.Errorf("the page has %d bytes, want less than 60,000", n)
	}
}

// TestAnOpenPageHearsAndLetsGo: a stream of events does not delay the end of the server.
func TestAnOpenPageHearsAndLetsGo(t *testing.T) {
	site, _ := paged()
	addr, end := serveSite(t, site)
	resp, err := http.Get("http://" + addr + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || lines.Text() != "retry: 10000" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("heard %q of %s", lines.Text(), resp.Header.Get("Content-Type"))
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	if lines.Err() != nil {
		t.Errorf("%v: the stream was cut off, and did not let go by itself", lines.Err())
	}
}

// manyRegions is a schedule of sixteen regions, each due every half hour.
func manyRegions() regions.Schedule {
	schedule, err := regions.NewJobSchedule(ingest.Job{Name: "chart", Every: 30 * time.Minute,
		Regions: []ingest.Region{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA", "JP", "KR", "MX", "ES", "IT", "NL", "PL", "SE"}})
	if err != nil {
		panic(err)
	}
	return regions.Schedule{schedule}
}

// BenchmarkPage renders the whole page; its data is ready.
func BenchmarkPage(b *testing.B) {
	site, _ := paged()
	handler := site.Handler()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/?q=cup", nil)
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}
