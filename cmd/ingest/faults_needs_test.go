//go:build unix

package main_test

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// need is a part of the protocol that faults run without, to see which of them need it.
type need string

const (
	nothing    need = ""
	journals   need = "journal"    // one that outlives the process
	generation need = "generation" // the signs of a loss, and what follows from them
	settling   need = "settle"     // waiting for the others
	numbers    need = "number"     // the same for the same operation
)

// journal returns the journal without what is switched off.
func (n need) journal(j sharedledger.Journal) sharedledger.Journal {
	if n == journals {
		return &memremote.Journal{} // gone with the process
	}
	return j
}

// remote returns the remote without what is switched off.
func (n need) remote(r sharedledger.Remote) sharedledger.Remote {
	switch n {
	case generation:
		return &forgetful{Remote: r}
	case numbers:
		return &unnumbered{Remote: r}
	}
	return r
}

// unnumbered uses a new number for every retry.
type unnumbered struct {
	sharedledger.Remote

	mu     sync.Mutex
	number int64
}

func (u *unnumbered) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	u.mu.Lock()
	u.number++
	op.Writer, op.Number, op.Written = op.Writer[:16]+rand.Text()[:16], 1, 0
	u.mu.Unlock()
	return u.Remote.TakeOnce(ctx, a, op)
}

// forgetful continues with whatever the server knows, and does not report a loss.
type forgetful struct {
	sharedledger.Remote
}

func (f *forgetful) now(ctx context.Context, account string, pools []string) (sharedledger.Generation, error) {
	s, err := f.Remote.State(ctx, account, nil)
	if err == nil && s.Generation != 0 {
		return s.Generation, nil
	}
	if err != nil && !errors.Is(err, sharedledger.ErrLost) {
		return 0, err
	}
	n, _ := rand.Int(rand.Reader, big.NewInt(int64(sharedledger.MaxGeneration)))
	return f.Renew(ctx, sharedledger.Renewal{Account: account, Pools: pools, Was: s.Generation, Next: sharedledger.Generation(n.Int64() + 1), First: true, Horizon: quota.MinHorizon})
}

func (f *forgetful) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	var pools []string
	for _, c := range a.Charges {
		pools = append(pools, c.Pool)
	}
	for range 5 {
		g, err := f.now(ctx, a.Account, pools)
		if err != nil {
			return quota.Decision{}, err
		}
		op.Generation, op.Written = g, 0
		d, err := f.Remote.TakeOnce(ctx, a, op)
		if !errors.Is(err, sharedledger.ErrLost) {
			return d, err
		}
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(sharedledger.MaxGeneration)))
		if _, err := f.Renew(ctx, sharedledger.Renewal{Account: a.Account, Pools: pools, Was: g, Next: sharedledger.Generation(n.Int64() + 1), First: true, Horizon: quota.MinHorizon}); err != nil {
			return quota.Decision{}, err
		}
	}
	return quota.Decision{}, quota.ErrUnavailable
}

// State never changes.
func (f *forgetful) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	s, err := f.Remote.State(ctx, account, writers)
	if err != nil && !errors.Is(err, sharedledger.ErrLost) {
		return s, err
	}
	s.Generation, s.Born = 1, time.Time{}
	for _, w := range writers { // it has all of it
		if s.Written == nil {
			s.Written = map[string]int64{}
		}
		s.Written[w] = max(s.Written[w], 1<<40)
	}
	return s, nil
}

func (f *forgetful) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	g, err := f.now(ctx, d.Account, nil)
	if err != nil {
		return time.Time{}, err
	}
	d.Generation, d.Snapshots = g, nil
	return f.Remote.Sync(ctx, d)
}

// TestFaultNeeds switches off one part of the protocol at a time: the faults that it is for must then fail, and make
// faults prints the table. On a busy machine an extra timeout may happen to repair what the part is for, so there are
// three attempts.
func TestFaultNeeds(t *testing.T) {
	t.Parallel()
	table := map[need][]string{
		journals:   {"hung, its processes killed, and resumed", "emptied, and nobody looks before it died", "postgres: an older copy, and nobody looks before it died"},
		generation: {"emptied (FLUSHALL)", "killed, and back empty in no time", "the log evicted", "postgres: back on an older copy of its data", "postgres: replica promoted, behind by 1s, hosts: 1"},
		settling:   {"two hosts, back empty", "two hosts, back empty, one had not seen what the other spent", "postgres: two hosts, an older copy: the gate is closed"},
		numbers:    {"reply lost 2 x (closed), exactly enough left", "reply lost 2 x (closed), plenty left", "postgres: reply lost 2 x (closed), plenty left"},
	}
	var faults []fault
	for off, names := range table {
		for _, f := range append(allFaults(), allFaultsOfPostgres()...) {
			if slices.Contains(names, f.name) {
				faults = append(faults, fault{"without " + string(off) + ": " + f.name, func(t *testing.T, _ need) *rig { return f.run(t, off) }})
			}
		}
	}
	runFaults(t, faults, func(t *testing.T, f fault) {
		for range 3 {
			r := f.run(t, nothing)
			line := r.judge(f.name)
			if len(r.wrong) > 0 {
				t.Logf("%-72s red, as it must: %s", f.name, r.wrong[0])
				return
			}
			t.Log(line)
		}
		t.Error("is the part needed?")
	})
}
