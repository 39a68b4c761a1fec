//go:build unix

package main_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/store"
)

// damages are possible damages to the bytes of a closed store, and the messages that the user sees: the exit code of
// a search and its message if it fails; the exit code of a repair; and whether all videos that were found before are
// found after it, or only after the next run.
var damages = []struct {
	name   string
	do     func(p *programRig, path string) error
	search int
	says   string
	repair int
	keeps  bool
}{
	{"byte 0, of SQLite's mark, flipped", flips(0), exitError, "ingest doctor --repair", exitOK, true},
	{"byte 18, which forbids writing, flipped", flips(18), exitOK, "", exitOK, true},
	{"byte 20, of a page's shape, flipped", flips(20), exitError, "ingest doctor --repair", exitOK, true},
	{"byte 47, of SQLite's format, flipped", flips(47), exitError, "ingest doctor --repair", exitOK, true},
	{"byte 60: may be a newer program's version", flips(60), exitConfig, "use the newer program", exitConfig, false},
	{"byte 71, of the application, flipped", flips(71), exitError, "is not a store of ingest", exitError, false},
	{"byte 100, of the first page, flipped", flips(100), exitError, "ingest doctor --repair", exitOK, false},
	{"byte 63: the same", flips(63), exitConfig, "use the newer program", exitConfig, false},
	{"the first page of the videos cleared", func(_ *programRig, path string) error {
		number, err := pageOf(path, "video_facts")
		if err != nil {
			return err
		}
		return edit(path, func(b []byte) []byte { clear(b[(number-1)*4096:][:4096]); return b })
	}, exitError, "ingest doctor --repair", exitOK, false},
	{"cut off in the middle of a page", func(_ *programRig, path string) error {
		return edit(path, func(b []byte) []byte { return b[:len(b)/2+100] })
	}, exitError, "ingest doctor --repair", exitOK, false},
	{"cut off to a hundred bytes", func(_ *programRig, path string) error { return os.Truncate(path, 100) }, exitError, "ingest doctor --repair", exitOK, false},
	{"cut off to nothing", func(_ *programRig, path string) error { return os.Truncate(path, 0) }, exitError, "it is empty", exitOK, false},
	{"cut off to nothing beside its log", func(p *programRig, path string) error {
		p.kill("page saved:3")
		return os.Truncate(path, 0)
	}, exitError, "it is empty", exitOK, false},
	{"a byte of its log flipped", func(p *programRig, path string) error {
		p.kill("page saved:3")
		return edit(path+"-wal", func(b []byte) []byte { b[len(b)/2] ^= 0x11; return b })
	}, exitOK, "", exitOK, true},
	{"its log deleted after a kill", func(p *programRig, path string) error {
		p.kill("page saved:3")
		return os.Remove(path + "-wal")
	}, exitOK, "", exitOK, false},
	{"its -shm deleted after a kill", func(p *programRig, path string) error {
		p.kill("page saved:3")
		return os.Remove(path + "-shm")
	}, exitOK, "", exitOK, true},
	{"an index that lacks rows", func(p *programRig, path string) error {
		return p.sql(path, "DELETE FROM video_text WHERE rowid % 2")
	}, exitOK, "", exitOK, true},
	{"deleted, and its log left", func(p *programRig, path string) error {
		p.kill("page saved:3")
		return os.Remove(path)
	}, exitError, "nothing was fetched into", exitOK, false},
}

func flips(at int) func(*programRig, string) error {
	return func(_ *programRig, path string) error {
		return edit(path, func(b []byte) []byte { b[at] ^= 0x11; return b })
	}
}

// pageOf returns the number of a table's first page.
func pageOf(path, table string) (number int, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	err = db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, table).Scan(&number)
	return number, errors.Join(err, db.Close())
}

// edit changes the bytes of a file.
func edit(path string, change func([]byte) []byte) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, change(text), 0o600)
}

// TestLongFaultStoreDamaged damages a closed store, and takes a person's steps: search, look at doctor, repair, search
// again, fetch.
func TestLongFaultStoreDamaged(t *testing.T) {
	t.Parallel()
	base := newFetched(t)
	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, "sqlite", 10_000, youtubesim.Options{})
			p.now = base.now
			if err := os.CopyFS(p.data(), os.DirFS(base.data())); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(p.data(), store.FileName)
			found := p.finds()
			if err := tt.do(p, path); err != nil {
				t.Fatal(err)
			}
			p.expireLeases()
			code, _, errs := p.do(nil, "search", "the")
			p.want(code == tt.search && strings.Contains(errs, tt.says), "a search: exit %d: %s", code, errs)
			code, out, errs := p.do(nil, "doctor")
			deleted := tt.says == "nothing was fetched into"
			healthy := deleted || strings.Contains(tt.name, "log flipped") || strings.Contains(tt.name, "after a kill") // SQLite leaves out partly written transactions
			p.want((code == exitOK) == healthy, "doctor: exit %d: %s%s", code, out, errs)
			code, out, errs = p.do(nil, "doctor", "--repair")
			p.want(code == tt.repair, "a repair: exit %d: %s%s", code, out, errs)
			if tt.repair == exitOK {
				if tt.keeps {
					p.want(p.finds() >= found, "%d are found of %d", p.finds(), found) // a killed run may have brought others
				}
				p.now = time.Time{} // a store that has lost whose data it holds has no other clock
				p.want(p.force() == exitOK, "no run after the repair")
				p.want(p.finds() >= 8, "after the next run only %d are found", p.finds())
				p.checkStore()
			}
			verdict := "holds"
			if len(p.wrong) > 0 {
				verdict = "BROKEN: " + strings.Join(p.wrong, "; ")
				t.Fail()
			}
			t.Logf("%-42s search %2d  repair %2d  kept %-5t %s", tt.name, tt.search, tt.repair, tt.keeps, verdict)
		})
	}
}

// finds returns how many videos a search finds.
func (p *programRig) finds() int {
	code, out, errs := p.do(nil, "search", "the", "--limit", "100", "--json")
	var doc struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK {
		p.want(false, "a search: exit %d: %s %v", code, errs, err)
	}
	return len(doc.Items)
}

// TestLongFaultLogDeletedUnderServe deletes the log of a store that serve has open. Other commands report it, a repair
// waits until serve is stopped, and then everything continues.
func TestLongFaultLogDeletedUnderServe(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "sqlite", 10_000, youtubesim.Options{})
	p.force()
	flags, _, _ := p.command(nil)
	serve := startServe(t, flags.Args[1:]...)
	p.nextSecond()
	p.expireLeases()
	p.want(p.force() == exitOK, "no run beside serve")
	if err := os.Remove(filepath.Join(p.data(), store.FileName) + "-wal"); err != nil {
		t.Fatal(err)
	}
	const says = "as when ingest.db-wal is deleted while ingest runs: stop ingest serve"
	for _, command := range []string{"search the", "run --force"} {
		code, _, errs := p.do(nil, strings.Fields(command)...)
		p.want(code == exitError && strings.Contains(errs, says), "ingest %s: exit %d: %s", command, code, errs)
	}
	code, out, errs := p.do(nil, "doctor", "--repair")
	said := strings.Join(strings.Fields(out), " ")
	p.want(code == exitError && strings.Contains(said, "stop ingest serve"), "a repair beside serve: exit %d: %s%s", code, said, errs)
	_ = serve.cmd.Process.Signal(syscall.SIGTERM)
	<-serve.gone
	code, out, errs = p.do(nil, "doctor", "--repair")
	p.want(code == exitOK, "a repair: exit %d: %s%s", code, out, errs)
	p.want(p.finds() > 0, "nothing is found")
	p.nextSecond()
	p.want(p.force() == exitOK, "no run after the repair")
	p.checkStore()
	p.judge("store: the log deleted under serve")
}

// TestFaultNewerProgram gives an older program a store that a newer one has migrated: no command reads it, none
// changes a byte, and every one says what to do.
func TestFaultNewerProgram(t *testing.T) {
	const newer = 900 // a version above 1000 would count as damage
	t.Parallel()
	p := newFetched(t)
	path := filepath.Join(p.data(), store.FileName)
	if err := p.sql(path, fmt.Sprintf("ALTER TABLE video_facts ADD COLUMN mood TEXT; PRAGMA user_version = %d; PRAGMA wal_checkpoint(TRUNCATE)", newer)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sent := p.sim.Ledger().Units["units"]
	p.now = p.now.Add(time.Hour)
	for _, command := range []string{"run", "run --force", "serve --listen 127.0.0.1:0", "search the", "chart US", "slots", "backup " + filepath.Join(p.dir, "copy.db"), "doctor", "doctor --repair"} {
		code, out, errs := p.do(nil, strings.Fields(command)...)
		said := strings.Join(strings.Fields(out+errs), " ")
		p.want(code == exitConfig && strings.Contains(said, fmt.Sprintf("has version %d, this program knows version", newer)),
			"ingest %s: exit %d: %s", command, code, said)
	}
	after, err := os.ReadFile(path)
	p.want(err == nil && string(after) == string(before), "the file was changed (%v)", err)
	if _, err := os.Stat(filepath.Join(p.dir, "copy.db")); !errors.Is(err, fs.ErrNotExist) {
		p.want(false, "a backup was made: %v", err)
	}
	p.want(p.sim.Ledger().Units["units"] == sent, "units were spent")
	p.report("store: a newer program's, every command", sent, sent)
}
