package redisledger_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// longestCall returns how long the server was busy with any one command of do: its share of the processor, if others use
// that too.
func longestCall(t testing.TB, s *server, do func()) time.Duration {
	t.Helper()
	ctx := t.Context()
	s.client.ConfigSet(ctx, "slowlog-max-len", "1000000")
	s.client.ConfigSet(ctx, "slowlog-log-slower-than", "0")
	s.client.Do(ctx, "slowlog", "reset")
	ran, waited := scheduled(s.process.Pid)
	do()
	s.client.ConfigSet(ctx, "slowlog-log-slower-than", "-1")
	ranAfter, waitedAfter := scheduled(s.process.Pid)
	calls, err := s.client.SlowLogGet(ctx, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	longest := time.Duration(0)
	for _, c := range calls {
		longest = max(longest, c.Duration)
	}
	crowd := 1 + (waitedAfter-waited)/max(ranAfter-ran, 1)
	t.Logf("%d calls, the longest %v, of a server that took %.1f times as long as it ran", len(calls), longest, crowd)
	return time.Duration(float64(longest) / crowd)
}

// scheduled returns for how long a process has run, and for how long it has waited to, in nanoseconds; 0 if it is not on
// Linux, which alone says so.
// https://docs.kernel.org/scheduler/sched-stats.html
func scheduled(pid int) (ran, waited float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err == nil {
		_, _ = fmt.Sscan(string(text), &ran, &waited)
	}
	return ran, waited
}

// tenfold is about ten times the longest call when the machine is not busy.
const tenfold = 150 * time.Millisecond

// A loss after which two hosts sync a full day each: no call blocks the server for long, and takes made meanwhile are
// counted once.
func TestSyncOfTwoFullDaysDoesNotBlockOthers(t *testing.T) {
	const each = 87_500
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 1)
	now := time.Now()
	step := 20 * time.Hour / each
	syncRows := func(rows []sharedledger.Row, d sharedledger.Batch) {
		d.Account, d.Generation, d.Horizon = "a", 1, quota.MinHorizon
		for len(rows) > sharedledger.MaxRows {
			d.Rows, rows = rows[:sharedledger.MaxRows], rows[sharedledger.MaxRows:]
			if _, err := l.Sync(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
		d.Rows = rows
		if _, err := l.Sync(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	a := benchAsk("a", 1, 1_000_000, "units", "search")
	a.Now = time.Time{}
	var over atomic.Bool
	var takes int64
	longest := longestCall(t, s, func() {
		var wait sync.WaitGroup
		wait.Go(func() {
			for !over.Load() {
				if _, err := once(l, a, 1, "taker", takes+1); err != nil {
					t.Error(err)
					return
				}
				takes++
			}
		})
		syncRows(rows("a", "a", each, now.Add(-20*time.Hour), step), sharedledger.Batch{Host: &sharedledger.Host{ID: "a"}})
		syncRows(rows("a", "b", each, now.Add(-20*time.Hour+step/2), step), sharedledger.Batch{Host: &sharedledger.Host{ID: "b"},
			Snapshots: []sharedledger.UsageSnapshot{{Pool: "units", Generation: 9, At: now.Add(-time.Millisecond), Windows: []sharedledger.WindowUsage{
				{Start: now.Add(-24 * time.Hour), Used: 2*each + 7}}}}})
		over.Store(true)
		wait.Wait()
	})
	if longest > tenfold {
		t.Errorf("the server was busy with one call for %v, want at most %v", longest, tenfold)
	}
	a.Charges[0].Amount, a.Charges[1].Amount = 0, 0
	if used := take(t, l, a).Pools[0].Windows[0].Used; used != 2*each+7+takes {
		t.Errorf("%d used after %d rows, 7 more that were seen, and %d takes", used, 2*each, takes)
	}
	var spent []quota.Spent
	if longest := longestCall(t, s, func() { spent, _ = l.Spent(t.Context(), "a", now.Add(-24*time.Hour), 0) }); longest > tenfold {
		t.Errorf("a report kept the server busy for %v, want at most %v", longest, tenfold)
	}
	sum := int64(0)
	for _, p := range spent {
		if p.Pool == "units" {
			sum += p.Amount
		}
	}
	if sum != 2*each+7+takes {
		t.Errorf("the report has %d", sum)
	}
	if n := s.client.LLen(t.Context(), "ingest:{a}:units").Val(); n != 2*each+1+takes {
		t.Errorf("%d entries", n)
	}
	if keys := s.client.Keys(t.Context(), "*").Val(); len(keys) != 3 {
		t.Errorf("left over: %v, want 3 of them", keys)
	}
	t.Log(fmt.Sprint(takes, " takes meanwhile"))
}
