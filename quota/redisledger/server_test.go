package redisledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

func TestMain(m *testing.M) {
	quotatest.Worker(openWorker)
	goleak.VerifyTestMain(m)
}

// server is a redis-server of the test's own.
type server struct {
	port    int
	client  *redis.Client
	process *os.Process
}

func (s *server) url() string { return fmt.Sprintf("redis://127.0.0.1:%d", s.port) }

// redisServer starts a server that keeps nothing, and ends with the test.
func redisServer(t testing.TB, settings ...string) *server {
	t.Helper()
	port := faulty.FreePort(t)
	process := start(t, "redis-server", port, append([]string{"--save", "", "--appendonly", "no"}, settings...)...)
	s := &server{port: port, process: process, client: redis.NewClient(&redis.Options{
		Addr: fmt.Sprintf("127.0.0.1:%d", port), DisableIdentity: true, Protocol: 2,
	})}
	t.Cleanup(func() { _ = s.client.Close() })
	await(t, func(ctx context.Context) error { return s.client.Ping(ctx).Err() })
	return s
}

// start runs a redis-server in a directory of its own, or, as "redis-sentinel", the same program as a
// sentinel. Without it the test is skipped.
func start(t testing.TB, program string, port int, settings ...string) *os.Process {
	t.Helper()
	path := os.Getenv("REDIS_SERVER")
	if path == "" {
		var err error
		if path, err = exec.LookPath("redis-server"); err != nil {
			t.Skipf("redis-server absent: install it, or set REDIS_SERVER: %v", err)
		}
	}
	dir := t.TempDir()
	args := append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", dir}, settings...)
	if program == "redis-sentinel" {
		config := filepath.Join(dir, "sentinel.conf")
		if err := os.WriteFile(config, []byte(strings.Join(settings, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args = []string{config, "--sentinel", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", dir}
	}
	cmd := exec.Command(path, args...)
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		err := cmd.Wait()
		var exit *exec.ExitError
		if t.Failed() || err != nil && !errors.As(err, &exit) {
			t.Logf("%s: %v\n%s", program, err, log)
		}
	})
	return cmd.Process
}

// await asks until there is no error.
func await(t testing.TB, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
