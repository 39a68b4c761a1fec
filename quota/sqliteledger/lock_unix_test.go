//go:build unix

package sqliteledger_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// hold takes the writers' lock as another process would.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(sqlitefile.LockPath(path), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHeldLockEndsInUnavailable(t *testing.T) {
	t.Parallel() // it waits for five seconds
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	take(t, l, ask("default", 1))
	release := hold(t, path)
	began := time.Now()
	_, err := l.Take(t.Context(), ask("default", 1))
	if took := time.Since(began); !errors.Is(err, quota.ErrUnavailable) || took < 4*time.Second || took > time.Minute {
		t.Errorf("after %v: %v; want %v after 5s", took, err, quota.ErrUnavailable)
	}
	if used := take(t, l, ask("default", 0)).Pools[0].Windows[0].Used; used != 1 {
		t.Errorf("a look while the lock is held: %d used, want 1", used)
	}
	if _, err := l.State(t.Context(), "default"); err != nil {
		t.Errorf("the journal's state while the lock is held: %v", err)
	}
	if _, err := l.Rows(t.Context(), "default", time.Time{}, false); err != nil {
		t.Errorf("the journal's rows while the lock is held: %v", err)
	}
	release()
	if d := takeOnceFree(t, l); d.Pools[0].Windows[0].Used != 2 {
		t.Errorf("once the lock is free: %d used, want 2", d.Pools[0].Windows[0].Used)
	}
}

// takeOnceFree takes as soon as the file is no longer thought to be hung.
func takeOnceFree(t *testing.T, l *sqliteledger.Ledger) quota.Decision {
	t.Helper()
	for began := time.Now(); ; {
		d, err := l.Take(t.Context(), ask("default", 1))
		if err == nil {
			return d
		}
		if time.Since(began) > time.Minute {
			t.Fatal(err)
		}
	}
}

// A process that is stopped while it holds the file costs the others one time-out, including the emergency, and after
// that next to nothing until it goes on.
func TestFrozenProcessCostsOneTimeOut(t *testing.T) {
	for name, freeze := range map[string]func(t *testing.T, path string) (thaw func()){
		"in the queue": hold,
		"in a transaction of its own": func(t *testing.T, path string) func() {
			t.Helper()
			conn, err := database(t, path).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
				t.Fatal(err)
			}
			return func() { _, _ = conn.ExecContext(t.Context(), "ROLLBACK") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for five seconds
			path := filepath.Join(t.TempDir(), "quota.db")
			l := open(t, path)
			take(t, l, ask("default", 1))
			day := quota.Pool{Name: "units", Windows: []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: 10_000}}}
			g := &quota.Governor{Ledger: l, EmergencyAccount: l, Account: "default", Now: time.Now, Tariff: &quota.Tariff{
				Zone: time.UTC, Pools: []quota.Pool{day}, Methods: map[string]quota.Cost{"list": {"units": 1}},
				Ceilings: map[quota.Purpose]quota.Share{quota.Manual: 950_000}, Failure: quota.Failure{OpenAtMost: 1000, Emergency: 5000}}}
			thaw := freeze(t, path)
			began := time.Now()
			for i := range 20 {
				if _, err := g.Take(t.Context(), quota.Request{Method: "list", Purpose: quota.Manual}); !errors.Is(err, quota.ErrClosed) {
					t.Fatalf("take %d: %v, want %v", i, err, quota.ErrClosed)
				}
				if took := time.Since(began); i == 0 && (took < 4*time.Second || took > 8*time.Second) {
					t.Errorf("the first take, and its emergency, took %v, want one time-out of 5s", took)
				}
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("twenty takes took %v, want one time-out of 5s and little more", took)
			}
			thaw()
			if d := takeOnceFree(t, l); d.Pools[0].Windows[0].Used != 2 {
				t.Errorf("once the process goes on: %d used, want 2", d.Pools[0].Windows[0].Used)
			}
		})
	}
}

// A program that stops does not wait for the lock of another.
func TestCloseDoesNotWaitForTheQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	take(t, l, ask("default", 1))
	release := hold(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Take(ctx, ask("default", 1)); err == nil {
		t.Error("a take while another process holds the lock: got no error, want one")
	}
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	select {
	case <-closed:
	case <-time.After(3 * time.Second):
		t.Error("Close: got no end within 3 s, want it not to wait for the other process")
	}
	release()
}

// A service user who may write to the data directory must not have root's ledger overwrite another file.
func TestALockFileThatIsALinkIsRefused(t *testing.T) {
	for _, name := range []string{"quota.lock", "quota.db.waiting"} {
		dir := t.TempDir()
		precious := filepath.Join(dir, "precious")
		if err := os.WriteFile(precious, []byte("what another file of root's holds"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(precious, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		l, err := sqliteledger.Open(t.Context(), filepath.Join(dir, "quota.db"))
		if err == nil {
			take(t, l, ask("default", 1))
			_ = l.Close()
		}
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "remove the link") {
			t.Errorf("%s is a link: %v, want error %v and \"remove the link\" in it", name, err, fs.ErrPermission)
		}
		if text, err := os.ReadFile(precious); err != nil || string(text) != "what another file of root's holds" {
			t.Errorf("%s is a link: the file behind it holds %q, %v, want \"what another file of root's holds\"", name, text, err)
		}
	}
}
