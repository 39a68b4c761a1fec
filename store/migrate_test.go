package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// released are the stores of earlier versions, as SQL: one for every released schema.
var released = []string{"v1.sql", "v2.sql", "v3.sql", "v4.sql", "v5.sql", "v6.sql"}

// old makes a store of an earlier version in a directory of its own.
func old(t testing.TB, fixture string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", fixture))
	if err != nil {
		t.Fatal(err)
	}
	db := raw(t, filepath.Join(dir, "ingest.db"))
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), string(text)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// dump returns every row of a table, in the columns that the older of two stores has.
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

// tables returns the tables of a store with their columns, without the index's own.
func tables(t testing.TB, db *sql.DB) map[string][]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `
		SELECT m.name, c.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND m.name NOT LIKE 'video_text%' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	out := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		out[table] = append(out[table], column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// shape returns a schema without what does not matter: the order of columns, and how it is written.
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

func TestEveryReleasedStoreBecomesANewOneAndKeepsEveryRow(t *testing.T) {
	alone(t)
	for _, fixture := range released {
		t.Run(fixture, func(t *testing.T) {
			dir := old(t, fixture)
			path := filepath.Join(dir, "ingest.db")
			before := map[string][]string{}
			columns := tables(t, raw(t, path))
			columns["slots WHERE state <> 'missed'"] = columns["slots"]
			delete(columns, "slots") // see TestMissedTicksOfAnOlderStoreBecomeOneSlot
			for table, names := range columns {
				before[table] = dump(t, raw(t, path), table, names)
			}
			var said string
			s, err := store.Open(t.Context(), dir, store.Options{
				Upstream: upstream, Now: func() time.Time { return noon },
				Upgraded: func(from, to int, backup string) { said = fmt.Sprint(from, " to ", to, " ", filepath.Base(backup)) },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			fresh, _ := newStore(t)
			if got, want := shape(t, raw(t, path)), shape(t, raw(t, fresh.Path())); !slices.Equal(got, want) {
				t.Errorf("the schema is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for table, names := range columns {
				if got := dump(t, raw(t, path), table, names); len(got) == 0 || !slices.Equal(got, before[table]) {
					t.Errorf("%s holds\n%s\nwant\n%s", table, strings.Join(got, "\n"), strings.Join(before[table], "\n"))
				}
			}
			for text, want := range map[string]string{"दुनिया": "hi-1", "東京": "ja-1", "suden strasse": "de-1", "🔥": "em-1", "channel:भारत": "hi-1", "ไทย": "th-1"} {
				if got := search(t, s, store.Query{Text: text}); !slices.Equal(got, []string{want}) {
					t.Errorf("%s finds %v, want %s", text, got, want)
				}
			}
			for region, want := range map[ingest.Region]string{"IN": "hi-1", "DE": ""} {
				if got := search(t, s, store.Query{Text: "दुनिया", Region: region}); strings.Join(got, " ") != want {
					t.Errorf("in %s: %v, want %s", region, got, want)
				}
			}
			chart(t, s, "IN", noon.Add(time.Hour), page(titled("new", "Neu"), titled("hi-1", "नमस्ते दुनिया")))
			if got, want := ranks(t, s, "IN"), "1 new, 2 hi-1"; got != want {
				t.Errorf("the next chart is %q, want %q", got, want)
			}
			backups := backupsOf(t, dir)
			if len(backups) != 1 || !strings.HasSuffix(said, " "+backups[0]) {
				t.Fatalf("backups %v, said %q", backups, said)
			}
			for table, names := range columns {
				if got := dump(t, raw(t, filepath.Join(dir, backups[0])), table, names); !slices.Equal(got, before[table]) {
					t.Errorf("%s of the backup holds %v", table, got)
				}
			}
			if info, err := os.Stat(filepath.Join(dir, backups[0])); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("the backup: %v, %v", info.Mode(), err)
			}
		})
	}
}

// Consecutive missed ticks are one slot since version 6.
func TestMissedTicksOfAnOlderStoreBecomeOneSlot(t *testing.T) {
	dir := old(t, "v5.sql")
	s := open(t, dir, &handClock{t: noon})
	got := dump(t, raw(t, s.Path()), "slots JOIN series ON series.id = series WHERE state = 'missed'",
		[]string{"series.key", "time(first_due_at, 'unixepoch')", "time(due_at, 'unixepoch')", "count", "reason"})
	want := []string{
		"'BR','08:00:00','09:00:00',3,'nothing ran'", "'BR',NULL,'06:20:00',1,'the clock was ahead'",
		"'GB','09:00:00','09:30:00',2,'nothing ran'", "'GB','10:30:00','11:00:00',2,'nothing ran'",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the missed are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
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

func TestAMigrationThatFailsLeavesTheStoreAndItsBackup(t *testing.T) {
	for _, step := range []string{
		`ALTER TABLE video_facts ADD COLUMN more INTEGER; INSERT INTO no_such_table VALUES (1)`,
		`DELETE FROM placements; DELETE FROM slots; SELECT raise_no_such_function()`,
	} {
		dir := old(t, "v1.sql")
		path := filepath.Join(dir, "ingest.db")
		before, whole := shape(t, raw(t, path)), dump(t, raw(t, path), "placements", []string{"slot", "rank"})
		t.Run("", func(t *testing.T) {
			store.SetSteps(t, step)
			_, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream})
			if err == nil || !strings.Contains(err.Error(), "it is as it was, and so is its backup "+path+".v1-backup-") {
				t.Errorf("got %v", err)
			}
			db := raw(t, path)
			if got := shape(t, db); !slices.Equal(got, before) {
				t.Errorf("the schema is now %v", got)
			}
			if got := dump(t, db, "placements", []string{"slot", "rank"}); !slices.Equal(got, whole) {
				t.Errorf("placements are now %v", got)
			}
			if got := scalar[int](t, db, `PRAGMA user_version`); got != 1 {
				t.Errorf("version %d", got)
			}
			if got := backupsOf(t, dir); len(got) != 1 {
				t.Errorf("beside it lie %v", got)
			}
		})
		// A program whose migration works continues with the same store.
		if s := open(t, dir, &handClock{t: noon}); len(search(t, s, store.Query{Text: "suden"})) != 1 {
			t.Error("nothing found")
		}
	}
}

func TestOfManyProcessesOneMigrates(t *testing.T) {
	dir := old(t, "v1.sql")
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
		t.Errorf("%d said that they migrated; beside it lie %v", upgrades.Load(), got)
	}
}

// Unfinished files of a process that was killed are removed.
func TestAMigrationClearsAwayWhatAKilledOneLeft(t *testing.T) {
	dir := old(t, "v1.sql")
	if err := os.WriteFile(filepath.Join(dir, "ingest.db.migration-part-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir, &handClock{t: noon})
	if got := backupsOf(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], "ingest.db.v1-backup-2026") {
		t.Errorf("beside it lie %v", got)
	}
}

func TestReadingAnOlderStoreSaysWhatToDo(t *testing.T) {
	dir := old(t, "v1.sql")
	_, err := store.Open(t.Context(), dir, store.Options{ReadOnly: true})
	var older *store.VersionError
	if !errors.As(err, &older) || older.Have != 1 || !strings.Contains(err.Error(), "run ingest run once, which brings it up to date") {
		t.Errorf("got %v", err)
	}
	if got := backupsOf(t, dir); len(got) != 0 {
		t.Errorf("reading made %v", got)
	}
}

func TestAnOlderStoreOfAnotherUpstreamIsRefusedAndNotMigrated(t *testing.T) {
	dir := old(t, "v1.sql")
	_, err := store.Open(t.Context(), dir, store.Options{Upstream: "other.example"})
	var foreign *store.UpstreamError
	if !errors.As(err, &foreign) {
		t.Errorf("got %v", err)
	}
	if got := scalar[int](t, raw(t, filepath.Join(dir, "ingest.db")), `PRAGMA user_version`); got != 1 || len(backupsOf(t, dir)) != 0 {
		t.Errorf("version %d, beside it %v", got, backupsOf(t, dir))
	}
}

// FuzzMigrate keeps a random part of the rows of a released store, and upgrades that.
func FuzzMigrate(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed, byte(seed*90))
	}
	f.Fuzz(func(t *testing.T, seed uint64, keep byte) {
		dir := old(t, "v1.sql")
		path := filepath.Join(dir, "ingest.db")
		db := raw(t, path)
		random := rand.New(rand.NewPCG(seed, uint64(keep)))
		for _, table := range []string{"placements", "videos", "slots", "series", "channels", "video_text"} { // children first
			where := map[string]string{
				"slots": "id NOT IN (SELECT slot FROM placements)", "series": "id NOT IN (SELECT series FROM slots)",
				"channels": "id NOT IN (SELECT channel FROM videos WHERE channel IS NOT NULL)",
				"videos":   "id NOT IN (SELECT video FROM placements)", "video_text": "rowid NOT IN (SELECT id FROM videos)",
			}[table]
			key := map[string]string{"placements": "slot * 100 + rank", "video_text": "rowid"}[table]
			if key == "" {
				key = "id"
			}
			if where == "" {
				where = "true"
			}
			query := fmt.Sprintf("DELETE FROM %s WHERE %s AND (%s) * %d %% 251 > %d", table, where, key, 1+random.IntN(250), keep)
			if table == "video_text" {
				query = "DELETE FROM video_text WHERE " + where
			}
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(query, err)
			}
		}
		columns, before := tables(t, db), map[string][]string{}
		for table, names := range columns {
			before[table] = dump(t, db, table, names)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		wrong, err := store.CheckFile(t.Context(), dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, &handClock{t: noon})
		for table, names := range columns {
			if got := dump(t, raw(t, path), table, names); !slices.Equal(got, before[table]) {
				t.Errorf("%s holds %v, want %v", table, got, before[table])
			}
		}
		if found, err := s.Check(t.Context()); err != nil || !slices.Equal(found, wrong) {
			t.Errorf("after it %q (%v), before it %q", found, err, wrong)
		}
		chart(t, s, "CA", noon.Add(24*time.Hour), page(titled("new", "Neu")))
		if got := ranks(t, s, "CA"); got != "1 new" {
			t.Errorf("the next chart is %q", got)
		}
	})
}
