package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Refund gives back a take whose call was certainly never sent.
func (g *Governor) Refund(ctx context.Context, d Decision) error {
	if !d.Degraded {
		return g.ledger().Refund(ctx, g.Account, d)
	}
	if g.EmergencyAccount == nil || d.Row == 0 || g.Now().Sub(d.At) > protocol.RefundWithin {
		return fmt.Errorf("%w: an emergency of %s", ErrNotRefundable, d.At.UTC().Format(time.DateTime+"Z"))
	}
	return g.emergencies().RefundEmergency(ctx, g.Account, d.Row)
}

// The provider's clock and counters may turn a little after ours, so that a refusal just after midnight closes the
// pool for minutes instead of the day.
const (
	nearMidnight = 10 * time.Minute
	shortDrain   = 5 * time.Minute
)

// Drain records that the provider refused the call of d for quota. It closes the pool until the provider's first
// midnight after the take, or for minutes if the refusal is doubted (doubt.go). If pool is "" or d did not charge it,
// the provider counts differently from the tariff, and every pool that d charged is closed.
func (g *Governor) Drain(ctx context.Context, d Decision, pool string) error {
	today, until := g.Tariff.dayOf(d.At)
	early := d.At.Sub(today) < nearMidnight
	if early {
		until = g.Now().Add(shortDrain).Truncate(time.Second)
	}
	if !until.After(g.Now()) {
		return nil // the day that was spent is over
	}
	charged := slices.ContainsFunc(d.Pools, func(p PoolState) bool { return p.Pool == pool })
	var errs []error
	for _, p := range d.Pools {
		if charged && p.Pool != pool || !counted(p.Pool) {
			continue
		}
		no := Drain{Until: until}
		if !early {
			no = g.Tariff.doubt(p, today, g.Now(), until)
		}
		no.Used = usedToday(p.Windows)
		errs = append(errs, g.ledger().Drain(ctx, g.Account, p.Pool, no))
	}
	return errors.Join(errs...)
}

// Post records amounts that were spent at a time without a take. The zero Who is a person.
func (g *Governor) Post(ctx context.Context, who Who, amounts Cost, at time.Time) error {
	if err := g.Tariff.Check(); err != nil {
		return err
	}
	a := g.Tariff.ask(g.Account, g.Now())
	a.Who = cmp.Or(who, Who{Purpose: Manual, Method: protocol.PostMethod})
	for _, pool := range slices.Sorted(maps.Keys(amounts)) {
		if err := g.Tariff.CheckPool(pool); err != nil {
			return err
		}
		a.Charges = append(a.Charges, posted(pool, amounts[pool]))
	}
	return g.ledger().Post(ctx, a, at)
}

// DrainByHand closes a pool until the provider's next midnight, or with lift opens it again. A pool whose use is
// unknown stays closed: see OpenUnknown.
func (g *Governor) DrainByHand(ctx context.Context, pool string, lift bool) error {
	if err := g.Tariff.CheckPool(pool); err != nil {
		return err
	}
	if lift {
		return g.ledger().Drain(ctx, g.Account, pool, Drain{})
	}
	at := g.Now()
	if r, err := g.Report(ctx); err == nil {
		at = r.At
	} else if !errors.Is(err, ErrUnavailable) {
		return err
	}
	_, until := g.Tariff.dayOf(at)
	return g.ledger().Drain(ctx, g.Account, pool, Drain{Until: until, By: ByHand, At: at})
}

// CloseUnknown closes a pool because its use is not known: until nothing that was spent before now can count any
// more, which is the later of the provider's next midnight and the end of the pool's longest window, each with the
// grace. PostTotal opens it before that.
func (g *Governor) CloseUnknown(ctx context.Context, pool string) error {
	if err := g.Tariff.CheckPool(pool); err != nil {
		return err
	}
	now := g.Now().UTC()
	_, until := g.Tariff.dayOf(now)
	for _, w := range g.Tariff.pool(pool).Windows {
		if end := now.Add(w.Length); end.After(until) {
			until = end
		}
	}
	until = until.Add(g.Tariff.Grace + time.Second - 1).Truncate(time.Second)
	return g.ledger().Drain(ctx, g.Account, pool, Drain{Until: until, By: ByUnknown, At: now.Truncate(time.Microsecond)})
}

// OpenUnknown opens a pool even if its use is not known.
func (g *Governor) OpenUnknown(ctx context.Context, pool string) error {
	r, err := g.Report(ctx)
	if err != nil {
		return err
	}
	now := g.Now().Truncate(time.Microsecond)
	known := now
	for _, p := range r.Pools {
		if p.Pool == pool && !p.Unknown.Before(known) { // closed just now, or by a clock that is ahead
			known = p.Unknown.Add(time.Microsecond)
		}
	}
	if err := g.DrainByHand(ctx, pool, true); err != nil {
		return err
	}
	// The drain ended MaxClockGap ago, so that it is over by the clock of every host.
	return g.ledger().Drain(ctx, g.Account, pool, Drain{Until: now.Add(-MaxClockGap), By: ByUnknown, At: known})
}

// PostTotal records how much of a pool the provider has counted in the span of PoolReport.Total: it posts the missing
// part, returns the posted amount, and opens the pool.
func (g *Governor) PostTotal(ctx context.Context, who Who, pool string, total int64) (posted int64, err error) {
	r, err := g.Report(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range r.Pools {
		if p.Pool == pool {
			_, used := p.Total()
			posted = max(total-used, 0)
		}
	}
	if posted > 0 {
		err = g.Post(ctx, who, Cost{pool: posted}, g.Now())
	}
	return posted, cmp.Or(err, g.OpenUnknown(ctx, pool))
}

// Reset irrevocably deletes the account's charges and its drains. The provider does not forget, and may refuse before
// our limit is reached. by is logged as the person responsible; the report says when it was. ErrShared: several hosts
// share the ledger.
func (g *Governor) Reset(ctx context.Context, by string) error {
	if err := g.Ledger.Reset(ctx, g.Account); err != nil {
		return fmt.Errorf("reset account %s: %w", g.Account, err)
	}
	at := g.Now().Truncate(time.Second)
	if g.Log != nil {
		g.Log.WarnContext(ctx, "the account was reset by hand", slog.String("account", g.Account),
			slog.String("by", by), slog.Time("at", at))
	}
	for _, pool := range g.Tariff.PoolNames() { // closes no pool: it only records the time
		if err := g.ledger().Drain(ctx, g.Account, pool, Drain{Until: at, By: ByReset, At: at}); err != nil {
			return fmt.Errorf("note when account %s was reset: %w", g.Account, err)
		}
	}
	return nil
}

// posted returns a charge without limits.
func posted(pool string, amount int64) Charge {
	return Charge{Pool: pool, Amount: amount,
		Bounds: []Bound{{Window: Window{Name: "posted", Length: protocol.MinWindow, Limit: MaxLimit}, Ceiling: MaxLimit}}}
}

// Total returns the span, "today" or "in 768h", whose total a person posts where use is not known, and the pool's
// known use in it. It is the provider's day, or the pool's longest window if that is longer than any day.
func (p PoolReport) Total() (span string, used int64) {
	for _, w := range p.Windows {
		if w.Window.Name == p.Widest && w.Window.Length > longestDay {
			return "in " + w.Window.Name, w.Used
		}
	}
	return "today", usedToday(p.Windows)
}

// usedToday returns the use of the provider's day, or the use of any window if no day is counted.
func usedToday(windows []WindowState) int64 {
	used := int64(0)
	for _, w := range windows {
		if w.Window.Day() || used == 0 {
			used = w.Used
		}
	}
	return used
}
