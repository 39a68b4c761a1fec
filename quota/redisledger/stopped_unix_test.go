//go:build unix

package redisledger_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

func TestStoppedServerIsUnavailableAndComesBack(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: 100 * time.Millisecond})
	take(t, l, benchAsk("a", 1, 100, "units"))
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err := l.Take(t.Context(), benchAsk("a", 1, 100, "units"))
	if !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("a hung server: %v, want error %v", err, quota.ErrUnavailable)
	}
	if err := s.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error { return s.client.Ping(ctx).Err() })
	// The call that ran into the time-out was executed or not, but never twice.
	if used := take(t, l, benchAsk("a", 0, 100, "units")).Pools[0].Windows[0].Used; used < 1 || used > 2 {
		t.Errorf("%d used after one take and one in doubt, want at least 1 and at most 2", used)
	}
}
