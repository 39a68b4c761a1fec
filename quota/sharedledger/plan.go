package sharedledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// The effect of a batch is one rule for all remotes, over plain values: Batch.Plan and PoolPlan.Apply. A remote reads
// the writers and marks that a batch concerns, plans, reads each pool's log from PoolPlan.From on, and writes the
// result of Apply. Times are in microseconds since 1970, as in every log.

// RemoteFacts are the facts about a remote that a plan needs. The adapter reads them and applies the Plan.
type RemoteFacts struct {
	Now     int64                  // its clock, or its newest entry if that is later
	Horizon int64                  // the longest so far, this batch included
	Writers map[string]WriterState // at least the writers of the batch; missing ones have written nothing
	Raised  map[string][]Raised    // by pool
}

// WriterState is a remote's record of a writer.
type WriterState struct {
	Number, Nonce int64 // of the last operation written
	Charged       int64 // when that was charged; 0: it was synced, without an answer
}

// Raised is the youngest snapshot of a generation that a pool was raised to.
type Raised struct {
	Generation Generation     `json:"generation"`
	At         int64          `json:"at"`
	Windows    []RaisedWindow `json:"windows"` // the shortest first
	Drained    int64          `json:"drained"` // until when the pool was then drained; 0: not drained
}

// RaisedWindow is one window of a Raised.
type RaisedWindow struct {
	Since int64 `json:"since"`
	Used  int64 `json:"used"`
}

// maxRaised is how many snapshots a pool keeps, the youngest first. A snapshot that is not kept may raise the pool
// once more.
const maxRaised = 64

// Entry is one charge in the log of a pool.
type Entry struct {
	Ref    int64 // the remote's own name for it; 0: new
	At     int64
	Amount int64
	Who    quota.Who
	// Synced is the time of the sync for a row that earlier snapshots cannot have counted, and the snapshot's time for
	// an unattributed charge dated before it; 0: the entry counts from At on.
	Synced int64
	// For an unattributed charge: Since is the start of the window that lacked the amount, Generation the generation
	// of the snapshot that had counted it.
	Since      int64
	Generation Generation
}

// Plan is the part of a batch that is new to a remote.
type Plan struct {
	Writers map[string]WriterState // the changed ones
	Pools   []PoolPlan             // by name: every pool in the batch
}

// PoolPlan is the part of a batch that is new to one pool.
type PoolPlan struct {
	Pool   string
	Raised []Raised // the new list of snapshots that the pool was raised to, the youngest first
	Marked bool     // Raised has changed
	// Drain is the longest drain of the snapshots, to be put over the pool's last one. Zero: none.
	Drain quota.Drain
	// Lifted identifies, by its end, a drain that an older snapshot saw and a younger one did not. If the pool still
	// has it, and not for unknown use, the drain is lifted. 0: none.
	Lifted int64

	now       int64
	horizon   int64
	before    []Raised     // the old list, the oldest first
	takenBack []Entry      // charged, but not used
	rows      []plannedRow // in the order of the batch
	snapshots []Raised     // to raise the pool to
}

// plannedRow is a row's share of one pool.
type plannedRow struct {
	Entry

	row Row
}

// Plan finds the new parts: rows within the horizon with numbers above their writers' last, the operation of each
// writer to take back, and snapshots younger than earlier ones that the pool was raised to.
func (b Batch) Plan(f RemoteFacts) Plan {
	p := Plan{Writers: map[string]WriterState{}}
	pools := map[string]*PoolPlan{}
	pool := func(name string) *PoolPlan {
		if pools[name] == nil {
			pools[name] = &PoolPlan{Pool: name, now: f.Now, horizon: f.Horizon}
		}
		return pools[name]
	}
	for _, r := range b.Rows {
		w, listed := p.Writers[r.Writer]
		if !listed {
			w = f.Writers[r.Writer]
		}
		unused := r.State == RowUnused && r.Number == w.Number && r.Nonce == w.Nonce && w.Charged > 0
		if !unused && r.Number <= w.Number {
			continue
		}
		p.Writers[r.Writer] = WriterState{Number: r.Number, Nonce: r.Nonce}
		e := r.entry(f.Now)
		for name, amount := range r.Amounts {
			e.Amount = amount
			switch {
			case amount <= 0:
			case unused:
				pool(name).takenBack = append(pool(name).takenBack, Entry{At: w.Charged, Amount: amount, Who: r.Who})
			case r.State != RowUnused && r.State != RowVoid && f.Now-e.At < f.Horizon:
				pool(name).rows = append(pool(name).rows, plannedRow{e, r})
			}
		}
	}
	for _, u := range b.Snapshots {
		pool(u.Pool).drain(u, f.Raised[u.Pool])
		pool(u.Pool).snapshots = append(pool(u.Pool).snapshots, u.raised())
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		pools[name].mark(f.Raised[name])
		p.Pools = append(p.Pools, *pools[name])
	}
	return p
}

// drain plans the drains of a snapshot. The youngest snapshot decides, with two exceptions: a drain not synced yet
// applies even after younger snapshots of hosts that did not know it, and a drain by quota.ByUnknown always applies,
// since other hosts may have seen another ledger.
func (p *PoolPlan) drain(u UsageSnapshot, before []Raised) {
	at, unknown := toMicros(u.At), u.Drain.By == quota.ByUnknown
	if unknown {
		p.Drain = u.Drain.Over(p.Drain, protocol.Time(p.now))
	}
	if !u.Owed && slices.ContainsFunc(before, func(r Raised) bool { return r.At > at }) {
		return
	}
	if !unknown && u.Drain.Until.After(p.Drain.Until) {
		p.Drain = u.Drain
	}
	if p.Drain.Until.After(u.At) || u.Owed {
		p.Lifted = 0
		return
	}
	for _, r := range before {
		p.Lifted = max(p.Lifted, r.Drained)
	}
}

// raised returns the snapshot as a Raised.
func (u UsageSnapshot) raised() Raised {
	r := Raised{Generation: u.Generation, At: toMicros(u.At)}
	for _, w := range u.Windows {
		r.Windows = append(r.Windows, RaisedWindow{toMicros(w.Start), w.Used})
	}
	if !u.Owed && !u.Drain.Until.IsZero() && u.Drain.By != quota.ByUnknown {
		r.Drained = toMicros(u.Drain.Until)
	}
	slices.SortStableFunc(r.Windows, func(a, b RaisedWindow) int { return cmp.Compare(b.Since, a.Since) })
	return r
}

// entry returns the row as a log's entry, without its amount. A time after now becomes now.
func (r Row) entry(now int64) Entry {
	e := Entry{At: min(toMicros(r.At), now), Who: r.Who}
	switch first := r.syncs()[0].Since; { // zero: the remote has known it since its own time
	case r.State == RowAsked || r.State == RowOwed:
		e.Synced = now
	case r.State == RowSynced && !first.IsZero() && toMicros(first) > e.At:
		e.Synced = toMicros(first)
	}
	return e
}

// mark drops snapshots before the horizon, and snapshots that are not younger than the last one of their generation
// that the pool was raised to. It adds the others to Raised.
func (p *PoolPlan) mark(before []Raised) {
	old := func(r Raised) bool { return p.now-min(r.At, p.now) >= p.horizon }
	p.before = slices.DeleteFunc(slices.Clone(before), old)
	slices.SortStableFunc(p.before, func(a, b Raised) int { return cmp.Compare(a.At, b.At) })
	p.Raised = slices.Clone(p.before)
	p.snapshots = slices.DeleteFunc(p.snapshots, func(u Raised) bool {
		i := slices.IndexFunc(p.Raised, func(r Raised) bool { return r.Generation == u.Generation })
		switch {
		case len(u.Windows) == 0 || old(u) || i >= 0 && u.At <= p.Raised[i].At:
			return true
		case i >= 0:
			p.Raised[i] = u
		default:
			p.Raised = append(p.Raised, u)
		}
		p.Marked = true
		return false
	})
	slices.SortStableFunc(p.Raised, func(a, b Raised) int { return cmp.Compare(b.At, a.At) })
	p.Raised = p.Raised[:min(len(p.Raised), maxRaised)]
}

// Drained returns the pool's new last drain, and whether it changes.
func (p *PoolPlan) Drained(last quota.Drain) (d quota.Drain, changed bool) {
	d, now := last, protocol.Time(p.now)
	if p.Lifted > 0 && !last.Until.IsZero() && toMicros(last.Until) == p.Lifted {
		d = quota.Drain{}.Over(d, now)
	}
	if !p.Drain.Until.IsZero() {
		d = p.Drain.Over(d, now)
	}
	return d, !d.Equal(last)
}

// Rows is how many entries the rows add.
func (p *PoolPlan) Rows() int { return len(p.rows) }

// Idle reports whether Apply would change nothing, whatever the log.
func (p *PoolPlan) Idle() bool { return len(p.rows)+len(p.takenBack)+len(p.snapshots) == 0 }

// From returns the first time of the log that Apply needs: nothing before it is changed or counted.
func (p *PoolPlan) From() int64 {
	from, netted := p.now+1, p.now+1
	for _, r := range p.rows {
		from = min(from, r.At+1) // an entry of the same time stays before it
		netted = min(netted, r.At)
	}
	for _, e := range p.takenBack {
		from = min(from, e.At)
	}
	for _, u := range p.snapshots {
		from, netted = min(from, u.from()), min(netted, u.At)
	}
	for _, u := range p.before {
		if u.At > netted { // the charges of the snapshots that u has replaced may be older than its windows
			from = min(from, u.from(), p.now-p.horizon+1)
		}
	}
	return max(from, 1)
}

// from returns the earliest time that matters to the snapshot.
func (u Raised) from() int64 {
	from := u.At + 1
	for _, w := range u.Windows {
		from = min(from, w.Since)
	}
	return from
}

// toMicros returns a time as in logs, within the exact range of every remote.
func toMicros(t time.Time) int64 { return min(max(t.UnixMicro(), 0), maxUsed) }
