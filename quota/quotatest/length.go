package quotatest

import (
	"cmp"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// sameRefusal is L9. The machine may be busy: the best of many refusals counts, and the best of eight attempts.
func sameRefusal(r *rig) {
	full := func(entries int) quota.Ask {
		r.fresh(noon, per(24*time.Hour, int64(entries)))
		r.fill(entries)
		return r.ask(charge("units", 1, r.bounds...))
	}
	many := cmp.Or(r.backend.Many, 175_000)
	few := min(1000, many/2)
	short, long := full(few), full(many)
	refuse := func(a quota.Ask, least *time.Duration) {
		began := time.Now()
		d, err := r.ledger.Take(r.Context(), a)
		if *least = min(*least, time.Since(began)); err != nil || d.Allowed {
			r.Fatalf("%s: a full window: %+v, %v", r.at(), d, err)
		}
	}
	var small, large time.Duration
	for range 8 {
		small, large = time.Hour, time.Hour
		for range 50 {
			refuse(short, &small)
			refuse(long, &large)
		}
		if large <= small*3/2+20*time.Microsecond {
			return
		}
	}
	r.Errorf("a refusal takes %v with %d entries, and %v with %d", small, few, large, many)
}

// fill charges one unit as many times as entries says, within twenty hours. A remote is synced, which is quicker than
// takes.
func (r *rig) fill(entries int) {
	r.Helper()
	step := 20 * time.Hour / time.Duration(entries)
	remote, isRemote := r.ledger.(sharedledger.Remote)
	if !isRemote {
		for range entries {
			r.pass(step)
			if d := r.take(1); !d.Allowed {
				r.Fatalf("%s: %v, want it admitted", r.at(), d.Refusal)
			}
		}
		return
	}
	r.renew(sharedledger.Renewal{Next: first, First: true}, first)
	r.pass(20 * time.Hour)
	var rows []sharedledger.Row
	for i := range entries {
		rows = append(rows, r.row("w", int64(i)+1, noon.Add(time.Duration(i)*step), 1))
		if len(rows) == sharedledger.MaxRows/2 || i == entries-1 {
			if _, err := remote.Sync(r.Context(),
				sharedledger.Batch{Account: r.account, Generation: first, Horizon: quota.MinHorizon, Rows: rows}); err != nil {
				r.Fatalf("fill: %v", err)
			}
			rows = nil
		}
	}
}
