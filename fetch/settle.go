package fetch

import (
	"context"

	"github.com/trendvidstream/ingest/quota"
)

// Settler is the part of the quota that Settle needs.
type Settler interface {
	Refund(ctx context.Context, d quota.Decision) error
	// Drain closes a pool, "" for every pool of the take, which the provider says is spent.
	Drain(ctx context.Context, d quota.Decision, pool string) error
	// Answered opens a doubted pool again; d is the take of a probe that was answered.
	Answered(ctx context.Context, d quota.Decision) error
}

// Settle tells the ledger what the answer to a call means for the take that paid for it; e is nil if the call was served.
// A call that surely never left is refunded, and so is one refused for its rate, if the upstream charges nothing for
// that. A pool that the upstream says is spent is closed. All else was paid for. Settle goes on if ctx is done. After an
// error the ledger counts too much, or asks the upstream once more, which is safe.
func Settle(ctx context.Context, q Settler, d quota.Decision, e *Error, freeBursts bool) (refunded bool, err error) {
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	switch {
	case e == nil:
		if d.Probe {
			err = q.Answered(ctx, d)
		}
		return false, err
	case e.Verdict == Spent:
		return false, q.Drain(ctx, d, e.Pool)
	case e.Verdict == Unsent, e.Verdict == Burst && e.Sure && freeBursts:
		err = q.Refund(ctx, d)
		return err == nil, err
	}
	return false, nil
}
