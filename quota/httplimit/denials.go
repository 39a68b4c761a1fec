package httplimit

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// WindowStats counts the requests since the start that one window of a limit has decided or, if the limit is only
// observed, would have decided.
type WindowStats struct {
	Limit    string `json:"limit"` // as in a config: "limits", "plans.NAME", "address" or "outer"
	Route    string `json:"route"` // "": every other request
	Window   string `json:"window"`
	Observed bool   `json:"observed"`
	Allowed  int64  `json:"allowed"`
	Near     int64  `json:"near_misses"` // allowed, with at most a twentieth left afterwards
	Refused  int64  `json:"refused"`
}

// window counts the decisions of a window of a limit.
type window struct {
	labels                 WindowStats
	allowed, near, refused atomic.Int64
}

// denials finds the clients that are refused most among any number of them, in bounded memory (space-saving: a new
// client takes over the counter of the one refused least, whose count is then its possible error). It also says whom to
// log. The zero value is ready to use.
type denials struct {
	mu      sync.Mutex
	began   time.Time // of the hour
	hour    []denial
	before  []denial // the hour before, sorted
	minute  time.Time
	lines   int
	leftOut int64 // refusals of clients without a line, since the last line
}

// denial is one client's counter.
type denial struct {
	account  string
	observed bool
	refused  int64
	error    int64 // at most so many of them belong to another client
	last     time.Time
	unlogged int64
	logged   time.Time
}

const (
	sketched  = 256         // counters at most
	logEvery  = time.Minute // between two log lines of a client
	logAtMost = 60          // lines of all clients in that time
)

// add counts a refusal. It returns how many refusals the client's next log line reports, 0 if no line is due, and how
// many refusals of clients without a line it reports too.
func (d *denials) add(account string, observed bool, now time.Time) (n, leftOut int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn(now)
	c := d.counter(account, observed)
	c.refused, c.unlogged, c.last = c.refused+1, c.unlogged+1, now
	if since := now.Sub(d.minute); since < 0 || since >= logEvery {
		d.minute, d.lines = now, 0
	}
	if since := now.Sub(c.logged); since >= 0 && since < logEvery || d.lines >= logAtMost {
		return 0, 0
	}
	n, leftOut = c.unlogged, d.leftOut
	c.logged, c.unlogged, d.leftOut, d.lines = now, 0, 0, d.lines+1
	return n, leftOut
}

// counter returns the client's counter.
func (d *denials) counter(account string, observed bool) *denial {
	least := -1
	for i, c := range d.hour {
		if c.account == account && c.observed == observed {
			return &d.hour[i]
		}
		if least < 0 || c.refused < d.hour[least].refused {
			least = i
		}
	}
	if len(d.hour) < sketched {
		d.hour, least = append(d.hour, denial{}), len(d.hour)
	}
	d.leftOut += d.hour[least].unlogged
	d.hour[least] = denial{account: account, observed: observed, refused: d.hour[least].refused,
		error: d.hour[least].refused}
	return &d.hour[least]
}

// turn begins a new hour.
func (d *denials) turn(now time.Time) {
	switch since := now.Sub(d.began); {
	case since >= 0 && since < time.Hour:
		return
	case since < 2*time.Hour && since > 0:
		d.before = sorted(d.hour)
	default:
		d.before = nil
	}
	for _, c := range d.hour {
		d.leftOut += c.unlogged
	}
	d.began, d.hour = now, nil
}

// top returns the n clients that were refused most since a time.
func (d *denials) top(n int, now time.Time) (since time.Time, most []denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn(now)
	since, all := d.began, slices.Clone(d.hour)
	for _, before := range d.before {
		since = d.began.Add(-time.Hour)
		if i := slices.IndexFunc(all,
			func(c denial) bool { return c.account == before.account && c.observed == before.observed }); i >= 0 {
			all[i].refused, all[i].error = all[i].refused+before.refused, all[i].error+before.error
			continue
		}
		all = append(all, before)
	}
	all = sorted(all)
	return since, all[:min(n, len(all))]
}

func sorted(of []denial) []denial {
	slices.SortFunc(of, func(a, b denial) int { return cmp.Compare(b.refused, a.refused) })
	return of
}
