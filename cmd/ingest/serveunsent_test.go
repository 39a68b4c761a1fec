//go:build unix

package main_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

var unsentCalls = regexp.MustCompile(`(?m)^ingest_upstream_calls_total\{.*verdict="unsent".*\} (\d+)$`)

// Ledger and upstream are behind one cable, which is out for so long that more calls than the emergency budget has do not
// leave. They cost nothing: when the upstream is back, due slots are fetched without the ledger; and when that is
// back too, it counts the arrived calls.
func TestLongServeKeepsItsEmergencyBudgetWhileNothingLeaves(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	upstream := net.JoinHostPort("127.0.0.1", strconv.Itoa(faulty.FreePort(t)))
	t.Setenv("INGEST_UPSTREAM_URL", "http://"+upstream+"/")
	redis := faulty.Redis(t)
	redis.Kill()
	shipped, err := os.ReadFile("../../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const budget = 10
	costs := filepath.Join(t.TempDir(), "costs.yaml")
	if err := os.WriteFile(costs, []byte(strings.ReplaceAll(string(shipped), "emergency: 0.5%", "emergency: 0.1%")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_COSTS", costs)
	t.Setenv("INGEST_LEDGER", "redis://"+redis.Addr()+"/0")
	configured(t, "jobs: [{name: chart, kind: chart, regions: [US, GB, DE], every: 720h, pages: 1}]\n")
	quickHeart(t)
	d := startServe(t)
	d.until("more calls than the budget has have not left", func() bool {
		_, body := d.get("metrics")
		sum := 0
		for _, m := range unsentCalls.FindAllStringSubmatch(body, -1) {
			n, _ := strconv.Atoi(m[1])
			sum += n
		}
		return sum > budget
	})
	back, err := net.Listen("tcp", upstream)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: sim}
	go func() { _ = server.Serve(back) }()
	t.Cleanup(func() { _ = server.Close() })
	d.until("the upstream is back, and the charts are fetched", func() bool { return sim.Ledger().Units["units"] == 3 })
	if said := d.check("ledger").Detail; !strings.HasPrefix(said, "degraded") {
		t.Errorf("the ledger is down, and it says %q, want \"degraded\" at the beginning", said)
	}
	redis.Restart()
	d.until("the ledger is back", d.isReady)
	d.end(syscall.SIGTERM)
	type pool struct {
		Pool    string
		Windows []struct{ Used int64 }
	}
	doc := ingestJSON[struct{ Pools []pool }](t, 0, "quota", "--json")
	units, sent := slices.IndexFunc(doc.Pools, func(p pool) bool { return p.Pool == "units" }), sim.Ledger().Units["units"]
	if used := doc.Pools[units].Windows[0].Used; used != sent {
		t.Errorf("the ledger counts %d units, and %d arrived", used, sent)
	}
}
