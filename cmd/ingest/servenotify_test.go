package main_test

import (
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// systemd is a service manager's socket, and its received messages.
type systemd struct {
	mu   sync.Mutex
	said []string
}

func startSystemd(t *testing.T) *systemd {
	t.Helper()
	path := filepath.Join(shortDir(t), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	s := &systemd{}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.said = append(s.said, string(buf[:n]))
			s.mu.Unlock()
		}
	}()
	return s
}

func (s *systemd) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.said...)
}

func (s *systemd) count(text string) (n int) {
	for _, said := range s.heard() {
		if strings.Contains(said, text) {
			n++
		}
	}
	return n
}

func TestServeTellsSystemd(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	manager := startSystemd(t)
	quickHeart(t)
	s := startServe(t)
	s.until("the watchdog was fed a few times", func() bool { return manager.count("WATCHDOG=1") >= 3 })
	s.until("the status has the quota", func() bool {
		return manager.count("STATUS=next slot 2026-02-14 09:41:15Z; 9,500 batch_stats, 95 search calls, 9,468 units left; nothing stale") > 0
	})
	s.end(syscall.SIGTERM)
	heard := manager.heard()
	if !strings.HasPrefix(heard[0], "READY=1\nSTATUS=next slot ") && !strings.HasPrefix(heard[0], "READY=1\nSTATUS=a slot has been due since ") {
		t.Errorf("first %q, want READY", heard[0])
	}
	if manager.count("READY=1") != 1 || manager.count("STOPPING=1") != 1 || heard[len(heard)-1] == "READY=1" {
		t.Errorf("%q, want READY=1 and STOPPING=1 once each, and READY not last", heard)
	}
	for _, said := range heard {
		if strings.Count(said, "STATUS=") > 1 || strings.Contains(strings.TrimPrefix(said, "READY=1\n"), "\n") {
			t.Errorf("more than one line of status: %q", said)
		}
	}
}
