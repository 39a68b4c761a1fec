package sqliteledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

const page = 4096

// broken wants the error, the path and the cure.
func broken(t *testing.T, err, want error, path, hint string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), hint) {
		t.Errorf("%v\nwant %q, the path, and %q", err, want, hint)
	}
}

func begin(t *testing.T, l *sqliteledger.Ledger, r sharedledger.Row) int64 {
	t.Helper()
	id, _, err := l.Begin(t.Context(), r, sharedledger.Notes{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A file that was replaced by an older copy of itself while no process had it open has lost acknowledged operations:
// it must not be taken for the file.
func TestOlderCopyIsRefused(t *testing.T) {
	for name, write := range map[string]func(t *testing.T, l *sqliteledger.Ledger){
		"a charge": func(t *testing.T, l *sqliteledger.Ledger) { take(t, l, askAt(noon, "default", 1, 10_000)) },
		"a charge that is merged into the newest": func(t *testing.T, l *sqliteledger.Ledger) {
			l.Now = func() time.Time { return noon.Add(time.Second) }
			take(t, l, merging(1))
		},
		"a charge that is merged at the same time": func(t *testing.T, l *sqliteledger.Ledger) { take(t, l, merging(1)) },
		"an operation": func(t *testing.T, l *sqliteledger.Ledger) { begin(t, l, row(noon)) },
		"an emergency": func(t *testing.T, l *sqliteledger.Ledger) { owe(t, l, noon, quota.Cost{"units": 1}) },
		"a drain": func(t *testing.T, l *sqliteledger.Ledger) {
			if err := l.Drain(t.Context(), "default", "units", quota.Drain{Until: noon, Used: 1}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "quota.db")
			in := func(do func(t *testing.T, l *sqliteledger.Ledger)) []byte {
				t.Helper()
				now := noon
				l := clocked(t, path, &now)
				do(t, l)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
			old := in(func(t *testing.T, l *sqliteledger.Ledger) { take(t, l, merging(1)); begin(t, l, row(noon)) })
			newest := in(write)
			overwrite(t, path, old)
			l, err := sqliteledger.Open(t.Context(), path)
			if err == nil {
				_ = l.Close()
			}
			broken(t, err, quota.ErrCorrupt, path, "is an older copy")
			if data, _ := os.ReadFile(path); !bytes.Equal(data, old) {
				t.Error("the file of an older copy: got changed, want it untouched")
			}
			overwrite(t, path, newest)
			in(func(*testing.T, *sqliteledger.Ledger) {})
			if err := errors.Join(os.Remove(path), sqliteledger.Replace(t.Context(), path, "", nothing)); err != nil {
				t.Fatal(err)
			}
			in(func(t *testing.T, l *sqliteledger.Ledger) { take(t, l, merging(1)) }) // a new one is made
			in(write)
		})
	}
}

func nothing(*sqliteledger.Ledger, string) error { return nil }

// A new file has its name only when it is whole: a process that dies while it fills the file leaves a lost file, and
// no later process takes it for an empty ledger.
func TestANewFileIsWholeBeforeItHasItsName(t *testing.T) {
	now, path := noon, filepath.Join(t.TempDir(), "quota.db")
	l := clocked(t, path, &now)
	take(t, l, askAt(noon, "default", 5, 10_000))
	if err := errors.Join(l.Close(), sqlitefile.Remove(path)); err != nil {
		t.Fatal(err)
	}
	missing := func() error {
		_, err := sqliteledger.Open(t.Context(), path)
		return err
	}
	closed := quota.Drain{Until: noon.Add(time.Hour), By: quota.ByHand, At: noon}
	disk := errors.New("the disk is full")
	fill := func(then error) func(*sqliteledger.Ledger, string) error {
		return func(l *sqliteledger.Ledger, _ string) error {
			l.Now = func() time.Time { return now }
			if err := l.Drain(t.Context(), "default", "units", closed); err != nil {
				return err
			}
			broken(t, missing(), quota.ErrMissing, path, "")
			return then
		}
	}
	if err := sqliteledger.Replace(t.Context(), path, "", fill(disk)); !errors.Is(err, disk) {
		t.Errorf("the disk is full: %v, want error %v", err, disk)
	}
	broken(t, missing(), quota.ErrMissing, path, "")
	if err := sqliteledger.Replace(t.Context(), path, "", fill(nil)); err != nil {
		t.Fatal(err)
	}
	l = clocked(t, path, &now)
	if d := take(t, l, askAt(noon, "default", 1, 10_000)); d.Allowed || !d.Pools[0].Drain.Until.Equal(closed.Until) {
		t.Errorf("the new file: %+v", d)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.new-*"))
	if err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v, want none", names, err)
	}
}

// merging asks at noon for what may be merged into the entry before.
func merging(amount int64) quota.Ask {
	a := askAt(noon, "default", amount, 10_000)
	a.Precision = time.Minute
	return a
}

// Rows that the file deleted itself do not count as missing.
func TestFileWithoutItsNewestAccountIsNoOlderCopy(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "quota.db"), noon
	l := clocked(t, path, &now)
	take(t, l, askAt(now, "counted", 1, 10_000))
	now = now.Add(100 * time.Hour) // idle for so long, it goes when another account comes
	if err := l.Post(t.Context(), askAt(now, "default", 1, 10_000), now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := used(t, clocked(t, path, &now), now); got != 1 {
		t.Errorf("%d used, want 1", got)
	}
}

// overwrite gives the file other contents, as a copy does.
func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A missing file is not begun anew while the mark beside it says that it was there, and a process that had it open
// writes no further into the deleted file.
func TestDeletedFileIsNotBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	take(t, l, ask("default", 1))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	for _, amount := range []int64{2, 0} { // a take, and a peek
		_, err := l.Take(t.Context(), ask("default", amount))
		broken(t, err, quota.ErrUnavailable, path, "was deleted while it was open")
		broken(t, err, sqliteledger.ErrMoved, path, "")
	}
	_, _, err := l.Begin(t.Context(), row(noon), sharedledger.Notes{})
	broken(t, err, sqliteledger.ErrMoved, path, "was deleted while it was open")
	_, err = sqliteledger.Open(t.Context(), path)
	broken(t, err, quota.ErrMissing, path, "ingest quota rebuild")
	write(t, path, nil) // nor if another program has touched it
	_, err = sqliteledger.Open(t.Context(), path)
	broken(t, err, quota.ErrCorrupt, path, "is empty")
	if err := sqliteledger.Replace(t.Context(), path, "", nothing); !errors.Is(err, fs.ErrExist) {
		t.Errorf("replaced while a file is there: %v, want error %v", err, fs.ErrExist)
	}
	if err := errors.Join(os.Remove(path), sqliteledger.Replace(t.Context(), path, "", nothing)); err != nil {
		t.Fatal(err)
	}
	another := open(t, path)
	if d := take(t, another, ask("default", 1)); d.Pools[0].Windows[0].Used != 1 {
		t.Errorf("the new file: %d used, want 1", d.Pools[0].Windows[0].Used)
	}
	_, err = l.Take(t.Context(), ask("default", 1))
	broken(t, err, quota.ErrUnavailable, path, "was replaced while it was open")
	_, err = l.Take(t.Context(), ask("default", 0))
	broken(t, err, quota.ErrUnavailable, path, "was replaced")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if d := take(t, another, ask("default", 1)); d.Pools[0].Windows[0].Used != 2 {
		t.Errorf("the new file: %d used, want 2", d.Pools[0].Windows[0].Used)
	}
}

// A read that finds the file behind its mark is repeated in its turn: the first file's find does not count again.
func TestAReadThatIsRepeatedCountsNothingTwice(t *testing.T) {
	now := noon
	l := clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now)
	take(t, l, askAt(noon, "default", 5, 10_000))
	back, err := l.MarkAhead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, back)
	spent, err := l.Spent(t.Context(), "default", noon.Add(-time.Hour), 0)
	if err != nil || len(spent) != 1 || spent[0].Amount != 5 {
		t.Errorf("%+v, %v, want 5 units, once", spent, err)
	}
}

// If an older copy takes the file's place while it is open (renamed, or written into it), the next operation of every
// process that has it open notices it, and so does every later Open.
func TestOlderCopyOverTheFileInUseIsNoticed(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, path string, old []byte){
		"cp": overwrite,
		"dd": func(t *testing.T, path string, old []byte) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Write(old)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"mv": func(t *testing.T, path string, old []byte) {
			overwrite(t, path+".new", old)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, takes := range []int{3, 300, 2000} { // after the copy; the larger numbers pass checkpoints
			t.Run(fmt.Sprintf("%s after %d takes", name, takes), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "quota.db")
				now := noon
				l := clocked(t, path, &now)
				fill := func(l *sqliteledger.Ledger, n int) {
					t.Helper()
					if err := l.Fsync(t.Context(), false); err != nil {
						t.Fatal(err)
					}
					for range n {
						now = now.Add(time.Millisecond)
						take(t, l, askAt(now, "default", 1, 100_000))
					}
				}
				fill(l, 700)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				old, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				l = clocked(t, path, &now)
				fill(l, takes)
				other := clocked(t, path, &now)
				fill(other, 2)

				replace(t, path, old)
				for _, open := range []*sqliteledger.Ledger{l, other} {
					_, takeErr := open.Take(t.Context(), askAt(now, "default", 1, 100_000))
					broken(t, takeErr, sqliteledger.ErrMoved, path, "")
					_, lookErr := open.Take(t.Context(), askAt(now, "default", 0, 100_000))
					broken(t, lookErr, sqliteledger.ErrMoved, path, "")
				}
				if err := errors.Join(l.Close(), other.Close()); err != nil {
					t.Log(err)
				}
				l, err = sqliteledger.Open(t.Context(), path)
				if err != nil {
					if !errors.Is(err, quota.ErrCorrupt) {
						t.Errorf("opened later: %v, want error %v", err, quota.ErrCorrupt)
					}
					return
				}
				l.Now = func() time.Time { return now }
				t.Cleanup(func() { _ = l.Close() })
				if got, want := used(t, l, now), int64(700+takes+2); got != want { // all of it was in SQLite's log
					t.Errorf("opened later it has %d used, want %d or an error", got, want)
				}
			})
		}
	}
}

// The newest copy that is put back is the file again, even if another program wrote it.
func TestNewestCopyPutBackIsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	now := noon
	l := clocked(t, path, &now)
	take(t, l, askAt(now, "default", 7, 10_000))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	newest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, []byte("rubbish"))
	if _, err := sqliteledger.Open(t.Context(), path); !errors.Is(err, quota.ErrCorrupt) {
		t.Errorf("rubbish: %v, want error %v", err, quota.ErrCorrupt)
	}
	overwrite(t, path, newest)
	if got := used(t, clocked(t, path, &now), now); got != 7 {
		t.Errorf("%d used, want 7", got)
	}
}

// A page of the file with wrong content gives an error or does not matter.
func TestOverwrittenPageIsNoSilentLoss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	if err := l.Fsync(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	const each = 200
	for i := range each {
		take(t, l, askAt(now, "default", 1, 10_000))
		r := row(now)
		r.Number, r.State = int64(i), []sharedledger.RowState{sharedledger.RowAsked, sharedledger.RowOwed}[i%2]
		begin(t, l, r)
	}
	if err := l.Note(t.Context(), "default", sharedledger.Notes{Generation: 3, Snapshots: []sharedledger.UsageSnapshot{snapshot("units", now, 7)}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for n := range len(good) / page {
		for _, with := range []byte{0, 0xff} {
			bad := bytes.Clone(good)
			copy(bad[n*page:], bytes.Repeat([]byte{with}, page))
			overwrite(t, path, bad)
			err := check(t, path, now, each)
			if err != nil && !errors.Is(err, quota.ErrCorrupt) && !errors.Is(err, quota.ErrUnavailable) || err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("page %d of %d: %v", n, len(good)/page, err)
			}
			if errors.Is(err, quota.ErrCorrupt) {
				met++
			}
		}
	}
	t.Logf("%d overwritten pages, %d met", 2*len(good)/page, met)
	if met < 2*len(good)/page/2 {
		t.Errorf("only %d of %d overwritten pages were met", met, 2*len(good)/page)
	}
}

// check does every operation of the file and returns the first error of package quota; the answers have to be right.
func check(t *testing.T, path string, now time.Time, each int) error {
	t.Helper()
	l, err := sqliteledger.Open(t.Context(), path)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	d, err := l.Take(t.Context(), askAt(now, "default", 0, 10_000))
	if err != nil {
		return err
	}
	if used := d.Pools[0].Windows[0].Used; used != int64(each) {
		t.Errorf("%d used, want %d", used, each)
	}
	for _, owed := range []bool{true, false} {
		rows, err := l.Rows(t.Context(), "default", time.Time{}, owed)
		if err != nil {
			return err
		}
		if want := map[bool]int{true: each / 2, false: each}[owed]; len(rows) != want {
			t.Errorf("%d rows (owed: %t), want %d", len(rows), owed, want)
		}
	}
	s, err := l.State(t.Context(), "default")
	if err != nil {
		return err
	}
	if s.HostID == "" || s.Generation != 3 || !s.Owed || len(s.Snapshots) != 1 {
		t.Errorf("state %+v", s)
	}
	if _, err := l.Take(t.Context(), askAt(now, "default", 1, 10_000)); err != nil {
		return err
	}
	id, _, err := l.Begin(t.Context(), row(now), sharedledger.Notes{})
	if err != nil {
		return err
	}
	err = l.Note(t.Context(), "default", sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: id, State: sharedledger.RowCharged, At: now}, {ID: 2, State: sharedledger.RowSynced}}})
	if err != nil {
		return err
	}
	if s, err = l.State(t.Context(), "default"); err == nil && (len(s.Written) != 1 || s.Written[0].Number != row(now).Number) {
		t.Errorf("written %+v, want that of operation %d", s.Written, id)
	}
	return err
}

// A row that no journal wrote is an error, not a guess.
func TestValuesThatNoJournalWroteAreAnError(t *testing.T) {
	for _, text := range []string{
		"UPDATE operations SET amounts = 'x'",
		"UPDATE operations SET amounts = '{\"units\": \"1\"}'",
		"UPDATE operations SET state = 9",
		"UPDATE operations SET spender = 99",
		"UPDATE journals SET snapshots = '[{'",
		"DELETE FROM file",
	} {
		t.Run(text, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "quota.db")
			l := open(t, path)
			id := begin(t, l, row(noon))
			n := sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: id, State: sharedledger.RowCharged}}, Generation: 1}
			if err := l.Note(t.Context(), "default", n); err != nil {
				t.Fatal(err)
			}
			execute(t, path, text)
			_, stateErr := l.State(t.Context(), "default")
			_, rowsErr := l.Rows(t.Context(), "default", time.Time{}, false)
			err := errors.Join(stateErr, rowsErr)
			if !errors.Is(err, quota.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), path) {
				t.Errorf("%v, want %v and the path", err, quota.ErrCorrupt)
			}
		})
	}
}

// A panic in a transaction ends it: neither the rollback nor the next transaction waits for unread rows.
func TestAPanicEndsItsTransactionAlone(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "quota.db"))
	take(t, l, ask("default", 1))
	for _, writes := range []bool{true, false} {
		ended := make(chan any)
		go func() {
			defer func() { ended <- recover() }()
			_ = l.OnRow(t.Context(), writes, func() { panic("broken") })
		}()
		select {
		case p := <-ended:
			if p != "broken" {
				t.Errorf("writes %v: recovered %v, want \"broken\"", writes, p)
			}
		case <-time.After(time.Minute):
			t.Fatalf("writes %v: it has not ended in a minute", writes)
		}
		if d := take(t, l, ask("default", 0)); d.Pools[0].Windows[0].Used != 1 {
			t.Errorf("writes %v: then %d used, want 1", writes, d.Pools[0].Windows[0].Used)
		}
	}
}
