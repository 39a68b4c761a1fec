package memremote

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Sync implements sharedledger.Remote.
func (l *Remote) Sync(_ context.Context, d sharedledger.Batch) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := d.Check(); err != nil {
		return time.Time{}, err
	}
	acc, err := l.current(d.Account, d.Generation)
	if err != nil {
		return time.Time{}, err
	}
	for name, p := range acc.pools {
		if err := p.whole(name); err != nil {
			return time.Time{}, err
		}
	}
	now := l.now()
	for _, p := range acc.pools { // a log is in order: its newest entry is never ahead of the clock
		if n := len(p.log.Entries); n > 0 && quota.FromMicros(p.log.Entries[n-1].At).After(now) {
			now = quota.FromMicros(p.log.Entries[n-1].At)
		}
	}
	acc = l.account(d.Account, d.Horizon, now)
	for _, row := range d.Rows {
		w := acc.writers[row.Writer]
		if row.State == sharedledger.RowUnused && row.Number == w.number && row.Nonce == w.nonce && !w.synced {
			acc.takeBack(w.answer)
		} else if row.Number <= w.number {
			continue
		} else if row.State != sharedledger.RowUnused {
			acc.record(row, now)
		}
		acc.wrote(row.Writer, writer{number: row.Number, nonce: row.Nonce, synced: true, heard: now})
	}
	for _, snapshot := range d.Snapshots {
		acc.raise(snapshot, now)
	}
	if d.Host != nil {
		acc.list(*d.Host, now)
	}
	return now, nil
}

// takeBack undoes what was charged, where it was not given back or merged with another since.
func (a *account) takeBack(d quota.Decision) {
	for _, s := range d.Pools {
		if p := a.pool(s.Pool); s.Charged > 0 {
			if i := p.log.Find(d.At, s); i >= 0 {
				p.log.Remove(i)
				p.length = len(p.log.Entries)
			}
		}
	}
}

// record enters a row at its own time, and nets it against an unattributed charge that stood for it.
func (a *account) record(row sharedledger.Row, now time.Time) {
	at := row.At.Truncate(time.Microsecond)
	if at.After(now) {
		at = now
	}
	if now.Sub(at) >= a.horizon {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(row.Amounts)) {
		amount := row.Amounts[name]
		if amount <= 0 {
			continue
		}
		p := a.pool(name)
		p.net(row, at.UnixMicro(), amount)
		e := entry{At: at.UnixMicro(), Amount: amount, Who: row.Who}
		if row.State == sharedledger.RowAsked || row.State == sharedledger.RowOwed {
			e.Note.synced = now.UnixMicro()
		} else if first := row.FirstSynced(); !first.IsZero() {
			e.Note.synced = first.UnixMicro()
		}
		p.log.Enter(e)
		p.length = len(p.log.Entries)
	}
}

// net takes up to amount off the unattributed charges whose snapshots counted the row, the earliest first. A row
// that was too old for a snapshot's window is no part of its charge.
func (p *pool) net(row sharedledger.Row, at, amount int64) {
	for i := p.log.From(at + 1); i < len(p.log.Entries) && amount > 0; i++ {
		e := p.log.Entries[i]
		if e.Who != sharedledger.Unattributed || at < e.Note.from || !row.CountedAt(quota.FromMicros(e.At), e.Note.generation) {
			continue
		}
		amount, i = p.bite(i, amount)
	}
}

// raise enters what the snapshot saw used and the log does not have. What it cannot have seen, such as
// an operation in doubt that was synced since, must not pass for what it saw: that was spent by
// somebody else.
func (a *account) raise(snapshot sharedledger.UsageSnapshot, now time.Time) {
	p := a.pool(snapshot.Pool)
	if snapshot.Drain.Holds(p.drain.Until) {
		p.drain = snapshot.Drain
	}
	at := snapshot.At.Truncate(time.Microsecond)
	if at.After(now) {
		at = now
	}
	if !snapshot.At.After(p.raised[snapshot.Generation]) || now.Sub(at) >= a.horizon {
		return
	}
	if p.raised == nil {
		p.raised = map[sharedledger.Generation]time.Time{}
	}
	p.raised[snapshot.Generation] = snapshot.At
	charge := entry{At: at.UnixMicro(), Who: sharedledger.Unattributed, Note: note{generation: snapshot.Generation}}
	windows := slices.Clone(snapshot.Windows)
	slices.SortStableFunc(windows, func(a, b sharedledger.WindowUsage) int { return b.Start.Compare(a.Start) })
	entered := int64(0)
	for _, w := range windows {
		charge.Note.from = w.Start.UnixMicro()
		if charge.Amount = w.Used - seen(&p.log, charge.Note.from, charge.At); charge.Amount > 0 {
			p.log.Enter(charge)
			entered += charge.Amount
		}
	}
	p.reduce(charge.At, entered)
	p.length = len(p.log.Entries)
}

// reduce takes an amount that was just entered at a time off the unattributed charges of younger snapshots whose
// windows reach back to it, the earliest first: had it been there before, they would have been smaller by it.
func (p *pool) reduce(at, amount int64) {
	for i := p.log.From(at + 1); i < len(p.log.Entries) && amount > 0; i++ {
		if e := p.log.Entries[i]; e.Who == sharedledger.Unattributed && at >= e.Note.from {
			amount, i = p.bite(i, amount)
		}
	}
}

// bite takes up to amount off entry i. It returns what is left of the amount, and the index to go on behind.
func (p *pool) bite(i int, amount int64) (left int64, last int) {
	e, n := p.log.Entries[i], len(p.log.Entries)
	if amount < e.Amount {
		p.log.Add(i, -amount)
		return 0, i
	}
	p.log.Remove(i)
	return amount - e.Amount, i - (n - len(p.log.Entries))
}

// list enters a host that has synced.
func (a *account) list(h sharedledger.Host, now time.Time) {
	h.At, h.Regions, h.Knows = now, slices.Clone(h.Regions), slices.Clone(h.Knows)
	a.hosts = slices.DeleteFunc(a.hosts, func(other sharedledger.Host) bool { return other.ID == h.ID })
	a.hosts = append(a.hosts, h)
	slices.SortFunc(a.hosts, func(a, b sharedledger.Host) int { return cmp.Compare(a.ID, b.ID) })
}
