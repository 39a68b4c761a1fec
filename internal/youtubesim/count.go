package youtubesim

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// rules are the limits that the provider enforces.
type rules struct {
	table           costTable
	perMinute       int // calls in any trailing 60 s; 0: no limit
	chargePerMinute bool
	faults          []Fault
	freeFaults      bool
	seed            uint64
}

// counter is the provider's own count. Its lock also puts the calls in one order.
type counter struct {
	now  func() time.Time
	zone *time.Location
	rules

	mu        sync.Mutex
	days      map[string]map[string]int64 // Pacific day -> pool -> charged
	total     map[string]int64            // pool -> charged since the start
	refused   map[string]int64            // pool -> calls refused for it
	overBurst int64                       // calls refused by the limit per minute
	minute    []time.Time                 // the calls of the last 60 s that the limit per minute admitted
	log       []Call                      // every call of the API that arrived
}

func newCounter(now func() time.Time, r rules) (*counter, error) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		return nil, fmt.Errorf("the provider's day needs time zone America/Los_Angeles (import time/tzdata?): %w", err)
	}
	return &counter{
		now: now, zone: zone, rules: r,
		days: map[string]map[string]int64{}, total: map[string]int64{}, refused: map[string]int64{},
	}, nil
}

// admission is the counter's decision about one call.
type admission struct {
	at      time.Time
	call    int64  // the call's number, from 1
	refused string // the pool that refused it, or perMinute; "": admitted
	limit   int64  // of that pool
	fault   *Fault // the fault that hits it, nil for none
}

// admit counts a call that arrives now, and either refuses it for quota or charges it. An invalid call is charged 1 of
// its method's first pool.
func (c *counter) admit(method, region, pageToken string, invalid bool) admission {
	c.mu.Lock()
	defer c.mu.Unlock()
	adm := admission{at: c.now(), call: int64(len(c.log) + 1)}
	line := Call{At: adm.at, Method: method, Region: region, PageToken: pageToken}
	cost := c.table.methods[method]
	if invalid {
		cost = []charge{{cost[0].pool, 1}}
	}
	pretended := ""
	if f := standin.DueFault(c.faults, c.seed, adm.call); f != nil {
		adm.fault, line.Fault, pretended = f, f.String(), refuses(f)
	}
	full := c.fullPool(adm.at, cost)
	switch {
	case c.overMinute(adm.at) || pretended == perMinute:
		adm.refused = perMinute
		c.overBurst++
		if !c.chargePerMinute || full != "" {
			cost = nil
		}
	case full != "" || pretended != "":
		adm.refused = full
		if full == "" {
			adm.refused = pretended
		}
		adm.limit = c.table.limit(adm.refused)
		c.refused[adm.refused]++
		cost = nil
	case adm.fault != nil && failsServer(adm.fault) && c.freeFaults:
		cost = nil
	}
	line.Refused, line.Charges = adm.refused, c.charge(adm.at, cost)
	c.log = append(c.log, line)
	return adm
}

// answered records the status of the call's answer in the log.
func (c *counter) answered(call int64, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log[call-1].Status = status
}

// fullPool returns the first pool without room for its part of cost on the day of at; "" if all fits.
func (c *counter) fullPool(at time.Time, cost []charge) string {
	charged := c.days[c.day(at)]
	for _, p := range c.table.pools {
		for _, ch := range cost {
			if ch.pool == p.name && charged[p.name]+ch.amount > p.limit {
				return p.name
			}
		}
	}
	return ""
}

// charge counts the cost and returns it per pool.
func (c *counter) charge(at time.Time, cost []charge) map[string]int64 {
	if len(cost) == 0 {
		return nil
	}
	d := c.day(at)
	if c.days[d] == nil {
		c.days[d] = map[string]int64{}
	}
	charged := map[string]int64{}
	for _, ch := range cost {
		c.days[d][ch.pool] += ch.amount
		c.total[ch.pool] += ch.amount
		charged[ch.pool] = ch.amount
	}
	return charged
}

// spend charges a pool for another program, within the day's limit, and returns how much it charged.
func (c *counter) spend(pool string, amount int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.now()
	amount = max(0, min(amount, c.table.limit(pool)-c.days[c.day(at)][pool]))
	c.charge(at, []charge{{pool, amount}})
	return amount
}

// overMinute counts the call in the trailing 60 s, or reports that they are full. A call at t counts while now < t + 60
// s.
func (c *counter) overMinute(at time.Time) bool {
	if c.perMinute == 0 {
		return false
	}
	from := sort.Search(len(c.minute), func(i int) bool { return at.Before(c.minute[i].Add(time.Minute)) })
	c.minute = c.minute[from:]
	if len(c.minute) >= c.perMinute {
		return true
	}
	c.minute = append(c.minute, at)
	return false
}

// day returns the provider's day that contains t, "2006-01-02".
func (c *counter) day(t time.Time) string { return t.In(c.zone).Format(time.DateOnly) }

// ledger returns the count so far, without the log.
func (c *counter) ledger() Ledger {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.now()
	l := Ledger{
		Units: map[string]int64{}, Refused: map[string]int64{}, Today: map[string]int64{}, Limits: map[string]int64{},
		PerMinute: c.overBurst, Day: c.day(at), At: at,
	}
	for _, p := range c.table.pools {
		l.Units[p.name], l.Refused[p.name] = c.total[p.name], c.refused[p.name]
		l.Today[p.name], l.Limits[p.name] = c.days[l.Day][p.name], p.limit
	}
	l.Calls, l.Regions = countCalls(c.log)
	return l
}

// calls returns a copy of the log.
func (c *counter) calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := slices.Clone(c.log)
	for i := range log {
		log[i].Charges = maps.Clone(log[i].Charges)
	}
	return log
}
