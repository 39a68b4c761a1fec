//go:build linux || darwin

package sqliteledger_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// childFile is set where the test binary runs once more, as the process that meets the fault.
const childFile = "SQLITELEDGER_CHILD_FILE"

// child runs the calling test in a process of its own, with the file as its argument.
func child(t *testing.T, file string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childFile+"="+file)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the process that meets the fault: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// limitFiles is a disk that is full once a file has the given number of bytes; 0 is one that has room again.
func limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur = bytes; bytes == 0 {
		limit.Cur = limit.Max
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
}

// A take that cannot be written is not acknowledged, acknowledged takes are in the file, and takes work again once
// there is room.
func TestFullDiskAcknowledgesNothing(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		path = filepath.Join(t.TempDir(), "quota.db")
		l := open(t, path)
		take(t, l, ask("default", 1))
		child(t, path)
		if said, err := os.ReadFile(path + ".said"); err != nil || fmt.Sprint(count(t, l)) != string(said) {
			t.Errorf("the process said that there is %s (%v), but there is %v", said, err, count(t, l))
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	l := open(t, path)
	for name, write := range map[string]func(n int64) error{
		"take": func(int64) error { _, err := l.Take(t.Context(), ask("own", 1)); return err }, // the journal's rows are of another account
		"post": func(int64) error { return l.Post(t.Context(), ask("own", 1), time.Now()) },
		"begin": func(n int64) error {
			r := row(time.Now())
			r.Number = n
			_, _, err := l.Begin(t.Context(), r, sharedledger.Notes{})
			return err
		},
		"allow": func(int64) error { _, err := l.Allow(t.Context(), row(time.Now()), nil); return err },
		"note": func(n int64) error {
			return l.Note(t.Context(), "default", sharedledger.Notes{Generation: sharedledger.Generation(n)})
		},
	} {
		before := count(t, l)
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		limitFiles(t, uint64(info.Size())+10*page)
		acknowledged := int64(0)
		for err == nil && acknowledged < 100 {
			if err = write(acknowledged + 1); err == nil {
				acknowledged++
			}
		}
		if acknowledged == 0 {
			t.Errorf("%s: nothing was acknowledged while there was room", name)
		}
		t.Logf("%s: after %d: %v", name, acknowledged, err)
		broken(t, err, quota.ErrUnavailable, path, "disk")
		for range 3 {
			broken(t, write(acknowledged+1), quota.ErrUnavailable, path, "disk")
		}
		want := before
		switch name {
		case "take", "post":
			want.used += acknowledged
		case "begin", "allow":
			want.rows += acknowledged
		case "note":
			want.generation = sharedledger.Generation(acknowledged)
		}
		if got := count(t, l); got != want {
			t.Errorf("%s: with a full disk %+v, want %+v", name, got, want)
		}
		limitFiles(t, 0)
		if err := write(acknowledged + 1); err != nil {
			t.Errorf("%s: with room again: %v", name, err)
		}
	}
	if err := os.WriteFile(path+".said", fmt.Append(nil, count(t, l)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// counts is the content of a file.
type counts struct {
	used       int64
	rows       int64
	generation sharedledger.Generation
}

func count(t *testing.T, l *sqliteledger.Ledger) counts {
	t.Helper()
	rows, err := l.Rows(t.Context(), "default", time.Time{}, false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.State(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	return counts{take(t, l, ask("own", 0)).Pools[0].Windows[0].Used, int64(len(rows)), s.Generation}
}

// unowned is the id of a user who owns nothing.
const unowned = 65534

// A file or a directory without the right to write gives an error that says so. Root may write anything:
// the process that meets the fault runs as another user.
func TestAnUnwritableFileOrDirectoryIsReported(t *testing.T) {
	if dir := os.Getenv(childFile); dir != "" {
		if os.Geteuid() == 0 {
			if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(unowned), syscall.Setuid(unowned)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "file", "quota.db")
		l, err := sqliteledger.Open(t.Context(), path)
		if err == nil {
			_, err = l.Take(t.Context(), ask("default", 1))
			broken(t, err, quota.ErrUnavailable, path, "check that it and its directory may be written")
			_, _, err = l.Begin(t.Context(), row(noon), sharedledger.Notes{})
			_ = l.Close()
		}
		broken(t, err, quota.ErrUnavailable, path, "check that it and its directory may be written")
		path = filepath.Join(dir, "directory", "quota.db")
		_, err = sqliteledger.Open(t.Context(), path)
		broken(t, err, quota.ErrUnavailable, path, "check that it and its directory may be written")
		return
	}
	dir := t.TempDir()
	for _, parent := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "directory"} {
		sub := filepath.Join(dir, name)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		l := open(t, filepath.Join(sub, "quota.db"))
		take(t, l, ask("default", 1))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{
		"file": 0o755, "file/quota.db": 0o444, "file/quota.lock": 0o600, "file/quota.db.waiting": 0o600,
		"directory": 0o555, "directory/quota.db": 0o444, "directory/quota.lock": 0o444,
	} {
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"file", "file/quota.lock", "file/quota.db.waiting"} {
		if err := os.Chown(filepath.Join(dir, path), unowned, unowned); err != nil && os.Geteuid() == 0 {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "directory"), 0o700) })
	child(t, dir)
	if used := take(t, open(t, filepath.Join(dir, "file", "quota.db")), ask("default", 0)).Pools[0].Windows[0].Used; used != 1 {
		t.Errorf("%d used, want 1", used)
	}
}
