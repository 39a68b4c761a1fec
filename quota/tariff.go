package quota

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/internal/terms"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Tariff is the part of costs.yaml for one upstream under one table: pools, prices of methods, and the share of each
// limit that a purpose may use.
type Tariff struct {
	Upstream string
	Table    string
	Zone     *time.Location
	// LongDay is the day around the last change of Zone. The provider may count by either zone, so this day spans
	// the days of both, and no spend is forgotten. Zero: the zone has never changed.
	LongDay struct{ Begins, Ends time.Time }
	Grace   time.Duration
	// ClockGap is the largest trusted gap between this machine's clock and the ledger's clock or newest entry; beyond
	// it the ledger is unavailable. At most MaxClockGap; 0: 30 s. A clock ahead by more than Grace, but within
	// ClockGap, opens days and frees windows early by the difference.
	ClockGap time.Duration
	// FreeBursts says that the provider does not charge calls that it refuses for coming too fast, so that they are
	// refunded.
	FreeBursts bool
	Ceilings   map[Purpose]Share
	Failure    Failure
	Policy     map[string]terms.Clause // the provider's terms, by name
	Pools      []Pool                  // by name
	Methods    map[string]Cost
	// Routes maps patterns of http.ServeMux to methods: "GET /youtube/v3/videos" to videos.list.
	Routes map[string]string

	clients map[string][]Pool // see LimitClients
}

// Cost is an amount per pool, such as the price of one call. A pool that it does not name is not charged.
type Cost map[string]int64

// Failure is the budget while the ledger cannot answer: cheap calls of the schedule go on within it, all others fail
// closed. See EmergencyAccount.
type Failure struct {
	OpenAtMost Share         // a call may go on if it draws at most this share of every limit it touches
	Emergency  Share         // of each limit, in total over the pool's longest window
	SyncWait   time.Duration // how long expensive calls stay closed after the ledger was lost
}

// Cost returns the price of one call of method.
func (t *Tariff) Cost(method string) (Cost, error) {
	cost, ok := t.Methods[method]
	if !ok {
		return nil, fmt.Errorf("%w: method %q has no price in table %s: %s", ErrUnknown, method, t.Table,
			strictyaml.Suggest(method, slices.Sorted(maps.Keys(t.Methods))))
	}
	return cost, nil
}

// Times returns the cost of several calls.
func (c Cost) Times(calls int64) Cost {
	out := Cost{}
	out.Add(c, calls)
	return out
}

// Add adds the cost of several more calls.
func (c Cost) Add(call Cost, calls int64) {
	for pool, amount := range call {
		c[pool] += amount * calls
	}
}

// MaxCharge returns the amount that a call draws from its most expensive pool: the price that people quote.
func (c Cost) MaxCharge() int64 {
	largest := int64(0)
	for _, amount := range c {
		largest = max(largest, amount)
	}
	return largest
}

// Horizon returns how long a spend can matter: the longest window with the grace, at least MinHorizon.
func (t *Tariff) Horizon() time.Duration {
	horizon := max(MinHorizon, t.LongDay.Ends.Sub(t.LongDay.Begins)+t.Grace)
	for _, p := range t.allPools() {
		horizon = max(horizon, p.longest()+t.Grace)
	}
	return horizon
}

// usualGap is the ClockGap of a tariff that sets none.
const usualGap = 30 * time.Second

// Gap returns the largest trusted gap between two clocks.
func (t *Tariff) Gap() time.Duration { return Ask{Gap: cmp.Or(t.ClockGap, usualGap)}.ClockGap() }

// Check returns ErrUnknown for a tariff built by hand that is incomplete or contradictory. A Governor calls it before
// each ask.
func (t *Tariff) Check() error {
	switch {
	case t == nil:
		return fmt.Errorf("%w: no tariff", ErrUnknown)
	case len(t.Pools) == 0:
		return fmt.Errorf("%w: a tariff without pools", ErrUnknown)
	case t.Zone == nil:
		return fmt.Errorf("%w: a tariff without the zone of the provider's day", ErrUnknown)
	case t.Grace < 0:
		return fmt.Errorf("%w: a tariff with a grace of %v", ErrUnknown, t.Grace)
	}
	for _, p := range t.allPools() {
		for _, w := range p.Windows {
			if w.Length < 0 || w.Length > protocol.MaxWindow || w.Limit < 1 || w.Limit > MaxLimit {
				return fmt.Errorf("%w: pool %s: a window of %v with a limit of %d", ErrUnknown, p.Name, w.Length, w.Limit)
			}
		}
	}
	for method, cost := range t.Methods {
		for pool, amount := range cost {
			if amount < 1 {
				return fmt.Errorf("%w: method %s costs %d of pool %s: every call costs at least 1",
					ErrUnknown, method, amount, pool)
			}
			if !slices.ContainsFunc(t.Pools, func(p Pool) bool { return p.Name == pool }) {
				return fmt.Errorf("method %s draws from an unknown pool: %w", method, t.CheckPool(pool))
			}
		}
	}
	return nil
}

// dayOf returns the provider's day around a time: when it began and when the next one begins.
func (t *Tariff) dayOf(at time.Time) (begins, ends time.Time) {
	days := t.midnights(at)
	i := Ask{Midnights: days}.day(at)
	return days[i], days[i+1]
}

func (t *Tariff) ask(account string, now time.Time) Ask {
	return Ask{Account: account, Midnights: t.midnights(now), Grace: t.Grace, Horizon: t.Horizon(),
		Now: now, Gap: t.Gap()}
}

func (p Pool) charge(amount int64, ceiling Share) Charge {
	c := Charge{Pool: p.Name, Amount: amount}
	for _, w := range p.Windows {
		c.Bounds = append(c.Bounds, Bound{Window: w, Ceiling: ceiling.Of(w.Limit)})
	}
	return c
}

// longestDay is the length of the day on which clocks go back.
const longestDay = 25 * time.Hour

// longest returns the length of the pool's longest window.
func (p Pool) longest() time.Duration {
	longest := time.Duration(0)
	for _, w := range p.Windows {
		length := w.Length
		if w.Day() {
			length = longestDay
		}
		longest = max(longest, length)
	}
	return longest
}

// emergency returns how much of a limit may be spent while the ledger cannot answer: at most the rest above the
// highest ceiling, so that both together keep the limit.
func (t *Tariff) emergency(limit int64) int64 {
	highest := int64(0)
	for _, share := range t.Ceilings {
		highest = max(highest, share.Of(limit))
	}
	return min(t.Failure.Emergency.Of(limit), limit-highest)
}

// PoolNames returns the names of all pools, in order.
func (t *Tariff) PoolNames() []string { return poolNames(t.Pools) }

func poolNames(pools []Pool) []string {
	names := make([]string, len(pools))
	for i, p := range pools {
		names[i] = p.Name
	}
	return names
}

func (t *Tariff) pool(name string) Pool {
	if i := slices.IndexFunc(t.Pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
		return t.Pools[i]
	}
	return Pool{Name: name}
}

// CheckPool returns ErrUnknown, with a hint, for a pool that the tariff does not have.
func (t *Tariff) CheckPool(pool string) error {
	names := t.PoolNames()
	if slices.Contains(names, pool) {
		return nil
	}
	return fmt.Errorf("%w: pool %q: %s", ErrUnknown, pool, strictyaml.Suggest(pool, names))
}
