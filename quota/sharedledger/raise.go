package sharedledger

import (
	"cmp"
	"slices"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Apply returns the pool's new log, by time and then arrival, and whether anything changes; it does not write into
// log. An entry left without an amount is dropped unless it is the newest, since a ledger's clock must never be behind
// its newest entry.
//
// Units that a snapshot had counted and the log lacks are entered as an unattributed charge. It is reduced when the
// rows that it stands for arrive, or an older snapshot with charges of its own. If that would leave another snapshot's
// count with less than before, that snapshot gets a charge of its own.
func (p *PoolPlan) Apply(log []Entry) (entries []Entry, changed bool) {
	log = slices.Clone(log)
	for _, e := range p.takenBack {
		changed = takeBack(log, e) || changed
	}
	lacked := make([][]int64, len(p.before))
	for i, u := range p.before {
		lacked[i] = u.lacks(log, p.now)
	}
	p.net(log)
	log = p.enter(log)
	changed = changed || len(p.rows) > 0
	for _, u := range p.snapshots {
		var raised bool
		log, raised = u.raise(log, p.now, make([]int64, len(u.Windows)))
		changed = changed || raised
	}
	for i, u := range p.before {
		log, _ = u.raise(log, p.now, lacked[i])
	}
	last := len(log) - 1
	kept := log[:0]
	for i, e := range log {
		if e.Amount > 0 || i == last {
			kept = append(kept, e)
		}
	}
	return kept, changed
}

// takeBack empties an operation's entry, unless it was refunded or merged with another charge since.
func takeBack(log []Entry, charged Entry) bool {
	for i, e := range log {
		if e.Amount > 0 && (Entry{At: e.At, Amount: e.Amount, Who: e.Who, Synced: e.Synced, Since: e.Since}) == charged {
			log[i].Amount = 0
			return true
		}
	}
	return false
}

// net subtracts each row from the unattributed charges whose snapshots had counted it, the earliest first. A row from
// before a snapshot's window is not part of its charge.
func (p *PoolPlan) net(log []Entry) {
	charges := unattributed(log, 0)
	for _, r := range p.rows {
		left := r.Amount
		for _, c := range charges {
			if c.seen() > r.At && r.At >= c.Since && r.row.CountedAt(protocol.Time(c.seen()), c.Generation) {
				left -= c.reduce(left)
			}
		}
		for len(charges) > 0 && charges[0].Amount == 0 {
			charges = charges[1:]
		}
	}
}

// enter inserts the rows, each after the entries of the same time.
func (p *PoolPlan) enter(log []Entry) []Entry {
	if len(p.rows) == 0 {
		return log
	}
	for _, r := range p.rows {
		log = append(log, r.Entry)
	}
	slices.SortStableFunc(log, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	return log
}

// raise enters the units of a snapshot that the log lacks beyond the tolerated gap: for each window a charge, the
// shortest first, at the latest time that the snapshot allows. It reduces charges of younger snapshots whose windows
// reach back to that time by as much, the earliest first, since they would have been smaller if this snapshot had come
// first.
func (u Raised) raise(log []Entry, now int64, may []int64) (entries []Entry, raised bool) {
	seen := min(u.At, now)
	at := seen
	for i, w := range u.Windows {
		if i > 0 && u.Windows[i-1].Since > w.Since { // the shorter window has not counted it
			at = min(at, u.Windows[i-1].Since-1)
		}
		amount := u.lacks(log, now)[i] - may[i]
		if amount <= 0 {
			continue
		}
		raised = true
		e := Entry{At: at, Amount: amount, Who: Unattributed, Since: w.Since, Generation: u.Generation}
		if at < seen {
			e.Synced = seen
		}
		for _, c := range unattributed(log, seen+1) {
			if at >= c.Since {
				amount -= c.reduce(amount)
			}
		}
		behind, _ := slices.BinarySearchFunc(log, at+1, func(e Entry, t int64) int { return cmp.Compare(e.At, t) })
		log = slices.Insert(log, behind, e)
	}
	return log, raised
}

// lacks returns, for each window, how much of the snapshot's count the log lacks.
func (u Raised) lacks(log []Entry, now int64) []int64 {
	out, at := make([]int64, len(u.Windows)), min(u.At, now)
	for i, w := range u.Windows {
		out[i] = w.Used
	}
	for _, e := range log {
		if e.At > at {
			break
		}
		for i, w := range u.Windows {
			if e.At >= w.Since && e.Synced <= at {
				out[i] -= e.Amount
			}
		}
	}
	for i := range out {
		out[i] = max(out[i], 0)
	}
	return out
}

// unattributed returns the unattributed charges of snapshots from a time on: the charges of the earliest snapshot
// first, and of each snapshot the shortest window first.
func unattributed(log []Entry, from int64) (charges []*Entry) {
	for i := range log {
		if log[i].Who == Unattributed && log[i].seen() >= from {
			charges = append(charges, &log[i])
		}
	}
	slices.SortStableFunc(charges,
		func(a, b *Entry) int { return cmp.Or(cmp.Compare(a.seen(), b.seen()), cmp.Compare(b.Since, a.Since)) })
	return charges
}

// seen returns the time of an unattributed charge's snapshot.
func (e *Entry) seen() int64 { return max(e.At, e.Synced) }

// reduce subtracts up to an amount from the entry, and returns how much.
func (e *Entry) reduce(amount int64) int64 {
	taken := min(e.Amount, amount)
	e.Amount -= taken
	return taken
}
