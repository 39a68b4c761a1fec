package standin

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"
)

// PerMinute is not a pool: it is Call.Refused's name for the limit over any trailing 60 s.
const PerMinute = "per_minute"

// Pool is an amount that the provider counts, with its limit per day.
type Pool struct {
	Name  string
	Limit int64
}

// Charge is an amount charged to a pool.
type Charge struct {
	Pool   string
	Amount int64
}

// Counter is a provider's own count. Its exported fields are its rules. Its lock also orders the calls.
type Counter struct {
	Now             func() time.Time
	Zone            *time.Location // of its days
	Pools           []Pool         // in the order of their refusals
	PerMinute       int            // calls in any trailing 60 s; 0: no limit
	ChargePerMinute bool           // calls beyond PerMinute are charged too
	Faults          []Fault
	Seed            uint64
	Refuses         func(*Fault) string // the limit whose refusal a fault fakes: a pool, PerMinute, or "" for none
	Free            func(*Fault) bool   // calls with such a fault are not charged; nil: all are charged

	mu        sync.Mutex
	days      map[string]map[string]int64 // day -> pool -> charged
	total     map[string]int64            // pool -> charged since the start
	refused   map[string]int64            // pool -> calls refused for it
	overBurst int64                       // calls refused by the limit per minute
	minute    []time.Time                 // the calls of the last 60 s that the limit per minute admitted
	log       []Call                      // every call of the API that arrived
}

// Admission is the counter's decision about one call.
type Admission struct {
	At      time.Time
	Call    int64  // the call's number, from 1
	Refused string // the pool that refused it, or PerMinute; "": admitted
	Limit   int64  // of that pool
	Fault   *Fault // the fault that hits it, nil for none
}

// Admit counts a call that arrives now, and either refuses it for quota or charges it.
func (c *Counter) Admit(line Call, cost ...Charge) Admission {
	c.mu.Lock()
	defer c.mu.Unlock()
	adm := Admission{At: c.Now(), Call: int64(len(c.log) + 1)}
	line.At = adm.At
	pretended := ""
	if f := DueFault(c.Faults, c.Seed, adm.Call); f != nil {
		adm.Fault, line.Fault, pretended = f, f.String(), c.Refuses(f)
	}
	full := c.fullPool(adm.At, cost)
	switch {
	case c.overMinute(adm.At) || pretended == PerMinute:
		adm.Refused = PerMinute
		c.overBurst++
		if !c.ChargePerMinute || full != "" {
			cost = nil
		}
	case full != "" || pretended != "":
		adm.Refused = cmp.Or(full, pretended)
		adm.Limit = c.limit(adm.Refused)
		if c.refused == nil {
			c.refused = map[string]int64{}
		}
		c.refused[adm.Refused]++
		cost = nil
	case adm.Fault != nil && c.Free != nil && c.Free(adm.Fault):
		cost = nil
	}
	line.Refused, line.Charges = adm.Refused, c.charge(adm.At, cost)
	c.log = append(c.log, line)
	return adm
}

// Answered records the status of the call's answer in the log.
func (c *Counter) Answered(call int64, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log[call-1].Status = status
}

// fullPool returns the first pool without room for its part of cost on the day of at; "" if all fits.
func (c *Counter) fullPool(at time.Time, cost []Charge) string {
	charged := c.days[c.Day(at)]
	for _, p := range c.Pools {
		for _, ch := range cost {
			if ch.Pool == p.Name && charged[p.Name]+ch.Amount > p.Limit {
				return p.Name
			}
		}
	}
	return ""
}

// limit returns the pool's limit; 0 if there is no such pool.
func (c *Counter) limit(name string) int64 {
	for _, p := range c.Pools {
		if p.Name == name {
			return p.Limit
		}
	}
	return 0
}

// charge counts the cost and returns it per pool.
func (c *Counter) charge(at time.Time, cost []Charge) map[string]int64 {
	if len(cost) == 0 {
		return nil
	}
	d := c.Day(at)
	if c.days == nil {
		c.days, c.total = map[string]map[string]int64{}, map[string]int64{}
	}
	if c.days[d] == nil {
		c.days[d] = map[string]int64{}
	}
	charged := map[string]int64{}
	for _, ch := range cost {
		c.days[d][ch.Pool] += ch.Amount
		c.total[ch.Pool] += ch.Amount
		charged[ch.Pool] = ch.Amount
	}
	return charged
}

// Spend charges a pool for another program, within the day's limit, and returns how much it charged.
func (c *Counter) Spend(pool string, amount int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.Now()
	amount = max(0, min(amount, c.limit(pool)-c.days[c.Day(at)][pool]))
	c.charge(at, []Charge{{pool, amount}})
	return amount
}

// overMinute counts the call in the trailing 60 s, or reports that they are full. A call at t counts while now < t + 60
// s.
func (c *Counter) overMinute(at time.Time) bool {
	if c.PerMinute == 0 {
		return false
	}
	from := sort.Search(len(c.minute), func(i int) bool { return at.Before(c.minute[i].Add(time.Minute)) })
	c.minute = c.minute[from:]
	if len(c.minute) >= c.PerMinute {
		return true
	}
	c.minute = append(c.minute, at)
	return false
}

// Day returns the provider's day that contains t, "2006-01-02".
func (c *Counter) Day(t time.Time) string { return t.In(c.Zone).Format(time.DateOnly) }

// Ledger returns the count so far, without the log.
func (c *Counter) Ledger() Ledger {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.Now()
	l := Ledger{
		Units: map[string]int64{}, Refused: map[string]int64{}, Today: map[string]int64{}, Limits: map[string]int64{},
		Regions: map[string]int64{}, PerMinute: c.overBurst, Day: c.Day(at), At: at,
		Calls: CountCalls(c.log, func(c Call) (string, int) { return c.Method, c.Status }),
	}
	for _, p := range c.Pools {
		l.Units[p.Name], l.Refused[p.Name] = c.total[p.Name], c.refused[p.Name]
		l.Today[p.Name], l.Limits[p.Name] = c.days[l.Day][p.Name], p.Limit
	}
	for _, call := range c.log {
		if call.Region != "" && len(call.Charges) > 0 {
			l.Regions[call.Region]++
		}
	}
	return l
}

// Log returns every call of the API since the start, in order of arrival.
func (c *Counter) Log() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := slices.Clone(c.log)
	for i := range log {
		log[i].Charges = maps.Clone(log[i].Charges)
	}
	return log
}
