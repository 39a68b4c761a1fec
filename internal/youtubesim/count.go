package youtubesim

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// pool is something the provider counts, with its limit per Pacific day.
type pool struct {
	name  string
	limit int64
}

// charge is an amount drawn from a pool.
type charge struct {
	pool   string
	amount int64
}

// costTable is what the provider's methods cost: the pools in the order in which they refuse, and
// the charges of every method.
type costTable struct {
	name    string
	pools   []pool
	methods map[string][]charge
}

const (
	poolUnits  = "units"
	poolSearch = "search"
	poolStats  = "batch_stats"
)

// costTables are the two that the provider has published: until and since 2026-06-01
// (determine_quota_cost, revision_history). classic also counts searches as calls, so that one
// client can be judged under both regimes.
func costTables() []costTable {
	one := []charge{{poolUnits, 1}}
	reads := func(more map[string][]charge) map[string][]charge {
		for _, m := range []string{"videos.list", "channels.list", "playlistItems.list", "videoCategories.list", "i18nRegions.list"} {
			more[m] = one
		}
		return more
	}
	return []costTable{{
		name:  "classic",
		pools: []pool{{poolUnits, 10_000}, {poolSearch, 100}},
		methods: reads(map[string][]charge{
			"search.list":          {{poolUnits, 100}, {poolSearch, 1}},
			"videos.batchGetStats": one,
		}),
	}, {
		name:  "split-2026-06",
		pools: []pool{{poolUnits, 10_000}, {poolSearch, 100}, {poolStats, 10_000}},
		methods: reads(map[string][]charge{
			"search.list":          {{poolSearch, 1}},
			"videos.batchGetStats": {{poolStats, 1}},
		}),
	}}
}

// pickTable finds the table and puts the overridden limits into it.
func pickTable(name string, limits map[string]int64) (costTable, error) {
	if name == "" {
		name = "classic"
	}
	tables := costTables()
	i := slices.IndexFunc(tables, func(t costTable) bool { return t.name == name })
	if i < 0 {
		return costTable{}, fmt.Errorf("no cost table %q: use classic or split-2026-06", name)
	}
	t := tables[i]
	for p, limit := range limits {
		j := slices.IndexFunc(t.pools, func(q pool) bool { return q.name == p })
		if j < 0 {
			return costTable{}, fmt.Errorf("limit for an unknown pool %q: table %s has %s", p, t.name, strings.Join(t.poolNames(), ", "))
		}
		if limit < 0 {
			return costTable{}, fmt.Errorf("limit %d for pool %s must not be negative", limit, p)
		}
		t.pools[j].limit = limit
	}
	return t, nil
}

func (t costTable) poolNames() []string {
	var names []string
	for _, p := range t.pools {
		names = append(names, p.name)
	}
	return names
}

// counter is the provider's own count. Its lock also puts the calls in one order.
type counter struct {
	now       func() time.Time
	zone      *time.Location
	table     costTable
	opt       Options
	mu        sync.Mutex
	calls     int64                       // API calls that arrived
	days      map[string]map[string]int64 // Pacific day -> pool -> charged
	total     map[string]int64            // pool -> charged since the start
	refused   map[string]int64            // pool -> calls refused for it
	overBurst int64                       // calls refused by the limit per minute
	minute    []time.Time                 // calls that the limit per minute let through, of the last 60 s
	log       []Call
}

func newCounter(o Options) (*counter, error) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		return nil, fmt.Errorf("the provider's day needs time zone America/Los_Angeles (import time/tzdata?): %w", err)
	}
	t, err := pickTable(o.CostTable, o.Limits)
	if err != nil {
		return nil, err
	}
	return &counter{
		now: o.Now, zone: zone, table: t, opt: o,
		days: map[string]map[string]int64{}, total: map[string]int64{}, refused: map[string]int64{},
	}, nil
}

// admission is what the count decided about one call.
type admission struct {
	at      time.Time
	call    int64 // the call's number, from 1
	index   int   // in the log
	refusal *answer
	fault   *Fault
}

// admit counts one call that arrived now: it is refused for quota, or charged. An invalid call is
// charged 1 of its method's first pool.
func (c *counter) admit(method string, req *request, invalid bool) admission {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	adm := admission{at: c.now(), call: c.calls, index: len(c.log)}
	line := Call{At: adm.at, Method: method, Region: req.region(), PageToken: req.get("pageToken")}
	cost := c.table.methods[method]
	if invalid {
		cost = []charge{{cost[0].pool, 1}}
	}
	if f := dueFault(c.opt.Faults, c.opt.Seed, c.calls); f != nil {
		adm.fault, line.Fault = f, f.String()
	}
	switch p := c.short(adm.at, cost); {
	case c.overMinute(adm.at) || adm.injected("per_minute"):
		adm.refusal, line.Refused = perMinuteExceeded(), "per_minute"
		c.overBurst++
		if !c.opt.ChargePerMinute || p != nil {
			cost = nil
		}
	case p != nil || adm.injected(poolUnits) || adm.injected(poolSearch):
		if p == nil {
			p = &pool{name: adm.fault.refuses(), limit: c.limit(adm.fault.refuses())}
		}
		adm.refusal, line.Refused = spent(*p), p.name
		c.refused[p.name]++
		cost = nil
	case adm.fault != nil && adm.fault.server() && c.opt.FreeFaults:
		cost = nil
	}
	line.Charges = c.draw(adm.at, cost)
	c.log = append(c.log, line)
	return adm
}

// settle writes the status that the call will be answered with into the log.
func (c *counter) settle(adm admission, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log[adm.index].Status = status
}

// short is the first pool without room for its part of cost in the day of at, nil when all fits.
func (c *counter) short(at time.Time, cost []charge) *pool {
	day := c.days[c.day(at)]
	for i, p := range c.table.pools {
		for _, ch := range cost {
			if ch.pool == p.name && day[p.name]+ch.amount > p.limit {
				return &c.table.pools[i]
			}
		}
	}
	return nil
}

func (c *counter) draw(at time.Time, cost []charge) map[string]int64 {
	if len(cost) == 0 {
		return nil
	}
	d := c.day(at)
	if c.days[d] == nil {
		c.days[d] = map[string]int64{}
	}
	drawn := map[string]int64{}
	for _, ch := range cost {
		c.days[d][ch.pool] += ch.amount
		c.total[ch.pool] += ch.amount
		drawn[ch.pool] = ch.amount
	}
	return drawn
}

// overMinute counts the call into the trailing 60 s unless that is full; a call at t counts while
// now < t + 60 s.
func (c *counter) overMinute(at time.Time) bool {
	if c.opt.PerMinute == 0 {
		return false
	}
	from := sort.Search(len(c.minute), func(i int) bool { return at.Before(c.minute[i].Add(time.Minute)) })
	c.minute = c.minute[from:]
	if len(c.minute) >= c.opt.PerMinute {
		return true
	}
	c.minute = append(c.minute, at)
	return false
}

// day is the provider's day that holds t, "2006-01-02".
func (c *counter) day(t time.Time) string { return t.In(c.zone).Format(time.DateOnly) }

func (c *counter) limit(name string) int64 {
	for _, p := range c.table.pools {
		if p.name == name {
			return p.limit
		}
	}
	return 0
}

// injected reports whether the call's fault pretends a refusal by the limit named.
func (a admission) injected(limit string) bool { return a.fault != nil && a.fault.refuses() == limit }
