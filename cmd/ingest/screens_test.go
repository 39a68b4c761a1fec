package main_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// narrowJobs have a long name, and prices in two pools.
const narrowJobs = `jobs:
  - {name: chart, kind: chart, every: 1m, regions: [US], pages: 1}
  - {name: a-search-with-a-name-that-is-longer-than-its-column, kind: search, query: cup, every: 24h, pages: 3}
  - {name: refresh, kind: refresh, every: 24h}
`

// TestScreensFitATerminal: no line of 81 columns, and none that ends with a blank.
func TestScreensFitATerminal(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 1})
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // where demo keeps its data
	config := configured(t, narrowJobs)
	for _, args := range [][]string{
		{"config", "check", "--config", config},
		{"config", "check", "--config", config, "--cost-table", "classic"},
		{"quota", "--config", config},
		{"quota", "--config", config, "--cost-table", "classic"},
		{"demo"},
	} {
		out, _ := ingestCode(t, exitOK, args...)
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\n")
			if term.Width(line) > 80 && !strings.Contains(line, filepath.Dir(dir)) { // a path is as long as it is
				t.Errorf("%s: %d columns: %s", strings.Join(args, " "), term.Width(line), line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: ends with a blank: %q", strings.Join(args, " "), line)
			}
		}
	}
}

func TestATimeToTryAgainIsNeverTooEarly(t *testing.T) {
	whole := time.Date(2026, 11, 21, 15, 0, 53, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{whole, "2026-11-21 15:00:53Z"},
		{whole.Add(1), "2026-11-21 15:00:54Z"},
		{whole.Add(999 * time.Millisecond), "2026-11-21 15:00:54Z"},
		{time.Time{}, "-"},
	} {
		if got := term.StampFrom(c.at); got != c.want {
			t.Errorf("%s: %s, want %s", c.at.Format(time.RFC3339Nano), got, c.want)
		}
	}
}

func TestOneOfAPoolIsNotPlural(t *testing.T) {
	for _, c := range []struct {
		n    int64
		pool string
		want string
	}{
		{1, "units", "1 unit"},
		{1, "calls", "1 call"},
		{0, "units", "0 units"},
		{20135, "units", "20,135 units"},
		{1, "batch_stats", "1 batch_stats"}, // a name and no word
		{1, "search", "1 search call"},
		{5, "search", "5 search calls"},
	} {
		if got := term.Amount(c.n, c.pool); got != c.want {
			t.Errorf("%d of %s: %q, want %q", c.n, c.pool, got, c.want)
		}
	}
}
