package sharedledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Bounds of requests to a remote, which refuses larger ones with quota.ErrUnknown before it asks its server.
const (
	MaxPools   = 256                       // in a Batch or a Renewal
	MaxRows    = 100_000                   // of a Batch
	MaxWriters = 10_000                    // of a Batch
	MaxHorizon = 10 * 366 * 24 * time.Hour // of a log
)

// maxHost is the greatest size of a Host as JSON, in bytes.
const maxHost = 1 << 15

// maxUsed is the largest integer that every remote stores exactly.
const maxUsed = 1 << 53

// CheckAsk refuses an ask that no server could accept at any time.
func CheckAsk(a quota.Ask) error {
	if a.Grace > protocol.MaxWindow || a.Horizon > MaxHorizon {
		return fmt.Errorf("%w: grace %v, horizon %v", quota.ErrUnknown, a.Grace, a.Horizon)
	}
	t := a.Now
	if len(a.Midnights) > 1 {
		t = a.Midnights[1].Add(a.Grace)
	}
	return a.Check(t)
}

// Check refuses an operation that no writer numbers.
func (op Operation) Check() error {
	if !op.Generation.valid() || op.Number < 1 || !exact(op.Number, op.Nonce, op.Written) {
		return fmt.Errorf("%w: operation %+v", quota.ErrUnknown, op)
	}
	return checkWriter(op.Writer)
}

// CheckState refuses an invalid account name or writer id.
func CheckState(account string, writers []string) error {
	err := quota.CheckAccount(account)
	for _, w := range writers {
		err = cmp.Or(err, checkWriter(w))
	}
	return err
}

// checkWriter refuses anything but a writer's id: 1 to 32 letters and digits.
func checkWriter(id string) error {
	ok := len(id) >= 1 && len(id) <= 32
	for _, r := range id {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}
	if !ok {
		return fmt.Errorf("%w: writer %q: 1 to 32 letters and digits", quota.ErrUnknown, id)
	}
	return nil
}

// Check refuses a renewal that is out of bounds or has an empty pool name.
func (r Renewal) Check() error {
	renewed := r.Was.valid() && r.Next.valid() && r.Next >= 1 && r.Next != r.Was
	named := len(r.Pools) <= MaxPools && !slices.Contains(r.Pools, "")
	if !renewed || !named || r.Horizon < 0 || r.Horizon > MaxHorizon {
		return fmt.Errorf("%w: renewal %+v", quota.ErrUnknown, r)
	}
	return quota.CheckAccount(r.Account)
}

// Check refuses a batch that is empty or out of bounds.
func (b Batch) Check() error {
	if err := cmp.Or(quota.CheckAccount(b.Account), b.Host.check()); err != nil {
		return err
	}
	if len(b.Rows)+len(b.Snapshots) == 0 && b.Host == nil {
		return fmt.Errorf("%w: a batch of nothing", quota.ErrUnknown)
	}
	if len(b.Rows) > MaxRows || !b.Generation.valid() || b.Horizon < 0 || b.Horizon > MaxHorizon {
		return fmt.Errorf("%w: a batch of %d rows in generation %d for %v", quota.ErrUnknown,
			len(b.Rows), b.Generation, b.Horizon)
	}
	writers, pools := map[string]bool{}, map[string]bool{}
	for _, r := range b.Rows {
		writers[r.Writer] = true
		if err := checkWriter(r.Writer); err != nil {
			return err
		}
		if r.Number < 1 || !exact(r.Number, r.Nonce) {
			return fmt.Errorf("%w: row %d of writer %s with nonce %d", quota.ErrUnknown, r.Number, r.Writer, r.Nonce)
		}
		for pool, n := range r.Amounts {
			pools[pool] = true
			if pool == "" || n < 0 || n > quota.MaxLimit {
				return fmt.Errorf("%w: row %d of writer %s: %d of pool %q", quota.ErrUnknown, r.Number, r.Writer, n, pool)
			}
		}
	}
	for _, u := range b.Snapshots {
		pools[u.Pool] = true
		if u.Pool == "" || !u.Generation.valid() || u.Drain.Used < 0 || len(u.Windows) > protocol.MaxWindows ||
			slices.ContainsFunc(u.Windows, func(w WindowUsage) bool { return w.Used < 0 || w.Used > maxUsed }) {
			return fmt.Errorf("%w: snapshot of pool %q, out of bounds", quota.ErrUnknown, u.Pool)
		}
	}
	if len(writers) > MaxWriters || len(pools) > MaxPools {
		return fmt.Errorf("%w: a batch of %d writers and %d pools: at most %d and %d", quota.ErrUnknown,
			len(writers), len(pools), MaxWriters, MaxPools)
	}
	return nil
}

// check refuses a host without an id or too large for a remote; nil is accepted.
func (h *Host) check() error {
	if h == nil {
		return nil
	}
	kept, err := json.Marshal(h)
	if err != nil || h.ID == "" || len(h.ID) > 64 || len(kept) > maxHost {
		return fmt.Errorf("%w: host %q of %d bytes: an id of 1 to 64 bytes, %d in all", quota.ErrUnknown,
			h.ID, len(kept), maxHost)
	}
	return nil
}

func (g Generation) valid() bool { return g >= 0 && g <= MaxGeneration }

// exact reports whether every remote stores these numbers exactly.
func exact(numbers ...int64) bool {
	return !slices.ContainsFunc(numbers, func(n int64) bool { return n < 0 || n > int64(MaxGeneration) })
}
