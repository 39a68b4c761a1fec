package store_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// leafPages returns the numbers of a table's leaf pages, with the number of rows on each.
func leafPages(t *testing.T, path, table string) map[int]int {
	t.Helper()
	db := raw(t, path)
	numbers := dump(t, db, "dbstat WHERE pagetype = 'leaf' AND name = '"+table+"'", []string{"pageno"})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[int]int{}
	for _, line := range numbers {
		var n int
		if _, err := fmt.Sscan(line, &n); err != nil {
			t.Fatal(err)
		}
		pages[n] = int(binary.BigEndian.Uint16(file[(n-1)*4096+3:]))
	}
	return pages
}

// Rows on pages to which no other page leads any more are found by reading all pages.
func TestRepairReadsPagesThatNothingLeadsTo(t *testing.T) {
	alone(t)
	for _, table := range []string{"video_facts", "video_latest"} {
		dir := t.TempDir()
		path := library(t, dir, 300)
		db := raw(t, path)
		root := scalar[int](t, db, `SELECT rootpage FROM sqlite_schema WHERE name = ?`, table)
		long := strings.Repeat("lang ", 3000) // a row that takes more than a page
		if _, err := db.ExecContext(t.Context(), `UPDATE video_facts SET thumbnail = ? WHERE id = 77`, long); err != nil {
			t.Fatal(err)
		}
		of := "video_facts JOIN video_latest USING (id)"
		columns := []string{"id", "video_id", "title", "thumbnail", "published_at", "views", "fetched_at", "seen_at"}
		before := dump(t, db, of, columns)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if len(leafPages(t, path, table)) < 2 {
			t.Fatalf("%s is one page: nothing leads to others", table)
		}
		spoil(t, path, root-1, func(b []byte) { clear(b) })
		r := repair(t, dir)
		s := open(t, dir, &handClock{t: noon})
		if got := dump(t, raw(t, path), of, columns); !slices.Equal(got, before) {
			t.Errorf("%s: of %d videos %d are left as they were; lost %q", table, len(before), len(got), r.Lost)
		}
		sound(t, s)
	}
}

// Every row whose page is left in a truncated file is kept, and what is lost is counted.
func TestRepairKeepsEveryRowThatACutFileStillHas(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	path := library(t, dir, 900)
	pages := leafPages(t, path, "video_facts")
	numbers := []int{}
	for n := range pages {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	cut, left, all := numbers[len(numbers)*2/3], 0, 0
	for n, rows := range pages {
		if all += rows; n < cut {
			left += rows
		}
	}
	if err := os.Truncate(path, int64(cut-1)*4096); err != nil {
		t.Fatal(err)
	}
	r := repair(t, dir)
	s := open(t, dir, &handClock{t: noon})
	if got := scalar[int](t, raw(t, path), `SELECT count(*) FROM video_facts`); got != left || left == 0 || left == all {
		t.Errorf("%d of %d videos are left, want %d; lost %q", got, all, left, r.Lost)
	}
	t.Logf("lost: %q", r.Lost)
	sound(t, s)
}
