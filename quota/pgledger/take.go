package pgledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// An answer of take.sql that begins with one of these codes is an error.
const (
	codeNoState    = -1
	codeGeneration = -2
	codeClone      = -3
	codeSynced     = -4
	codeClocks     = -5
	codeDays       = -6
	codeMoved      = -7
	codeShort      = -8
	codeBehind     = -9
	codeWriters    = -10
)

// Take implements quota.Ledger. Neither a peek nor a refusal writes anything.
func (l *Ledger) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	return l.take(ctx, a, sharedledger.Operation{}, charges(a))
}

// TakeOnce implements sharedledger.Remote.
func (l *Ledger) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if err := op.Check(); err != nil {
		return quota.Decision{}, err
	}
	return l.take(ctx, a, op, charges(a) && op.Nonce > 0)
}

// charges reports whether the ask charges anything.
func charges(a quota.Ask) bool {
	return !a.Peek && slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Amount > 0 })
}

func (l *Ledger) take(ctx context.Context, a quota.Ask, op sharedledger.Operation,
	writes bool) (quota.Decision, error) {
	if err := sharedledger.CheckAsk(a); err != nil {
		return quota.Decision{}, err
	}
	function := "peek"
	if writes {
		function = "take"
	}
	var answer []int64
	err := l.with(ctx, l.timeout, writes, func(ctx context.Context, c *pgxpool.Conn) error {
		return c.QueryRow(ctx, l.sql("SELECT {schema}."+function+
			"_{version}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)"),
			append([]any{l.mode()}, takeArgs(a, op)...)...).Scan(&answer)
	})
	if errors.Is(err, errAbsent) {
		if op.Number > 0 {
			return quota.Decision{}, refusedBy(a, op, []int64{codeNoState, 0})
		}
		return l.decideEmpty(ctx, a)
	}
	if err != nil {
		return quota.Decision{}, err
	}
	if answer[0] < 0 {
		return quota.Decision{}, refusedBy(a, op, answer)
	}
	d, err := decide(a, answer)
	if errors.Is(err, quota.ErrUnavailable) { // a stored answer from before the caller's first midnight
		return quota.Decision{}, fmt.Errorf("%w: %w", err, quota.ErrInDoubt)
	}
	if err != nil {
		return quota.Decision{}, corrupt(err.Error())
	}
	return d, nil
}

// takeArgs returns the parameters of take.sql.
func takeArgs(a quota.Ask, op sharedledger.Operation) []any {
	var pools []string
	var windows []int32
	var amounts, reach, ceilings, days []int64
	for _, c := range a.Charges {
		pools, amounts, windows = append(pools, c.Pool), append(amounts, c.Amount), append(windows, int32(len(c.Bounds)))
		for _, b := range c.Bounds {
			r := int64(0)
			if !b.Window.Day() {
				r = micros.Of(b.Window.Length + a.Grace)
			}
			reach, ceilings = append(reach, r), append(ceilings, b.Ceiling)
		}
	}
	for _, m := range a.Midnights {
		days = append(days, m.UnixMicro())
	}
	precision, offset := micros.Steps(a)
	return []any{
		a.Account, a.ClockGap().Microseconds(), micros.Asked(a), micros.Of(a.Horizon), precision,
		offset, micros.Of(a.Grace), days,
		string(a.Who.Purpose), a.Who.Region, a.Who.Method, a.Who.Client, pools, amounts, windows, reach, ceilings,
		op.Writer, op.Number, op.Nonce, int64(op.Generation), op.Written,
	}
}

// decideEmpty answers a peek while there is no schema.
func (l *Ledger) decideEmpty(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	now, err := l.serverTime(ctx)
	if err != nil {
		return quota.Decision{}, err
	}
	if err := clocksApart(a, now); err != nil {
		return quota.Decision{}, err
	}
	answer := []int64{1, now, now}
	for _, c := range a.Charges {
		answer = append(answer, make([]int64, 8+3*len(c.Bounds))...)
	}
	return decide(a, answer)
}

// clocksApart returns an error if the clocks of the server and of the caller are too far apart.
func clocksApart(a quota.Ask, now int64) error {
	if off := now - micros.Asked(a); micros.Asked(a) > 0 && max(off, -off) > a.ClockGap().Microseconds() {
		return refusedBy(a, sharedledger.Operation{}, []int64{codeClocks, now, micros.Asked(a)})
	}
	return nil
}

// serverTime returns the server's clock.
func (l *Ledger) serverTime(ctx context.Context) (now int64, err error) {
	err = l.with(ctx, l.timeout, false, func(ctx context.Context, c *pgxpool.Conn) error {
		return c.QueryRow(ctx, l.sql("SELECT {clock}"), pgx.QueryExecModeExec).Scan(&now)
	})
	return now, err
}

// decide makes the decision from the facts of take.sql.
func decide(a quota.Ask, answer []int64) (d quota.Decision, err error) {
	want := 3
	for _, c := range a.Charges {
		want += 8 + 3*len(c.Bounds)
	}
	if len(answer) != want {
		return d, fmt.Errorf("an answer of %d numbers, not %d", len(answer), want)
	}
	next := inTurn(answer)
	allowed, now, clock := next() == 1, protocol.Time(next()), protocol.Time(next())
	facts, entries := micros.Facts(a, next)
	return micros.Decide(a, clock, now, facts, entries, allowed)
}

// refusedBy returns the error for a negative answer.
func refusedBy(a quota.Ask, op sharedledger.Operation, answer []int64) error {
	n := answer[1]
	switch answer[0] {
	case codeNoState:
		return saying(sharedledger.ErrLost, "account %s has no generation", a.Account)
	case codeGeneration:
		return errGeneration(n)
	case codeClone:
		return saying(sharedledger.ErrClone, "it has written number %d", n)
	case codeSynced:
		return saying(sharedledger.ErrSynced, "number %d", n)
	case codeClocks:
		return &quotaError{quota.ClockError(protocol.Sprintf("postgres: its clock says %s, "+
			"the newest entry or this machine's clock says %s: set the clocks, which may differ by the grace, and by %v at most",
			protocol.Time(n), protocol.Time(answer[2]), quota.MaxClockGap))}
	case codeDays:
		if err := a.Check(protocol.Time(n)); err != nil {
			return err
		}
		return &quotaError{
			quota.ClockError(protocol.Sprintf("postgres: its clock says %s, outside the days that were sent", protocol.Time(n)))}
	case codeMoved:
		return errMoved
	case codeShort:
		return errLost(a.Account, "pool "+a.Charges[n-1].Pool)
	case codeWriters:
		return errLost(a.Account, "its writers")
	case codeBehind:
		return saying(sharedledger.ErrLost, "its writer has written %d, here %d", op.Written, n)
	}
	return corrupt(fmt.Sprintf("an answer of code %d", answer[0]))
}

// errMoved says that the server was promoted, restored or replaced since the generation began.
var errMoved = saying(sharedledger.ErrLost, "it was promoted, or restored, or is another server, since")

func corrupt(what string) error {
	return saying(quota.ErrCorrupt, "%s: find out which program wrote to the schema", what)
}
