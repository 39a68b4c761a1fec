package sharedledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Storms of losses over a remote in memory; TestSoakStorms of package redisledger has real ones.
func TestStorms(t *testing.T) {
	storms(t, 0, 60, false)
	storms(t, 0, 40, true)
}

// Emergencies are spent in them, and given back.
func TestStormsOfEmergencies(t *testing.T) {
	for seed := range uint64(40) {
		quotatest.Storm(t, quotatest.StormBackend{Journal: memoryJournal, Remote: forgetting, Emergencies: true}, seed)
		if t.Failed() {
			return
		}
	}
}

func TestLongStorms(t *testing.T) {
	storms(t, 60, 400, false)
	storms(t, 40, 400, true)
}

// Of 10,000 seeds these counted too much: because a process that had not noticed that a sibling had synced a new
// generation took the missing number of its last void row for a loss, or because the older of two snapshots, synced
// last, made up once more for what the younger one had made up for.
func TestStormsThatCountedTooMuch(t *testing.T) {
	for _, seed := range []uint64{2899, 4294, 6186, 6226, 9057, 9561, 9588} {
		storms(t, seed, seed+1, false)
	}
}

// A process ended right after a take, and the copy that came back was older than that: no process read the ledger
// back, and 1,030 of 1,000 were sent.
func TestStormsThatSentTooMuch(t *testing.T) { storms(t, 981, 982, true) }

// With any older copy of the remote back, no host spends units again that were seen spent.
func TestRestoredCopies(t *testing.T) {
	for _, r := range quotatest.Restores(t, quotatest.StormBackend{Journal: memoryJournal, Remote: forgetting}, 5) {
		t.Log(r)
	}
}

func storms(t *testing.T, from, to uint64, idle bool) {
	t.Helper()
	for seed := from; seed < to; seed++ {
		quotatest.Storm(t, quotatest.StormBackend{Journal: memoryJournal, Remote: forgetting, Idle: idle}, seed)
		if t.Failed() {
			return
		}
	}
}

// forgetting is a remote in memory that is lost in every way.
func forgetting(_ testing.TB, clock *quotatest.Clock) (func() sharedledger.Remote, []quotatest.Loss) {
	r := &replaced{Remote: &memremote.Remote{Now: clock.Now}}
	older := func(name string) quotatest.Loss {
		return quotatest.Loss{Name: name, Prepare: func() func() {
			image := r.Image()
			return func() { r.Load(image); r.unknown = true }
		}}
	}
	return func() sharedledger.Remote { return r }, []quotatest.Loss{
		{Name: "EMPTIED", Prepare: func() func() { return func() { r.Load(memremote.Image{}) } }},
		older("AN OLDER COPY IS BACK"), older("ROLLED BACK IN PLACE"), older("A REPLICA THAT LAGS IS PROMOTED"),
		{Name: "OLDER KEYS ARE RESTORED", Prepare: func() func() {
			image := r.Image()
			return func() { r.Load(image) }
		}},
		{Name: "RESTARTED", Prepare: func() func() { return func() { r.unknown = true } }},
	}
}

// replaced is a remote that says, until the next generation, when it is another server than it was.
type replaced struct {
	*memremote.Remote

	unknown bool
}

var errReplaced = fmt.Errorf("%w: another server", sharedledger.ErrLost)

func (r *replaced) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if r.unknown {
		return quota.Decision{}, errReplaced
	}
	return r.Remote.TakeOnce(ctx, a, op)
}

func (r *replaced) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	s, err := r.Remote.State(ctx, account, writers)
	if r.unknown && err == nil && s.Generation != 0 {
		err = errReplaced
	}
	return s, err
}

func (r *replaced) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	if r.unknown {
		return time.Time{}, errReplaced
	}
	return r.Remote.Sync(ctx, d)
}

func (r *replaced) Renew(ctx context.Context, n sharedledger.Renewal) (sharedledger.Generation, error) {
	g, err := r.Remote.Renew(ctx, n)
	r.unknown = r.unknown && g != n.Next
	return g, err
}
