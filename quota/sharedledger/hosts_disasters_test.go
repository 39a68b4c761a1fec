package sharedledger_test

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
)

// disasters lets everything that is planned go wrong, each at a time of its own.
func (w *world) disasters() {
	for _, d := range []struct {
		times int
		what  func(r *rand.Rand)
	}{
		{w.losses, w.loss},
		{w.outages, w.outage},
		{w.aways, w.away},
		{w.steps, w.clock},
		{count(w.broken), w.disk},
		{count(w.boot), w.tomorrow},
		{count(w.newcomer), w.comes},
	} {
		for range d.times {
			salt := uint64(w.nextDisaster())
			w.wait.Go(func() {
				defer w.order()
				r := w.random(100_000 + salt)
				if w.sleep(between(r, 0, w.length)) {
					d.what(r)
				}
			})
		}
	}
}

func (w *world) nextDisaster() int {
	w.planned++
	return w.planned
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pick is a duration of the given order of magnitude: from seconds to hours.
func pick(r *rand.Rand, from ...time.Duration) time.Duration {
	d := from[r.IntN(len(from))]
	return between(r, d/2, d+d/2)
}

// loss is a server that forgets.
func (w *world) loss(r *rand.Rand) {
	s := w.server
	silent := r.Float64() < w.silent
	switch r.IntN(5) {
	case 0: // emptied
		s.ledger.Load(memremote.Image{})
		w.judge.loses(time.Time{})
		w.judge.evicted = false
		w.say("THE LEDGER IS EMPTIED")
	case 1: // a key evicted
		pool := []string{"units", "search"}[r.IntN(2)]
		s.ledger.Load(s.ledger.Image().Without("default", pool))
		w.judge.evicted = true
		w.say("THE LOG OF %s IS EVICTED", pool)
		silent = true // it was not restarted
	case 2: // its scripts only
		w.say("THE SCRIPTS ARE FLUSHED")
		silent = false
	default: // an old copy, or a replica that lags
		then, image, evicted := w.now(), s.ledger.Image(), w.judge.evicted
		if !w.sleep(pick(r, 10*time.Millisecond, time.Second, 10*time.Second, 10*time.Minute, 5*time.Hour)) {
			return
		}
		s.ledger.Load(image)
		w.judge.loses(then)
		w.judge.evicted = evicted
		w.say("A COPY OF %s IS RESTORED (silent: %t)", then.In(pacific).Format("02 15:04:05.000000"), silent)
	}
	s.restarted = s.restarted || !silent
	s.replaced = s.replaced || !silent && w.failover
	if w.failover {
		s.skew -= time.Hour
		w.say("THE SERVER IS ANOTHER, AN HOUR BEHIND")
		if !w.sleep(pick(r, time.Minute, 20*time.Minute)) {
			return // peace comes then
		}
		s.skew += time.Hour
	}
}

// tomorrow is a host that starts before it has asked for the time.
func (w *world) tomorrow(r *rand.Rand) {
	h := w.hosts[r.IntN(len(w.hosts))]
	w.say("HOST %d IS A DAY AHEAD", h.id)
	h.skew += 30 * time.Hour
	if !w.sleep(pick(r, 10*time.Second, 10*time.Minute)) {
		return // peace comes then
	}
	h.skew -= 30 * time.Hour
}

// outage is a server that does not answer, or hangs.
func (w *world) outage(r *rand.Rand) {
	s, flag := w.server, &w.server.down
	if r.IntN(2) == 0 {
		flag = &s.hung
	}
	w.say("THE SERVER IS DOWN (hung: %t)", flag == &s.hung)
	*flag = true
	if !w.sleep(pick(r, time.Second, 20*time.Second, 5*time.Minute, 2*time.Hour)) {
		return // peace comes then
	}
	*flag = false
	w.say("the server is back")
}

// away is a host that is switched off, or cut off, for a while or indefinitely.
func (w *world) away(r *rand.Rand) {
	h := w.hosts[r.IntN(len(w.hosts))]
	if r.IntN(2) == 0 {
		w.say("HOST %d IS CUT OFF", h.id)
		h.cut = true
		if !w.sleep(pick(r, 20*time.Second, 5*time.Minute, 3*time.Hour, 20*time.Hour)) {
			return // peace comes then
		}
		h.cut = false
	} else {
		w.say("HOST %d IS SWITCHED OFF", h.id)
		h.off = true
		for p := range h.running {
			p.dead = true
		}
		if !w.sleep(pick(r, time.Minute, time.Hour, 5*time.Hour, 30*time.Hour)) {
			return // peace comes then
		}
		h.off = false
	}
	w.say("host %d is back", h.id)
}

// clock sets one clock wrong by an hour for a while.
func (w *world) clock(r *rand.Rand) {
	skew := &w.server.skew
	if n := r.IntN(len(w.hosts) + 1); n < len(w.hosts) {
		skew = &w.hosts[n].skew
	}
	step := []time.Duration{-time.Hour, time.Hour}[r.IntN(2)]
	w.say("A CLOCK IS WRONG BY %v (server: %t)", step, skew == &w.server.skew)
	*skew += step
	if !w.sleep(pick(r, time.Minute, time.Hour)) {
		return // peace comes then
	}
	*skew -= step
}

// disk is a data directory that cannot be written to.
func (w *world) disk(r *rand.Rand) {
	j := w.hosts[r.IntN(len(w.hosts))].journal
	w.say("A DISK IS FULL")
	j.Broken = errDisk
	if !w.sleep(pick(r, time.Minute, time.Hour)) {
		return // peace comes then
	}
	j.Broken = nil
}

// comes is a new data directory. It does not come while the ledger is empty: that it is the first after a loss nothing
// tells, as docs/hosts.md says.
func (w *world) comes(*rand.Rand) {
	for {
		s, err := w.server.ledger.State(context.Background(), "default", nil)
		if err == nil && s.Generation != 0 {
			break
		}
		if !w.sleep(time.Minute) {
			return
		}
	}
	w.say("HOST %d COMES", len(w.hosts)-1)
	w.hosts[len(w.hosts)-1].off = false
}
