package redisledger

import (
	"cmp"
	"slices"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// part is what a sync says of one pool.
type part struct {
	pool      string
	rows      []partRow // in the order of their times
	unused    []entry   // to be taken back
	snapshots []sharedledger.UsageSnapshot
	raised    string // the pool's field of snapshots, see lua/common.lua
	marks     []mark // the same, youngest first
}

// partRow is one row's share of a pool.
type partRow struct {
	entry

	seq int // place in the sync
	row sharedledger.Row
}

// mark is a snapshot that the pool was raised to before.
type mark struct {
	generation sharedledger.Generation
	at         int64
}

const maxMarks = 16 // that are kept, the youngest

// snapshotAt returns a snapshot's time as the scripts take it.
func snapshotAt(u sharedledger.UsageSnapshot) int64 { return min(max(u.At.UnixMicro(), 0), exact) }

// younger keeps only the snapshots that are within the horizon and younger than any of the same generation that the
// pool was raised to before, and marks them.
func (p *part) younger(now, horizon int64) {
	r := newReader(p.raised)
	for r.packed != "" && r.err == nil {
		p.marks = append(p.marks, mark{sharedledger.Generation(r.next()), r.next()})
	}
	p.snapshots = slices.DeleteFunc(p.snapshots, func(u sharedledger.UsageSnapshot) bool {
		i := slices.IndexFunc(p.marks, func(m mark) bool { return m.generation == u.Generation })
		if i < 0 {
			i, p.marks = len(p.marks), append(p.marks, mark{u.Generation, -1})
		}
		at := snapshotAt(u)
		if at <= p.marks[i].at || now-min(at, now) >= horizon {
			return true
		}
		p.marks[i].at = at
		return false
	})
	p.marks = slices.DeleteFunc(p.marks, func(m mark) bool { return m.at < 0 })
	slices.SortStableFunc(p.marks, func(a, b mark) int { return cmp.Compare(b.at, a.at) })
	if len(p.snapshots) > 0 {
		var b []byte
		for _, m := range p.marks[:min(len(p.marks), maxMarks)] {
			b = put7(b, int64(m.generation), m.at)
		}
		p.raised = string(b)
	}
}

// from returns the earliest time at which the part may change anything or has to count.
func (p *part) from(now int64) int64 {
	from := now
	if len(p.rows) > 0 {
		from = p.rows[0].at + 1
	}
	for _, u := range p.unused {
		from = min(from, u.at)
	}
	for _, u := range p.snapshots {
		from = min(from, snapshotAt(u)+1)
		for _, w := range u.Windows {
			from = min(from, windowStart(w))
		}
	}
	return max(from, 1)
}

func windowStart(w sharedledger.WindowUsage) int64 { return min(max(w.Start.UnixMicro(), 0), exact) }

// apply changes the log's entries as the part says. It returns them, how many were added, and whether any changed.
func (p *part) apply(log []entry, number, now int64) (out []entry, added int64, changed bool) {
	for _, u := range p.unused {
		i := slices.IndexFunc(log, func(e entry) bool {
			return e.at == u.at && e.amount == u.amount && e.who == u.who && e.number < numbers
		})
		if i >= 0 {
			log[i].amount, changed = 0, true
		}
	}
	p.net(log)
	out = p.merge(log, number)
	changed = changed || len(p.rows) > 0
	added = int64(len(p.rows))
	for _, u := range p.snapshots {
		var raised int64
		out, raised = raise(out, u, now)
		added, changed = added+raised, changed || raised > 0
	}
	return out, added, changed
}

// net subtracts each new row from the unattributed charges whose snapshots had already counted it (spent before the
// snapshot, within its window), earliest charge first. Rows are taken in sync order.
func (p *part) net(log []entry) {
	var charges []*entry
	for k := range log {
		if log[k].who == unattributedID && log[k].amount > 0 {
			charges = append(charges, &log[k])
		}
	}
	if len(charges) == 0 {
		return
	}
	rows := slices.Clone(p.rows)
	slices.SortFunc(rows, func(a, b partRow) int { return cmp.Compare(a.seq, b.seq) })
	for _, r := range rows {
		left := r.amount
		for _, c := range charges {
			if left > 0 && c.amount > 0 && r.at < c.at && c.reachesBackTo(r.at) && r.row.CountedAt(quota.FromMicros(c.at), p.generationAt(c.at)) {
				netted := min(left, c.amount)
				c.amount, left = c.amount-netted, left-netted
			}
		}
		for len(charges) > 0 && charges[0].amount == 0 {
			charges = charges[1:]
		}
	}
}

// generationAt returns the generation of a snapshot that the pool was raised to at that time. Generations follow each
// other, so it is that of the first mark from the time on.
func (p *part) generationAt(at int64) (g sharedledger.Generation) {
	for _, m := range p.marks {
		if m.at >= at {
			g = m.generation
		}
	}
	return g
}

// merge puts the rows behind the entries of the same time, and drops entries that hold nothing any more.
func (p *part) merge(log []entry, number int64) []entry {
	out := make([]entry, 0, len(log)+len(p.rows))
	rows := p.rows
	for k := 0; k < len(log) || len(rows) > 0; {
		switch {
		case len(rows) > 0 && (k == len(log) || log[k].at > rows[0].at):
			e := rows[0].entry
			if number++; e.number == 0 {
				e.number = uint32(number % numbers)
			}
			out, rows = append(out, e), rows[1:]
		case log[k].amount > 0:
			out = append(out, log[k])
			k++
		default:
			k++
		}
	}
	return out
}

// raise enters what the log lacks of a snapshot as unattributed charges at its time, one for each window that has less
// than the snapshot says, the shortest first, and returns how many. Those of younger snapshots become smaller, as if
// this one had come before them.
func raise(log []entry, u sharedledger.UsageSnapshot, now int64) (out []entry, added int64) {
	at, entered := min(snapshotAt(u), now), int64(0)
	windows := slices.Clone(u.Windows)
	slices.SortStableFunc(windows, func(a, b sharedledger.WindowUsage) int { return b.Start.Compare(a.Start) })
	for _, w := range windows {
		if lacks := w.Used - countedAt(log, windowStart(w), at, now); lacks > 0 {
			i, _ := slices.BinarySearchFunc(log, at+1, func(e entry, at int64) int { return cmp.Compare(e.at, at) })
			log = slices.Insert(log, i, entry{at: at, amount: lacks, number: steps(at - windowStart(w)), who: unattributedID})
			added, entered = added+1, entered+lacks
		}
	}
	for k := range log {
		if e := &log[k]; entered > 0 && e.at > at && e.reachesBackTo(at) {
			reduced := min(e.amount, entered)
			e.amount, entered = e.amount-reduced, entered-reduced
		}
	}
	return slices.DeleteFunc(log, func(e entry) bool { return e.amount == 0 }), added
}

// reachesBackTo reports whether an entry is an unattributed charge of a window that had begun at a time.
func (e *entry) reachesBackTo(at int64) bool {
	return e.who == unattributedID && at >= e.at-(int64(e.number)-numbers)*lateStep
}

// countedAt returns what a snapshot of that time can have counted from start on.
func countedAt(log []entry, start, at, now int64) (sum int64) {
	for _, e := range log {
		if e.at > at {
			break
		}
		known := e.at
		switch {
		case e.late:
			known = now
		case e.number == 2*numbers-1 && e.who != unattributedID:
			continue
		case e.number >= numbers && e.who != unattributedID:
			known += (int64(e.number) - numbers) * lateStep
		}
		if e.at >= start && known <= at {
			sum += e.amount
		}
	}
	return sum
}
