package quotatest

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// sameDrain reports whether two drains say the same, in whatever zone.
func sameDrain(a, b quota.Drain) bool {
	same := a.Until.Equal(b.Until) && a.At.Equal(b.At)
	a.Until, a.At, b.Until, b.At = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return same && a == b
}

// oneProbe checks that only one of many calls is the probe, until its time is over or the provider has answered.
func oneProbe(r *rig) {
	r.fresh(noon, daily(100))
	closed := func(d, want quota.Drain) {
		r.Helper()
		if err := r.ledger.Drain(r.Context(), r.account, "units", d); err != nil {
			r.Fatal(err)
		}
		if got := r.take(0).Pools[0].LastDrain; !sameDrain(got, want) {
			r.Fatalf("%s: after %+v the pool is drained by %+v, want %+v", r.at(), d, got, want)
		}
	}
	no := quota.Drain{Until: noon.Add(5 * time.Minute), Probe: 1}
	closed(no, no)
	r.clock.Set(no.Until)
	probe := quota.Drain{Until: no.Until.Add(2 * time.Minute), Probe: 1}
	closed(probe, probe)
	closed(quota.Drain{Until: probe.Until.Add(second), Probe: 1}, probe)
	r.clock.Set(probe.Until)
	another := quota.Drain{Until: probe.Until.Add(2 * time.Minute), Probe: 1}
	closed(another, another)
	again := quota.Drain{Until: another.Until.Add(15 * time.Minute), Probe: 2}
	closed(again, again)
	closed(quota.Drain{}, quota.Drain{})
}

// drainRecord checks that a ledger keeps every field of a drain, while it holds and when it is over.
func drainRecord(r *rig) {
	r.fresh(noon, daily(100))
	for _, d := range []quota.Drain{
		{Until: noon.Add(5 * time.Minute), Used: 68, Probe: 1},
		{Until: noon.Add(20*time.Minute + 7*time.Millisecond), Used: 69, Probe: 12},
		{Until: noon.Add(time.Hour), By: quota.ByHand, At: noon.Add(time.Second)},
		{Until: noon.Add(90 * time.Minute), By: quota.ByUnknown, At: noon.Add(time.Second)},
		{Until: noon.Add(2 * time.Hour), Used: quota.MaxLimit},
	} {
		if err := r.ledger.Drain(r.Context(), r.account, "units", d); err != nil {
			r.Fatal(err)
		}
		refused := r.refuses(1, 0)
		if p := refused.Pools[0]; !sameDrain(p.Drain, d) || !sameDrain(p.LastDrain, d) {
			r.Fatalf("drained by %+v, which reads %+v, the last %+v", d, p.Drain, p.LastDrain)
		}
		byHand, unknown := d.At, time.Time{}
		if d.By == quota.ByUnknown {
			byHand, unknown = time.Time{}, d.Until
		}
		if r.clock.Set(d.Until); refused.Refusal.Probe != d.Probe || !refused.Refusal.ByHand.Equal(byHand) || !refused.Refusal.Unknown.Equal(unknown) {
			r.Fatalf("drained by %+v: %+v", d, *refused.Refusal)
		}
		if p := r.take(0).Pools[0]; !sameDrain(p.Drain, quota.Drain{}) || !sameDrain(p.LastDrain, d) {
			r.Fatalf("after %+v it is %+v, the last %+v", d, p.Drain, p.LastDrain)
		}
	}
	reset := quota.Drain{Until: r.clock.Now().Add(time.Second).Truncate(time.Second), By: quota.ByReset}
	reset.At = reset.Until
	if err := r.ledger.Drain(r.Context(), r.account, "units", reset); err != nil {
		r.Fatal(err)
	}
	r.clock.Set(reset.Until)
	if p := r.take(0).Pools[0]; !sameDrain(p.LastDrain, reset) {
		r.Fatalf("reset by %+v, which reads %+v", reset, p.LastDrain)
	}
	if err := r.ledger.Drain(r.Context(), r.account, "units", quota.Drain{}); err != nil {
		r.Fatal(err)
	}
	if p := r.take(0).Pools[0]; !sameDrain(p.LastDrain, quota.Drain{}) {
		r.Fatalf("lifted, and the last drain is %+v", p.LastDrain)
	}
}
