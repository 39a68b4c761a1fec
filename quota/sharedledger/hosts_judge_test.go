package sharedledger_test

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// judge is the upstream, which counts arriving calls by its own clock, and beside it the knowledge that each host
// ought to have. All of it comes from the world, nothing from the ledger.
type judge struct {
	*world

	failed   string // the first broken promise, "" for none
	arrivals []arrival
	charges  map[string]*charge    // by writer and number
	reborn   time.Time             // when the generation began, by true time
	evicted  bool                  // a log is gone: the next generation wipes the others
	doubted  quota.Cost            // calls in doubt
	back     quota.Cost            // given back
	unsent   map[string]bool       // emergencies that were given back, by host and row
	carried  map[string]quota.Cost // rows that were synced, by host and row

	asked, stops int     // calls
	uncovered    int64   // units that no host knew of, who was there
	excess       int64   // the most over the limit by such
	over         int64   // that the ledger counts more than arrived, and than was in doubt
	least        float64 // part of the limit that the fullest window had: a simulation that spends little shows little
}

// arrival is a call at the upstream.
type arrival struct {
	at     time.Time
	cost   quota.Cost
	charge *charge // nil: it went on without the ledger
}

// charge is an ask that the ledger once admitted.
type charge struct {
	host  *host
	name  string
	cost  quota.Cost
	at    time.Time                             // by the ledger's clock
	since map[sharedledger.Generation]time.Time // from when on snapshots see it
	// entered is when it came into the ledger last, by true time; lost is when it was lost since.
	entered, lost time.Time
	// uncovered are the units that DESIGN declares: it was lost, no host present had seen it, its host had not been
	// back, and something was admitted meanwhile.
	uncovered bool
	gone      bool // given back
}

func (j *judge) fail(format string, args ...any) {
	if j.failed == "" {
		j.failed = j.now().In(pacific).Format("02 15:04:05.000000 ") + fmt.Sprintf(format, args...)
		j.say("JUDGE: %s", j.failed)
	}
}

func add(sum *quota.Cost, cost quota.Cost) {
	if *sum == nil {
		*sum = quota.Cost{}
	}
	for pool, n := range cost {
		(*sum)[pool] += n
	}
}

func (j *judge) doubts(cost quota.Cost) {
	j.mu.Lock()
	defer j.mu.Unlock()
	add(&j.doubted, cost)
}

func (j *judge) gaveBack(t *try, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		t.charge.gone = true
	}
	add(&j.back, t.cost)
}

// neverLeft is an emergency that was given back: in doubt only if a sync was under way, or its answer lost.
func (j *judge) neverLeft(h *host, row int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unsent == nil {
		j.unsent = map[string]bool{}
	}
	j.unsent[fmt.Sprintf("%d/%d", h.id, row)] = true
}

// listed is a journal's list: a refunded operation is never due for a sync.
func (j *judge) listed(h *host, rows []sharedledger.Row) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range rows {
		if r.State == sharedledger.RowOwed && j.unsent[fmt.Sprintf("%d/%d", h.id, r.ID)] {
			j.failed = fmt.Sprintf("row %d of host %d was given back, and is owed", r.ID, h.id)
		}
	}
}

// decided is the ledger's answer, as it is carried out.
func (j *judge) decided(ctx context.Context, h *host, op sharedledger.Operation, d quota.Decision) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h.heard = j.now()
	if !d.Allowed || d.Pools[0].Charged == 0 {
		return
	}
	name := fmt.Sprintf("%s/%d", op.Writer, op.Number)
	c := j.charges[name]
	if c == nil {
		c = &charge{host: h, name: name, cost: quota.Cost{}, since: map[sharedledger.Generation]time.Time{}}
		for _, p := range d.Pools {
			c.cost[p.Pool] = p.Charged
		}
		if j.charges == nil {
			j.charges = map[string]*charge{}
		}
		j.charges[name] = c
		for _, other := range j.charges { // this is admitted without them
			if other.absent() && j.waited(other) && j.now().Sub(other.entered) < 26*time.Hour && !other.uncovered {
				other.uncovered = true
				j.uncovered += other.cost["units"]
			}
		}
	}
	if t := trying(ctx); t != nil {
		t.charge = c
	}
	c.at, c.entered, c.lost = d.At, j.now(), time.Time{}
	c.since[op.Generation] = d.At
}

// absent reports whether the charge is lost, and its host was not heard of since.
func (c *charge) absent() bool {
	return !c.lost.IsZero() && !c.gone && c.host.heard.Before(c.lost)
}

// waited reports whether the loss was not noticed yet, or its settling is over: until then a host that
// is there has its chance to tell.
func (j *judge) waited(c *charge) bool {
	return j.reborn.Before(c.lost) || j.now().Sub(j.reborn) >= j.tariff.Failure.SyncWait
}

// synced are the operations that were synced into the ledger.
func (j *judge) synced(h *host, d sharedledger.Batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.carried == nil {
		j.carried = map[string]quota.Cost{}
	}
	for _, r := range d.Rows {
		j.carried[fmt.Sprintf("%d/%d", h.id, r.ID)] = r.Amounts
		if r.State == sharedledger.RowAsked {
			add(&j.doubted, r.Amounts)
		}
		if c := j.charges[fmt.Sprintf("%s/%d", r.Writer, r.Number)]; c != nil {
			c.lost, c.entered = time.Time{}, j.now()
			c.since[d.Generation] = j.server.now()
		}
	}
	for _, l := range d.Snapshots {
		for _, c := range j.charges {
			if since, ok := c.since[l.Generation]; ok && !since.After(l.At) && c.cost[l.Pool] > 0 {
				c.lost = time.Time{}
			}
		}
	}
}

// renewed is a generation that keeps its log, if that is whole.
func (j *judge) renewed(r sharedledger.Renewal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reborn = j.now()
	for _, c := range j.charges {
		if j.evicted && c.lost.IsZero() {
			c.lost = j.now()
		}
		if c.lost.IsZero() {
			c.since[r.Next] = j.server.now()
		}
	}
	j.evicted = false
}

// loses is a ledger that knows no more than it knew then; the zero time: nothing.
func (j *judge) loses(then time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.charges {
		if c.entered.After(then) && c.lost.IsZero() {
			c.lost = j.now()
		}
	}
}

// stopped is a call that was not made.
func (j *judge) stopped() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked++
	j.stops++
}

// arrives is I1.
func (j *judge) arrives(p *process, t *try, d quota.Decision) {
	a := arrival{at: j.now(), cost: t.cost, charge: t.charge}
	if d.Degraded {
		a.charge = nil
	}
	j.mu.Lock()
	j.asked++
	j.arrivals = append(j.arrivals, a)
	over := ""
	for _, pool := range j.tariff.Pools {
		for _, w := range pool.Windows {
			if sum, excused := j.window(pool.Name, w); sum-excused > w.Limit {
				over = fmt.Sprintf("%d of %s arrived in window %s, limit %d (and %d that nobody knew of)", sum-excused, pool.Name, w.Name, w.Limit, excused)
			} else if sum > w.Limit && pool.Name == "units" {
				j.excess = max(j.excess, sum-w.Limit)
			} else if pool.Name == "units" {
				j.least = max(j.least, float64(sum)/float64(w.Limit))
			}
		}
	}
	j.mu.Unlock()
	j.say("%s: %v arrives", p.name, t.cost)
	if over != "" && j.failed == "" {
		j.fail("I1: %s", over)
		j.explain()
	}
}

// explain says how ledger and upstream differ, hour by hour.
func (j *judge) explain() {
	for since := j.now().Add(-25 * time.Hour); j.trace != nil && since.Before(j.now()); since = since.Add(30 * time.Minute) {
		spent, _ := j.server.ledger.Spent(context.Background(), "default", since, 0)
		counted, unattributed, arrived := int64(0), int64(0), int64(0)
		for _, s := range spent {
			if s.Pool == "units" {
				counted += s.Amount
				if s.Who == sharedledger.Unattributed {
					unattributed += s.Amount
				}
			}
		}
		for _, a := range j.arrivals {
			if a.at.After(since) {
				arrived += a.cost["units"]
			}
		}
		j.say("since %s: %d counted, %d of them unattributed, %d arrived", since.In(pacific).Format("02 15:04"), counted, unattributed, arrived)
	}
}

// window is the amount that has arrived in a window up to now, and how much of it is uncovered.
func (j *judge) window(pool string, w quota.Window) (sum, excused int64) {
	begin := j.now().Add(-w.Length).Add(time.Nanosecond)
	if w.Day() {
		for _, midnight := range quota.Midnights(j.now(), pacific) {
			if !midnight.After(j.now()) {
				begin = midnight
			}
		}
	}
	for i := len(j.arrivals) - 1; i >= 0 && !j.arrivals[i].at.Before(begin); i-- {
		a := j.arrivals[i]
		sum += a.cost[pool]
		if a.charge != nil && a.charge.uncovered {
			excused += a.cost[pool]
		}
	}
	return sum, excused
}

// peace is I2: all faults are over, every host comes back once, and the ledger is compared with the arrivals of the
// last day.
func (w *world) peace() {
	w.server.down, w.server.hung, w.server.skew = false, false, 0
	w.flaky, w.crashes, w.unsure = 0, 0, 0
	for range 3 {
		for _, h := range w.hosts {
			h.off, h.cut, h.skew, h.journal.Broken = false, false, 0, nil
			w.returns(h)
		}
	}
	w.judge.compare()
}

// returns is a process that looks until it is answered.
func (w *world) returns(h *host) {
	r := w.random(5000 + uint64(h.id))
	p := h.start(fmt.Sprintf("h%d.back", h.id), r)
	ctx := context.WithValue(context.Background(), diceKey{}, r)
	defer p.end()
	var err error
	for range 200 {
		if _, err = p.governor.Report(ctx); err == nil {
			return
		}
		p.say("%s looks: %v", p.name, err)
		w.rest(30 * time.Second)
	}
	w.judge.fail("%s does not come back: %v", p.name, err)
}

func (j *judge) compare() {
	slack := 20 * time.Second
	if j.steps > 0 || j.failover || j.boot {
		slack = 70 * time.Minute
	}
	for row := range j.unsent {
		add(&j.doubted, j.carried[row])
	}
	cut := j.now().Add(-24 * time.Hour)
	spent, err := j.server.ledger.Spent(context.Background(), "default", cut, 0)
	if err != nil {
		j.fail("spent: %v", err)
	}
	for _, pool := range j.tariff.Pools {
		counted, unattributed, least, most := int64(0), int64(0), int64(0), int64(0)
		for _, s := range spent {
			if s.Pool == pool.Name {
				counted += s.Amount
				if s.Who == sharedledger.Unattributed {
					unattributed += s.Amount
				}
			}
		}
		for _, a := range j.arrivals {
			if a.at.After(cut.Add(slack)) {
				least += a.cost[pool.Name]
			}
			if a.at.After(cut.Add(-slack)) {
				most += a.cost[pool.Name]
			}
		}
		if counted < least {
			j.fail("I2: the ledger counts %d of %s, and %d arrived", counted, pool.Name, least)
		}
		if counted-unattributed > most+j.doubted[pool.Name]+j.back[pool.Name] {
			j.fail("I2: the ledger counts %d of %s by name, %d arrived, %d are in doubt, %d were given back",
				counted-unattributed, pool.Name, most, j.doubted[pool.Name], j.back[pool.Name])
		}
		if pool.Name == "units" {
			j.over = max(counted-most-j.doubted[pool.Name], 0)
		}
		j.say("%s: %d counted, %d..%d arrived, %d in doubt, %d given back", pool.Name, counted, least, most, j.doubted[pool.Name], j.back[pool.Name])
	}
}
