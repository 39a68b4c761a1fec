package sqliteledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

func cancelled(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// A take that was acknowledged to a process stays charged when the process is killed the next moment, and the others
// go on at once.
func TestKilledProcessLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	l := open(t, path)
	for round := range 6 {
		account := fmt.Sprintf("round-%d", round)
		p := quotatest.Start(t, quotatest.Load{Address: path, Account: account, Limit: quota.MaxLimit, Amount: 1, For: time.Hour, Report: true})
		p.Go()
		told := 0
		for told < 20+7*round && p.Took() {
			told++
		}
		told += p.Kill()
		began := time.Now()
		a := ask(account, 1)
		a.Charges[0].Bounds = a.Charges[0].Bounds[:1]
		a.Charges[0].Bounds[0].Window.Limit, a.Charges[0].Bounds[0].Ceiling = quota.MaxLimit, quota.MaxLimit
		used := int(take(t, l, a).Pools[0].Windows[0].Used) - 1
		if used < told || used > told+1 {
			t.Errorf("told of %d takes, %d are in the ledger: want as many, or one more", told, used)
		}
		if waited := time.Since(began); waited > 20*time.Second {
			t.Errorf("the next writer waited %v for a process that is dead", waited)
		}
	}
}

// Eight processes that never pause share the file evenly, and none waits for long. On a busy machine every turn takes
// longer, so the bounds are multiples of a turn of all eight, and the best of eight attempts counts: where the lock is
// unfair, none is within them.
func TestEightProcessesShareTheFileFairly(t *testing.T) {
	const lasts = 2 * time.Second
	var wrong string
	for range 8 {
		path := filepath.Join(t.TempDir(), "quota.db")
		open(t, path)
		work := quotatest.Processes(t, 8, quotatest.Load{Address: path, Account: "default", Limit: quota.MaxLimit, Amount: 1, For: lasts})
		takes, least := 0, work[0].Takes
		var worst99, worst time.Duration
		for i, w := range work {
			if w.Errors > 0 {
				t.Fatalf("process %d: %d errors, first %s, want none", i, w.Errors, w.Error)
			}
			takes, least = takes+w.Takes, min(least, w.Takes)
			worst99, worst = max(worst99, w.P99), max(worst, w.Longest)
		}
		mean := takes / len(work)
		turn := lasts / time.Duration(max(mean, 1))
		p99, longest := max(50*time.Millisecond, 10*turn), max(250*time.Millisecond, 20*turn)
		wrong = fmt.Sprintf("8 processes: %d takes/s, the least had %d of a mean of %d; p99 %v of %v, longest %v of %v",
			takes/2, least, mean, worst99, p99, worst, longest)
		t.Log(wrong)
		if worst99 < p99 && worst < longest && least*2 >= mean {
			return
		}
	}
	t.Errorf("%s; nobody may be under half the mean", wrong)
}
