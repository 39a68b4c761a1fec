//go:build unix

package sqliteledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// hold takes the writers' lock as another process would.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(path+".lock", os.O_RDWR, 0)
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
	if d := take(t, l, ask("default", 1)); d.Pools[0].Windows[0].Used != 2 {
		t.Errorf("once the lock is free: %d used, want 2", d.Pools[0].Windows[0].Used)
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
		t.Error("a take went past a lock that is held")
	}
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	select {
	case <-closed:
	case <-time.After(3 * time.Second):
		t.Error("Close waits for another process")
	}
	release()
}
