// Package audit compares the units that the slots in the store spent with the units that the ledger has counted. A
// ledger that is gone, or was restored from an older copy, would let the same quota be spent again. So nothing is
// spent while Missing finds anything; doctor names it, and ingest quota rebuild posts it.
package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// longestSlot is how long after its due time a slot of the schedule may still spend.
	longestSlot = 25 * time.Hour
	// longestAttempt is longer than any attempt at a piece of a backfill.
	longestAttempt = time.Hour
)

// Ledger is the part of a quota.Ledger that an audit reads.
type Ledger interface {
	Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error)
}

// Account is one account of a ledger, to be compared with a store's slots as far back as its windows count.
type Account struct {
	Ledger Ledger // by the names that the tariff's pools have now; nil: it is gone, and has counted nothing
	Tariff *quota.Tariff
	Name   string
	Now    time.Time
}

// Shortfall is the part of one slot's spending that the ledger has not counted. Account.Post posts it.
type Shortfall struct {
	Slot  ingest.Slot
	Units int64      // at most Slot.Units, and counted like them
	Cost  quota.Cost // by pool
}

// Store is the part of a store that shows that something was spent.
type Store interface {
	LostSlots(ctx context.Context) (time.Time, error)
	CallStats(ctx context.Context) (ingest.CallStats, error)
}

// Trace says how a store shows that something was spent since a time, "" if it does not: also of a gateway's calls,
// which leave no slot.
func Trace(ctx context.Context, s Store, since time.Time) (string, error) {
	lost, err := s.LostSlots(ctx)
	if err != nil || lost.After(since) {
		return "has lost slots", err
	}
	calls, err := s.CallStats(ctx)
	for _, method := range calls {
		if method.Contact.AskedAt.After(since) {
			return "shows calls since " + since.UTC().Format(time.DateTime+"Z"), err
		}
	}
	return "", err
}

// Renamed returns why the tariff's names must not be used with a ledger that has counted these sums, by the names of
// the ledger; nil if they may. A count under a pool's earlier name would be left out.
func Renamed(spent []quota.Spent, t *quota.Tariff) error {
	used := quota.Cost{}
	for _, s := range spent {
		used[s.Pool] += s.Amount
	}
	for _, s := range spent {
		if used[s.Pool] == 0 || slices.Contains(t.LedgerPools(), s.Pool) || strings.Contains(s.Pool, "@") { // a client's own
			continue
		}
		if i := slices.Index(t.PoolNames(), t.NowNamed(s.Pool)); i >= 0 {
			p := t.Pools[i]
			counts := t.InLedger(p.Name)
			if s.Pool != p.Name {
				return fmt.Errorf("%s: the ledger has %d of pool %s, and its was: begins with %s, under which it counts: "+
					"put %[3]s first", inCosts(p), used[s.Pool], s.Pool, counts)
			}
			return fmt.Errorf("%s: the ledger has %d under this name, and its was: has it count as %s: leave out was:, and "+
				"count the spends of %[3]s: ingest quota post %[4]s %[5]d", inCosts(p), used[s.Pool], counts, p.Name, used[counts])
		}
		cost, _ := t.Cost(s.Who.Method) // unknown: nothing draws on it
		for _, p := range t.Pools {
			if cost[p.Name] > 0 && used[t.InLedger(p.Name)] == 0 {
				return fmt.Errorf("%s has counted nothing, and the ledger has %d of pool %s, which the costs do not have. "+
					"If it was renamed, add to its line was: [%[3]s]; otherwise count them under the new name: "+
					"ingest quota post %[4]s %[2]d", inCosts(p), used[s.Pool], s.Pool, p.Name)
			}
		}
	}
	return nil
}

// inCosts names a pool and its line.
func inCosts(p quota.Pool) string {
	if p.Line == 0 {
		return "pool " + p.Name
	}
	return fmt.Sprintf("pool %s of the costs (line %d)", p.Name, p.Line)
}

// MissingSince returns the start of the time whose slots Missing needs, if they spent quota: the ledger's clock may
// be ahead.
func (a Account) MissingSince() time.Time { return a.Now.Add(-a.Tariff.Horizon() + quota.MaxClockGap) }

// RebuildSince is MissingSince for Rebuild: it needs the slots since then.
func (a Account) RebuildSince() time.Time { return a.MissingSince().Add(-longestSlot) }

// Missing returns the spends of these slots that the ledger certainly lacks. It judges only slots that spent
// everything within the horizon: the ledger may rightly have forgotten part of others' spends. A machine that drew on
// its emergency budget posts that part later: no other machine waits for it.
func (a Account) Missing(ctx context.Context, slots []ingest.Slot) ([]Shortfall, error) {
	within, _ := a.splitByHorizon(slots)
	spent, err := a.spent(ctx, within)
	if err != nil {
		return nil, err
	}
	return compare(within, spent, a.Tariff, ingest.Slot.Counted), nil
}

// spent returns the ledger's count within the horizon, if there are slots to compare with it.
func (a Account) spent(ctx context.Context, within []ingest.Slot) ([]quota.Spent, error) {
	if a.Ledger == nil || len(within) == 0 {
		return nil, nil
	}
	return a.Ledger.Spent(ctx, a.Name, a.Now.Add(-a.Tariff.Horizon()), 0)
}

// Rebuild returns the spends to post to a ledger that lacks anything: first the missing ones, with emergency calls,
// then all spends of slots that began before the horizon and went on within it, since counting too much is safe. This
// order lets a rebuild that was cut short be repeated: Missing finds something until everything has been posted.
func (a Account) Rebuild(ctx context.Context, slots []ingest.Slot) ([]Shortfall, error) {
	within, across := a.splitByHorizon(slots)
	spent, err := a.spent(ctx, within)
	if err != nil || len(compare(within, spent, a.Tariff, ingest.Slot.Counted)) == 0 {
		return nil, err
	}
	missing := compare(within, spent, a.Tariff, func(s ingest.Slot) map[string]int64 { return s.Charges })
	for _, slot := range across {
		s := Shortfall{Slot: slot, Units: slot.Units, Cost: quota.Cost{}}
		for pool, amount := range slot.Charges {
			s.Cost[a.Tariff.NowNamed(pool)] += amount
		}
		missing = append(missing, s)
	}
	return missing, nil
}

// Post posts the missing spends, and returns how many slots it has posted. methods returns the methods that a slot
// calls, and is asked once for each job.
func (a Account) Post(missing []Shortfall, t *quota.Tariff, methods func(ingest.Slot) ([]string, error),
	post func(Posting) error) (slots int, err error) {
	known := map[string][]string{}
	for _, s := range missing {
		called, ok := known[s.Slot.Job]
		if !ok {
			if called, err = methods(s.Slot); err != nil {
				return slots, err
			}
			known[s.Slot.Job] = called
		}
		p, err := s.Posting(called, t, a.Now)
		if err == nil {
			err = post(p)
		}
		if err != nil {
			return slots, err
		}
		slots++
	}
	return slots, nil
}

// splitByHorizon finds the slots that spent everything within the horizon, and the slots that may have begun before
// it.
func (a Account) splitByHorizon(slots []ingest.Slot) (within, across []ingest.Slot) {
	return split(slots, a.MissingSince(), a.Now.Add(-a.Tariff.Horizon()))
}

func split(slots []ingest.Slot, since, horizon time.Time) (within, across []ingest.Slot) {
	for _, slot := range slots {
		oneAttempt := slot.Kind == ingest.KindBackfill && slot.Attempt == 1
		switch {
		case slot.Units == 0:
		case !slot.DueAt.Before(since), oneAttempt && slot.FetchedAt.After(since.Add(longestAttempt)):
			within = append(within, slot)
		case slot.State != ingest.Done, slot.FetchedAt.After(horizon):
			across = append(across, slot)
		}
	}
	return within, across
}

// Slots returns the slots of shortfalls.
func Slots(missing []Shortfall) (slots []ingest.Slot) {
	for _, s := range missing {
		slots = append(slots, s.Slot)
	}
	return slots
}

// Units returns the sum of the units of shortfalls.
func Units(missing []Shortfall) int64 {
	units := int64(0)
	for _, s := range missing {
		units += s.Units
	}
	return units
}

// whoOf returns under whom a slot's spending is counted.
func whoOf(slot ingest.Slot) quota.Who {
	switch slot.Kind {
	case ingest.KindRefresh:
		return quota.Who{Purpose: quota.Refresh}
	case ingest.KindBackfill:
		return quota.Who{Purpose: quota.Backfill}
	default: // of the schedule
		return quota.Who{Purpose: quota.Scheduled, Region: string(slot.ChargedRegion())}
	}
}

// compare finds the charges that the ledger lacks, slot by slot in the order given.
func compare(slots []ingest.Slot, spent []quota.Spent, t *quota.Tariff, part part) (short []Shortfall) {
	known := charges(slots, t, part)
	lacking := quota.Lacking(known, spent)
	for _, slot := range slots {
		of := part(slot)
		s, whole := Shortfall{Slot: slot, Cost: quota.Cost{}}, len(of) > 0
		for range of {
			l := lacking[0]
			whole = whole && l == known[0]
			if l.Amount > 0 {
				s.Cost[l.Pool], s.Units = l.Amount, max(s.Units, l.Amount)
			}
			known, lacking = known[1:], lacking[1:]
		}
		if whole {
			s.Units = slot.Units // more than in any one pool, if its calls drew on different pools
		}
		if s.Units > 0 {
			short = append(short, s)
		}
	}
	return short
}

// part returns some or all of a slot's charges, by pool.
type part = func(ingest.Slot) map[string]int64

// charges returns that part of the charges of slots, in their order, by the names that the pools have now.
func charges(slots []ingest.Slot, t *quota.Tariff, part part) (spent []quota.Spent) {
	for _, slot := range slots {
		for pool, amount := range part(slot) {
			spent = append(spent, quota.Spent{Pool: t.NowNamed(pool), Who: whoOf(slot), Amount: amount})
		}
	}
	return spent
}

// Known returns the spends of slots that certainly lie wholly after a time, for quota.Governor.Known, without emergency
// calls, as in Account.Missing.
func Known(slots []ingest.Slot, since time.Time, t *quota.Tariff) []quota.Spent {
	within, _ := split(slots, since, since)
	return charges(within, t, ingest.Slot.Counted)
}

// Posting is a shortfall as it is posted to the ledger.
type Posting struct {
	Who  quota.Who
	Cost quota.Cost
	At   time.Time
}

// Posting returns what to post for a slot that calls these methods. A slot that is done spent nothing after its last
// page. Any other may have: its spending is posted as of now, since too late is safe.
func (s Shortfall) Posting(methods []string, t *quota.Tariff, now time.Time) (Posting, error) {
	p := Posting{Who: whoOf(s.Slot), Cost: s.Cost, At: now}
	if s.Slot.State == ingest.Done {
		p.At = s.Slot.FetchedAt
	}
	largest := int64(0)
	for _, method := range methods {
		cost, err := t.Cost(method)
		if err != nil {
			return p, err
		}
		if charge := cost.MaxCharge(); charge >= largest {
			p.Who.Method, largest = method, charge
		}
	}
	return p, nil
}
