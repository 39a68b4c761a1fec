//go:build unix

package pgledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
)

// A change of the SQL needs a step in schema.go's steps, which brings existing schemas there, and then the new
// version's line here.
func TestTheSQLChangesOnlyWithAVersion(t *testing.T) {
	sums := map[int]string{
		1: "32c7362e7d1ef2bf",
	}
	bare := strings.Join(strings.Fields(regexp.MustCompile(`--.*`).ReplaceAllString(pgledger.SQL(), "")), " ") // without comments
	sum := sha256.Sum256([]byte(bare))
	if got := hex.EncodeToString(sum[:8]); got != sums[pgledger.Version()] {
		t.Errorf("the SQL of version %d has the sum %s, want %s", pgledger.Version(), got, sums[pgledger.Version()])
	}
}

func TestASchemaOfAnotherVersionIsLeftAlone(t *testing.T) {
	d := server(t)
	for version, c := range map[string]struct {
		want error
		text string
	}{
		"2": {quota.ErrNewer, "update this program"},
		"0": {quota.ErrCorrupt, `ALTER SCHEMA "other" RENAME`},
	} {
		d.Must(t, "DROP SCHEMA IF EXISTS other CASCADE; CREATE SCHEMA other; CREATE TABLE other.ledger (version integer); INSERT INTO other.ledger VALUES ("+version+")")
		errs := everything(t.Context(), openLedger(t, d.URL(), pgledger.Options{Schema: "other", Timeout: patient}), "a")
		wantAll(t, errs, c.want, c.text)
		for what, err := range errs {
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: more than a line: %v", what, err)
			}
		}
		if n := d.Must(t, "SELECT count(*) FROM pg_class WHERE relnamespace = 'other'::regnamespace"); n != "1" {
			t.Errorf("version %s: %s tables, want \"1\"", version, n)
		}
	}
}

// An older schema keeps its spends. A peek leaves it as it is.
func TestAStepBringsAnOlderSchemaUpToDate(t *testing.T) {
	d := server(t)
	o := pgledger.Options{Schema: "older", Timeout: patient}
	before := openLedger(t, d.URL(), o)
	take(t, before, ask("a", 3, 100, "units"))
	pgledger.WithStep(t, "ALTER TABLE {schema}.accounts ADD COLUMN more integer; DROP FUNCTION {schema}.take_1; DROP FUNCTION {schema}.peek_1")
	l := openLedger(t, d.URL(), o)
	if _, err := l.Take(t.Context(), ask("a", 0, 100, "units")); err == nil || !strings.Contains(err.Error(), "of version 1") {
		t.Errorf("a look: %v", err)
	}
	take(t, l, ask("a", 4, 100, "units"))
	if n := used(t, l, "a"); n != 7 {
		t.Errorf("%d used, want 3 before the step and 4 after", n)
	}
	if _, err := before.Take(t.Context(), ask("a", 1, 100, "units")); err == nil {
		t.Error("a take by the older program: got no error, want it refused")
	}
	if v := d.Must(t, "SELECT version FROM older.ledger"); v != "2" {
		t.Errorf("version %s, want \"2\"", v)
	}
}
