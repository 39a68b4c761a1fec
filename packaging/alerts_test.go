package packaging_test

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestAlertsFireAndClear: promtool reads the rules, and each of them fires and clears on a simulated day.
func TestAlertsFireAndClear(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool: not installed: apt-get install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		if err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// A day without a case would prove nothing about its alert.
	days := read(t, "alerts_test.yml")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "alerts.yml"), -1)
	if len(alerts) < 9 {
		t.Errorf("only %d alerts, want at least 9", len(alerts))
	}
	for _, m := range alerts {
		cases := strings.Split(days, "alertname: "+m[1]+"\n")[1:]
		fires, clears := 0, 0
		for _, c := range cases {
			if strings.HasPrefix(strings.TrimSpace(c), "exp_alerts: []") {
				clears++
			} else {
				fires++
			}
		}
		if fires == 0 || clears < 2 {
			t.Errorf("%s fires %d times and is silent %d times: want it seen before, during and after", m[1], fires, clears)
		}
	}
}

// TestAlertsAndDashboardNameMetricsThatExist: as internal/web describes them, and never without a label that a panel needs.
func TestAlertsAndDashboardNameMetricsThatExist(t *testing.T) {
	exist := map[string]bool{}
	for _, m := range regexp.MustCompile(`desc\("([a-z_]+)"`).FindAllStringSubmatch(read(t, "../internal/web/metrics.go"), -1) {
		exist["ingest_"+m[1]] = true
	}
	if len(exist) < 20 {
		t.Fatalf("only %d metrics are read, want at least 20", len(exist))
	}
	var dashboard struct {
		UID    string `json:"uid"`
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(read(t, "grafana-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"alerts.yml": read(t, "alerts.yml"), "alerts_test.yml": read(t, "alerts_test.yml")}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			if m := regexp.MustCompile(`by \((\w+)\).* \|= ("[^"]+") \| logfmt \| unwrap (\w+)`).FindStringSubmatch(target.Expr); m != nil { // it counts lines of the log
				source := read(t, "../quota/httplimit/seen.go")
				if line := regexp.MustCompile(`(?s)LogAttrs\(ctx, slog.LevelInfo, ` + m[2] + `,.*?\n}`).FindString(source); !strings.Contains(line, strconv.Quote(m[1])) ||
					!strings.Contains(line, strconv.Quote(m[3])) {
					t.Errorf("the panel %s reads a line %s with %s and %s, which nothing logs", p.Title, m[2], m[1], m[3])
				}
				continue
			}
			texts["the panel "+p.Title] += target.Expr + "\n"
		}
	}
	if len(texts) < 10 {
		t.Errorf("only %d panels have queries, want at least 10", len(texts)-2)
	}
	for where, text := range texts {
		names := regexp.MustCompile(`\bingest_[a-z_]+`).FindAllString(text, -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", where)
		}
		for _, name := range names {
			if !exist[name] {
				t.Errorf("%s names %s, which does not exist", where, name)
			}
		}
	}
}
