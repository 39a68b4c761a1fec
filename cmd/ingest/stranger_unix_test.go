//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	program "github.com/trendvidstream/ingest/cmd/ingest"
)

// stranger is the user who has put things where root's commands look.
const stranger = 65534

// trick is something in a tree of directories that a stranger may write, and root's commands there.
type trick struct {
	name     string
	plant    func(w *strangersTree) error
	commands [][]string
	refused  bool // all commands are, with 78 and the chmod
}

// strangersTree is a directory that the stranger owns, with root's files beside it, which no command may change.
type strangersTree struct {
	*testing.T

	dir, data, outside string
}

func (w *strangersTree) in(name string) string   { return filepath.Join(w.dir, name) }
func (w *strangersTree) root(name string) string { return filepath.Join(w.outside, name) }

// With any file of an unprivileged user in a tree where root works, no command changes a file outside, or waits.
func TestLongAStrangersTricksChangeNothingOutside(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: only root can be tricked, and give files to a stranger")
	}
	t.Setenv("INGEST_UPSTREAM_URL", "http://127.0.0.1:1")
	t.Setenv("SUDO_UID", "")
	whole := newWard(t).data
	all := tricks()
	if len(all) < 40 {
		t.Errorf("%d tricks, want at least 40", len(all))
	}
	for _, trick := range all {
		t.Run(trick.name, func(t *testing.T) {
			dir := t.TempDir()
			w := &strangersTree{t, filepath.Join(dir, "tree"), filepath.Join(dir, "tree", "data"), filepath.Join(dir, "outside")}
			must(t, os.Mkdir(w.dir, 0o755), os.Mkdir(w.outside, 0o700), os.WriteFile(w.root("precious"), []byte("root's"), 0o600), os.WriteFile(w.root("empty"), nil, 0o600),
				os.CopyFS(w.data, os.DirFS(whole)), os.CopyFS(w.root("data"), os.DirFS(whole)), os.WriteFile(w.in("ids"), []byte("no id\ndQw4w9WgXcQ\n"), 0o644))
			w.give()
			must(t, trick.plant(w))
			before := contents(t, w.outside)
			for _, command := range trick.commands {
				args := strings.Split(strings.ReplaceAll(strings.Join(command, "\x00"), "$", w.dir), "\x00")
				code := make(chan int, 1)
				var said strings.Builder
				go func() { code <- program.Run(append(args, "--data", w.data), io.Discard, &said, nil) }()
				select {
				case got := <-code:
					if trick.refused && (got != exitConfig || !strings.Contains(said.String(), "chmod o-w")) {
						t.Errorf("%v: exit %d: %s", args, got, said.String())
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%v waits", args)
				}
			}
			if after := contents(t, w.outside); after != before {
				t.Errorf("root's files were\n%sand are\n%s", before, after)
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// give makes the stranger the owner of the tree.
func (w *strangersTree) give() {
	must(w.T, filepath.Walk(w.dir, func(path string, info os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(path, stranger, stranger))
	}))
}

// contents describes all files of a directory.
func contents(t *testing.T, dir string) string {
	var b strings.Builder
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %v %v %x\n", path, info.Mode(), info.ModTime(), text)
		return err
	}))
	return b.String()
}

// tricks returns every trick: each name that a command opens, as each kind of thing that a stranger may put there.
func tricks() (all []trick) {
	onData := [][]string{{"quota", "take", "videos.list"}, {"search", "a"}, {"backup", "$/copy.db"}, {"doctor", "--repair"}}
	onIDs := [][]string{{"backfill", "plan", "videos", "$/ids"}}
	onBackup := [][]string{{"backup", "$/copy.db"}}
	put := func(name, kind string, commands [][]string) {
		all = append(all, trick{name: name + " is " + kind, commands: commands, plant: func(w *strangersTree) error {
			path := w.in(name)
			_ = os.RemoveAll(path)
			return errors.Join(kinds[kind](w, path), os.Lchown(path, stranger, stranger))
		}})
	}
	for _, name := range []string{"quota.db", "quota.db-wal", "quota.db-shm", "quota.lock", "quota.db.waiting", "ingest.db", "ingest.db-wal", "ingest.db-shm", "ingest.db-journal", "ingest.db.backed-up"} {
		for _, kind := range []string{"a link to root's file", "a link to nothing", "a pipe"} {
			put("data/"+name, kind, onData)
		}
	}
	put("data/ingest.db", "a link to root's store", onData)
	put("data/quota.db", "a link to root's ledger", onData)
	put("data/ingest.db-wal", "a link to an empty file", onData)
	for kind := range kinds {
		put("ids.rejected", kind, onIDs)
	}
	for _, name := range []string{"copy.db", "copy.db-wal", "copy.db-journal", "copy.db.part-1"} {
		put(name, "a link to an empty file", onBackup)
		put(name, "a link to nothing", onBackup)
	}
	put("copy.db.part-1", "a pipe", onBackup)
	put("data", "a link to root's directory", onData[:3])
	open := func(name string, path string, mode os.FileMode, commands [][]string) {
		all = append(all, trick{name: name, commands: commands, refused: true, plant: func(w *strangersTree) error {
			return os.Chmod(w.in(path), mode)
		}})
	}
	take := onData[:1]
	open("a ledger that all may write", "data/quota.db", 0o666, take)
	open("a lock that all may write", "data/quota.lock", 0o666, take)
	open("a store that all may write", "data/ingest.db", 0o666, onData[1:2])
	open("a directory that all may write", "data", 0o777, onData[:3])
	open("a directory that all may move", "", 0o777, onData[:3])
	return all
}

var kinds = map[string]func(w *strangersTree, path string) error{
	"a link to root's file":      func(w *strangersTree, path string) error { return os.Symlink(w.root("precious"), path) },
	"a link to an empty file":    func(w *strangersTree, path string) error { return os.Symlink(w.root("empty"), path) },
	"a link to nothing":          func(w *strangersTree, path string) error { return os.Symlink(w.root("new"), path) },
	"a link to root's store":     func(w *strangersTree, path string) error { return os.Symlink(w.root("data/ingest.db"), path) },
	"a link to root's ledger":    func(w *strangersTree, path string) error { return os.Symlink(w.root("data/quota.db"), path) },
	"a link to root's directory": func(w *strangersTree, path string) error { return os.Symlink(w.root("data"), path) },
	"a pipe":                     func(_ *strangersTree, path string) error { return syscall.Mkfifo(path, 0o600) },
	"a directory":                func(_ *strangersTree, path string) error { return os.Mkdir(path, 0o700) },
}
