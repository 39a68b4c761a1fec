package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

func pointer[T any](v T) *T { return &v }

// shown returns a document without two equal figures, so that none can be mistaken for another.
func shown() report.QuotaDocument {
	return report.QuotaDocument{
		At: noon, Account: "default", Data: "/data", Ledger: "sqlite", Table: "classic",
		Pools: []report.PoolDocument{
			{Pool: "search", Limit: 100, Drift: 61, StoppedAt: 39, DrainedUntil: pointer(noon.Add(20 * time.Hour)),
				Windows: []report.WindowDocument{
					{Window: "24h", Limit: 101, Used: 41, NextFreeAt: pointer(noon.Add(time.Hour))},
					{Window: "day", Zone: "America/Los_Angeles", Limit: 102, Used: 37, ResetsAt: pointer(noon.Add(20 * time.Hour))},
				},
				Purposes: []report.PurposeDocument{{Purpose: quota.Scheduled, Ceiling: 95, Remaining: 0}, {Purpose: quota.Manual, Ceiling: 99, Remaining: 5}}},
			{Pool: "units", Limit: 10000,
				Windows: []report.WindowDocument{
					{Window: "24h", Limit: 10001, Used: 1536, NextFreeAt: pointer(noon.Add(2 * time.Hour))},
					{Window: "day", Zone: "America/Los_Angeles", Limit: 10002, Used: 1024, ResetsAt: pointer(noon.Add(20 * time.Hour))},
				},
				Purposes: []report.PurposeDocument{{Purpose: quota.Scheduled, Ceiling: 9500, Remaining: 475}, {Purpose: quota.Manual, Ceiling: 9950, Remaining: 498}}},
		},
		Spent: []report.SpentDocument{
			{Purpose: quota.Scheduled, Region: "US", Method: "videos.list", Pool: "units", Amount: 40},
			{Purpose: quota.Scheduled, Region: "DE", Method: "videos.list", Pool: "units", Amount: 36},
			{Purpose: quota.Manual, Method: "search.list", Pool: "units", Amount: 700},
			{Purpose: quota.Manual, Method: "search.list", Pool: "search", Amount: 7},
			{Purpose: quota.Manual, Method: "post", Pool: "units", Amount: 760},
		},
		Forecast: budget.Forecast{Until: noon.Add(20 * time.Hour), Scheduled: map[string]int64{"units": 1280}, Fits: true},
	}
}

// sourced returns the fresh site with a source.
func sourced() (*web.Site, *web.Source) {
	site, _ := fresh()
	ended := func(region string, before time.Duration, outcome ingest.State) report.SlotDocument {
		return report.SlotDocument{Job: "chart", Region: region, DueAt: noon.Add(-before), Slot: noon.Add(-before), Outcome: outcome}
	}
	source := &web.Source{
		Quota: func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
			return shown(), factsOf(shown()), nil
		},
		Slots: func(context.Context, time.Time) ([]report.SlotDocument, error) {
			return []report.SlotDocument{
				ended("US", 30*time.Minute, ingest.Done), ended("DE", 45*time.Minute, ingest.Done),
				ended("US", time.Hour, ingest.Done), ended("DE", 75*time.Minute, ingest.Stopped),
			}, nil
		},
		Cost: func(method string) (quota.Cost, error) {
			cost := map[string]quota.Cost{"videos.list": {"units": 1}, "search.list": {"units": 100, "search": 1}}[method]
			if cost == nil {
				return nil, quota.ErrUnknown
			}
			return cost, nil
		},
		Emergency: func(context.Context, time.Time) (quota.Cost, error) { return quota.Cost{"units": 3}, nil },
	}
	site.Status = &web.Status{
		Now: site.Now, Version: "v1.2.3", Facts: site.Facts,
		Source: func() (*web.Source, error) { return source, nil },
	}
	site.Pages = &pages.Site{Now: site.Now, Version: "v1.2.3", Overall: site.Status.Overall}
	return site, source
}

// TestMetricsSayHowClientsWereLimitedAndTheUpstreamAnswered: the former only for a process that serves, the latter for
// all.
func TestMetricsSayHowClientsWereLimitedAndTheUpstreamAnswered(t *testing.T) {
	site, _ := sourced()
	if _, body := get(t, site, "/metrics"); strings.Contains(body, "ingest_api_") || strings.Contains(body, "ingest_upstream_") {
		t.Errorf("metrics without limits and an upstream have figures of them:\n%s", body)
	}
	limiter, err := httplimit.New(httplimit.Config{
		Limits: []httplimit.Limit{{Quota: 9, Window: time.Hour}, {Quota: 7, Window: time.Minute, Observe: true}}, Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.66/32")},
		Tokens: []httplimit.Token{{Client: "acme", SHA256: httplimit.HashToken("acme's")}}, Routes: []httplimit.Route{{Name: "search", Pattern: "/search", Cost: 7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	site.Status.Limits = limiter
	limited := limiter.Handler(http.NotFoundHandler())
	for range 11 { // 9 are allowed, and 2 of them are above the observed limit
		ask(limited, "GET", "/", "From", "192.0.2.1:1")
	}
	ask(limited, "GET", "/search", "From", "192.0.2.1:1")
	ask(limited, "GET", "/", "From", "192.0.2.66:1")
	ask(limited, "GET", "/", "From", "192.0.2.2:1", "Authorization", "Bearer guess")
	amend(site, func(_ context.Context, f *standing.Facts) {
		f.Calls = ingest.CallStats{}
		f.Calls.Add("videos.list", "ok", 80*time.Millisecond, noon.Add(-time.Minute))
		f.Calls.Add("videos.list", "broken", 3*time.Second, noon)
	})
	site.Status = &web.Status{Now: site.Status.Now, Source: site.Status.Source, Facts: site.Status.Facts, Limits: site.Status.Limits} // which has read nothing yet
	_, body := get(t, site, "/metrics")
	for _, line := range []string{
		`ingest_api_requests_total{outcome="allowed"} 8`, `ingest_api_requests_total{outcome="observed"} 2`, `ingest_api_requests_total{outcome="refused"} 3`, `ingest_api_requests_total{outcome="denied"} 1`,
		`ingest_api_requests_total{outcome="unauthorized"} 1`, `ingest_api_requests_total{outcome="failed_open"} 0`, `ingest_api_refunds_total 0`, `ingest_api_shared_total 0`,
		`ingest_limit_decisions_total{decision="allowed",limit="limits",route="",window="1h"} 10`, `ingest_limit_decisions_total{decision="refused",limit="limits",route="",window="1h"} 2`,
		`ingest_limit_decisions_total{decision="refused",limit="limits",route="search",window="1h"} 1`, `ingest_limit_near_misses_total{limit="limits",route="",window="1h"} 1`,
		`ingest_limit_decisions_total{decision="would_refuse",limit="limits",route="",window="1m"} 2`, `ingest_limit_decisions_total{decision="allowed",limit="limits",route="",window="1m"} 8`,
		`ingest_upstream_calls_total{method="videos.list",verdict="ok"} 1`, `ingest_upstream_calls_total{method="videos.list",verdict="broken"} 1`,
		`ingest_upstream_up 0`, `ingest_upstream_seconds_bucket{method="videos.list",le="0.1"} 1`, `ingest_upstream_seconds_count{method="videos.list"} 2`, `ingest_upstream_seconds_sum{method="videos.list"} 3.08`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// TestTheMetricsAreTheDocuments: every figure of a document is in the exposition, under its labels.
func TestTheMetricsAreTheDocuments(t *testing.T) {
	site, source := sourced()
	source.Backup = func(context.Context) (time.Time, error) { return noon.Add(-time.Hour), nil }
	site.Status.Degraded = func() time.Duration { return 90 * time.Second }
	resp, body := get(t, site, "/metrics")
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %s, want 200 and the metrics as text\n%s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
	want := []string{
		`ingest_quota_degraded 0`, `ingest_quota_degraded_seconds_total 90`, `ingest_source_readable{source="ledger"} 1`, `ingest_source_readable{source="store"} 1`,
		`ingest_quota_takes{outcome="admitted"} 83`, `ingest_quota_takes{outcome="refused"} 1`, // 40 and 36 looks and 7 searches
		`ingest_quota_emergency_units{pool="units"} 3`,
		`ingest_quota_spent_units{client="",method="videos.list",pool="units",purpose="scheduled"} 76`,
		`ingest_quota_spent_units{client="",method="search.list",pool="search",purpose="manual"} 7`,
		`ingest_quota_spent_units{client="",method="search.list",pool="units",purpose="manual"} 700`,
		`ingest_quota_spent_units{client="",method="post",pool="units",purpose="manual"} 760`,
		`ingest_quota_forecast_units{pool="units"} 1280`, `ingest_quota_forecast_fits 1`,
		`ingest_quota_drained{pool="search"} 1`, `ingest_quota_drained{pool="units"} 0`,
		`ingest_quota_near_miss{pool="search",purpose="scheduled"} 1`, `ingest_quota_near_miss{pool="search",purpose="manual"} 0`,
		`ingest_quota_near_miss{pool="units",purpose="scheduled"} 1`, `ingest_quota_near_miss{pool="units",purpose="manual"} 0`, // exactly 5 %, and a little more
		`ingest_slots{job="chart",outcome="done"} 3`, `ingest_slots{job="chart",outcome="stopped"} 1`, `ingest_slots{job="chart",outcome="failed"} 0`,
		fmt.Sprintf(`ingest_job_last_success_timestamp_seconds{job="chart"} %v`, float64(noon.Add(-29*time.Minute).Unix())),
		`ingest_freshness_age_seconds{job="chart",region="US"} 1800`, `ingest_freshness_interval_seconds{job="chart",region="DE"} 1800`,
		`ingest_freshness_stale{job="chart",region="DE"} 0`, fmt.Sprintf(`ingest_backup_last_timestamp_seconds %v`, float64(noon.Add(-time.Hour).Unix())),
	}
	for _, p := range shown().Pools {
		want = append(want, fmt.Sprintf(`ingest_quota_drift_units{pool=%q} %d`, p.Pool, p.Drift))
		for _, w := range p.Windows {
			labels := fmt.Sprintf(`{pool=%q,window=%q}`, p.Pool, w.Window)
			want = append(want, fmt.Sprintf(`ingest_quota_used_units%s %d`, labels, w.Used), fmt.Sprintf(`ingest_quota_limit_units%s %d`, labels, w.Limit),
				fmt.Sprintf(`ingest_quota_window_frees_timestamp_seconds%s %v`, labels, float64(w.FreesAt().Unix())))
		}
		for _, of := range p.Purposes {
			labels := fmt.Sprintf(`{pool=%q,purpose=%q}`, p.Pool, of.Purpose)
			want = append(want, fmt.Sprintf(`ingest_quota_ceiling_units%s %d`, labels, of.Ceiling), fmt.Sprintf(`ingest_quota_remaining_units%s %d`, labels, of.Remaining))
		}
	}
	lines := strings.Split(body, "\n")
	has := map[string]bool{}
	for _, line := range lines {
		has[line] = true
	}
	for _, line := range want {
		if !has[line] {
			t.Errorf("missing: %s", line)
		}
	}
	if !strings.Contains(body, `ingest_build_info{goversion="go1.`) || !strings.Contains(body, `version="v1.2.3"} 1`) {
		t.Errorf("the metrics lack the build's version:\n%s", body)
	}
	if t.Failed() {
		t.Log(body)
	}
}

// TestMetricsAreNamedAsPrometheusAsks: with units and help, by its own linter.
func TestMetricsAreNamedAsPrometheusAsks(t *testing.T) {
	site, _ := sourced()
	_, body := get(t, site, "/metrics")
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestAScrapeOfAStoppedPartIsAFigure: a ledger or a store that cannot be read does not hide the other.
func TestAScrapeOfAStoppedPartIsAFigure(t *testing.T) {
	down := errors.New("connection refused")
	tests := []struct {
		name       string
		down       func(*web.Site, *web.Source)
		has, hasNo []string
	}{
		{"ledger", func(_ *web.Site, s *web.Source) {
			s.Quota = func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
				return report.QuotaDocument{Degraded: true, EmergencyLeft: []report.EmergencyDocument{{Pool: "units", Remaining: 18}}}, factsOf(report.QuotaDocument{Degraded: true, EmergencyLeft: []report.EmergencyDocument{{Pool: "units", Remaining: 18}}}), nil
			}
		}, []string{`readable{source="ledger"} 0`, `readable{source="store"} 1`, `quota_degraded 1`, `quota_emergency_remaining_units{pool="units"} 18`, `ingest_slots{`}, []string{"quota_used_units{", "forecast"}},
		{"ledger's file", func(_ *web.Site, s *web.Source) {
			s.Quota = func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
				return report.QuotaDocument{}, standing.Facts{}, down
			}
		}, []string{`readable{source="ledger"} 0`, `ingest_slots{`}, []string{"quota_used_units{"}},
		{"store", func(_ *web.Site, s *web.Source) {
			s.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, down }
		}, []string{`readable{source="store"} 0`, `quota_used_units{`}, []string{"ingest_slots{", `outcome="refused"`}},
		{"all", func(site *web.Site, _ *web.Source) {
			site.Status.Source = func() (*web.Source, error) { return nil, down }
		}, []string{`readable{source="store"} 0`, `readable{source="ledger"} 0`, "build_info"}, []string{"quota_used_units{", "ingest_slots{"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			site, source := sourced()
			tt.down(site, source)
			resp, body := get(t, site, "/metrics")
			if resp.StatusCode != 200 {
				t.Errorf("%d, want 200: Prometheus would drop the rest", resp.StatusCode)
			}
			for _, s := range tt.has {
				if !strings.Contains(body, s) {
					t.Errorf("no %s in\n%s", s, body)
				}
			}
			for _, s := range tt.hasNo {
				if strings.Contains(body, s) {
					t.Errorf("%s, which nobody knows, in\n%s", s, body)
				}
			}
		})
	}
}

// TestManyScrapesReadOnce: many scrapes must not load the ledger.
func TestManyScrapesReadOnce(t *testing.T) {
	site, source := sourced()
	reads, quotaOf := 0, source.Quota
	source.Quota = func(ctx context.Context, store func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
		reads++
		return quotaOf(ctx, store)
	}
	for range 50 {
		get(t, site, "/metrics")
	}
	var out bytes.Buffer
	if err := site.Status.WriteMetrics(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if reads > 2 { // 50 of them may last a second somewhere
		t.Errorf("51 scrapes read the ledger %d times, want at most 2", reads)
	}
	if strings.Contains(out.String(), "degraded_seconds") {
		t.Errorf("a process that ends at once shows seconds of an outage:\n%s", out.String())
	}
}

// BenchmarkScrape measures the encoding alone; cmd/ingest's tests read the ledger and the store.
func BenchmarkScrape(b *testing.B) {
	site, _ := sourced()
	for b.Loop() {
		if err := site.Status.WriteMetrics(b.Context(), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
