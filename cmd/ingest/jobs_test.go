package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// jobsFile writes a config with a job.
func jobsFile(t *testing.T, top, job string) string {
	t.Helper()
	return configured(t, top+"jobs: [{"+job+"}]\n")
}

func TestJobsThatAreWrongSayWhereAndWhatToDo(t *testing.T) {
	t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
	for _, tt := range []struct{ top, job, want string }{
		{"", "name: a, kind: search, every: 24h", "query: is empty"},
		{"", "name: a, kind: search, every: 24h, query: ' '", "query: is empty"},
		{"", "name: a, kind: search, every: 24h, query: cats, pages: 11", "pages: 11 is outside 1..10"},
		{"", "name: a, kind: search, every: 24h, query: cats, pages: 0", "pages: 0 is outside 1..10"},
		{"", "name: a, kind: search, every: 24h, query: cats, regions: [UK]", "did you mean GB?"},
		{"", "name: a, kind: chart, every: 24h, query: cats", "only a search job has one"},
		{"", "name: a, kind: chart, every: 24h, pages: 5", "pages: 5 is outside 1..4"},
		{"", "name: a, kind: chart, every: 24h, category: -1", `category: "-1" is not a category id`},
		{"", "name: a, kind: chart, every: 24h, category: music", `category: "music" is not a category id`},
		{"", "name: a, kind: refresh, every: 24h, query: cats", "only a search job has one"},
		{"", "name: a, kind: refresh, every: 24h, pages: 1", "a refresh job takes name, kind and every or cron only"},
		{"", "name: a, kind: charts, every: 24h", "use chart, search, uploads, videos or refresh"},
		{"upstream: vimeo\n", "name: a, kind: chart, every: 24h", `upstream "vimeo" is not known to this program: use `},
	} {
		t.Run(tt.job, func(t *testing.T) {
			_, stderr := ingestCode(t, exitConfig, "config", "check", "--config", jobsFile(t, tt.top, tt.job))
			if !strings.Contains(stderr, tt.want) {
				t.Errorf("got %q, want %q in it", stderr, tt.want)
			}
		})
	}
}

// A search costs 100 and its results one more, for every page, region and slot.
func TestASearchJobIsPricedWithItsLookUps(t *testing.T) {
	t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
	type document struct {
		PerDay map[string]int64 `json:"per_day"`
	}
	job := "name: cats, kind: search, query: cats, regions: [US, GB], every: 12h, pages: 3"
	for table, want := range map[string]map[string]int64{
		"classic":       {"units": 2 * 2 * 3 * 101, "search": 2 * 2 * 3},
		"split-2026-06": {"units": 2 * 2 * 3, "search": 2 * 2 * 3},
	} {
		got := ingestJSON[document](t, exitOK, "config", "check", "--config", jobsFile(t, "", job), "--cost-table", table).PerDay
		if got["units"] != want["units"] || got["search"] != want["search"] {
			t.Errorf("%s: %v, want %v", table, got, want)
		}
	}
	// 48 pages of searches a day and a backfill at its ceiling are more than the schedule may use.
	for pacing, want := range map[string]int{"auto": exitOK, "off": exitConfig} {
		_, stderr := ingestCode(t, want, "config", "check", "--config",
			jobsFile(t, "pacing: "+pacing+"\n", "name: cats, kind: search, query: cats, regions: [US, GB], every: 1h"), "--cost-table", "classic")
		if !strings.Contains(stderr, "the schedule does not fit") {
			t.Errorf("pacing %s: got %q, want a warning that the schedule does not fit", pacing, stderr)
		}
	}
}

// A scheduled search costs its price, by the upstream's own count, and its results are stored.
func TestASearchJobFindsTheVideosThatItPaysFor(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 4, CostTable: "classic"})
	t.Setenv("INGEST_COST_TABLE", "classic")
	config := jobsFile(t, "", "name: live, kind: search, query: live, regions: [US, DE], every: 12h, pages: 2")
	at(t, "2026-02-14T09:40:00Z")
	doc := ingestJSON[runDocument](t, exitOK, "run", "--config", config)
	if len(doc.Jobs) != 2 || doc.Jobs[0].Outcome != ingest.Done || doc.Jobs[0].Videos == 0 {
		t.Fatalf("%+v, want two jobs, the first done with videos", doc)
	}
	counted := sim.Ledger()
	if doc.Units != counted.Units["units"] || counted.Units["search"] != 4 || doc.Units < 402 || doc.Units > 408 {
		t.Errorf("%d units by the run, %v by the stand-in: want 4 searches of 100 and a few looks", doc.Units, counted.Units)
	}
	at(t, "2026-02-14T10:40:00Z")
	if again := ingestJSON[runDocument](t, exitOK, "run", "--config", config); again.Units != 0 {
		t.Errorf("an hour later: %d units, want 0", again.Units)
	}
	// Half a day later the gate is open: a search's spends on a region are found under that region.
	at(t, "2026-02-14T21:50:00Z")
	ingestCode(t, exitOK, "run", "--config", config)
	if used := ingestJSON[quotaDocument](t, exitOK, "quota").Pools[1].Windows[0].Used; used != sim.Ledger().Units["units"] {
		t.Errorf("the ledger has %d units, the stand-in %d", used, sim.Ledger().Units["units"])
	}
	ingestCode(t, exitOK, "search", "live")
	ingestCode(t, exitOK, "doctor", "--config", config)
}
