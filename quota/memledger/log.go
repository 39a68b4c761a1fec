package memledger

import (
	"slices"
	"sort"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// log is ordered by time, then by entry number.
type log struct {
	total   int64
	number  int64
	entries []entry
}

type entry struct {
	at     int64 // microseconds since 1970
	number int64
	before int64 // the sum of all earlier entries
	amount int64
	who    quota.Who
}

// lookUp finds the facts about one window.
func (l *log) lookUp(w quota.Lookup) (f quota.WindowFacts) {
	f.Before, f.First = l.before(w.Start)
	if w.Refuses(l.total, f.Before) {
		if w.Next > 0 {
			f.NextStart, _ = l.before(w.Next)
		} else {
			f.Leaves = l.reaching(w.Needs(l.total))
		}
	}
	return f
}

// before is the sum of what is older than t, and the time of the first entry that is not: 0 when there is none.
func (l *log) before(t int64) (sum, first int64) {
	if i := l.from(t); i < len(l.entries) {
		return l.entries[i].before, l.entries[i].at
	}
	return l.total, 0
}

// reaching is the time of the first entry with which the sum is at least c: 0 when there is none.
func (l *log) reaching(c int64) int64 {
	if i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].before+l.entries[i].amount >= c }); i < len(l.entries) {
		return l.entries[i].at
	}
	return 0
}

// from is the index of the first entry at t or later.
func (l *log) from(t int64) int {
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].at >= t })
}

// insert adds an entry in its place and returns its number. With precision, the newest entry of the
// same spender and step is moved to now and raised instead: it then counts longer, never shorter.
func (l *log) insert(at time.Time, amount int64, who quota.Who, precision time.Duration) int64 {
	us := at.UnixMicro()
	if n := len(l.entries); n > 0 && l.entries[n-1].amount == 0 && l.entries[n-1].at <= us { // see remove
		l.entries = l.entries[:n-1]
	}
	if n := len(l.entries); precision > 0 && n > 0 {
		if e := &l.entries[n-1]; e.who == who && at.Truncate(precision).Equal(quota.FromMicros(e.at).Truncate(precision)) {
			e.at, e.amount = us, e.amount+amount
			l.total += amount
			return e.number
		}
	}
	l.number++
	i := l.from(us + 1)
	before, _ := l.before(us + 1)
	l.entries = slices.Insert(l.entries, i, entry{at: us, number: l.number, before: before, who: who})
	l.add(i, amount)
	return l.number
}

// add raises entry i by amount, and all sums behind it.
func (l *log) add(i int, amount int64) {
	l.entries[i].amount += amount
	for j := i + 1; j < len(l.entries); j++ {
		l.entries[j].before += amount
	}
	l.total += amount
}

// remove takes entry i out, so that no window waits for it. The newest is only emptied until the next takes its
// place: the ledger's clock never stands before it.
func (l *log) remove(i int) {
	l.add(i, -l.entries[i].amount)
	if i < len(l.entries)-1 {
		l.entries = slices.Delete(l.entries, i, i+1)
	}
}

// find is the index of what a decision wrote, -1 when it is not, or no longer, as it was written.
func (l *log) find(at time.Time, p quota.PoolState) int {
	us := at.UnixMicro()
	for i := l.from(us); i < len(l.entries) && l.entries[i].at == us; i++ {
		if e := l.entries[i]; e.number == p.Entry && e.amount == p.Charged {
			return i
		}
	}
	if p.Charged == 0 {
		return 0
	}
	return -1
}

// forget drops the entries older than t.
func (l *log) forget(t int64) {
	l.entries = l.entries[l.from(t):] // append moves what is left once the array is used up
	if l.total < 1<<60 {
		return
	}
	base, _ := l.before(0) // the sums would overflow some day
	for i := range l.entries {
		l.entries[i].before -= base
	}
	l.total -= base
}
