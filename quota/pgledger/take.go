package pgledger

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

//go:embed sql/take.sql
var takeSQL string

// codes are the negative first numbers of an answer of take.sql.
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

// charges reports whether anything is to be charged.
func charges(a quota.Ask) bool {
	return !a.Peek && slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Amount > 0 })
}

func (l *Ledger) take(ctx context.Context, a quota.Ask, op sharedledger.Operation, writes bool) (quota.Decision, error) {
	if err := sharedledger.CheckAsk(a); err != nil {
		return quota.Decision{}, err
	}
	function := "look_1"
	if writes {
		function = "take_1"
	}
	found, err := l.ask(ctx, l.sql("SELECT {schema}."+function+"($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"),
		takeArgs(a, op), true, writes)
	if errors.Is(err, errAbsent) {
		if op.Number > 0 {
			return quota.Decision{}, refusedBy(a, op, []int64{codeNoState, 0})
		}
		return l.decideEmpty(ctx, a)
	}
	if err != nil {
		return quota.Decision{}, err
	}
	answer, err := readInts(found[0][0])
	if err != nil {
		return quota.Decision{}, corrupt(err.Error())
	}
	if answer[0] < 0 {
		return quota.Decision{}, refusedBy(a, op, answer)
	}
	d, err := decide(a, answer)
	if errors.Is(err, quota.ErrUnavailable) { // an answer kept for longer than the caller's midnights reach back
		return quota.Decision{}, fmt.Errorf("%w: %w", err, quota.ErrInDoubt)
	}
	if err != nil {
		return quota.Decision{}, corrupt(err.Error())
	}
	return d, nil
}

// takeArgs returns the parameters of take.sql.
func takeArgs(a quota.Ask, op sharedledger.Operation) [][]byte {
	var pools []string
	var amounts, windows, reach, ceilings, days []int64
	for _, c := range a.Charges {
		pools, amounts, windows = append(pools, c.Pool), append(amounts, c.Amount), append(windows, int64(len(c.Bounds)))
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
	return args(a.Account, a.ClockGap().Microseconds(), micros.Asked(a), micros.Horizon(a), precision, offset, micros.Of(a.Grace), days,
		string(a.Who.Purpose), a.Who.Region, a.Who.Method, pools, amounts, windows, reach, ceilings,
		op.Writer, op.Number, op.Nonce, int64(op.Generation), op.Written)
}

// decideEmpty answers a peek if there is no schema yet.
func (l *Ledger) decideEmpty(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	now, err := l.serverTime(ctx)
	if err != nil {
		return quota.Decision{}, err
	}
	if off := now - micros.Asked(a); micros.Asked(a) > 0 && max(off, -off) > a.ClockGap().Microseconds() {
		return quota.Decision{}, refusedBy(a, noOperation, []int64{codeClocks, now, micros.Asked(a)})
	}
	answer := []int64{1, now, now}
	for _, c := range a.Charges {
		answer = append(answer, make([]int64, 4+3*len(c.Bounds))...)
	}
	return decide(a, answer)
}

// serverTime returns the server's clock.
func (l *Ledger) serverTime(ctx context.Context) (now int64, err error) {
	found, err := l.ask(ctx, l.sql("SELECT {clock}"), nil, false, false)
	if err == nil {
		err = rows(found).each(func(r row) { now = r.int(0) })
	}
	return now, err
}

// decide makes the decision from the facts that take.sql answered with.
func decide(a quota.Ask, answer []int64) (d quota.Decision, err error) {
	want := 3
	for _, c := range a.Charges {
		want += 4 + 3*len(c.Bounds)
	}
	if len(answer) != want {
		return d, fmt.Errorf("an answer of %d numbers, not %d", len(answer), want)
	}
	next := func() (n int64) { n, answer = answer[0], answer[1:]; return n }
	allowed, now, clock := next() == 1, quota.FromMicros(next()), quota.FromMicros(next())
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
		return saying(quota.ErrUnavailable, "its clock says %s, this machine's or the newest entry %s: set them right, more than the grace apart is not trusted, nor more than %v",
			clock(n), clock(answer[2]), quota.MaxClockGap)
	case codeDays:
		if err := a.Check(quota.FromMicros(n)); err != nil {
			return err
		}
		return saying(quota.ErrUnavailable, "its clock says %s, outside the days that were sent", clock(n))
	case codeMoved:
		return errMoved
	case codeShort:
		return saying(sharedledger.ErrLost, "the log of pool %s is gone", a.Charges[n-1].Pool)
	case codeBehind:
		return saying(sharedledger.ErrLost, "its writer has written %d, here %d", op.Written, n)
	}
	return corrupt(fmt.Sprintf("an answer of code %d", answer[0]))
}

func clock(us int64) string { return quota.FromMicros(us).Format(time.RFC3339) }

// errMoved says that the server was promoted, or is another one, since the generation began.
var errMoved = saying(sharedledger.ErrLost, "it was promoted, or restored, or is another server, since")

func corrupt(what string) error {
	return saying(quota.ErrCorrupt, "%s: find out what wrote to the schema", what)
}

// args returns parameters in their text form.
func args(values ...any) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			out[i] = []byte(v)
		case int64:
			out[i] = strconv.AppendInt(nil, v, 10)
		case []int64:
			out[i] = ints(v)
		case []string:
			out[i] = []byte(texts(v))
		default:
			panic(fmt.Sprintf("a parameter of type %T", v))
		}
	}
	return out
}

func ints(v []int64) []byte {
	b := append(make([]byte, 0, 20*len(v)+2), '{')
	for i, n := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, '}')
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func texts(v []string) string {
	if len(v) == 0 {
		return "{}"
	}
	for i := range v {
		v[i] = quoted.Replace(v[i])
	}
	return `{"` + strings.Join(v, `","`) + `"}`
}

// readInts reads an array.
func readInts(b []byte) ([]int64, error) {
	s := strings.Trim(string(b), "{}")
	out := make([]int64, 0, 16)
	for field := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("an answer that is not numbers: %q", b)
		}
		out = append(out, n)
	}
	return out, nil
}
