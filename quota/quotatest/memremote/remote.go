package memremote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/memlog"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Remote)(nil)

// writer is the record of one writer: the last of its operations that was written.
type writer struct {
	sharedledger.WriterState

	answer quota.Decision // if there is one
	heard  time.Time      // its last operation
}

// TakeOnce implements sharedledger.Remote.
func (l *Remote) TakeOnce(_ context.Context, a quota.Ask, op sharedledger.Operation) (d quota.Decision, err error) {
	err = l.on(a.Account, func(acc *account, clock time.Time) error {
		now, err := a.Advance(clock, acc.Newest(a))
		if err == nil {
			d, err = acc.drawOnce(a, op, clock, now)
		}
		return err
	})
	return d, err
}

func (a *account) drawOnce(ask quota.Ask, op sharedledger.Operation, clock, now time.Time) (quota.Decision, error) {
	w := a.writers[op.Writer]
	again := w.Number == op.Number
	err := a.current(op.Generation)
	switch {
	case err != nil:
	case w.Number < op.Written:
		err = fmt.Errorf("%w: writer %s is at %d here, and wrote %d", sharedledger.ErrLost, op.Writer, w.Number, op.Written)
	case w.Number > op.Number || again && w.Nonce != op.Nonce:
		err = fmt.Errorf("%w: writer %s is at %d here, and asks for %d", sharedledger.ErrClone,
			op.Writer, w.Number, op.Number)
	case again && w.Charged == 0:
		err = fmt.Errorf("%w: writer %s, number %d", sharedledger.ErrSynced, op.Writer, op.Number)
	default:
		err = a.whole(ask.Charges)
	}
	switch {
	case err != nil:
		return quota.Decision{}, err
	case again:
		return clone(w.answer), nil
	case op.Nonce == 0:
		return a.Decide(ask, clock, now)
	}
	d, err := a.draw(ask, clock, now)
	if err == nil && d.Allowed && !ask.Peek &&
		slices.ContainsFunc(ask.Charges, func(c quota.Charge) bool { return c.Amount > 0 }) {
		a.wrote(op.Writer,
			writer{sharedledger.WriterState{Number: op.Number, Nonce: op.Nonce, Charged: d.At.UnixMicro()}, clone(d), now})
	}
	return d, err
}

// current fails unless the generation still is the same.
func (a *account) current(g sharedledger.Generation) error {
	if a.generation == 0 {
		return fmt.Errorf("%w: the account has no state", sharedledger.ErrLost)
	}
	if a.generation != g {
		return &sharedledger.GenerationError{Now: a.generation}
	}
	return nil
}

// wrote keeps a writer's last operation, and forgets writers that were silent for the horizon.
func (a *account) wrote(name string, w writer) {
	if _, ok := a.writers[name]; !ok {
		for other, idle := range a.writers {
			if w.heard.Sub(idle.heard) > a.Horizon {
				delete(a.writers, other)
			}
		}
	}
	a.writers[name] = w
}

// State implements sharedledger.Remote.
func (l *Remote) State(_ context.Context, name string, writers []string) (s sharedledger.RemoteState, err error) {
	err = l.on(name, func(acc *account, clock time.Time) error {
		s = sharedledger.RemoteState{At: clock, Generation: acc.generation, Born: acc.born, Written: map[string]int64{}}
		for _, h := range acc.hosts {
			h.Regions, h.Knows = slices.Clone(h.Regions), slices.Clone(h.Knows)
			s.Hosts = append(s.Hosts, h)
		}
		for _, name := range writers {
			if w, ok := acc.writers[name]; ok {
				s.Written[name] = w.Number
			}
		}
		return nil
	})
	return s, err
}

// Renew implements sharedledger.Remote.
func (l *Remote) Renew(_ context.Context, r sharedledger.Renewal) (g sharedledger.Generation, err error) {
	err = l.on(r.Account, func(acc *account, clock time.Time) error {
		if g = acc.generation; g != r.Was {
			return nil
		}
		if acc.whole(nil) != nil {
			clear(acc.lengths)
			clear(acc.raised)
			clear(acc.writers)
			acc.Pools = nil
		}
		acc.Use(r.Horizon, clock)
		acc.generation, acc.born, acc.hosts, g = r.Next, clock, nil, r.Next
		if r.First {
			acc.born = time.Time{}
		}
		return nil
	})
	return g, err
}

// Resume implements sharedledger.Resumer.
func (l *Remote) Resume(_ context.Context, name string, g sharedledger.Generation) error {
	return l.on(name, func(acc *account, _ time.Time) error { return cmp.Or(acc.current(g), acc.whole(nil)) })
}

// Sync implements sharedledger.Remote.
func (l *Remote) Sync(_ context.Context, b sharedledger.Batch) (now time.Time, err error) {
	if err := b.Check(); err != nil {
		return now, err
	}
	err = l.on(b.Account, func(acc *account, clock time.Time) error {
		if err := cmp.Or(acc.current(b.Generation), acc.whole(nil)); err != nil {
			return err
		}
		now = clock
		for _, p := range acc.Pools {
			if p.Log.Newest().After(now) {
				now = p.Log.Newest()
			}
		}
		acc.Use(b.Horizon, now)
		acc.sync(b, now)
		return nil
	})
	return now, err
}

func (a *account) sync(b sharedledger.Batch, now time.Time) {
	facts := sharedledger.RemoteFacts{Now: now.UnixMicro(), Horizon: a.Horizon.Microseconds(),
		Raised: a.raised, Writers: map[string]sharedledger.WriterState{}}
	for name, w := range a.writers {
		facts.Writers[name] = w.WriterState
	}
	plan := b.Plan(facts)
	for name, w := range plan.Writers {
		a.wrote(name, writer{WriterState: w, heard: now})
	}
	for _, p := range plan.Pools {
		pool := a.Pool(p.Pool)
		if p.Marked {
			a.raised[p.Pool] = p.Raised
		}
		pool.Drain, _ = p.Drained(pool.Drain)
		if entries, changed := p.Apply(plain(pool.Log.Entries)); changed {
			pool.Log.Replace(noted(entries))
		}
	}
	if b.Host != nil {
		h := *b.Host
		h.Regions, h.Knows = slices.Clone(h.Regions), slices.Clone(h.Knows)
		b.Host = &h
		a.hosts = b.Listed(slices.Clone(a.hosts), now.UnixMicro())
	}
}

// plain returns entries as a batch sees them, and noted as the log has them.
func plain(log []memlog.Entry[note]) (out []sharedledger.Entry) {
	for _, e := range log {
		out = append(out, sharedledger.Entry{Ref: e.Number, At: e.At, Amount: e.Amount, Who: e.Who,
			Synced: e.Note.synced, Since: e.Note.since, Generation: e.Note.generation})
	}
	return out
}

func noted(entries []sharedledger.Entry) (out []memlog.Entry[note]) {
	for _, e := range entries {
		out = append(out, memlog.Entry[note]{Number: e.Ref, At: e.At, Amount: e.Amount, Who: e.Who,
			Note: note{e.Synced, e.Since, e.Generation}})
	}
	return out
}

func clone(d quota.Decision) quota.Decision {
	d.Pools = slices.Clone(d.Pools)
	for i := range d.Pools {
		d.Pools[i].Windows = slices.Clone(d.Pools[i].Windows)
	}
	if d.Refusal != nil {
		refusal := *d.Refusal
		d.Refusal = &refusal
	}
	return d
}
