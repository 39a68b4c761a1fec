package quotatest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

var days = []Case{
	{ID: "I1", Name: "the day of 25 hours admits the limit once", check: func(r *rig) {
		r.zone = pacific
		begin := time.Date(2026, 11, 1, 0, 0, 0, 0, pacific)
		end := begin.Add(25 * time.Hour)
		both := []quota.Bound{per(24*time.Hour, 100), daily(100)}
		for _, bounds := range [][]quota.Bound{both, {both[1], both[0]}, {both[1]}} {
			r.fresh(begin, bounds...)
			r.admits(100, 0)
			r.clock.Set(begin.Add(24 * time.Hour))
			d := r.retries(100, time.Hour, "day")
			if len(bounds) > 1 && d.Refusal.RoomIn != "24h0m0s" {
				r.Fatalf("after 24 h the sliding window has room: %+v", *d.Refusal)
			}
			r.clock.Set(end.Add(-time.Millisecond))
			r.refuses(1, 0)
			r.clock.Set(end)
			r.admits(100, 0)
		}
	}},
	{ID: "I2", Name: "the day of 23 hours ends after 23", check: func(r *rig) {
		r.zone = pacific
		begin := time.Date(2027, 3, 14, 0, 0, 0, 0, pacific)
		r.fresh(begin, daily(100))
		r.admits(100, 0)
		r.clock.Set(begin.Add(time.Minute))
		r.retries(1, 23*time.Hour-time.Minute, "day")
		r.clock.Set(begin.Add(23 * time.Hour))
		r.admits(100, 0)

		r.fresh(begin, per(24*time.Hour, 100), daily(100))
		r.admits(100, 0)
		r.clock.Set(begin.Add(23 * time.Hour))
		if d := r.retries(1, time.Hour, "24h0m0s"); d.Refusal.RoomIn != "day" {
			r.Fatalf("the new day has room: %+v, want \"day\"", *d.Refusal)
		}
		r.clock.Set(begin.Add(24 * time.Hour))
		r.admits(100, 0)
	}},
	{ID: "I3", Name: "at midnight the day is empty, and the sliding window says when it frees", check: func(r *rig) {
		r.zone = pacific
		midnight := time.Date(2026, 6, 2, 0, 0, 0, 0, pacific)
		r.fresh(midnight.Add(-time.Hour), per(24*time.Hour, 100), daily(100))
		r.admits(100, 0)
		r.clock.Set(midnight.Add(-time.Microsecond))
		r.used(100, 100)
		r.clock.Set(midnight)
		r.used(100, 0)
		if d := r.retries(1, 23*time.Hour, "24h0m0s"); d.Refusal.RoomIn != "day" {
			r.Fatalf("the new day has room: %+v, want \"day\"", *d.Refusal)
		}
		frees := r.take(0).Pools[0].Windows
		if at := midnight.Add(23 * time.Hour); !frees[0].FreesAt.Equal(at) {
			r.Fatalf("the sliding window frees at %s, want %s", frees[0].FreesAt, at)
		}
		if at := midnight.Add(24 * time.Hour); !frees[1].FreesAt.Equal(at) {
			r.Fatalf("the day frees at %s, want %s", frees[1].FreesAt, at)
		}
	}},
	{ID: "I4", Name: "use survives a restart", Needs: Another, check: func(r *rig) {
		r.bounds = []quota.Bound{per(24*time.Hour, 10), daily(10)}
		r.admits(4, 6)
		d := r.admits(2, 4)
		if err := r.ledger.Drain(r.Context(), r.account, "search",
			quota.Drain{Until: noon.Add(time.Hour), Used: 7}); err != nil {
			r.Fatal(err)
		}
		if err := r.ledger.Close(); err != nil {
			r.Fatalf("close: %v", err)
		}
		r.pass(second)
		r.ledger = r.store.Another(r)
		r.admits(0, 4)
		r.used(6, 6)
		if err := r.ledger.Refund(r.Context(), r.account, d); err != nil {
			r.Fatalf("refund after a restart: %v", err)
		}
		r.used(4, 4)
		if s := r.draw(charge("search", 1, daily(10))); s.Allowed || !s.Pools[0].Drain.Until.Equal(noon.Add(time.Hour)) {
			r.Fatalf("the drain did not survive a restart: %+v", s)
		}
	}},
	{ID: "I5", Name: "a drained pool opens at its time by itself, or by hand", check: drained},
	{ID: "I5", Name: "a drain keeps who closed the pool, when, its use and its probe", check: drainRecord},
	{ID: "I5", Name: "a pool whose use is unknown stays closed, when others close or open it, " +
		"until its use is known", check: drainUnknown},
	{ID: "I5", Name: "only one of many callers becomes the probe", check: oneProbe},
	{ID: "I6", Name: "with grace no day and no window is over its limit on arrival", check: arrivals},
}

func drained(r *rig) {
	r.zone = pacific
	midnight := time.Date(2026, 6, 2, 0, 0, 0, 0, pacific)
	drain := func(until time.Time) {
		r.Helper()
		if err := r.ledger.Drain(r.Context(), r.account, "units", quota.Drain{Until: until, Used: 68}); err != nil {
			r.Fatal(err)
		}
	}
	r.fresh(midnight.Add(-5*time.Hour), daily(100))
	r.admits(10, 90)
	drain(midnight)
	d := r.retries(1, 5*time.Hour, protocol.DrainWindow)
	if p := d.Pools[0]; p.Remaining != 0 || !p.Drain.Until.Equal(midnight) || p.Drain.Used != 68 || d.Refusal.Used != 68 {
		r.Fatalf("drained at 68: %+v %+v", p, *d.Refusal)
	}
	if d := r.draw(charge("search", 1, daily(100))); !d.Allowed {
		r.Fatalf("units are drained, and search is refused: %v", d.Refusal)
	}
	if d := r.take(0); !d.Allowed || d.Pools[0].Remaining != 0 || d.Pools[0].Windows[0].Used != 10 {
		r.Fatalf("a look at a drained pool: %+v", d)
	}
	r.clock.Set(midnight.Add(-time.Millisecond))
	r.retries(1, time.Millisecond, protocol.DrainWindow)
	r.clock.Set(midnight)
	r.admits(1, 99)
	drain(midnight) // it arrives late: that day is over
	r.admits(1, 98)
	drain(midnight.Add(5 * time.Minute))
	r.refuses(1, 0)
	r.clock.Set(midnight.Add(5 * time.Minute))
	r.admits(1, 97)
	drain(midnight.Add(24 * time.Hour))
	drain(midnight.Add(time.Hour)) // an earlier drain changes nothing
	if at := r.refuses(1, 0).Pools[0].Drain.Until; !at.Equal(midnight.Add(24 * time.Hour)) {
		r.Fatalf("drained until %s, want the later of two drains", at)
	}
	drain(time.Time{})
	r.admits(1, 96)
	drain(midnight.Add(time.Hour)) // a window that frees later than the drain ends decides
	r.bounds = []quota.Bound{daily(4)}
	r.retries(1, 24*time.Hour-5*time.Minute, "day")

	r.fresh(midnight, daily(100)) // a pool that was never charged
	drain(midnight.Add(time.Hour))
	r.refuses(1, 0)
	r.clock.Set(midnight.Add(time.Hour))
	r.admits(1, 99)
}

// arrivals takes greedily around three midnights, lets every call arrive up to the grace later, and
// counts as the provider would.
func arrivals(r *rig) {
	const limit, grace = 10, 30 * second
	dice := rand.New(rand.NewPCG(1, 2)) // the same seed gives the same run
	for _, noonBefore := range []time.Time{
		time.Date(2026, 10, 31, 12, 0, 0, 0, pacific), time.Date(2027, 3, 13, 12, 0, 0, 0, pacific),
		time.Date(2026, 6, 1, 12, 0, 0, 0, pacific),
	} {
		r.zone, r.grace = pacific, grace
		r.fresh(noonBefore, daily(limit), per(6*time.Hour, limit))
		var arrived []time.Time
		for end := noonBefore.Add(60 * time.Hour); r.clock.Now().Before(end) && len(arrived) < 20*limit; {
			d := r.take(1 + dice.Int64N(2))
			if d.Allowed {
				at := d.At.Add(time.Duration(dice.Int64N(int64(grace) + 1)))
				for range d.Pools[0].Charged {
					arrived = append(arrived, at)
				}
				r.pass(time.Duration(dice.Int64N(int64(20 * second))))
				continue
			}
			r.clock.Set(d.RetryAt) // as soon as ever possible
		}
		slices.SortFunc(arrived, time.Time.Compare)
		if n := mostWithin(arrived, 6*time.Hour); n > limit {
			r.Fatalf("from %s: %d arrived within 6 h, limit %d", noonBefore, n, limit)
		}
		byDay := map[string]int{}
		for _, at := range arrived {
			byDay[at.In(pacific).Format(time.DateOnly)]++
		}
		for day, n := range byDay {
			if n > limit {
				r.Fatalf("%d arrived on %s, limit %d", n, day, limit)
			}
		}
		if len(arrived) < 2*limit {
			r.Fatalf("only %d arrived in 60 h", len(arrived))
		}
	}
}
