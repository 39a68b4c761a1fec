package redisledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The fields of an account's state; see lua/common.lua.
const (
	metaField = "m"
	poolField = "p"
	whoPrefix = "w"
)

// Refund implements quota.Ledger.
func (l *Ledger) Refund(ctx context.Context, account string, d quota.Decision) error {
	if err := quota.CheckAccount(account); err != nil {
		return err
	}
	if !d.Allowed {
		return fmt.Errorf("%w: it was refused", quota.ErrNotRefundable)
	}
	var pools []string
	var entries []any
	args := []any{max(d.At.UnixMicro(), 0), protocol.RefundWithin.Microseconds(), metaField}
	for _, p := range d.Pools {
		if p.Charged == 0 {
			continue
		}
		pools = append(pools, p.Pool)
		args = append(args, poolField+p.Pool)
		entries = append(entries, p.Entry, p.Charged)
	}
	_, err := l.run(ctx, l.scripts["refund"], l.keys(account, pools...), append(args, entries...))
	return err
}

// Post implements quota.Ledger.
func (l *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	if err := sharedledger.CheckAsk(a); err != nil {
		return err
	}
	args := appendFields([]any{micros.Asked(a), micros.Of(a.Horizon), max(at.UnixMicro(), 0),
		metaField, whoField(a.Who)}, a)
	for _, c := range a.Charges {
		args = append(args, c.Amount)
	}
	_, err := l.run(ctx, l.scripts["post"], l.keys(a.Account, pools(a)...), append(args, a.ClockGap().Microseconds()))
	return err
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(ctx context.Context, account, pool string, d quota.Drain) error {
	if err := d.Check(account, pool); err != nil {
		return err
	}
	drain := put7(put7(nil, micros.PutDrain(d)...), quota.MinHorizon.Microseconds())
	_, err := l.run(ctx, l.scripts["drain"], l.keys(account), []any{drain, metaField, poolField + pool})
	return err
}

// Reset implements quota.Ledger.
func (l *Ledger) Reset(ctx context.Context, account string) error {
	if err := quota.CheckAccount(account); err != nil {
		return err
	}
	_, err := l.run(ctx, l.scripts["reset"], l.keys(account), nil)
	return err
}

// whoField returns a spender's field: a list in JSON.
func whoField(w quota.Who) string {
	b, _ := json.Marshal([]string{string(w.Purpose), w.Region, w.Client, w.Method}) // it never fails
	return whoPrefix + string(b)
}
