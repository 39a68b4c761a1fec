package sqliteledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Take implements quota.Ledger. A peek writes nothing and waits for nobody, unless something is owed.
func (l *Ledger) Take(ctx context.Context, a quota.Ask) (d quota.Decision, err error) {
	if a.Peek || !slices.ContainsFunc(a.Charges, func(c quota.Charge) bool { return c.Amount > 0 }) {
		err = l.read(ctx, func(t *transaction) error { d, err = t.decide(a, false, false); return err })
		if errors.Is(err, errOwed) {
			err = l.write(ctx, func(t *transaction) error { d, err = t.decide(a, false, true); return err })
		}
		return d, err
	}
	// What can be refused without the file is refused before anything waits.
	if err := a.Check(l.Now()); err != nil {
		return quota.Decision{}, err
	}
	err = l.write(ctx, func(t *transaction) error { d, err = t.decide(a, true, true); return err })
	if err != nil {
		return quota.Decision{}, err
	}
	return d, nil
}

// decide answers the ask, and with charge writes what it allows. Where it may not write, errOwed says
// that it must.
func (t *transaction) decide(a quota.Ask, charge, mayWrite bool) (quota.Decision, error) {
	acc, err := t.account(a.Account)
	if err != nil {
		return quota.Decision{}, err
	}
	clock, now, err := t.advance(a, acc)
	if err != nil {
		return quota.Decision{}, err
	}
	if err := t.enterOwed(acc, a, now, mayWrite); err != nil {
		return quota.Decision{}, err
	}
	facts := make([]quota.PoolFacts, len(a.Charges))
	for i, c := range a.Charges {
		if facts[i], err = t.facts(acc.pool(c.Pool), a.Lookups(c, now)); err != nil {
			return quota.Decision{}, err
		}
	}
	d, err := quota.Decide(a, clock, now, facts)
	if err != nil || !d.Allowed || !charge {
		return d, err
	}
	if err := t.ensureRows(acc, a); err != nil {
		return quota.Decision{}, err
	}
	for i, c := range a.Charges {
		if c.Amount == 0 {
			continue
		}
		if d.Pools[i].Entry, err = t.insert(acc, acc.pool(c.Pool), now, c.Amount, a); err != nil {
			return quota.Decision{}, err
		}
	}
	return d, nil
}

// advance returns the ledger's clock, and the time at which it decides about the ask.
func (t *transaction) advance(a quota.Ask, acc *account) (clock, now time.Time, err error) {
	clock = t.ledger.Now().UTC().Truncate(time.Microsecond)
	var newest time.Time
	for _, c := range a.Charges {
		if p := acc.pool(c.Pool); p.newest.at != 0 && p.newest.at > newest.UnixMicro() {
			newest = quota.FromMicros(p.newest.at)
		}
	}
	if now, err = a.Advance(clock, newest); err != nil {
		return clock, now, fmt.Errorf("%s: %w", t.ledger.path, err)
	}
	return clock, now, nil
}
