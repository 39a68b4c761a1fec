package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// Governor draws the cost of calls from a ledger as a tariff prices them, and decides what still
// goes on when the ledger cannot answer. Safe for concurrent use.
type Governor struct {
	Ledger  Ledger
	Tariff  *Tariff
	Account string
	Now     func() time.Time
	Journal Journal      // nil: every call fails closed while the ledger cannot answer
	Log     *slog.Logger // nil: nothing is logged
}

// Request is one call that wants to be made.
type Request struct {
	Method  string // as costs.yaml names it
	Region  string // "" where a call has none
	Purpose Purpose
}

// Take draws the cost of one call. A refusal is a value. Errors: ErrUnknown for a method without a
// price or a purpose that does not exist, ErrNeverFits, ErrClosed when the ledger cannot answer and
// the call may not go on without it, otherwise what the ledger found wrong.
func (g *Governor) Take(ctx context.Context, r Request) (Decision, error) {
	a, err := g.ask(r)
	if err != nil {
		return Decision{}, err
	}
	if err := g.settleEmergency(ctx); err != nil {
		return g.degraded(ctx, a, err)
	}
	d, err := g.Ledger.Take(ctx, a)
	if err != nil {
		return g.degraded(ctx, a, err)
	}
	return d, nil
}

// Cost is what one call of method draws.
func (t *Tariff) Cost(method string) (Cost, error) {
	cost, ok := t.Methods[method]
	if !ok {
		return nil, fmt.Errorf("%w: method %q has no price in table %s: %s", ErrUnknown, method, t.Table,
			closest(method, slices.Sorted(maps.Keys(t.Methods))))
	}
	return cost, nil
}

func (g *Governor) ask(r Request) (Ask, error) {
	if _, err := ParsePurpose(string(r.Purpose)); err != nil {
		return Ask{}, err
	}
	cost, err := g.Tariff.Cost(r.Method)
	if err != nil {
		return Ask{}, err
	}
	a := g.Tariff.ask(g.Account, g.Now())
	a.Who = Who{Purpose: r.Purpose, Region: r.Region, Method: r.Method}
	for _, p := range g.Tariff.Pools {
		if amount, ok := cost[p.Name]; ok {
			a.Charges = append(a.Charges, p.charge(amount, g.Tariff.Ceilings[r.Purpose]))
		}
	}
	return a, nil
}

func (t *Tariff) ask(account string, now time.Time) Ask {
	horizon := MinHorizon
	for _, p := range t.Pools {
		horizon = max(horizon, p.longest()+t.Grace)
	}
	return Ask{Account: account, Midnights: Midnights(now, t.Zone), Grace: t.Grace, Horizon: horizon, Now: now}
}

func (p Pool) charge(amount int64, ceiling Share) Charge {
	c := Charge{Pool: p.Name, Amount: amount}
	for _, w := range p.Windows {
		c.Bounds = append(c.Bounds, Bound{Window: w, Ceiling: ceiling.Of(w.Limit)})
	}
	return c
}

// longest is the longest window of the pool; a day has at most 25 hours.
func (p Pool) longest() time.Duration {
	longest := time.Duration(0)
	for _, w := range p.Windows {
		length := w.Length
		if w.Day() {
			length = 25 * time.Hour
		}
		longest = max(longest, length)
	}
	return longest
}

// Refund gives back a take whose call surely never left.
func (g *Governor) Refund(ctx context.Context, d Decision) error {
	if d.Degraded {
		return fmt.Errorf("%w: it was charged to the emergency budget", ErrNotRefundable)
	}
	return g.Ledger.Refund(ctx, g.Account, d)
}

// The provider's word near midnight: its clocks and ours may differ, and its own counters may turn a
// little late, so that a refusal just after midnight closes the pool for minutes, not for the day.
const (
	nearMidnight = 10 * time.Minute
	shortDrain   = 5 * time.Minute
)

// Drain records that the provider refused the call of d for quota: the pool, or with "" every pool
// that d charged, is spent until the first midnight of the provider after the take.
func (g *Governor) Drain(ctx context.Context, d Decision, pool string) error {
	days := Midnights(d.At, g.Tariff.Zone)
	today := Ask{Midnights: days}.today(d.At)
	until := days[today+1]
	if d.At.Sub(days[today]) < nearMidnight {
		until = g.Now().Add(shortDrain)
	}
	if !until.After(g.Now()) {
		return nil // the day that was spent is over
	}
	var errs []error
	for _, p := range d.Pools {
		if pool != "" && p.Pool != pool {
			continue
		}
		errs = append(errs, g.Ledger.Drain(ctx, g.Account, p.Pool, until, usedToday(p.Windows)))
	}
	return errors.Join(errs...)
}

// Explain is a refusal in words for a person: which window, who spent most, when it frees.
func (g *Governor) Explain(ctx context.Context, d Decision) string {
	if d.Refusal == nil {
		return ""
	}
	r := *d.Refusal
	parts := []string{r.String()}
	if r.RoomIn != "" {
		parts = append(parts, fmt.Sprintf("window %s has room, and would decide alone without %s: under pools.%s in costs.yaml", r.RoomIn, r.Window, r.Pool))
	}
	if spent, err := g.Ledger.Spent(ctx, g.Account, d.At.Add(-24*time.Hour)); err == nil {
		for _, s := range spent {
			if s.Pool == r.Pool {
				parts = append(parts, fmt.Sprintf("most by %s (%d in 24h)", s.Who, s.Amount))
				break
			}
		}
	}
	parts = append(parts, "frees at "+d.At.Add(d.RetryAfter).UTC().Format(time.RFC3339))
	return strings.Join(parts, "; ")
}

func (w Who) String() string {
	words := []string{string(w.Purpose)}
	for _, s := range []string{w.Region, w.Method} {
		if s != "" {
			words = append(words, s)
		}
	}
	return strings.Join(words, " ")
}

// Post records that amount of a pool was spent at a time by somebody who did not ask.
func (g *Governor) Post(ctx context.Context, pool string, amount int64, at time.Time) error {
	if err := g.Tariff.check(pool); err != nil {
		return err
	}
	a := g.Tariff.ask(g.Account, g.Now())
	a.Who = Who{Purpose: Manual, Method: "post"}
	a.Charges = []Charge{posted(pool, amount)}
	return g.Ledger.Post(ctx, a, at)
}

// DrainByHand closes a pool until the provider's next midnight, or with lift opens it again.
func (g *Governor) DrainByHand(ctx context.Context, pool string, lift bool) error {
	if err := g.Tariff.check(pool); err != nil {
		return err
	}
	if lift {
		return g.Ledger.Drain(ctx, g.Account, pool, time.Time{}, 0)
	}
	r, err := g.Report(ctx)
	if err != nil {
		return err
	}
	days := Midnights(r.At, g.Tariff.Zone)
	until := days[Ask{Midnights: days}.today(r.At)+1]
	for _, p := range r.Pools {
		if p.Pool == pool {
			return g.Ledger.Drain(ctx, g.Account, pool, until, usedToday(p.Windows))
		}
	}
	return nil
}

func (t *Tariff) check(pool string) error {
	var names []string
	for _, p := range t.Pools {
		if p.Name == pool {
			return nil
		}
		names = append(names, p.Name)
	}
	return fmt.Errorf("%w: pool %q: %s", ErrUnknown, pool, closest(pool, names))
}

// posted is a charge that no limit holds back.
func posted(pool string, amount int64) Charge {
	return Charge{Pool: pool, Amount: amount, Bounds: []Bound{{Window: Window{Name: "posted", Length: MinWindow, Limit: MaxLimit}, Ceiling: MaxLimit}}}
}

// usedToday is what the provider's day has used, or any window where no day is counted.
func usedToday(windows []WindowState) int64 {
	used := int64(0)
	for _, w := range windows {
		if w.Window.Day() || used == 0 {
			used = w.Used
		}
	}
	return used
}
