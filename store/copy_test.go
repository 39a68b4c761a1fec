package store_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

// files are stores in SQLite, by their directory.
var files = storetest.Place{
	New: func(t testing.TB) string { t.Helper(); return t.TempDir() },
	Open: func(ctx context.Context, name string, o store.Options) (*store.Store, error) {
		return store.Open(ctx, name, o)
	},
	Exec: func(t testing.TB, name, statement string) {
		t.Helper()
		if _, err := raw(t, filepath.Join(name, store.FileName)).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	},
}

func TestCopy(t *testing.T) { storetest.RunCopy(t, files, files) }

// A table or a column that is added to the schema must be copied too.
func TestEveryColumnIsCopied(t *testing.T) {
	s, _ := newStore(t)
	db := raw(t, s.Path())
	var want []string
	rows, err := db.QueryContext(t.Context(), `
		SELECT l.name || '.' || c.name FROM pragma_table_list AS l, pragma_table_info(l.name) AS c
		WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	have := store.CopiedColumns()
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) || len(have) == 0 {
		t.Errorf("copied are\n%s\nand the tables have\n%s", strings.Join(have, " "), strings.Join(want, " "))
	}
}

// A target that keeps something else than it is given gets nothing.
func TestACopyThatDiffersIsNotCommitted(t *testing.T) {
	a, _ := files.Filled(t)
	for table, change := range map[string]string{
		"slots":        `UPDATE slots SET reason = 'another' WHERE id = new.id`,
		"placements":   `DELETE FROM placements WHERE slot = new.slot AND rank = 2`,
		"video_latest": `UPDATE video_latest SET views = 0 WHERE id = new.id AND views IS NULL`,
	} {
		dir := t.TempDir()
		b := open(t, dir, &handClock{t: noon})
		files.Exec(t, dir, "CREATE TRIGGER spoil AFTER INSERT ON "+table+" BEGIN "+change+"; END")
		if _, err := a.CopyInto(t.Context(), b, store.CopyOptions{}); err == nil || !strings.Contains(err.Error(), "table "+table) {
			t.Errorf("after %s: %v", change, err)
		}
		if slots, err := b.ListSlots(t.Context(), store.SlotFilter{}); err != nil || len(slots) > 0 {
			t.Errorf("what differs was kept: %v, %v", slots, err)
		}
	}
}
