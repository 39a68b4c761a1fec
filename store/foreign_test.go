package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// A store that was restored or copied from elsewhere may have a trigger that deletes, a view that never ends, or a
// function in an index. It is refused before a statement of ours meets them, everywhere; a repair moves the rows.
func TestAStoreWithAForeignSchemaIsNotTrusted(t *testing.T) {
	endless := `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	for object, sql := range map[string]string{
		"trigger t": `CREATE TRIGGER t AFTER UPDATE ON slots BEGIN DELETE FROM placements; END`,
		"view videos": `DROP VIEW videos; CREATE VIEW videos AS SELECT f.*, c.name AS channel_name, (` + endless + `) AS views
			FROM video_facts f JOIN channels c ON c.id = f.channel`,
		"view more":         `CREATE VIEW more AS ` + endless,
		"table more":        `CREATE TABLE more (a)`,
		"index series_open": `DROP INDEX series_open; CREATE INDEX series_open ON series (fresh_at, open, job, key) WHERE open IS NOT NULL`,
	} {
		t.Run(object, func(t *testing.T) {
			s, _ := newStore(t)
			chart(t, s, "US", noon, page(titled("a", "Apfel"), titled("b", "Birne")))
			dir := filepath.Dir(s.Path())
			if _, err := raw(t, s.Path()).ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, errOpen := store.Open(ctx, dir, store.Options{})
			_, errRead := store.Open(ctx, dir, store.Options{ReadOnly: true})
			_, errBackup := s.Backup(ctx, filepath.Join(t.TempDir(), "copy.db"))
			errDoctor := store.Inspect(ctx, dir, func(*store.Store) error { return nil })
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for doing, err := range map[string]error{"open": errOpen, "read": errRead, "back up": errBackup, "doctor": errDoctor} {
				if !errors.Is(err, store.ErrForeign) || !strings.Contains(err.Error(), "the "+object) {
					t.Errorf("%s: %v", doing, err)
				}
			}
			r, err := store.Repair(ctx, dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			mended := open(t, dir, &handClock{t: noon})
			if got := ranks(t, mended, "US"); got != "1 a, 2 b" {
				t.Errorf("after a repair the chart is %q: %+v, want \"1 a, 2 b\"", got, r)
			}
		})
	}
}
