package budget

import (
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Outlook is how much of each pool backfills may spend today and on later days, so that a plan can say when it is done.
type Outlook struct {
	quota.Reserve
	Left map[string]int64 // before the provider's day ends, if only the schedule spends besides

	dayPrice Price
	tariff   *quota.Tariff
}

// NewOutlook returns the outlook from a report's usage and the schedule's needs: its reserve and the price of a whole
// day.
func NewOutlook(r quota.Report, reserve quota.Reserve, day Price, t *quota.Tariff) Outlook {
	o := Outlook{Reserve: reserve, Left: map[string]int64{}, dayPrice: day, tariff: t}
	reports := map[string]quota.PoolReport{}
	for _, p := range r.Pools {
		reports[p.Pool] = p
	}
	for _, pool := range t.Pools {
		o.Left[pool.Name] = max(0, o.leftToday(pool, reports[pool.Name], r.At))
	}
	return o
}

// leftToday returns the rest of a pool by the end of the day: the rest now and the returns, without the schedule's
// part of them. A window shorter than the rest of the day fills again.
func (o Outlook) leftToday(pool quota.Pool, report quota.PoolReport, now time.Time) int64 {
	for _, w := range pool.Windows[min(len(report.Windows), len(pool.Windows)):] { // nothing of it is used
		report.Windows = append(slices.Clip(report.Windows), quota.WindowState{Window: w})
	}
	r := newRoom(report, func(w quota.WindowState) int64 {
		return o.tariff.LeftOf(pool.Name, w, quota.Backfill, o.Reserve)
	}, o.tariff.Grace, now)
	ends := o.Until.Add(-1)
	for i := range r.windows {
		room, w := &r.windows[i], pool.Windows[i]
		comes := room.returns
		room.left -= min(back(&comes, ends), o.Today[pool.Name])
		if rest := o.Until.Sub(now); !w.Day() && w.Length < day && rest > w.Length {
			room.left += int64(float64(o.backfillRoom(pool, w)) * float64(rest-w.Length) / float64(w.Length))
		}
	}
	return r.at(ends)
}

// backfillRoom returns the amount of a window that backfills may use, next to a schedule that uses its share.
func (o Outlook) backfillRoom(pool quota.Pool, w quota.Window) int64 {
	return max(0, min(o.tariff.Ceilings[quota.Backfill].Of(w.Limit),
		o.tariff.Ceilings[quota.Scheduled].Of(w.Limit)-o.scheduledUse(pool, w)))
}

// scheduledUse returns the schedule's use in a whole window.
func (o Outlook) scheduledUse(pool quota.Pool, w quota.Window) int64 {
	if o.Whole == nil || w.Day() {
		return inWindow(o.dayPrice.Total[pool.Name], w) + o.dayPrice.retries(pool.Name)
	}
	return o.Whole[pool.Name][w.Name]
}

// retries returns the amount of a pool that Reserve keeps for the retries of one chart.
func (p Price) retries(pool string) (room int64) {
	for _, job := range p.Jobs {
		room = max(room, retryRoom(job.Job, job.Cost[pool]/int64(max(job.Slots, 1))))
	}
	return room
}

// leftDaily returns the rest of a pool on a whole day, in whole calls of perCall each.
func (o Outlook) leftDaily(pool quota.Pool, perCall int64) int64 {
	left := int64(quota.MaxLimit)
	for _, w := range pool.Windows {
		n := o.backfillRoom(pool, w)
		left = min(left, perDay(n-n%max(perCall, 1), w))
	}
	return left
}

// Never returns an ErrNeverFits if a cost can never be paid: too little is left today, and the schedule leaves less
// than one call on any other day. The error names a change that would make it fit.
func (o Outlook) Never(cost, perCall quota.Cost) error {
	if _, ok := o.Days(cost, perCall); ok {
		return nil
	}
	for _, pool := range o.tariff.Pools {
		call := perCall[pool.Name]
		if cost[pool.Name] <= o.Left[pool.Name] || o.leftDaily(pool, call) > 0 {
			continue
		}
		for _, w := range pool.Windows {
			own, scheduled, need := o.tariff.Ceilings[quota.Backfill].Of(w.Limit),
				o.tariff.Ceilings[quota.Scheduled].Of(w.Limit), o.scheduledUse(pool, w)
			switch {
			case own < call:
				return fmt.Errorf("it %w: a call costs %d of pool %s, and backfills may use %d of %d in window %s: "+
					"raise ceilings.backfill in the costs to %s or more",
					quota.ErrNeverFits, call, pool.Name, own, w.Limit, w.Name, percent(call, w.Limit))
			case scheduled-need < call:
				return fmt.Errorf("it %w: a call costs %d of pool %s, and in window %s the schedule needs %d of "+
					"the %d that it may use: fetch less often (%s), fewer pages or regions, or raise ceilings.scheduled in the costs",
					quota.ErrNeverFits, call, pool.Name, w.Name, need, scheduled,
					o.dayPrice.longerIntervals(need, scheduled-call, scheduled))
			}
		}
	}
	return nil
}

// percent returns the lowest whole percentage of a limit that has room for amount.
func percent(amount, limit int64) string {
	return fmt.Sprintf("%d%%", (100*amount+limit-1)/limit)
}

// Days returns how many of the provider's days a cost takes, including the current one, if a call costs at most
// perCall. ok is false if the schedule leaves less than a call a day.
func (o Outlook) Days(cost, perCall quota.Cost) (days int, ok bool) {
	days = 1
	for pool, amount := range cost {
		whole := func(n int64) int64 { return n - n%max(perCall[pool], 1) }
		amount -= whole(o.Left[pool])
		if amount <= 0 {
			continue
		}
		i := slices.IndexFunc(o.tariff.Pools, func(p quota.Pool) bool { return p.Name == pool })
		daily := o.leftDaily(o.tariff.Pools[i], perCall[pool])
		if daily == 0 {
			return 0, false
		}
		days = max(days, 1+int((amount+daily-1)/daily))
	}
	return days, true
}

// Ends returns the end of the last of that many provider's days, counting from the current one.
func (o Outlook) Ends(days int) time.Time {
	return o.Until.In(o.tariff.Zone).AddDate(0, 0, days-1).UTC()
}
