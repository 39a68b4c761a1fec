package budget

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// reserveFor is how long a computed reserve is used. Until the provider's day turns, a reserve only falls.
const reserveFor = time.Minute

// ReserveCache returns the amounts that the takes of backfills and of a refresh must leave for the schedule. It
// computes that only on request, since most runs refresh nothing. Safe for concurrent use.
type ReserveCache struct {
	Compute func(context.Context) (quota.Reserve, error)
	Now     func() time.Time
	Log     *slog.Logger

	mu   sync.Mutex
	at   time.Time // when last was computed; zero: not yet
	last quota.Reserve
}

// Update computes the reserve. A backfill does this before it spends units that the schedule might need.
func (r *ReserveCache) Update(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.update(ctx, r.Now())
}

func (r *ReserveCache) update(ctx context.Context, now time.Time) error {
	reserve, err := r.Compute(ctx)
	if err == nil {
		r.at, r.last = now, reserve
	}
	return err
}

// Reserve returns the amounts that the next take must leave. If it cannot be computed, the last reserve is used,
// which was larger unless the provider's day has turned since.
func (r *ReserveCache) Reserve(ctx context.Context) quota.Reserve {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if age := now.Sub(r.at); age >= 0 && age < reserveFor && now.Before(r.last.Until) {
		return r.last
	}
	if err := r.update(ctx, now); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "the last known reserve for the schedule is used", slog.Any("error", err))
	}
	return r.last
}
