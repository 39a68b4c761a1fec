package redisledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
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
	args := []any{max(d.At.UnixMicro(), 0), quota.RefundWithin.Microseconds(), metaField}
	for _, p := range d.Pools {
		if p.Charged == 0 {
			continue
		}
		pools = append(pools, p.Pool)
		args = append(args, poolField+p.Pool)
		entries = append(entries, p.Entry, p.Charged)
	}
	_, err := l.run(ctx, l.scripts.refund, l.keys(account, pools...), append(args, entries...))
	return err
}

// Post implements quota.Ledger.
func (l *Ledger) Post(ctx context.Context, a quota.Ask, at time.Time) error {
	if err := check(a); err != nil {
		return err
	}
	args := []any{asked(a), horizon(a), max(at.UnixMicro(), 0), metaField, whoField(a.Who)}
	for _, c := range a.Charges {
		args = append(args, poolField+c.Pool)
	}
	for _, c := range a.Charges {
		args = append(args, c.Amount)
	}
	_, err := l.run(ctx, l.scripts.post, l.keys(a.Account, pools(a)...), args)
	return err
}

// Drain implements quota.Ledger.
func (l *Ledger) Drain(ctx context.Context, account, pool string, until time.Time, used int64) error {
	if err := quota.CheckAccount(account); err != nil {
		return err
	}
	if pool == "" || used < 0 {
		return fmt.Errorf("%w: drain of pool %q at %d used", quota.ErrUnknown, pool, used)
	}
	us := int64(0)
	if !until.IsZero() {
		us = min(max(until.UnixMicro(), 0), exact)
	}
	_, err := l.run(ctx, l.scripts.drain, l.keys(account),
		[]any{us, min(used, exact), quota.MinHorizon.Microseconds(), metaField, poolField + pool})
	return err
}

// Reset implements quota.Ledger.
func (l *Ledger) Reset(ctx context.Context, account string) error {
	if err := quota.CheckAccount(account); err != nil {
		return err
	}
	_, err := l.run(ctx, l.scripts.reset, l.keys(account), []any{metaField})
	return err
}

// Spent implements quota.Ledger.
func (l *Ledger) Spent(ctx context.Context, account string, since time.Time) ([]quota.Spent, error) {
	if err := quota.CheckAccount(account); err != nil {
		return nil, err
	}
	// Which pools there are is asked first: the keys of a script are named before it runs.
	args := []any{max(since.UnixMicro(), 0), metaField}
	keys := l.keys(account)
	reply, err := l.run(ctx, l.scripts.spent, keys, args)
	if err != nil {
		return nil, err
	}
	s, err := readSpent(reply, nil)
	if err != nil {
		return nil, corrupt(keys, err.Error())
	}
	for _, p := range s.pools {
		args = append(args, poolField+p)
	}
	keys = l.keys(account, s.pools...)
	if reply, err = l.run(ctx, l.scripts.spent, keys, args); err != nil {
		return nil, err
	}
	if s, err = readSpent(reply, s.pools); err != nil {
		return nil, corrupt(keys, err.Error())
	}
	quota.SortSpent(s.sums)
	return s.sums, nil
}

type spent struct {
	pools []string
	sums  []quota.Spent
}

// readSpent reads the answer of spent.lua, asked about pools.
func readSpent(reply any, pools []string) (spent, error) {
	var s spent
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2+len(pools) {
		return s, fmt.Errorf("an answer of another shape: %T", reply)
	}
	spenders, err := readSpenders(parts[0])
	if err != nil {
		return s, err
	}
	fields, _ := parts[1].([]any)
	for _, f := range fields {
		name, _ := f.(string)
		pool, ok := strings.CutPrefix(name, poolField)
		if !ok || pool == "" {
			return s, fmt.Errorf("field %q is not a pool", name)
		}
		s.pools = append(s.pools, pool)
	}
	for i, pool := range pools {
		r := newReader(parts[2+i])
		for r.packed != "" && r.err == nil {
			who, amount := spenders[r.next()], r.next()
			if amount > 0 {
				s.sums = append(s.sums, quota.Spent{Pool: pool, Who: who, Amount: amount})
			}
		}
		if err := r.done(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// unattributedID is UNKNOWN in the scripts.
const unattributedID = 65535

// readSpenders are the spenders by id; 0 is nobody, of whom no more than the sum is known.
func readSpenders(reply any) (map[int64]quota.Who, error) {
	flat, _ := reply.([]any)
	spenders := map[int64]quota.Who{unattributedID: sharedledger.Unattributed}
	for i := 0; i+1 < len(flat); i += 2 {
		field, _ := flat[i].(string)
		id, ok := flat[i+1].(int64)
		who, err := readWho(field)
		if err != nil || !ok {
			return nil, fmt.Errorf("field %q is not a spender", field)
		}
		spenders[id] = who
	}
	return spenders, nil
}

// whoField names a spender: purpose, region and method, the first two with their lengths before them.
func whoField(w quota.Who) string {
	b := append(make([]byte, 0, 64), whoPrefix...)
	for _, s := range []string{string(w.Purpose), w.Region} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return string(append(b, w.Method...))
}

func readWho(field string) (quota.Who, error) {
	rest, ok := strings.CutPrefix(field, whoPrefix)
	if !ok {
		return quota.Who{}, fmt.Errorf("field %q is not a spender", field)
	}
	var words [2]string
	for i := range words {
		n, size := binary.Uvarint([]byte(rest))
		if size <= 0 || n > uint64(len(rest)-size) {
			return quota.Who{}, fmt.Errorf("field %q is not a spender", field)
		}
		words[i], rest = rest[size:size+int(n)], rest[size+int(n):]
	}
	return quota.Who{Purpose: quota.Purpose(words[0]), Region: words[1], Method: rest}, nil
}
