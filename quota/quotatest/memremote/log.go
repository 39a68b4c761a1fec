package memremote

import (
	"slices"
	"sort"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
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
	synced int64 // when it was delivered, where snapshots count it from then on only
	from   int64 // of an unattributed charge: its snapshot did not count what is older

	generation sharedledger.Generation // of that snapshot
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
	i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].before+l.entries[i].amount >= c })
	if i == len(l.entries) {
		return 0
	}
	return l.entries[i].at
}

// from is the index of the first entry at t or later.
func (l *log) from(t int64) int {
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].at >= t })
}

// insert adds an entry in its place and returns its number. With precision, the newest entry of the
// same spender and step is moved to now and raised instead: it then counts longer, never shorter.
func (l *log) insert(at time.Time, amount int64, who quota.Who, precision time.Duration) int64 {
	us := at.UnixMicro()
	l.dropEmptied(us)
	if n := len(l.entries); precision > 0 && n > 0 {
		if e := &l.entries[n-1]; e.who == who && e.synced == 0 && at.Truncate(precision).Equal(quota.FromMicros(e.at).Truncate(precision)) {
			e.at, e.amount = us, e.amount+amount
			l.total += amount
			return e.number
		}
	}
	return l.enter(entry{at: us, amount: amount, who: who})
}

// enter puts an entry in its place and returns its number.
func (l *log) enter(e entry) int64 {
	l.number++
	l.dropEmptied(e.at)
	amount, i := e.amount, l.from(e.at+1)
	e.number, e.amount = l.number, 0
	e.before, _ = l.before(e.at + 1)
	l.entries = slices.Insert(l.entries, i, e)
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

// dropEmptied takes out the newest entry where something comes after it; see remove.
func (l *log) dropEmptied(before int64) {
	if n := len(l.entries); n > 0 && l.entries[n-1].amount == 0 && l.entries[n-1].at <= before {
		l.entries = l.entries[:n-1]
	}
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

// seen is what a snapshot of the time at can have counted from begin on.
func (l *log) seen(begin, at int64) (sum int64) {
	for i := l.from(begin); i < len(l.entries) && l.entries[i].at <= at; i++ {
		if e := l.entries[i]; e.synced <= at {
			sum += e.amount
		}
	}
	return sum
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
