package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// trouble is a state of the world, and what is said of it. The charts were fetched at 09:40.
type trouble struct {
	name     string
	begins   func(t *testing.T)
	now      string // when it is looked at
	quota    int    // exit codes
	sentence string // in the first sentence of quota
	slots    int    // also of chart and metrics
	next     string // said by slots --next
	doctor   int
	check    string // which the doctor does not find well
	metric   string
	run      int
	after    int    // what the doctor exits with after that run, which may have learned more
	ready    int    // of serve, afterwards; 0: not before some time has passed
	page     string // how the page's headline begins then
}

const lookedAt = "2026-02-14T10:41:00Z"

var troubles = []trouble{
	{name: "all is well", now: "2026-02-14T09:41:00Z", sentence: "The quota lasts until", metric: `ingest_freshness_stale{job="chart",region="US"} 0`, ready: 200, page: "All 8 charts are fresh, and the quota lasts."},
	{name: "nothing has run for three hours", now: "2026-02-14T12:41:00Z", sentence: "nothing has run since 09:40", next: "overdue since", check: "freshness",
		metric: `ingest_freshness_stale{job="chart",region="US"} 1`, ready: 200, page: "All 8 charts are fresh, and the quota lasts."},
	{name: "the schedule's quota is used up", begins: func(t *testing.T) {
		t.Helper()
		ingestCode(t, exitOK, "quota", "post", "units", "9468")
	}, now: lookedAt, sentence: "used up until", next: "stopped by quota until", check: "pools", metric: `ingest_quota_takes{outcome="refused"} 8`, run: exitStopped, ready: 200, page: "Quota is used up until"},
	{name: "a pool is closed by hand", begins: func(t *testing.T) { t.Helper(); ingestCode(t, exitOK, "quota", "drain", "units") },
		now: lookedAt, sentence: "by hand", next: "stopped by quota until", check: "pools", metric: `ingest_quota_remaining_units{pool="units",purpose="scheduled"} 0`, run: exitStopped, ready: 200, page: "Closed by hand until"},
	{name: "the upstream is away", begins: func(t *testing.T) { t.Helper(); t.Setenv("INGEST_UPSTREAM_URL", "http://127.0.0.1:1/") }, now: lookedAt, run: exitUnavailable, ready: 503, page: "YouTube has not answered for"},
	{name: "the upstream refuses every page", begins: func(t *testing.T) { t.Helper(); otherStandIn(t, youtubesim.Options{Faults: faultsOf(t, "badtoken")}) },
		now: lookedAt, run: exitPartial},
	{name: "the key is refused", begins: func(t *testing.T) { t.Helper(); otherStandIn(t, youtubesim.Options{RequireKey: "another"}) },
		now: lookedAt, run: exitKey, after: exitKey, ready: 503, page: "YouTube refuses the key: nothing is fetched."},
	{name: "quota.db is lost", begins: func(*testing.T) { loseLedger() }, now: lookedAt,
		quota: exitUnavailable, next: "no run fetches what is due", doctor: exitUnavailable, check: "lost", metric: `ingest_source_readable{source="ledger"} 0`, run: exitUnavailable, after: exitUnavailable, ready: 503, page: "The quota ledger is missing: nothing is fetched"},
	{name: "quota.db is damaged", begins: func(t *testing.T) {
		t.Helper()
		loseLedger()
		if err := os.WriteFile(filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile), []byte(strings.Repeat("no database ", 99)), 0o600); err != nil {
			t.Fatal(err)
		}
	}, now: lookedAt, quota: exitUnavailable, next: "no run fetches what is due", doctor: exitUnavailable, check: "ledger", metric: `ingest_source_readable{source="ledger"} 0`, run: exitUnavailable, after: exitUnavailable,
		ready: 503, page: "The quota ledger is damaged: nothing is fetched"},
	{name: "ingest.db is damaged", begins: func(t *testing.T) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(os.Getenv("INGEST_DATA"), "ingest.db"), []byte(strings.Repeat("no database ", 99)), 0o600); err != nil {
			t.Fatal(err)
		}
	}, now: lookedAt, quota: exitError, slots: exitError, doctor: exitError, check: "store", metric: `ingest_source_readable{source="store"} 0`, run: exitError, after: exitError},
	{name: "nothing was ever fetched", begins: func(t *testing.T) { t.Helper(); t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "new")) },
		now: lookedAt, slots: exitError, check: "store", metric: `ingest_source_readable{source="store"} 0`, ready: 200, page: "All 8 charts are fresh, and the quota lasts."},
}

// otherStandIn points the program at another upstream, with the data that it has.
func otherStandIn(t *testing.T, o youtubesim.Options) {
	t.Helper()
	sim, err := youtubesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
}

// In each state every screen says what is the matter, and no two contradict each other: where a run is stopped or refused,
// quota is not fine; where the ledger cannot answer, nobody says that it can; and charts are shown whatever the ledger does.
func TestNoTwoScreensContradictEachOther(t *testing.T) {
	for _, tt := range troubles {
		t.Run(tt.name, func(t *testing.T) {
			standIn(t, youtubesim.Options{Seed: 5})
			at(t, "2026-02-14T09:40:00Z")
			ingestCode(t, exitOK, "run")
			if tt.begins != nil {
				tt.begins(t)
			}
			at(t, tt.now)
			said, _ := ingestCode(t, tt.quota, "quota")
			sentence, _, _ := strings.Cut(said, "\n\n")
			sentence = strings.ReplaceAll(sentence, "\n", " ")
			if !strings.Contains(sentence, tt.sentence) || strings.HasPrefix(sentence, "All 8 charts are fresh") && (tt.run == exitStopped || tt.quota != exitOK) {
				t.Errorf("quota begins with %q, and run ends with %d", sentence, tt.run)
			}
			ingestCode(t, tt.slots, "slots", "--region", "US")
			ingestCode(t, tt.slots, "chart", "US")
			if tt.next != "" {
				if next, why := ingestCode(t, exitOK, "slots", "--next", "1"); !strings.Contains(next+why, tt.next) {
					t.Errorf("slots --next does not say that %s:\n%s%s", tt.next, next, why)
				}
			}
			if metrics, _ := ingestCode(t, tt.slots, "metrics"); !strings.Contains(metrics, tt.metric) {
				t.Errorf("the metrics lack %s", tt.metric)
			}
			found := ingestJSON[doctorDocument](t, tt.doctor, "doctor")
			if tt.check != "" && found.find(tt.check).Status == doctor.OK || (tt.doctor == exitOK) != (found.Worst != doctor.Fail) {
				t.Errorf("the doctor exits with %d, and finds %s: %+v", tt.doctor, found.Worst, found.find(tt.check))
			}
			ingestCode(t, tt.run, "run")
			ingestCode(t, tt.after, "doctor")
			if tt.ready == 0 {
				return
			}
			quickHeart(t)
			d := startServe(t)
			d.until("readiness is as it must be", func() bool {
				code, _ := d.get("readyz")
				return code == tt.ready && d.check("ledger").Detail != "not asked yet"
			})
			if ledger := d.check("ledger").OK; ledger != (tt.quota == exitOK) {
				t.Errorf("/readyz says of the ledger %t, and quota ends with %d", ledger, tt.quota)
			}
			d.until("the page says what /readyz says", func() bool {
				code, page := d.get("status")
				_, title, _ := strings.Cut(page, "<title>")
				_, headline, _ := strings.Cut(title, " ") // after its mark
				return code == http.StatusOK && strings.HasPrefix(headline, tt.page)
			})
			if _, metrics := d.get("metrics"); !strings.Contains(metrics, fmt.Sprintf("ingest_source_readable{source=\"ledger\"} %d", map[bool]int{true: 1}[tt.quota == exitOK])) {
				t.Error("/metrics and /readyz differ on the ledger")
			}
			if code, _ := d.get("v1/charts/US"); code != http.StatusOK {
				t.Errorf("a chart is answered with %d", code)
			}
			d.end(syscall.SIGTERM)
		})
	}
}
