package sqliteledger_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// The readable part of a file that was moved away is counted in the new one; if a part is missing, the caller learns
// of it.
func TestAMovedFileIsReadAsFarAsItCanBe(t *testing.T) {
	const page = 4096
	zero := func(from, to int) func([]byte) []byte {
		return func(data []byte) []byte { clear(data[from:min(to, len(data))]); return data }
	}
	onPage := func(kind byte, nth int, data []byte) int { // where the nth page of a kind begins
		for at := page; at < len(data); at += page {
			if data[at] == kind && binary.BigEndian.Uint16(data[at+3:]) > 50 { // it is in use
				if nth--; nth < 0 {
					return at
				}
			}
		}
		t.Fatalf("no such page of kind %#x", kind)
		return 0
	}
	const leaf = 0x0a // of entries or of one of its indexes
	now, made := noon, filepath.Join(t.TempDir(), "quota.db")
	l := clocked(t, made, &now)
	if err := l.Fsync(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for range 1008 {
		now = now.Add(time.Second)
		take(t, l, askAt(now, "default", 1, 2000))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
		least  int64 // of 1008
		whole  bool
	}{
		{"whole", func(data []byte) []byte { return data }, 1008, true},
		{"its header is gone", zero(0, 100), 1008, true},
		{"its first page is gone", zero(0, page), 1008, true},
		{"a page is gone", func(data []byte) []byte { at := onPage(leaf, 3, data); return zero(at, at+page)(data) }, 1008, false},
		{"two pages are gone", func(data []byte) []byte {
			a, b := onPage(leaf, 3, data), onPage(leaf, 9, data)
			return zero(a, a+page)(zero(b, b+page)(data))
		}, 1008, false},
		{"its end is gone", func(data []byte) []byte { return data[:len(data)*3/4/page*page] }, 300, false},
		{"it is empty", func([]byte) []byte { return nil }, 0, false},
		{"it is another text", func([]byte) []byte { return []byte("no database") }, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "quota.db")
			if err := os.WriteFile(path+".broken", c.damage(slices.Clone(before)), 0o600); err != nil {
				t.Fatal(err)
			}
			said := "not filled"
			err := sqliteledger.Replace(t.Context(), path, path+".broken", func(_ *sqliteledger.Ledger, lost string) error { said = lost; return nil })
			if err != nil || (said == "") != c.whole {
				t.Fatalf("lost: %q: %v, want nothing lost: %v", said, err, c.whole)
			}
			l := clocked(t, path, &now)
			d := take(t, l, askAt(now, "default", 1, 2000))
			if used := d.Pools[0].Windows[0].Used - 1; used < c.least || used > 1008 {
				t.Errorf("%d of 1008 are counted, want at least %d; lost: %s", used, c.least, said)
			} else {
				t.Logf("%d of 1008 are counted; lost: %s", used, said)
			}
			spent, err := l.Spent(t.Context(), "default", noon, 0)
			sum := int64(0)
			for _, s := range spent {
				sum += s.Amount
			}
			if err != nil || sum != d.Pools[0].Windows[0].Used {
				t.Errorf("%d have a spender, %d are used: %v", sum, d.Pools[0].Windows[0].Used, err)
			}
			names, _ := filepath.Glob(path + "*")
			if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, ".new-") }) {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// An older copy has all that it shows counted, and the mark says that there was more.
func TestAnOlderCopyLacksOperationsThatTheMarkHas(t *testing.T) {
	now, path := noon, filepath.Join(t.TempDir(), "quota.db")
	spend := func(n int) {
		l := clocked(t, path, &now)
		defer func() { _ = l.Close() }()
		for range n {
			take(t, l, askAt(now, "default", 1, 100))
		}
	}
	spend(10)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spend(5)
	if err := errors.Join(sqlitefile.Remove(path), os.WriteFile(path+".broken", old, 0o600)); err != nil {
		t.Fatal(err)
	}
	err = sqliteledger.Replace(t.Context(), path, path+".broken", func(_ *sqliteledger.Ledger, lost string) error {
		if !strings.Contains(lost, "lacks the last 5 writes") {
			t.Errorf("lost: %q, want \"lacks the last 5 writes\" in it", lost)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := take(t, clocked(t, path, &now), askAt(now, "default", 1, 100)); d.Pools[0].Windows[0].Used != 11 {
		t.Errorf("%+v, want Used 11", d.Pools[0].Windows[0])
	}
}

// A process that is killed while it makes the first file leaves a draft, which the next one clears.
func TestAKillAtBirthLeavesNothingToFinish(t *testing.T) {
	now, path := noon, filepath.Join(t.TempDir(), "quota.db")
	for _, name := range []string{".draft", ".draft-journal", ".draft-wal"} {
		if err := os.WriteFile(path+name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // as a first touch leaves it
		t.Fatal(err)
	}
	l := clocked(t, path, &now)
	take(t, l, askAt(now, "default", 1, 10))
	if names, err := filepath.Glob(path + ".draft*"); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v %v, want none", names, err)
	}
}
