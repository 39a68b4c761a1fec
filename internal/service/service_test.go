//go:build unix

package service_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/regions"
)

// systemd is a service manager's socket that counts its messages.
type systemd struct {
	mu   sync.Mutex
	said []string
}

func startSystemd(t *testing.T) *systemd {
	t.Helper()
	dir, err := os.MkdirTemp("", "ingest") //nolint:usetesting // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	s, gone := &systemd{}, make(chan struct{})
	go func() {
		defer close(gone)
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
	t.Cleanup(func() {
		_ = conn.Close()
		<-gone
	})
	return s
}

func (s *systemd) count(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, said := range s.said {
		if strings.Contains(said, text) {
			n++
		}
	}
	return n
}

// A service whose scheduler hangs, here in reading the clock, must not look alive: only its heartbeat feeds the
// watchdog.
func TestAHungSchedulerStarvesTheWatchdog(t *testing.T) {
	manager := startSystemd(t)
	t.Setenv("WATCHDOG_USEC", "100000")
	schedule, err := regions.NewSchedule([]ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US"}, Every: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	hangs, hang := atomic.Bool{}, make(chan struct{})
	s := service.New(service.Options{
		Schedule: schedule, Workers: 1, StaleAfter: 3, Stderr: io.Discard,
		Now: func() time.Time {
			if hangs.Load() {
				<-hang
			}
			return time.Now()
		},
		Open: func(context.Context) (*service.Runtime, error) {
			return nil, errors.New("the ledger is down")
		},
		Temporary: func(error) bool { return true },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	livez := func() int {
		resp, err := http.Get("http://" + l.Addr().String() + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for manager.count("WATCHDOG=1") < 4 {
		time.Sleep(5 * time.Millisecond)
	}
	if code := livez(); code != http.StatusOK {
		t.Errorf("/livez: %d while the scheduler beats, want %v", code, http.StatusOK)
	}
	hangs.Store(true)
	time.Sleep(200 * time.Millisecond) // a beat may be under way
	fed := manager.count("WATCHDOG=1")
	time.Sleep(3100 * time.Millisecond) // 31 times the watchdog's wait
	if n := manager.count("WATCHDOG=1"); n != fed {
		t.Errorf("the watchdog was fed %d times by a scheduler that hangs, want %v", n-fed, fed)
	}
	if code := livez(); code != http.StatusServiceUnavailable {
		t.Errorf("/livez: %d for a scheduler that hangs, want %v", code, http.StatusServiceUnavailable)
	}
	close(hang)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestTheHeartBeatsTwiceWhileTheWatchdogWaits(t *testing.T) {
	for watchdog, want := range map[time.Duration]time.Duration{
		0: regions.Heartbeat, 10 * time.Second: 5 * time.Second, time.Minute: regions.Heartbeat, time.Hour: regions.Heartbeat,
	} {
		if got := service.Heartbeat(watchdog); got != want {
			t.Errorf("watchdog %v: every %v, want %v", watchdog, got, want)
		}
	}
}

// The workers of a queue rest after every slot, many times a second: the service's work for that must not grow with
// it.
func TestMaintenanceIsNotDoneMoreThanOnceASecond(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "20000") // a hundred beats a second; each asks for maintenance
	synctest.Test(t, func(t *testing.T) {
		schedule, err := regions.NewSchedule([]ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US"}, Every: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		opened := 0
		s := service.New(service.Options{
			Schedule: schedule, Workers: 1, StaleAfter: 3, Stderr: io.Discard, Now: time.Now,
			Open: func(context.Context) (*service.Runtime, error) {
				opened++
				return nil, errors.New("the ledger is down")
			},
			Temporary: func(error) bool { return true },
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if opened < 9 || opened > 12 {
			t.Errorf("it was tried %d times in 10 s to open the ledger, want at least 9 and at most 12", opened)
		}
	})
}
