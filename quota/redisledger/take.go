package redisledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Take implements quota.Ledger. Neither a peek nor a refusal writes anything.
func (l *Ledger) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	return l.take(ctx, a, l.scripts["take"], nil)
}

// TakeOnce implements sharedledger.Remote.
func (l *Ledger) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if err := op.Check(); err != nil {
		return quota.Decision{}, err
	}
	return l.take(ctx, a, l.own(a.Account, op.Generation).once, &op)
}

// take runs take.lua, for a numbered operation or none.
func (l *Ledger) take(ctx context.Context, a quota.Ask, s script, op *sharedledger.Operation) (quota.Decision, error) {
	if err := sharedledger.CheckAsk(a); err != nil {
		return quota.Decision{}, err
	}
	keys := l.keys(a.Account, pools(a)...)
	reply, err := l.run(ctx, s, keys, takeArgs(a, op))
	if op != nil {
		err = l.classifyNoScript(ctx, a.Account, op.Generation, err)
	}
	if us, ok := outsideDays(err); ok {
		err = cmp.Or(a.Check(protocol.Time(us)), err)
	}
	if err != nil {
		return quota.Decision{}, err
	}
	d, total, err := decide(a, reply)
	if total > rebaseAbove {
		l.rebase(ctx, a, keys)
	}
	if errors.Is(err, quota.ErrUnavailable) { // a stored answer from before the caller's first midnight
		return quota.Decision{}, fmt.Errorf("%w: %w", err, quota.ErrInDoubt)
	}
	if err != nil {
		return quota.Decision{}, corrupt(keys, err.Error())
	}
	return d, nil
}

// rebaseAbove is half of the exact range, thousands of the largest takes before a total is not exact.
const rebaseAbove = exact / 2

// rebase reduces the totals of the pools. If it fails, the next take tries again.
func (l *Ledger) rebase(ctx context.Context, a quota.Ask, keys []string) {
	_, _ = l.run(ctx, l.scripts["rebase"], keys, append(appendFields([]any{metaField}, a), int64(rebaseAbove)))
}

func pools(a quota.Ask) []string {
	names := make([]string, len(a.Charges))
	for i, c := range a.Charges {
		names[i] = c.Pool
	}
	return names
}

func appendFields(args []any, a quota.Ask) []any {
	for _, c := range a.Charges {
		args = append(args, poolField+c.Pool)
	}
	return args
}

// takeArgs returns the ARGV of take.lua, for a numbered operation or none.
func takeArgs(a quota.Ask, op *sharedledger.Operation) []any {
	precision, begin := micros.Steps(a)
	if a.Peek {
		precision, begin = 0, 1
	}
	o := cmp.Or(op, &sharedledger.Operation{})
	head := put7(make([]byte, 0, 256), a.ClockGap().Microseconds(), micros.Asked(a), micros.Of(a.Horizon),
		precision, begin, micros.Of(a.Grace),
		o.Number, o.Nonce, int64(o.Generation), o.Written, int64(len(a.Midnights)))
	for _, m := range a.Midnights {
		head = put7(head, max(m.UnixMicro(), 0))
	}
	for _, c := range a.Charges {
		head = append(put7(head, c.Amount), byte(len(c.Bounds)))
		for _, bound := range c.Bounds {
			reach := int64(0)
			if !bound.Window.Day() {
				reach = micros.Of(bound.Window.Length + a.Grace)
			}
			head = put7(head, reach, bound.Ceiling)
		}
	}
	args := appendFields(append(make([]any, 0, 3+len(a.Charges)), head, whoField(a.Who)), a)
	if op != nil {
		args = append(args, writerPrefix+op.Writer)
	}
	return args
}

// decide makes the decision from the facts of take.lua, and returns the largest total.
func decide(a quota.Ask, reply any) (d quota.Decision, total int64, err error) {
	r := newReader(reply)
	_, _ = r.next(), r.next() // number and nonce
	charged, now := r.next(), r.next()
	facts, entries := micros.Facts(a, r.next)
	for _, f := range facts {
		total = max(total, f.Total)
	}
	clock := now
	if charged == 0 {
		clock = r.next()
	}
	if err := r.done(); err != nil {
		return quota.Decision{}, total, err
	}
	if now <= 0 {
		return quota.Decision{}, total, fmt.Errorf("its clock says %d", now)
	}
	d, err = micros.Decide(a, protocol.Time(clock), protocol.Time(now), facts, entries, charged == 1)
	return d, total, err
}

// outsideDays returns the clock of an answer outside the caller's midnights.
func outsideDays(err error) (int64, bool) {
	var us int64
	var answer redis.Error
	if !errors.As(err, &answer) {
		return 0, false
	}
	_, scanErr := fmt.Sscanf(answer.Error(), "DAYS %d", &us)
	return us, scanErr == nil
}
