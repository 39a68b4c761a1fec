// Package memlog is the log of one pool in memory, for the ledgers that keep theirs there.
package memlog

import (
	"slices"
	"sort"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Log is ordered by time, then by entry number. M is what a ledger notes with each entry. The zero value is empty.
type Log[M comparable] struct {
	Total   int64
	Entries []Entry[M]
	number  int64
}

// Entry is one charge.
type Entry[M comparable] struct {
	Note   M
	At     int64 // microseconds since 1970
	Number int64
	Before int64 // the sum of all earlier entries
	Amount int64
	Who    quota.Who
}

// Newest returns the time of the newest entry; zero: there is none.
func (l *Log[M]) Newest() (t time.Time) {
	if n := len(l.Entries); n > 0 {
		t = quota.FromMicros(l.Entries[n-1].At)
	}
	return t
}

// Given returns how many entries the log was ever given.
func (l *Log[M]) Given() int64 { return l.number }

// LookUp finds the facts about one window.
func (l *Log[M]) LookUp(w quota.Lookup) (f quota.WindowFacts) {
	f.Before, f.First = l.Sum(w.Start)
	if w.Refuses(l.Total, f.Before) {
		if w.Next > 0 {
			f.NextStart, _ = l.Sum(w.Next)
		} else {
			f.Leaves = l.reaching(w.Needs(l.Total))
		}
	}
	return f
}

// Sum returns the sum of what is older than t, and the time of the first entry that is not: 0 if there is none.
func (l *Log[M]) Sum(t int64) (sum, first int64) {
	if i := l.From(t); i < len(l.Entries) {
		return l.Entries[i].Before, l.Entries[i].At
	}
	return l.Total, 0
}

// reaching returns the time of the first entry with which the sum is at least c: 0 if there is none.
func (l *Log[M]) reaching(c int64) int64 {
	if i := sort.Search(len(l.Entries), func(i int) bool { return l.Entries[i].Before+l.Entries[i].Amount >= c }); i < len(l.Entries) {
		return l.Entries[i].At
	}
	return 0
}

// From returns the index of the first entry at t or later.
func (l *Log[M]) From(t int64) int {
	return sort.Search(len(l.Entries), func(i int) bool { return l.Entries[i].At >= t })
}

// Insert adds an entry in its place, behind those of the same time, and returns its number. With precision, the newest entry of the
// same spender and step is moved to now and raised instead: it then counts longer, never shorter.
func (l *Log[M]) Insert(at time.Time, amount int64, who quota.Who, precision time.Duration) int64 {
	us := at.UnixMicro()
	l.dropEmptied(us)
	var none M
	if n := len(l.Entries); precision > 0 && n > 0 {
		if e := &l.Entries[n-1]; e.Who == who && e.Note == none && at.Truncate(precision).Equal(quota.FromMicros(e.At).Truncate(precision)) {
			e.At, e.Amount = us, e.Amount+amount
			l.Total += amount
			l.number++ // it grows with every charge
			return e.Number
		}
	}
	l.number++
	i := l.From(us + 1)
	e := Entry[M]{At: us, Number: l.number, Who: who}
	e.Before, _ = l.Sum(us + 1)
	l.Entries = slices.Insert(l.Entries, i, e)
	l.Add(i, amount)
	return l.number
}

// dropEmptied takes out the newest entry if it holds nothing and something comes after it; see Remove.
func (l *Log[M]) dropEmptied(before int64) {
	if n := len(l.Entries); n > 0 && l.Entries[n-1].Amount == 0 && l.Entries[n-1].At <= before {
		l.Entries = l.Entries[:n-1]
	}
}

// Replace puts other entries in place of all, gives those without one a number, and adds up again.
func (l *Log[M]) Replace(entries []Entry[M]) {
	sum, _ := l.Sum(0)
	for i := range entries {
		e := &entries[i]
		if e.Number == 0 {
			l.number++
			e.Number = l.number
		}
		e.Before = sum
		sum += e.Amount
	}
	l.Entries, l.Total = entries, sum
}

// Add raises entry i by amount, and all sums behind it.
func (l *Log[M]) Add(i int, amount int64) {
	l.Entries[i].Amount += amount
	for j := i + 1; j < len(l.Entries); j++ {
		l.Entries[j].Before += amount
	}
	l.Total += amount
}

// Remove takes entry i out, so that no window waits for it. The newest is only emptied until the next takes its
// place: the ledger's clock never stands before it.
func (l *Log[M]) Remove(i int) {
	l.Add(i, -l.Entries[i].Amount)
	if i < len(l.Entries)-1 {
		l.Entries = slices.Delete(l.Entries, i, i+1)
	}
}

// Find returns the index of what a decision wrote, -1 if it is not, or no longer, as it was written.
func (l *Log[M]) Find(at time.Time, p quota.PoolState) int {
	us := at.UnixMicro()
	for i := l.From(us); i < len(l.Entries) && l.Entries[i].At == us; i++ {
		if e := l.Entries[i]; e.Number == p.Entry && e.Amount == p.Charged {
			return i
		}
	}
	if p.Charged == 0 {
		return 0
	}
	return -1
}

// Forget drops the entries older than t.
func (l *Log[M]) Forget(t int64) {
	l.Entries = l.Entries[l.From(t):] // append moves what is left once the array is used up
	if l.Total < 1<<60 {
		return
	}
	base, _ := l.Sum(0) // the sums would overflow some day
	for i := range l.Entries {
		l.Entries[i].Before -= base
	}
	l.Total -= base
}
