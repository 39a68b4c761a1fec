package quota_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest/quota"
)

// Closings have no order: with either one first, or twice, the pool is closed until the same time, and for the same
// reason where its use is unknown.
func TestClosingsCommute(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b, c := aClosing(r), aClosing(r), aClosing(r)
		over := func(d, last quota.Drain) quota.Drain { return d.Over(last, drainNow) }
		for name, sides := range map[string][2]quota.Drain{
			"of two orders": {over(a, b), over(b, a)},
			"of two groups": {over(over(a, b), c), over(a, over(b, c))},
			"once or twice": {over(a, a), a},
		} {
			x, y := sides[0], sides[1]
			unknown := func(d quota.Drain) bool { return d.By == quota.ByUnknown && d.Active(drainNow) }
			if !x.Until.Equal(y.Until) || unknown(x) != unknown(y) || unknown(x) && !x.At.Equal(y.At) {
				r.Fatalf("%s: %+v, %+v of\n%+v\n%+v\n%+v", name, x, y, a, b, c)
			}
		}
	})
}

// A pool whose use has been unknown since it was last known is closed for that, with any other knowledge of a ledger,
// in any order.
func TestNoOrderOpensAPoolOfUnknownUse(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at, until := drainNow.Add(-rapid.Custom(minutes).Draw(r, "at")), drainNow.Add(rapid.Custom(minutes).Draw(r, "until"))
		all := []quota.Drain{{By: quota.ByUnknown, At: at, Until: until}}
		for range rapid.IntRange(0, 6).Draw(r, "others") {
			switch other := aClosing(r); {
			case rapid.Bool().Draw(r, "opened"):
				all = append(all, quota.Drain{})
			case rapid.Bool().Draw(r, "known"):
				known := at.Add(-rapid.Custom(minutes).Draw(r, "before"))
				all = append(all, quota.Drain{By: quota.ByUnknown, At: known, Until: known})
			default:
				all = append(all, other)
			}
		}
		last := quota.Drain{}
		for _, d := range rapid.Permutation(all).Draw(r, "order") {
			last = d.Over(last, drainNow)
		}
		if last.By != quota.ByUnknown || !last.Active(drainNow) {
			r.Fatalf("closed by %+v after %+v", last, all)
		}
	})
}

var drainNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func minutes(r *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(1, 9).Draw(r, "minutes")) * time.Minute
}

// aClosing holds, and is for no probe: of those for one the first wins.
func aClosing(r *rapid.T) quota.Drain {
	d := quota.Drain{Until: drainNow.Add(rapid.Custom(minutes).Draw(r, "until")), By: rapid.SampledFrom([]quota.DrainedBy{quota.ByProvider, quota.ByHand, quota.ByUnknown}).Draw(r, "by")}
	if d.By != quota.ByProvider {
		d.At = drainNow.Add(-rapid.Custom(minutes).Draw(r, "at"))
	}
	return d
}
