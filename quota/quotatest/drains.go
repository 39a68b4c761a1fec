package quotatest

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// oneProbe checks that only one of many calls is the probe, until its lease ends or the provider has answered.
func oneProbe(r *rig) {
	r.fresh(noon, daily(100))
	closed := func(d, want quota.Drain) {
		r.Helper()
		if err := r.ledger.Drain(r.Context(), r.account, "units", d); err != nil {
			r.Fatal(err)
		}
		if got := r.take(0).Pools[0].LastDrain; !got.Equal(want) {
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

// drainRecord checks that a ledger keeps every field of a drain, while it is in force and after it has ended.
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
		if p := refused.Pools[0]; !p.Drain.Equal(d) || !p.LastDrain.Equal(d) {
			r.Fatalf("drained by %+v: the drain is %+v and the last %+v, want the same", d, p.Drain, p.LastDrain)
		}
		byHand, unknown := d.At, time.Time{}
		if d.By == quota.ByUnknown {
			byHand, unknown = time.Time{}, d.Until
		}
		if r.clock.Set(d.Until); refused.Refusal.Probe != d.Probe || !refused.Refusal.ByHand.Equal(byHand) ||
			!refused.Refusal.Unknown.Equal(unknown) {
			r.Fatalf("drained by %+v: the refusal is %+v", d, *refused.Refusal)
		}
		if p := r.take(0).Pools[0]; !p.Drain.Equal(quota.Drain{}) || !p.LastDrain.Equal(d) {
			r.Fatalf("after the end of %+v the drain is %+v and the last %+v, want none and the same", d, p.Drain, p.LastDrain)
		}
	}
	reset := quota.Drain{Until: r.clock.Now().Add(time.Second).Truncate(time.Second), By: quota.ByReset}
	reset.At = reset.Until
	if err := r.ledger.Drain(r.Context(), r.account, "units", reset); err != nil {
		r.Fatal(err)
	}
	r.clock.Set(reset.Until)
	if p := r.take(0).Pools[0]; !p.LastDrain.Equal(reset) {
		r.Fatalf("reset by %+v: the last drain is %+v, want the same", reset, p.LastDrain)
	}
	if err := r.ledger.Drain(r.Context(), r.account, "units", quota.Drain{}); err != nil {
		r.Fatal(err)
	}
	if p := r.take(0).Pools[0]; !p.LastDrain.Equal(quota.Drain{}) {
		r.Fatalf("after lifting it the last drain is %+v", p.LastDrain)
	}
}

// drainUnknown checks that a pool closed by ByUnknown opens early only by a later drain by ByUnknown that ends at once.
// Every other drain can only prolong it.
func drainUnknown(r *rig) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	unknown := func(closed, until int) quota.Drain {
		return quota.Drain{By: quota.ByUnknown, At: at(closed), Until: at(until)}
	}
	byHand := func(until int) quota.Drain { return quota.Drain{By: quota.ByHand, At: noon, Until: at(until)} }
	for _, c := range []struct {
		name   string
		drains []quota.Drain
		want   quota.Drain
	}{
		{"a later hand", []quota.Drain{unknown(0, 60), byHand(90)}, unknown(0, 90)},
		{"an earlier hand", []quota.Drain{unknown(0, 60), byHand(30)}, unknown(0, 60)},
		{"after a hand that ends later", []quota.Drain{byHand(90), unknown(0, 60)}, unknown(0, 90)},
		{"after a hand", []quota.Drain{byHand(30), unknown(0, 60)}, unknown(0, 60)},
		{"a later no", []quota.Drain{unknown(0, 60), {Until: at(90), Used: 5}}, unknown(0, 90)},
		{"a doubted no", []quota.Drain{unknown(0, 60), {Until: at(90), Used: 5, Probe: 1}}, unknown(0, 90)},
		{"opened as if by hand", []quota.Drain{unknown(0, 60), byHand(90), {}}, unknown(0, 90)},
		{"unknown again", []quota.Drain{unknown(-9, 60), unknown(0, 50)}, unknown(0, 60)},
		{"unknown before", []quota.Drain{unknown(0, 50), unknown(-9, 60)}, unknown(0, 60)},
		{"known since", []quota.Drain{unknown(-9, 60), unknown(0, 0)}, unknown(0, 0)},
		{"known since, learned late", []quota.Drain{unknown(-5, -5), unknown(-9, 60)}, unknown(-5, -5)},
		{"known since, and unknown again", []quota.Drain{unknown(-5, -5), unknown(0, 60)}, unknown(0, 60)},
		{"known since, and opened", []quota.Drain{unknown(-5, -5), {}, unknown(-9, 60)}, unknown(-5, -5)},
		{"closed by hand, and known", []quota.Drain{byHand(30), unknown(-5, -5)}, byHand(30)},
		{"known, then closed by hand", []quota.Drain{unknown(-5, -5), byHand(30)}, byHand(30)},
	} {
		r.fresh(noon, daily(100))
		for _, d := range c.drains {
			if err := r.ledger.Drain(r.Context(), r.account, "units", d); err != nil {
				r.Fatal(err)
			}
		}
		if got := r.take(0).Pools[0]; !got.LastDrain.Equal(c.want) || got.Drain.Until.IsZero() == c.want.Active(noon) {
			r.Fatalf("%s: drained by %+v, the last %+v, want %+v", c.name, got.Drain, got.LastDrain, c.want)
		}
	}
}
