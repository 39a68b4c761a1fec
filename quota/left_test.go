package quota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
)

// TestATakeAgreesWithTheReportedRest: in 5,000 random states, with random needs of the schedule and pools closed by
// hand, a take of any purpose is admitted exactly if enough is left for it by the report, its document, the output of
// ingest quota --all and, in some states, the metrics and the page; and it leaves that rest less its cost. A
// client's request to a gateway is judged alike.
func TestATakeAgreesWithTheReportedRest(t *testing.T) { testTakesAgree(t, 50) }

// TestLongATakeAgreesWithTheReportedRest does the same in 100,000 states.
func TestLongATakeAgreesWithTheReportedRest(t *testing.T) { testTakesAgree(t, 1000) }

// testTakesAgree goes through the given number of states in each of a hundred runs.
func testTakesAgree(t *testing.T, states int) {
	t.Helper()
	seen := 0
	rapid.Check(t, func(r *rapid.T) {
		w := &randomStates{testGovernor: newTestGovernor(t, "2026-02-14 09:00:00"), r: r, seed: rapid.Uint64().Draw(r, "seed")}
		w.Reserve = func(context.Context) quota.Reserve { return w.needs }
		w.Tariff.Routes = map[string]string{"GET /youtube/v3/videos": "videos.list", "GET /youtube/v3/search": "search.list"}
		w.gateway = gateway.New(gateway.Config{Governor: w.Governor, Upstream: served{}})
		for range states {
			seen++
			w.change()
			w.compare()
		}
	})
	if seen < 100*states {
		t.Errorf("%d states", seen)
	}
}

// randomStates is a governor that goes from one state to the next.
type randomStates struct {
	*testGovernor

	r       *rapid.T
	seed    uint64
	needs   quota.Reserve
	gateway *gateway.Gateway
	asked   int // by the gateway's client
}

// served is an upstream that answers every request.
type served struct{}

func (served) Forward(*http.Request) wire.Answer {
	return wire.Answer{Status: http.StatusOK, Header: http.Header{}, Body: []byte("{}"), Sent: true}
}
func (served) Verdict(string, wire.Answer) *fetch.Error { return nil }
func (served) Takes(string, string) bool                { return true }

// random returns a number below n; rapid would keep its own draws to simplify them, which is too slow.
func (w *randomStates) random(n int64) int64 {
	w.seed = w.seed*6364136223846793005 + 1442695040888963407
	return int64(w.seed>>33) % n
}

// check fails the run if there is an error.
func (w *randomStates) check(err error) {
	if err != nil {
		w.r.Fatal(err)
	}
}

// change lets time pass, and changes the spends, the schedule's need, or the closed pools.
func (w *randomStates) change() {
	w.now = w.now.Add(time.Duration(1+w.random(1+w.random(4)*3_600)) * time.Second)
	switch w.random(10) {
	case 0:
		w.spend("units", 1+w.random(3_000))
	case 1:
		w.spend("search", 1+w.random(40))
	case 2:
		w.needs = quota.Reserve{Today: quota.Cost{"units": w.random(10_000), "search": w.random(3) * w.random(60)}}
	case 3:
		w.needs.Whole = map[string]map[string]int64{"units": {"24h": w.random(10_000)}, "search": {"24h": w.random(100)}}
		used, err := w.ScheduledUse(w.t.Context())
		w.check(err)
		if w.needs.Used = used; w.needs.Today == nil {
			w.needs.Today = quota.Cost{}
		}
	case 4:
		w.needs = quota.Reserve{}
	case 5:
		pool := []string{"units", "search"}[w.random(2)]
		w.check(w.DrainByHand(w.t.Context(), pool, false))
		w.compare()
		w.check(w.DrainByHand(w.t.Context(), pool, true))
	}
}

var leftLine = regexp.MustCompile(`(?m)^  (\w+) +([0-9,]+) left of`)

// said returns the rest of each pool for a purpose, and fails the run unless every screen says the same.
func (w *randomStates) said(purpose quota.Purpose) map[string]int64 {
	before, err := w.Report(w.t.Context())
	w.check(err)
	doc, left := report.NewQuotaDocument(before, w.Tariff, budget.Forecast{}), map[string]int64{}
	var screen bytes.Buffer
	report.QuotaScreen{QuotaDocument: doc, All: true}.Print(&screen)
	printed := leftLine.FindAllStringSubmatch(screen.String(), -1)
	for i, p := range before.Pools {
		left[p.Pool] = p.Remaining[purpose]
		if got := doc.Pools[i].For(purpose).Remaining; got != left[p.Pool] {
			w.r.Fatalf("the document has %d of %s left for %s, the report %d", got, p.Pool, purpose, left[p.Pool])
		}
		for j, each := range quota.Purposes() {
			line := printed[i*len(quota.Purposes())+j]
			if each == purpose && (line[1] != string(purpose) || strings.ReplaceAll(line[2], ",", "") != strconv.FormatInt(left[p.Pool], 10)) {
				w.r.Fatalf("%d of %s are left for %s, and the screen says %q", left[p.Pool], p.Pool, purpose, line[0])
			}
		}
	}
	if w.random(40) == 0 {
		w.pages(doc)
	}
	return left
}

// pages fails the run unless metrics and status page show the figures of the document.
func (w *randomStates) pages(doc report.QuotaDocument) {
	var metrics bytes.Buffer
	shown := web.Status{Now: w.Now, Facts: func(context.Context) standing.Facts { return standing.Facts{Now: w.now} },
		Source: func() (*web.Source, error) {
			return &web.Source{
				Quota: func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
					return doc, standing.Facts{Now: w.now}, nil
				},
				Slots:     func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, nil },
				Cost:      w.Tariff.Cost,
				Emergency: func(context.Context, time.Time) (quota.Cost, error) { return nil, nil },
			}, nil
		}}
	w.check(shown.WriteMetrics(w.t.Context(), &metrics))
	for _, p := range doc.Pools {
		for _, each := range p.Purposes {
			line := fmt.Sprintf("ingest_quota_remaining_units{pool=%q,purpose=%q} ", p.Pool, each.Purpose)
			_, after, _ := strings.Cut(metrics.String(), line)
			if got, _, _ := strings.Cut(after, "\n"); got != fmt.Sprint(float64(each.Remaining)) {
				w.r.Fatalf("the metrics have %s%s, the document %d", line, got, each.Remaining)
			}
		}
	}
	page := httptest.NewRecorder()
	(&pages.Site{Now: w.Now, Overall: func(context.Context) pages.State { return pages.State{} }}).ShowStatus(page, httptest.NewRequest(http.MethodGet, "/status", nil), pages.Status{At: w.now, Situation: report.Situation{Quota: &doc}})
	if wanted := doc.Wanted(); wanted != nil {
		left := leftOnPage.FindStringSubmatch(page.Body.String())
		if left == nil || strings.ReplaceAll(left[1], ",", "") != fmt.Sprint(wanted.For("scheduled").Remaining) {
			w.r.Fatalf("the page has %q, the document %d of %s", left, wanted.For("scheduled").Remaining, wanted.Pool)
		}
	}
}

var leftOnPage = regexp.MustCompile(`([0-9,]+) left for charts`)

// ask is a client's request to the gateway, for a method that costs so much while the given amount is left.
func (w *randomStates) ask(method string, cost quota.Cost, left map[string]int64, fits bool) {
	w.asked++
	answer := httptest.NewRecorder()
	target := fmt.Sprintf("http://127.0.0.1:8090/youtube/v3/%s?id=%d", strings.TrimSuffix(method, ".list"), w.asked)
	w.gateway.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, target, nil))
	if (answer.Code == http.StatusOK) != fits {
		w.r.Fatalf("a client's %s, at %v of each pool left, needs %+v: %d %s", method, left, w.needs, answer.Code, answer.Body)
	}
	for _, part := range strings.Split(answer.Header().Get("Ingest-Remaining"), ", ") {
		pool, amount, _ := strings.Cut(part, "=")
		want := left[pool]
		if fits {
			want -= cost[pool]
		}
		if amount != fmt.Sprint(want) {
			w.r.Fatalf("a client's %s leaves %q, and %v were left for it", method, part, left)
		}
	}
}

// compare takes a random call for a random purpose.
func (w *randomStates) compare() {
	purpose, method := quota.Purposes()[w.random(int64(len(quota.Purposes())))], []string{"videos.list", "search.list"}[w.random(2)]
	cost, err := w.Tariff.Cost(method)
	w.check(err)
	left, fits := w.said(purpose), true
	for pool, amount := range cost {
		fits = fits && amount <= left[pool]
	}
	if purpose == quota.Client && w.random(2) == 0 {
		w.ask(method, cost, left, fits)
		return
	}
	got, err := w.Take(w.t.Context(), quota.Request{Method: method, Purpose: purpose})
	if errors.Is(err, quota.ErrNeverFits) {
		return
	}
	w.check(err)
	if got.Allowed != fits {
		w.r.Fatalf("%s for %s, at %v of each pool left, needs %+v: allowed %v: %v", method, purpose, left, w.needs, got.Allowed, got.Refusal)
	}
	for pool, after := range report.NewTakeDocument(got, cost).Remaining {
		want := left[pool]
		if got.Allowed {
			want -= cost[pool]
		}
		if after != want {
			w.r.Fatalf("%s for %s leaves %d of %s, and %d were left for it", method, purpose, after, pool, left[pool])
		}
	}
}

func TestARefusalForTheScheduleNamesItsNeed(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	for _, tt := range []struct {
		used    int64 // more than before
		purpose quota.Purpose
		needs   int64
		method  string
		want    string
	}{
		{9_400, quota.Client, 36, "search.list", "the schedule still needs 36 of the 100 units left today; clients may use only 64 until 2026-02-15 08:00:"},
		{28, quota.Client, 72, "videos.list", "the schedule still needs 72 of the 72 units left today; clients may use none until 2026-02-15 08:00:"},
		{0, quota.Backfill, 72, "videos.list", "the schedule still needs 72 of the 72 units left today; backfills may use none until 2026-02-15 08:00:"},
	} {
		if tt.used > 0 {
			d.spend("units", tt.used)
		}
		d.Tariff.Ceilings[tt.purpose] = d.Tariff.Ceilings[quota.Scheduled]
		d.Reserve = func(context.Context) quota.Reserve {
			return quota.Reserve{Today: quota.Cost{"units": tt.needs}, Whole: map[string]map[string]int64{}}
		}
		got, err := d.Take(t.Context(), quota.Request{Method: tt.method, Purpose: tt.purpose})
		if err != nil || got.Allowed || got.Refusal.Reserved != tt.needs {
			t.Fatalf("%s: %+v, %v, want it refused with %d reserved", tt.purpose, got, err, tt.needs)
		}
		if said := d.Explain(t.Context(), got); !strings.HasPrefix(said, tt.want) || strings.Contains(said, "only our own rule refuses") {
			t.Errorf("%s: %s, want %q", tt.purpose, said, tt.want)
		}
	}
}
