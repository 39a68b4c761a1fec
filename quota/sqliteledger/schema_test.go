package sqliteledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// known is the hash of schema.sql at each version, comments and white space apart.
var known = map[int]string{
	1: "5ddd56ea3c588fb8",
}

// Files of users have the tables of their version: schema.sql changes together with a step that brings them along, and
// with a new version.
func TestSchemaChangesOnlyWithAStepAndANewVersion(t *testing.T) {
	text, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.Join(strings.Fields(regexp.MustCompile(`--.*`).ReplaceAllString(string(text), "")), " ")
	sum := sha256.Sum256([]byte(bare))
	got, version := hex.EncodeToString(sum[:8]), sqliteledger.Schema().Version()
	if known[version] != got {
		t.Errorf("schema.sql has the hash %s, and version %d had %s: add the step to schema.Steps, and the hash of the new version here", got, version, known[version])
	}
	if want := "version " + string(rune('0'+version)); !strings.Contains(string(text), want) {
		t.Errorf("the first lines of schema.sql do not say %s", want)
	}
}

// The first step of a newer program finds a backup beside the file, and every row stays.
func TestAnOlderFileIsBackedUpBeforeItsFirstStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	take(t, l, ask("default", 3))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	newer := sqliteledger.Schema()
	const added = "CREATE TABLE added (n INTEGER NOT NULL) STRICT; INSERT INTO added VALUES (7)"
	newer.Tables, newer.Steps = newer.Tables+added, append(newer.Steps, added)
	sqliteledger.SetSchema(t, newer)
	for range 2 { // the second finds it done
		l = open(t, path)
		if used := take(t, l, ask("default", 0)).Pools[0].Windows[0].Used; used != 3 {
			t.Errorf("%d used, want 3", used)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	backups, _ := filepath.Glob(path + ".v*-backup-*")
	if len(backups) != 1 {
		t.Fatalf("backups: %q, want one", backups)
	}
	for file, want := range map[string]int{path: 2, backups[0]: 1} {
		var version, entries int
		err := database(t, file).QueryRowContext(t.Context(), "SELECT user_version, (SELECT count(*) FROM entries) FROM pragma_user_version").Scan(&version, &entries)
		if err != nil || version != want || entries != 1 {
			t.Errorf("%s has version %d and %d entries: %v, want %v and 1", file, version, entries, err, want)
		}
	}
}
