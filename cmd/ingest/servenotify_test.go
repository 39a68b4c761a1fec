package main

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/regions"
)

// systemd is a service manager's socket, and what came to it.
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
		return manager.count("STATUS=next slot 2026-02-14 09:41:15Z; 95 search, 9,468 units left; nothing stale") > 0
	})
	s.end(syscall.SIGTERM)
	heard := manager.heard()
	if !strings.HasPrefix(heard[0], "READY=1\nSTATUS=next slot ") {
		t.Errorf("first %q, want READY", heard[0])
	}
	if manager.count("READY=1") != 1 || manager.count("STOPPING=1") != 1 || heard[len(heard)-1] == "READY=1" {
		t.Errorf("%q", heard)
	}
	for _, said := range heard {
		if strings.Count(said, "STATUS=") > 1 || strings.Contains(strings.TrimPrefix(said, "READY=1\n"), "\n") {
			t.Errorf("more than one line of status: %q", said)
		}
	}
}

// A service whose scheduler hangs, here in waking the workers, must not look alive: only the heart feeds
// the watchdog.
func TestAHungSchedulerStarvesTheWatchdog(t *testing.T) {
	manager := startSystemd(t)
	t.Setenv("WATCHDOG_USEC", "100000")
	plan, err := regions.NewPlan(config.DefaultJobs(providers["youtube"].limits))
	if err != nil {
		t.Fatal(err)
	}
	m := newManager()
	s := &service{manager: m, heartbeat: heartbeat(m.watchdog), plan: plan, tending: make(chan struct{}, 1)}
	now := time.Now()
	s.beaten.Store(&now)
	hang, woken := make(chan struct{}), atomic.Int64{}
	s.trigger = func() {
		if woken.Add(1) == 4 {
			<-hang
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		plan.Serve(ctx, s.heartbeat, time.Now, s.beat)
	}()
	for woken.Load() < 4 || manager.count("WATCHDOG=1") < 4 {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond) // five times what the watchdog waits
	if n := manager.count("WATCHDOG=1"); n != 4 {
		t.Errorf("fed %d times, and 4 times until the scheduler hung", n)
	}
	time.Sleep(3 * time.Second)
	if err := s.alive(); err == nil {
		t.Error("/livez takes a hung scheduler for a living one")
	}
	close(hang)
	cancel()
	<-ended
}

func TestTheHeartBeatsTwiceWhileTheWatchdogWaits(t *testing.T) {
	for watchdog, want := range map[time.Duration]time.Duration{
		0: regions.Heartbeat, 10 * time.Second: 5 * time.Second, time.Minute: regions.Heartbeat, time.Hour: regions.Heartbeat,
	} {
		if got := heartbeat(watchdog); got != want {
			t.Errorf("watchdog %v: every %v, want %v", watchdog, got, want)
		}
	}
}
