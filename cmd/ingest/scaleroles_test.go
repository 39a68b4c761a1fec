//go:build unix

package main_test

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// The statements of docs/scale.md, run as they stand, are enough for a user who may do nothing else on the server to
// fetch, and for another one to search, and no more than that.
func TestTheRolesOfTheDocsAreEnough(t *testing.T) {
	d := faulty.Postgres(t)
	d.Admin(t, "ALTER DATABASE postgres OWNER TO admin; DROP ROLE ingest")
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```sql\n")
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of SQL in docs/scale.md, want 2: this test runs them", len(blocks)-1)
	}
	statements := func(block string) []string {
		sql, _, _ := strings.Cut(block, "```")
		return strings.Split(strings.TrimSuffix(strings.TrimSpace(sql), ";"), ";")
	}
	for _, s := range statements(blocks[1]) {
		d.Admin(t, s)
	}
	sim, err := youtubesim.New(youtubesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(sim)
	defer upstream.Close()
	owner := strings.Replace(d.URL(), "/postgres?", "/ingest?", 1)
	reader := strings.Replace(owner, "//ingest@", "//ingest_reader@", 1)
	data := t.TempDir()
	run := []string{"run", "--region", "US", "--pages", "1", "--data", data, "--upstream-url", upstream.URL + "/", "--quiet"}
	ingestCode(t, exitOK, append(run, "--store", owner, "--ledger", owner)...)
	search := []string{"search", "the", "--data", data, "--store", reader}
	if _, errs := ingestCode(t, 1, search...); !strings.Contains(errs, "permission denied") {
		t.Errorf("before the rights are given: %s", errs)
	}
	if out, _ := ingestCode(t, 1, "doctor", "--json", "--upstream-url", upstream.URL+"/", "--data", data, "--store", reader, "--ledger", owner); !strings.Contains(out, "GRANT USAGE ON SCHEMA") {
		t.Errorf("doctor does not say which right is missing:\n%s", out)
	}
	for _, s := range statements(blocks[2]) {
		if _, err := d.QueryIn(t.Context(), "ingest", s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	ingestCode(t, exitOK, search...)
	ingestCode(t, exitOK, "chart", "US", "--data", data, "--store", reader)
	if _, errs := ingestCode(t, 1, append(run, "--force", "--store", reader, "--ledger", owner)...); !strings.Contains(errs, "let in by GRANT") {
		t.Errorf("a reader fetches: %s", errs)
	}
}
