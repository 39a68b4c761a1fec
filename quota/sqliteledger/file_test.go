package sqliteledger_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// ask draws amount of 10,000 units in 24 hours and in a day, now.
func ask(account string, amount int64) quota.Ask {
	return askAt(time.Now(), account, amount, 10_000)
}

func askAt(now time.Time, account string, amount, limit int64) quota.Ask {
	return quota.Ask{
		Account: account, Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"},
		Midnights: quota.Midnights(now, time.UTC), Horizon: quota.MinHorizon, Now: now,
		Charges: []quota.Charge{{Pool: "units", Amount: amount, Bounds: []quota.Bound{
			{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: limit}, Ceiling: limit},
			{Window: quota.Window{Name: "day", Limit: limit}, Ceiling: limit},
		}}},
	}
}

func take(t testing.TB, l quota.Ledger, a quota.Ask) quota.Decision {
	t.Helper()
	d, err := l.Take(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRefusesFilesThatAreNotItsOwn(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
		hint string
	}{
		{"garbage", func(t *testing.T, path string) { write(t, path, bytes.Repeat([]byte("not a database. "), 1000)) }, quota.ErrCorrupt, ""},
		{"a short garbage", func(t *testing.T, path string) { write(t, path, []byte("hello")) }, quota.ErrCorrupt, ""},
		{"the database of another program", func(t *testing.T, path string) {
			execute(t, path, "CREATE TABLE t (a); PRAGMA application_id = 7")
		}, quota.ErrCorrupt, "another program's database: put its newest copy back, or move it away"},
		{"a database without a name", func(t *testing.T, path string) {
			execute(t, path, "CREATE TABLE t (a)")
		}, quota.ErrCorrupt, "another program's database: put its newest copy back, or move it away"},
		{"a ledger of a newer version", func(t *testing.T, path string) {
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, path, "PRAGMA user_version = 3")
		}, quota.ErrNewer, "has version 3, and this program knows version 1: use the program that made it, or move it away and run ingest quota rebuild"},
		{"a ledger with a trigger", func(t *testing.T, path string) {
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, path, "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END")
		}, quota.ErrCorrupt, "its schema has the trigger t, which ingest did not create: put its newest copy back"},
		{"a ledger that is overwritten", func(t *testing.T, path string) {
			l := open(t, path)
			take(t, l, ask("default", 1))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			const page = 4096
			write(t, path, append(data[:page:page], bytes.Repeat([]byte{0xff}, len(data)-page)...))
		}, quota.ErrCorrupt, ""},
		{"a directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, quota.ErrUnavailable, "is no regular file: remove it"},
		{"a directory that is not there", func(t *testing.T, path string) {
			if err := os.Remove(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, quota.ErrUnavailable, "check that its directory exists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data", "quota.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			c.make(t, path)
			before, _ := os.ReadFile(path)
			l, err := sqliteledger.Open(t.Context(), path)
			if err == nil {
				_, err = l.Take(t.Context(), ask("default", 1))
				_ = l.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.hint) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v\nwant %q, the path, and %q", err, c.want, c.hint)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the refused file: got changed, want it untouched")
			}
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func execute(t testing.TB, path, text string) {
	t.Helper()
	db := database(t, path)
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A log whose sums do not add up answers no question and admits nothing.
func TestSumsThatDoNotAddUpAreAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	for range 10 {
		take(t, l, ask("default", 1000))
	}
	execute(t, path, "UPDATE entries SET before = -9000 WHERE number = 10")
	for _, amount := range []int64{0, 1, 10_000} {
		if d, err := l.Take(t.Context(), ask("default", amount)); !errors.Is(err, quota.ErrCorrupt) {
			t.Errorf("%d: %+v %v, want %v", amount, d, err, quota.ErrCorrupt)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	l := open(t, filepath.Join(dir, "quota.db"))
	take(t, l, ask("default", 1))
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", f.Name(), info.Mode().Perm())
		}
	}
	if len(files) < 2 {
		t.Errorf("only %v: where are the log and the locks?", files)
	}
}

// Once it is closed the file stands alone: it may be copied.
func TestClosedLedgerLeavesNoLogBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	take(t, l, ask("default", 1))
	take(t, l, ask("default", 0))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + suffix); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want error %v", suffix, err, os.ErrNotExist)
		}
	}
}

func TestAnyFileNameWillDo(t *testing.T) {
	for _, name := range []string{"a b.db", "what?.db", "a#b.db", "100%.db", "%20.db", "a&b=c.db", "käse 数.db", "a;b'c\"d.db", "file:x.db", "?mode=memory"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			l := open(t, path)
			take(t, l, ask("default", 4))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("the file is not there, or empty: %v %v", info, err)
			}
			if got := take(t, open(t, path), ask("default", 0)).Pools[0].Remaining; got != 9996 {
				t.Errorf("%d remain, want 9996", got)
			}
		})
	}
}

// Charges beyond the horizon leave the file, so that a year takes no more room than a week.
func TestFileStaysBounded(t *testing.T) { fileStaysBounded(t, 20) }

func TestLongFileStaysBounded(t *testing.T) { fileStaysBounded(t, 365) }

func fileStaysBounded(t *testing.T, days int) {
	t.Helper()
	const perDay = 100
	dir := t.TempDir()
	path := filepath.Join(dir, "quota.db")
	l := open(t, path)
	if err := l.Fsync(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l.Now = func() time.Time { return now }
	settled := int64(0)
	for day := range days {
		for n := range perDay {
			now = now.Add(24 * time.Hour / perDay)
			if d := take(t, l, askAt(now, "default", 1, 10_000)); !d.Allowed {
				t.Fatalf("day %d: %v", day, d.Refusal)
			}
			if n%20 == 0 { // another program posts now and then: that must not stop the forgetting
				now = now.Add(time.Millisecond)
				if err := l.Post(t.Context(), askAt(now, "default", 1, 10_000), now); err != nil {
					t.Fatal(err)
				}
			}
		}
		if day == 9 {
			settled = sizeOf(t, dir)
		}
	}
	if grown := sizeOf(t, dir); grown > settled+settled/10 {
		t.Errorf("%d bytes after 10 days, %d after %d", settled, grown, days)
	}
	var entries int
	if err := database(t, path).QueryRowContext(t.Context(), "SELECT count(*) FROM entries").Scan(&entries); err != nil {
		t.Fatal(err)
	}
	if most := (perDay+perDay/20)*int(quota.MinHorizon/time.Hour)/24 + 64; entries > most {
		t.Errorf("%d entries for %d charges a day, want at most %d", entries, perDay, most)
	}
	t.Logf("%d charges a day: %d bytes after 10 days and %d after %d, %d entries", perDay, settled, sizeOf(t, dir), days, entries)
}

// Who no longer waits for the answer is charged nothing.
func TestCancelledCallChangesNothing(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "quota.db"))
	take(t, l, ask("default", 1))
	ctx, cancel := cancelled(t)
	defer cancel()
	if _, err := l.Take(ctx, ask("default", 1)); err == nil {
		t.Error("a take under a cancelled context: got no error, want one")
	}
	if used := take(t, l, ask("default", 0)).Pools[0].Windows[0].Used; used != 1 {
		t.Errorf("%d used, want 1", used)
	}
}

// K8: sums that would overflow some day are made small again.
func TestSumsStaySmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	l.Now = func() time.Time { return noon }
	take := func(want int64) {
		t.Helper()
		a := quota.Ask{Account: "default", Who: quota.Who{Purpose: quota.Manual, Method: "m"}, Midnights: quota.Midnights(noon, time.UTC), Horizon: quota.MinHorizon,
			Charges: []quota.Charge{{Pool: "units", Amount: 1, Bounds: []quota.Bound{{Window: quota.Window{Name: "1h", Length: time.Hour, Limit: 1000}, Ceiling: 1000}}}}}
		if d, err := l.Take(t.Context(), a); err != nil || !d.Allowed || d.Pools[0].Windows[0].Used != want {
			t.Fatalf("%+v %v, want %d used", d, err, want)
		}
	}
	take(1)
	execute(t, path, "UPDATE entries SET before = before + 2000000000000000000")
	for i := range int64(130) {
		take(i + 2)
	}
	db := database(t, path)
	defer func() { _ = db.Close() }()
	var most int64
	if err := db.QueryRowContext(t.Context(), "SELECT max(before) FROM entries").Scan(&most); err != nil || most > 200 {
		t.Errorf("a sum of %d (%v), want at most 200", most, err)
	}
}
