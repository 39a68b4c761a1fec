package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// TestMetricsCountTheSpendsOfOneShotRuns: ingest metrics and serve export the figures of processes that have ended, as
// quota --json and slots --json print them.
func TestMetricsCountTheSpendsOfOneShotRuns(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 3})
	ingestCode(t, exitError, "metrics") // nothing is there yet
	at(t, "2026-02-14T09:40:00Z")
	t.Setenv("INGEST_PACING", "off")
	ingestCode(t, exitOK, "quota", "post", "units", "9480") // 20 of the schedule's 9,500 are left, and it wants 32
	ingestCode(t, exitStopped, "run")
	printed, _ := ingestCode(t, exitOK, "metrics")

	doc := ingestJSON[quotaDocument](t, exitOK, "quota")
	if counted := sim.Ledger().Units["units"]; !strings.Contains(printed, fmt.Sprintf("ingest_quota_takes{outcome=\"admitted\"} %d\n", counted)) || counted == 0 {
		t.Errorf("the stand-in counted %d calls", counted)
	}
	var want []string
	ok, all := 0, len(sim.Log())
	for _, call := range sim.Log() {
		if call.Status == 200 && call.Method == "videos.list" {
			ok++
		}
	}
	want = append(want, fmt.Sprintf(`ingest_upstream_calls_total{method="videos.list",verdict="ok"} %d`, ok))
	if n := strings.Count(printed, "ingest_upstream_seconds_count"); ok == 0 || n == 0 {
		t.Errorf("%d calls were answered of %d, and %d methods have a latency", ok, all, n)
	}
	for _, p := range doc.Pools {
		for _, w := range p.Windows {
			want = append(want, fmt.Sprintf("ingest_quota_used_units{pool=%q,window=%q} %d", p.Pool, w.Window, w.Used))
		}
		for _, of := range p.Purposes {
			want = append(want, fmt.Sprintf("ingest_quota_remaining_units{pool=%q,purpose=%q} %d", p.Pool, of.Purpose, of.Remaining))
		}
	}
	stopped := 0
	for _, s := range ingestJSON[struct{ Slots []slotDocument }](t, exitOK, "slots").Slots {
		late := 0
		if s.Outcome == ingest.Stopped {
			stopped++
			late = 1
		}
		want = append(want, fmt.Sprintf("ingest_freshness_stale{job=%q,region=%q} %d", s.Job, s.Region, late))
	}
	if stopped == 0 {
		t.Fatal("0 slots were stopped, want at least 1")
	}
	want = append(want, fmt.Sprintf("ingest_slots{job=\"chart\",outcome=\"stopped\"} %d", stopped))
	missing := func(text string) []string {
		lines := strings.Split(text, "\n")
		return slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(lines, line) })
	}
	if lacks := missing(printed); len(lacks) > 0 {
		t.Errorf("ingest metrics lacks %q\n%s", lacks, printed)
	}
	d := startServe(t)
	d.until("it answers the same", func() bool { // once it has asked again for the stopped charts
		_, served := d.get("metrics")
		return len(missing(served)) == 0
	})
	// The page is of the same documents.
	_, body := d.get("status?format=json")
	var page struct{ Quota quotaDocument }
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatal(err)
	}
	answered, _ := json.Marshal([]any{page.Quota.Pools, page.Quota.Spent})
	if printed, _ := json.Marshal([]any{doc.Pools, doc.Spent}); string(answered) != string(printed) {
		t.Errorf("the page has\n%s\nand quota --json\n%s", answered, printed)
	}
	_, body = d.get("status")
	for _, p := range doc.Pools {
		most := int64(0)
		for _, w := range p.Windows {
			most = max(most, w.Used)
		}
		if figure := fmt.Sprintf("%s of %s used", term.Thousands(most), term.Thousands(p.Limit)); p.Pool == "units" && !strings.Contains(body, figure) {
			t.Errorf("the page lacks %q", figure)
		}
	}
	if !strings.Contains(body, "INGEST_NOW has moved the clock") {
		t.Errorf("the page does not say that its clock was moved: %s", body)
	}
}
