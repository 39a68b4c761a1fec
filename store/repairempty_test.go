package store_test

import (
	"strings"
	"testing"
)

// A table whose first page was replaced by an empty table's page is read without an error, as empty.
func TestChartsOfATableThatReadsAsEmptyAreLost(t *testing.T) {
	dir := t.TempDir()
	path := library(t, dir, 300)
	db := raw(t, path)
	number := scalar[int](t, db, `SELECT rootpage FROM sqlite_schema WHERE name = 'placements'`)
	charts := scalar[int](t, db, `SELECT count(*) FROM slots WHERE state = 'done'`)
	if err := db.Close(); err != nil || charts == 0 {
		t.Fatal(charts, err)
	}
	spoil(t, path, number-1, func(b []byte) {
		clear(b)
		copy(b, []byte{10, 0, 0, 0, 0, 16, 0, 0}) // a leaf of an index without cells, as an empty table without rowids is
	})
	r := repair(t, dir)
	if lost := strings.Join(r.Lost, "; "); !strings.Contains(lost, "charts that were no longer complete") {
		t.Errorf("lost %q, want \"charts that were no longer complete\" in it", lost)
	}
	db = raw(t, path)
	if n := scalar[int](t, db, `SELECT count(*) FROM slots WHERE state = 'done'`); n != 0 {
		t.Errorf("%d charts without any video are done", n)
	}
	sound(t, open(t, dir, &handClock{t: noon}))
}
