package httplimit_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// Two processes' limiters, over one Redis, admit one quota.
func TestOverRedis(t *testing.T) {
	url := redisServer(t)
	var sites []*site
	for range 2 {
		ledger, err := redisledger.Open(t.Context(), url, redisledger.Options{Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ledger.Close() })
		sites = append(sites, newSite(t, httplimit.Config{Ledger: ledger, Limits: []httplimit.Limit{{Quota: 20, Window: time.Hour}}, Timeout: 30 * time.Second}))
	}
	var served, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			for range 5 {
				switch resp := sites[i%2].send(http.MethodGet, "/", ann); resp.StatusCode {
				case http.StatusOK:
					served.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	if served.Load() != 20 || refused.Load() != 30 {
		t.Errorf("%d served and %d refused, want 20 and 30", served.Load(), refused.Load())
	}
	if open := sites[0].Stats().FailedOpen + sites[1].Stats().FailedOpen; open != 0 {
		t.Errorf("%d failed open, want 0", open)
	}
}

// redisServer starts a server that keeps nothing, and returns its URL once it answers.
func redisServer(t *testing.T) string {
	t.Helper()
	path := os.Getenv("REDIS_SERVER")
	if path == "" {
		var err error
		if path, err = exec.LookPath("redis-server"); err != nil {
			t.Skipf("redis-server absent: install it, or set REDIS_SERVER: %v", err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	cmd := exec.Command(path, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url := fmt.Sprintf("redis://127.0.0.1:%d", port)
	ledger, err := redisledger.Open(t.Context(), url, redisledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ledger.Close() }()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		_, err := ledger.Spent(t.Context(), "http", noon, 0)
		if err == nil {
			return url
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
}
