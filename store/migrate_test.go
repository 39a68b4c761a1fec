package store_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// Programs that know the same version must write the same tables. So the schema may change only together with its
// version, and then a step in migrate.go brings older stores up to date. Comments are no part of it.
func TestTheSchemaChangesOnlyWithItsVersion(t *testing.T) {
	recorded := map[int]string{1: "d12da18e4f7b37ae"}
	text := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(ingest.Schema, "")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(strings.Fields(text), " "))))[:16]
	if version := store.SchemaVersion(); recorded[version] != sum {
		t.Errorf("the sum of schema.sql at version %d is %s, recorded is %q: add a step to steps and record the sum of the new version", version, sum, recorded[version])
	}
}

// addMood is a step to a next version.
const addMood = `ALTER TABLE video_facts ADD COLUMN mood TEXT`

// ofThisVersion makes a store with a video in a directory of its own.
func ofThisVersion(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	chart(t, s, "DE", noon, page(titled("de-1", "Süden Straße")))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// dump returns every row of a table, in these columns.
func dump(t testing.TB, db *sql.DB, table string, columns []string) []string {
	t.Helper()
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = "quote(" + c + ")"
	}
	rows, err := db.QueryContext(t.Context(), "SELECT "+strings.Join(quoted, " || ',' || ")+" FROM "+table+" ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// shape returns a schema without its irrelevant parts: the order of columns, and how it is written.
func shape(t testing.TB, db *sql.DB) []string {
	t.Helper()
	return slices.Concat(dump(t, db, `(
		SELECT m.name AS a, c.name AS b, c.type AS c, c."notnull" AS d, c.dflt_value AS e, c.pk AS f, c.hidden AS g
		FROM sqlite_schema AS m JOIN pragma_table_xinfo(m.name) AS c WHERE m.type = 'table'
		UNION ALL SELECT l.name, 'the table', l.type, l.wr, l.strict, 0, 0 FROM pragma_table_list AS l WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'
		UNION ALL SELECT m.name, 'to ' || k."table", k."from", k.seq, k.on_delete, 0, 0
		FROM sqlite_schema AS m JOIN pragma_foreign_key_list(m.name) AS k WHERE m.type = 'table')`, strings.Split("abcdefg", "")),
		dump(t, db, `(
		SELECT i.tbl_name AS a, i.name AS b, x.seqno AS c, x.name AS d, x.desc AS e, l."unique" AS f, iif(l.partial, i.sql, '') AS g
		FROM sqlite_schema AS i JOIN pragma_index_xinfo(i.name) AS x JOIN pragma_index_list(i.tbl_name) AS l ON l.name = i.name
		WHERE i.type = 'index' AND x.key)`, strings.Split("abcdefg", "")),
		dump(t, db, "sqlite_schema WHERE type = 'view'", []string{"name", "sql"}), dump(t, db, "video_text_config", []string{"k", "v"}))
}

// backupsOf returns the names of the backups that migrations have left, and of parts that they should not leave.
func backupsOf(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "ingest.db", "ingest.db-wal", "ingest.db-shm":
		default:
			names = append(names, e.Name())
		}
	}
	return names
}

func TestAnOlderStoreIsMigratedAfterABackup(t *testing.T) {
	dir := ofThisVersion(t)
	path := filepath.Join(dir, "ingest.db")
	was := shape(t, raw(t, path))
	store.SetSteps(t, addMood, `UPDATE video_facts SET mood = title`)
	var said string
	s, err := store.Open(t.Context(), dir, store.Options{
		Upstream: upstream, Now: func() time.Time { return noon },
		Upgraded: func(from, to int, backup string) { said = fmt.Sprint(to-from, " versions, ", filepath.Base(backup)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	db := raw(t, path)
	if version := scalar[int](t, db, `PRAGMA user_version`); version != store.SchemaVersion() {
		t.Errorf("it has version %d, want %d", version, store.SchemaVersion())
	}
	if got := scalar[string](t, db, `SELECT mood FROM video_facts`); got != "Süden Straße" {
		t.Errorf("after both steps, in their order: %q, want \"Süden Straße\"", got)
	}
	if got := search(t, s, store.SearchQuery{Text: "suden strasse"}); !slices.Equal(got, []string{"de-1"}) {
		t.Errorf("found %v, want de-1", got)
	}
	backups := backupsOf(t, dir)
	if len(backups) != 1 || said != "2 versions, "+backups[0] {
		t.Fatalf("backups %v, said %q", backups, said)
	}
	backup := filepath.Join(dir, backups[0])
	if got := shape(t, raw(t, backup)); !slices.Equal(got, was) {
		t.Errorf("the backup has the schema\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(was, "\n"))
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the backup: mode %v, %v, want no rights for others", info.Mode(), err)
	}
}

func TestAMigrationThatFailsLeavesTheStoreAndItsBackup(t *testing.T) {
	for _, step := range []string{
		addMood + `; INSERT INTO no_such_table VALUES (1)`,
		`DELETE FROM placements; DELETE FROM slots; SELECT raise_no_such_function()`,
	} {
		dir := ofThisVersion(t)
		path := filepath.Join(dir, "ingest.db")
		before, whole := shape(t, raw(t, path)), dump(t, raw(t, path), "placements", []string{"slot", "rank"})
		t.Run("", func(t *testing.T) {
			store.SetSteps(t, step)
			_, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream})
			if err == nil || !strings.Contains(err.Error(), "the store is unchanged, its backup is "+path+".v1-backup-") {
				t.Errorf("got %v", err)
			}
			db := raw(t, path)
			if got := shape(t, db); !slices.Equal(got, before) {
				t.Errorf("the schema is now %v, want %v", got, before)
			}
			if got := dump(t, db, "placements", []string{"slot", "rank"}); !slices.Equal(got, whole) {
				t.Errorf("placements are now %v, want %v", got, whole)
			}
			if got := backupsOf(t, dir); len(got) != 1 {
				t.Errorf("beside it lie %v, want one backup", got)
			}
		})
		// A program whose migration works continues with the same store.
		if s := open(t, dir, &handClock{t: noon}); len(search(t, s, store.SearchQuery{Text: "suden"})) != 1 {
			t.Error(`a search for "suden" after the migration: want 1 video`)
		}
	}
}

func TestNothingIsMigratedWithoutABackup(t *testing.T) {
	dir := ofThisVersion(t)
	// SQLite would take this file for the log of the backup.
	if err := os.WriteFile(filepath.Join(dir, "ingest.db.v1-backup-20260214T120000.000Z-wal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store.SetSteps(t, addMood)
	_, err := store.Open(t.Context(), dir, store.Options{Now: func() time.Time { return noon }})
	if err == nil || !strings.Contains(err.Error(), "the store stays at version 1: back it up before") {
		t.Errorf("got %v", err)
	}
	if version := scalar[int](t, raw(t, filepath.Join(dir, "ingest.db")), `PRAGMA user_version`); version != 1 {
		t.Errorf("it has version %d now, want 1", version)
	}
}

func TestOfManyProcessesOneMigrates(t *testing.T) {
	dir := ofThisVersion(t)
	store.SetSteps(t, addMood)
	var all sync.WaitGroup
	var upgrades atomic.Int64
	for range 8 {
		all.Go(func() { // each with connections of its own, as a process has
			s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Upgraded: func(int, int, string) { upgrades.Add(1) }})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := backupsOf(t, dir); len(got) != 1 || upgrades.Load() != 1 {
		t.Errorf("%d said that they migrated; beside it lie %v, want one migration and one backup", upgrades.Load(), got)
	}
}

// Unfinished files of a process that was killed are removed.
func TestAMigrationClearsAKilledOnesLeftoversAway(t *testing.T) {
	dir := ofThisVersion(t)
	if err := os.WriteFile(filepath.Join(dir, "ingest.db.migration-part-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	store.SetSteps(t, addMood)
	open(t, dir, &handClock{t: noon})
	if got := backupsOf(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], "ingest.db.v1-backup-2026") {
		t.Errorf("beside it lie %v, want 1 and \"ingest.db.v1-backup-2026\" at the beginning", got)
	}
}

// A reader, or a program for another upstream, does not migrate a store.
func TestAReaderOrAnotherUpstreamDoesNotMigrate(t *testing.T) {
	dir := ofThisVersion(t)
	store.SetSteps(t, addMood)
	_, err := store.Open(t.Context(), dir, store.Options{ReadOnly: true})
	inspected := inspect(t, dir)
	for _, err := range []error{err, inspected} {
		var older *store.VersionError
		if !errors.As(err, &older) || older.Have != 1 || !strings.Contains(err.Error(), "run ingest run once, which brings it up to date") {
			t.Errorf("a reader: %v, want error VersionError at version 1", err)
		}
	}
	var foreign *store.UpstreamError
	if _, err := store.Open(t.Context(), dir, store.Options{Upstream: "other.example"}); !errors.As(err, &foreign) {
		t.Errorf("another upstream: %v, want an UpstreamError", err)
	}
	if got := scalar[int](t, raw(t, filepath.Join(dir, "ingest.db")), `PRAGMA user_version`); got != 1 || len(backupsOf(t, dir)) != 0 {
		t.Errorf("version %d, backups %v, want version 1 and no backup", got, backupsOf(t, dir))
	}
}
