package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

const hostileText = "<script>alert(1)</script>\u202e\x1b[31m\"'>&{{.}}"

// upcoming are slots of nine regions, a minute after another.
func upcoming() (next []budget.PricedSlot) {
	for i, region := range []string{"US", "DE", "GB", "FR", "IN", "BR", "AU", "CA", "JP"} {
		key := ingest.SlotKey{Job: "chart", Key: region, DueAt: noon.Add(time.Duration(i) * time.Minute)}
		next = append(next, budget.PricedSlot{SlotKey: key, Cost: quota.Cost{"units": 118}, Fits: i < 4})
	}
	return next
}

// paged returns the fresh site with all that the page shows.
func paged() (*web.Site, *web.Source) {
	site, source := sourced()
	slots := site.Facts(context.Background()).Latest
	amend(site, func(_ context.Context, f *standing.Facts) {
		calls := ingest.CallStats{}
		calls.Add("videos.list", "ok", time.Second, noon.Add(-time.Minute))
		f.Contact = new(calls.Contact())
	})
	slot := slots.Done[de]
	slot.DueAt, slot.FetchedAt = noon.Add(-15*time.Minute), noon.Add(-14*time.Minute)
	slots.Done[de], slots.Ended[de] = slot, slot
	source.Spent = func(_ context.Context, since time.Time, every time.Duration) (spent []quota.Spent, err error) {
		for part := range int64(noon.Sub(since) / every) {
			spent = append(spent, quota.Spent{Pool: "units", Who: quota.Who{Purpose: quota.Scheduled}, Part: part, Amount: 60},
				quota.Spent{Pool: "search", Who: quota.Who{Purpose: quota.Manual}, Part: part, Amount: 1})
		}
		return spent, nil
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
	source.Kept = func(context.Context) (ingest.Kept, error) {
		return ingest.Kept{Videos: 41208, Charts: 11136, Oldest: noon.AddDate(0, 0, -12)}, nil
	}
	source.Backfills = func(context.Context) ([]report.BackfillDocument, error) {
		return []report.BackfillDocument{{ID: "uploads-1", What: hostileText, Outcome: ingest.Claimed, Ended: 17, Pieces: 40, Units: 171, Charges: map[string]int64{"units": 171, "search": 5}}}, nil
	}
	return site, source
}

var (
	tags   = regexp.MustCompile(`(?s)<(script|style)[ >].*?</(script|style)>|<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// textOf returns the text of a page that a person reads.
func textOf(body string) string {
	return spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(body, " ")), " ")
}

// TestThePageShowsTheDocuments: every figure of quota --json and of the slots is on the page, and the page's own JSON
// is those documents.
func TestThePageShowsTheDocuments(t *testing.T) {
	site, _ := paged()
	resp, body := get(t, site, "/status")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s, want 200 and HTML\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
	text := textOf(body)
	d := shown()
	situation := report.Situation{Quota: &d, Standing: standing.At(factsOf(d))}
	want := []string{
		"All 2 charts are fresh, and the quota lasts.", "Charts oldest 30 min", "Quota 475 left", "Ledger answers",
		"US fresh 30 min", "12:00", // the next slot of US
		"475 left for charts 1,536 of 10,001 used", "9,500 charts", "Needed until tomorrow 08:00", "1,280", "24h: 14:00; day: tomorrow 08:00",
		"Units, last 24 hours and until tomorrow 08:00", "9,500 charts stop", "schedule 1,440", "the schedule needs 1,280 more", // 24 hours of 60
		"scheduled US DE videos.list 76 units", "manual – search.list 700 units", "manual – search.list 7 search calls", "manual – post 760 units",
		"12:00 US 118 units fits", "12:03 FR 118 units fits", "12:04 IN 118 units does not fit", // 475 are left
		"US 2 done", "DE 1 done, 1 stopped",
		"as configured 1,536 units", "15 min 3,072 units", "1 other pool which the charts do not draw from", "search, closed until tomorrow 08:00 41 101",
		"Generation 5eed", "every recorded fetch is in it, checked 12:00", "3 units in 24 h",
		"2 Feb 12:00, 12 days", "11 Feb 12:00, 3 days ago", "17 of 40 pieces, 5 search calls, 171 units",
	}
	for _, c := range situation.Checks() {
		if c.Name == "Quota" {
			want = append(want, c.Name+" "+c.Detail)
		}
	}
	for _, s := range want {
		if !strings.Contains(text, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	if strings.Contains(body, "/data") {
		t.Errorf("the page shows a path of the machine:\n%s", body)
	}
	if strings.Contains(text, "12:08 JP") {
		t.Errorf("the page shows the 12:08 slot of JP, want fewer slots to come:\n%s", text)
	}
	if t.Failed() {
		t.Log(text)
	}
	_, body = get(t, site, "/status?format=json")
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

// A fleet that loses ticks is named on its page, as by doctor; a restart loses one tick of each series.
func TestThePageSaysHowManyTicksWereLost(t *testing.T) {
	for lost, want := range map[int]string{2: "", 70: "70 of 132 ticks of the last day were skipped or missed"} {
		site, source := paged()
		source.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) {
			slots := []report.SlotDocument{{Job: "chart", Region: "US", DueAt: noon, Outcome: ingest.Missed, Reason: "nothing ran", Count: lost - 1}}
			for i := range 133 - lost {
				slot := report.SlotDocument{Job: "chart", Region: "DE", DueAt: noon.Add(-time.Duration(i) * time.Minute), Outcome: ingest.Done}
				if i == 0 {
					slot.Outcome, slot.Reason = ingest.Skipped, "superseded by 12:00"
				}
				slots = append(slots, slot)
			}
			return slots, nil
		}
		_, body := get(t, site, "/status")
		if text := textOf(body); !strings.Contains(text, want) || want == "" && strings.Contains(text, "skipped or missed") {
			t.Errorf("%d lost: the page does not say %q", lost, want)
		}
	}
}

// TestThePageIsReadFromTheTop: the sentence, the regions and the pool come first, and its parts have headings.
func TestThePageIsReadFromTheTop(t *testing.T) {
	site, _ := paged()
	_, body := get(t, site, "/status")
	at := 0
	for _, next := range []string{"<h1", `class="checks"`, `class="tiles"`, "<h2>Units</h2>", "<h2>Units, last", "<h2>Who", "<h2>What comes", "<h2>Slots", "<h2>Backfills", "<h2>Ledger", "<h2>Kept", "<details><summary>Cost of other"} {
		i := strings.Index(body, next)
		if i < at {
			t.Errorf("%s is not where it belongs", next)
		}
		at = i
	}
	if n := strings.Count(body, "<h1"); n != 1 {
		t.Errorf("the page has %d h1, want 1", n)
	}
}

// TestHostileTitlesAreTextOnThePage: the texts of the upstream, of a reason, of a backfill.
func TestHostileTitlesAreTextOnThePage(t *testing.T) {
	site, source := paged()
	source.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) {
		return []report.SlotDocument{{Job: "chart", Region: "US", DueAt: noon.Add(-time.Hour), Outcome: ingest.Stopped, Reason: hostileText, RetryAt: pointer(noon.Add(time.Hour))}}, nil
	}
	source.Tops = func(context.Context) (map[string]string, error) { return map[string]string{"US": hostileText}, nil }
	_, body := get(t, site, "/status?q=%3Cscript%3Ealert(1)%3C/script%3E")
	if n := strings.Count(body, "<script"); n != 1 {
		t.Errorf("%d scripts, want 1", n)
	}
	for _, s := range []string{"\u202e", "\x1b", "alert(1)</"} {
		if strings.Contains(body, s) {
			t.Errorf("%q is on the page", s)
		}
	}
	if n := strings.Count(textOf(body), "<script>alert(1)</script>"); n != 3 {
		t.Errorf("the text itself is shown %d times, want as a title, a reason and a backfill", n)
	}
}

// onlyTheLedgerKnows is on no page while the ledger cannot answer.
var onlyTheLedgerKnows = []string{"left for charts", "Comes back", "charts stop", "fits", "Nothing is due", "Verified", "quota lasts"}

// TestThePageNamesUnreadableParts: the page is served even if nothing else can be, and leaves unknown parts out.
func TestThePageNamesUnreadableParts(t *testing.T) {
	down := errors.New("connection <refused>")
	tests := []struct {
		name string
		down func(*web.Site, *web.Source)
		want []string
		not  []string
	}{
		{"ledger", func(_ *web.Site, s *web.Source) {
			s.Quota = func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
				return report.QuotaDocument{Degraded: true, EmergencyLeft: []report.EmergencyDocument{{Pool: "units", Remaining: 18}}, Ledger: "redis"}, factsOf(report.QuotaDocument{Degraded: true, EmergencyLeft: []report.EmergencyDocument{{Pool: "units", Remaining: 18}}}), nil
			}
		}, []string{"The ledger cannot answer: cheap calls go on", "State cannot answer", "US fresh 30 min", "not known while the ledger cannot answer"}, onlyTheLedgerKnows},
		{"ledger's file", func(_ *web.Site, s *web.Source) {
			s.Quota = func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
				return report.QuotaDocument{}, standing.Facts{}, down
			}
		}, []string{"The quota ledger cannot be read", "connection <refused>", "US fresh 30 min", "Everything waits for the ledger"}, onlyTheLedgerKnows},
		{"store", func(_ *web.Site, s *web.Source) {
			s.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, down }
			s.Kept = func(context.Context) (ingest.Kept, error) { return ingest.Kept{}, down }
		}, []string{"The store cannot be read. connection <refused>", "1,536 of 10,001 used", "Kept data Not known while the store cannot be read."}, []string{"nothing is stored", "all is well", "fresh"}},
		{"all", func(site *web.Site, _ *web.Source) {
			site.Status.Source = func() (*web.Source, error) { return nil, down }
		}, []string{"The quota ledger cannot be read", "Charts cannot be read"}, onlyTheLedgerKnows},
		{"units that the ledger lacks", func(_ *web.Site, s *web.Source) {
			s.Ledger = func(context.Context) (report.LedgerDocument, error) { return report.LedgerDocument{Missing: 1234}, nil }
		}, []string{"it lacks 1,234 units that the slots spent: ingest quota rebuild"}, []string{"every recorded fetch is in it"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			site, source := paged()
			tt.down(site, source)
			resp, body := get(t, site, "/status")
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
			if resp, body := get(t, site, "/status?format=json"); resp.StatusCode != 200 || !json.Valid([]byte(body)) {
				t.Errorf("%d %s, want 200 and valid JSON", resp.StatusCode, body)
			}
		})
	}
}

// TestTheStripSaysEachReasonOnce: an afternoon with the machine off does not hide an earlier failure.
func TestTheStripSaysEachReasonOnce(t *testing.T) {
	site, source := paged()
	source.Slots = func(context.Context, time.Time) (slots []report.SlotDocument, err error) {
		for i := range 10 {
			slots = append(slots, report.SlotDocument{Job: "chart", Region: "US", DueAt: noon.Add(-time.Duration(i+1) * 30 * time.Minute), Outcome: ingest.Missed, Reason: "nothing ran"})
		}
		return append(slots, report.SlotDocument{Job: "chart", Region: "US", DueAt: noon.Add(-6 * time.Hour), Outcome: ingest.Failed, Reason: "no route to host"}), nil
	}
	_, body := get(t, site, "/status")
	ticks := source.Slots
	source.Slots = func(ctx context.Context, since time.Time) ([]report.SlotDocument, error) { // the same as one slot
		slots, err := ticks(ctx, since)
		row := slots[0]
		row.Count, row.FirstDueAt = 10, &slots[9].DueAt
		return []report.SlotDocument{row, slots[10]}, err
	}
	if _, folded := get(t, site, "/status"); textOf(folded) != textOf(body) {
		t.Errorf("ten missed ticks in a row are shown as\n%s", textOf(folded))
	}
	if _, metrics := get(t, site, "/metrics"); !strings.Contains(metrics, `ingest_slots{job="chart",outcome="missed"} 10`) {
		t.Errorf("the metrics do not count 10 missed ticks:\n%s", metrics)
	}
	text := textOf(body)
	for _, s := range []string{
		"US 10 missed, 1 failed Due Outcome Why 07:00 to 11:30 10 missed nothing ran 06:00 1 failed no route to host",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("the page lacks %q:\n%s", s, text)
		}
	}
}

// TestThePageNamesStaleChartsAtOnce: the first sentence does, and the mark in its title.
func TestThePageNamesStaleChartsAtOnce(t *testing.T) {
	site, _ := paged()
	if _, body := get(t, site, "/status"); strings.Contains(textOf(body), "stale") || !strings.Contains(body, "<title>● All 2 charts are fresh") {
		t.Errorf("the page calls a fresh chart stale:\n%s", textOf(body))
	}
	site, _ = paged()
	site.Now = func() time.Time { return noon.Add(4 * time.Hour) }
	site.Status.Now = site.Now
	amend(site, func(_ context.Context, f *standing.Facts) { f.Now = site.Now() })
	if _, body := get(t, site, "/status"); !strings.Contains(body, "<title>◆ All 2 charts are stale: nothing has run since 11:46.") ||
		!strings.Contains(textOf(body), "Is a timer, cron or ingest serve running?") {
		t.Errorf("the page does not begin with what is stale:\n%.600s", textOf(body))
	}
}

func TestThePageSaysWhenABackupIsDue(t *testing.T) {
	for want, made := range map[string]time.Time{
		"Backup none was made: ingest backup FILE": {}, "Backup 6 Feb 12:00, 8 days ago: another one is due, ingest backup FILE": noon.AddDate(0, 0, -8),
	} {
		site, source := paged()
		source.Backup = func(context.Context) (time.Time, error) { return made, nil }
		if _, body := get(t, site, "/status"); !strings.Contains(textOf(body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestThePageIsSmall: 16 regions with a day of mixed outcomes, and everything else at its longest.
func TestThePageIsSmall(t *testing.T) {
	site, source := paged()
	amend(site, func(_ context.Context, f *standing.Facts) { f.Pace.Schedule = manyRegions() })
	quotaOf := source.Quota
	source.Quota = func(ctx context.Context, store func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
		d, f, err := quotaOf(ctx, store)
		f.Pace.Schedule = manyRegions()
		return d, f, err
	}
	states := []ingest.State{ingest.Done, ingest.Stopped, ingest.Failed, ingest.Missed}
	source.Slots = func(context.Context, time.Time) (slots []report.SlotDocument, err error) {
		for i := range 48 {
			for j, of := range manyRegions().Series() {
				slots = append(slots, report.SlotDocument{Job: of.Job, Region: of.Key, DueAt: noon.Add(-time.Duration(i) * 30 * time.Minute),
					Outcome: states[(i+j)%4], Reason: strings.Repeat("pool units, window day: 9,500 of 9,500 ", 3)})
			}
		}
		return slots, nil
	}
	_, body := get(t, site, "/status")
	if n := len(body); n >= 60_000 {
		t.Errorf("the page has %d bytes, want less than 60,000", n)
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
	r := httptest.NewRequest(http.MethodGet, "http://localhost/status", nil)
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// TestTheFirstPageIsAChartOnceThereIsOne: until then it is the status page, which names the cause of the wait.
func TestTheFirstPageIsAChartOnceThereIsOne(t *testing.T) {
	site, _ := paged()
	library := &report.Documents{
		Regions: func(context.Context) (report.RegionsDocument, error) {
			return report.RegionsDocument{Regions: []report.RegionDocument{{Region: "US", Name: "United States"}}}, nil
		},
		Chart: func(context.Context, string, url.Values) (report.MovesDocument, error) {
			return report.MovesDocument{ChartDocument: report.ChartDocument{Region: "US", Job: "chart"}}, nil
		},
	}
	site.Pages.Documents = func() (*report.Documents, error) { return library, nil }
	if resp, body := get(t, site, "/"); resp.StatusCode != 200 || !strings.Contains(body, "Most popular in the United States") {
		t.Errorf("%d %s, want 200 and \"Most popular in the United States\" in it", resp.StatusCode, body)
	}
	site, _ = paged()
	site.Pages.Documents = func() (*report.Documents, error) { return library, nil }
	slots := site.Facts(t.Context()).Latest
	clear(slots.Done)
	clear(slots.Ended)
	if resp, body := get(t, site, "/"); resp.StatusCode != 200 || !strings.Contains(body, `class="tiles"`) {
		t.Errorf("of an empty store: %d %s, want 200 and \"class=\\\"tiles\\\"\" in it", resp.StatusCode, body)
	}
	site, _ = paged()
	none := &report.Documents{Regions: func(context.Context) (report.RegionsDocument, error) { return report.RegionsDocument{}, nil }}
	site.Pages.Documents = func() (*report.Documents, error) { return none, nil }
	if resp, body := get(t, site, "/"); resp.StatusCode != 200 || !strings.Contains(body, `class="tiles"`) {
		t.Errorf("of a config without charts: %d %s", resp.StatusCode, body)
	}
	if resp, body := get(t, site, "/charts"); resp.StatusCode != 404 || !strings.Contains(body, "o job of the config fetches charts") {
		t.Errorf("the charts of a config without any: %d %s", resp.StatusCode, body)
	}
	site, _ = paged()
	gone := errors.New("the disk is gone")
	site.Pages.Documents = func() (*report.Documents, error) { return nil, gone }
	amend(site, func(_ context.Context, f *standing.Facts) { f.StoreErr = gone })
	if resp, body := get(t, site, "/"); resp.StatusCode != 200 || !strings.Contains(body, "cannot be read") {
		t.Errorf("of a store that cannot be read: %d %s", resp.StatusCode, body)
	}
}

// Where two jobs chart one region, its tiles say which, and lead there.
func TestATileNamesItsJobWhereTwoChartOneRegion(t *testing.T) {
	site, source := paged()
	source.Tops = func(context.Context) (map[string]string, error) {
		return map[string]string{"US": "of one of them"}, nil
	}
	var jobs []regions.JobSchedule
	for _, name := range []string{"chart", "music"} {
		job, err := regions.NewJobSchedule(ingest.Job{Name: name, Regions: []ingest.Region{"US"}, Every: 30 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	quotaOf := source.Quota
	source.Quota = func(ctx context.Context, store func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
		d, f, err := quotaOf(ctx, store)
		f.Pace.Schedule = regions.Schedule(jobs)
		return d, f, err
	}
	slots := site.Facts(t.Context()).Latest
	us := ingest.Series{Job: "music", Key: "US"}
	slots.Done[us] = slots.Done[ingest.Series{Job: "chart", Key: "US"}]
	_, body := get(t, site, "/status")
	for _, s := range []string{"US chart", "US music"} {
		if !strings.Contains(textOf(body), s) {
			t.Errorf("no tile is of %q: %s", s, textOf(body))
		}
	}
	if !strings.Contains(body, `href="/charts/US?job=music"`) || strings.Contains(body, "of one of them") {
		t.Errorf("the tile of music leads elsewhere, or shows another job's title: %s", body)
	}
}

func TestAnAddressThatIsTooLongGetsAPage(t *testing.T) {
	site, _ := paged()
	for path, want := range map[string]string{"/charts/US?x=": "This address is too long", "/v1/search?q=": `"status":414`} {
		answer, body := get(t, site, path+strings.Repeat("a", 10_000))
		if answer.StatusCode != http.StatusRequestURITooLong || !strings.Contains(body, want) || !strings.Contains(body, "8,192") {
			t.Errorf("%s: %s, want 414, %q and 8,192\n%s", path, answer.Status, want, body)
		}
	}
}

// A file that breaks under a running service still lists its slots from memory; its videos cannot be counted.
func TestAPartlyUnreadableStoreIsCalledUnreadable(t *testing.T) {
	site, source := paged()
	source.Kept = func(context.Context) (ingest.Kept, error) {
		return ingest.Kept{}, errors.New("ingest.db: file is not a database")
	}
	_, body := get(t, site, "/status")
	if text := textOf(body); !strings.Contains(text, "The store cannot be read. ingest.db: file is not a database") || strings.Contains(text, "all is well") {
		t.Errorf("says not that the store cannot be read:\n%s", text)
	}
}

// Parts of the page are read at the same time. One that panics ends its own request, as net/http sees to, and not the
// process.
func TestAPartThatPanicsEndsItsRequestAlone(t *testing.T) {
	site, source := paged()
	source.Kept = func(context.Context) (ingest.Kept, error) { panic("broken") }
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("the request's panic: got %v, want broken", got)
		}
	}()
	get(t, site, "/status")
}
