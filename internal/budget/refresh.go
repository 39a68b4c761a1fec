package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

// A refresh looks up the videos that are old enough. If a day within the next five has more of them than a refresh may
// look up, they are spread evenly over the days until then, so that none is late if possible.

// mostToRefresh bounds how many videos are counted to price a refresh.
const mostToRefresh = 50_000

// lookUpsToday returns how many look-ups a day's refresh makes in all, including the done ones, and how many old
// videos it leaves for the next day. old are the videos still to be refreshed: today's videos, then the videos that
// each later day adds. most is how many look-ups a day may make.
func lookUpsToday(old []int, perCall, most, done int) (calls, late int) {
	calls, sum, crowded := 0, 0, false
	for later, videos := range old {
		sum += videos
		crowded = crowded || ceilDiv(videos, perCall)+done > most
		calls = max(calls, ceilDiv(ceilDiv(sum, perCall)+done, later+1))
	}
	if !crowded {
		return ceilDiv(old[0], perCall) + done, 0
	}
	calls = min(calls, max(most, done))
	return calls, max(0, old[0]-(calls-done)*perCall)
}

// mostRefreshed returns how many look-ups a refresh may make in the provider's day of a time: the number that a
// quarter of the schedule's budget pays for or, if that is more, the rest beside the schedule as configured, without
// the cost of naming.
func (w OthersWatch) mostRefreshed(history OthersHistory, at time.Time,
	names quota.Cost) (most int64, lookUp quota.Cost, err error) {
	s := w.Schedule
	if lookUp, err = s.Tariff.Cost(s.Upstream.Videos(nil).Method); err != nil {
		return 0, nil, fmt.Errorf("price a refresh: %w", err)
	}
	price, err := s.DayPrice(at)
	if err != nil {
		return 0, nil, err
	}
	today, _ := providerDay(at, s.Tariff.Zone)
	most = quota.MaxLimit
	for _, pool := range s.Tariff.Pools {
		for _, window := range pool.Windows {
			if lookUp[pool.Name] == 0 {
				continue
			}
			budget := perDay(s.Tariff.Ceilings[quota.Refresh].Of(window.Limit), window)
			if window.Day() {
				days := history[pool.Name]
				usual := expectedHours(days, today)
				gives := level(days, today, window.Limit)
				budget -= window.Limit - gives + sum(usual[:])
			}
			share := max(budget/4, budget-price.Total[pool.Name]) - names[pool.Name]
			most = min(most, max(1, share/lookUp[pool.Name]))
		}
	}
	return most, lookUp, nil
}

// planRefresh returns the look-ups that a refresh still makes of the videos due at a time, and the cost of that and
// of naming categories, if its slot has charged that much. late is how many old videos it leaves for later.
func (w OthersWatch) planRefresh(ctx context.Context, history OthersHistory, at time.Time,
	charged map[string]int64) (calls, late int, need quota.Cost, err error) {
	s, need := w.Schedule, quota.Cost{}
	unnamed, err := w.Notes.RegionsToName(ctx, at, at.Add(-fetch.NameAfter))
	if err != nil {
		return 0, 0, nil, err
	}
	if namer, ok := s.Upstream.(fetch.Namer); ok {
		if name, err := s.Tariff.Cost(namer.Categories("").Method); err == nil { // a call without a price is never made
			need.Add(name, int64(len(unnamed)))
		}
	}
	most, lookUp, err := w.mostRefreshed(history, at, need)
	if err != nil {
		return 0, 0, need, nil //nolint:nilerr // a call without a price is never made
	}
	old, err := w.Notes.CountToRefresh(ctx, at, mostToRefresh)
	if err != nil {
		return 0, 0, nil, err
	}
	done := int64(0)
	for pool, n := range lookUp {
		if n > 0 {
			done = max(done, charged[pool]/n)
		}
	}
	calls, late = lookUpsToday(old, s.Upstream.Limits().IDsPerCall, int(most), int(done))
	calls -= int(done)
	need.Add(lookUp, int64(calls))
	return calls, late, need, nil
}

// RefreshCalls returns how many look-ups a refresh slot has left today after these charges, and describes the part
// left for later days.
func (w OthersWatch) RefreshCalls(ctx context.Context, now time.Time,
	charged map[string]int64) (calls int, waits string, err error) {
	history, _, err := w.read(ctx)
	if err != nil {
		return 0, "", err
	}
	calls, late, _, err := w.planRefresh(ctx, history, now, charged)
	if late > 0 {
		waits = fmt.Sprintf("%d videos wait for the next refresh: one takes at most a quarter of the charts' daily budget",
			late)
	}
	return calls, waits, err
}

// refreshNeed returns the refreshes that are still to come before the provider's day ends and in the next 24 hours, or
// wait for another try.
func (w OthersWatch) refreshNeed(ctx context.Context, history OthersHistory, slots []ingest.Slot,
	r quota.Report) (needs []PricedSlot, err error) {
	_, ends := dayOf(r, w.Schedule.Tariff)
	add := func(at time.Time, charged map[string]int64) {
		_, _, cost, failed := w.planRefresh(ctx, history, at, charged)
		needs = append(needs, PricedSlot{SlotKey: ingest.SlotKey{DueAt: at}, Cost: cost})
		err = errors.Join(err, failed)
	}
	for _, schedule := range w.Schedule.Jobs {
		if schedule.Job.Kind != ingest.KindRefresh {
			continue
		}
		newest, next := schedule.Latest(r.At)[0].DueAt, schedule.Next(r.At)
		added := r.At.Sub(newest) >= day // else this run adds it
		for _, slot := range slots {
			if slot.Job == schedule.Job.Name {
				added = added || !slot.DueAt.Before(newest)
				if slices.Contains([]ingest.State{ingest.Due, ingest.Claimed, ingest.Stopped}, slot.State) {
					add(r.At, slot.Charges)
				}
			}
		}
		if !added {
			add(r.At, nil)
		}
		if !next.IsZero() && next.Before(latest(ends, r.At.Add(day))) {
			add(next, nil)
		}
	}
	return needs, err
}

// needBy returns the part of the refreshes' cost to keep free by a time. The part of a later refresh grows from 0, that
// long before it is due.
func needBy(refreshes []PricedSlot, by time.Time, grows time.Duration) quota.Cost {
	need := quota.Cost{}
	for _, slot := range refreshes {
		part := max(0, min(1, 1-float64(slot.DueAt.Sub(by))/float64(grows)))
		for pool, n := range slot.Cost {
			need[pool] += int64(float64(n) * part)
		}
	}
	return need
}

// setAside counts the refreshes' need of the day as used, since the provider's rules demand them. A sliding window pays
// for the next 24 hours: charges of earlier refreshes leave it as new ones come, and so do charts, until they are due.
func setAside(r quota.Report, refreshes []PricedSlot, today quota.Cost) quota.Report {
	lacks, later := needBy(refreshes, r.At, day), needBy(refreshes, r.At.Add(2*day), day)
	for pool, drew := range drawnFor(r.Spent, quota.Refresh) {
		lacks[pool], later[pool] = max(0, lacks[pool]-drew), max(0, later[pool]-drew)
	}
	later.Add(lacks, -1)
	return withMoreUsed(withLess(r, later), func(pool string, w quota.Window) int64 {
		if w.Day() {
			return today[pool]
		}
		return lacks[pool]
	})
}

// withLess returns a report that counts a part of the schedule's takes as others' takes: new charts come more slowly
// than the old ones leave a sliding window.
func withLess(r quota.Report, less map[string]int64) quota.Report {
	scheduled := drawnFor(r.Spent, quota.Scheduled)
	for pool, n := range less {
		scheduled[pool] = max(0, scheduled[pool]-n)
	}
	r.Spent = split(r.Spent, map[quota.Purpose]quota.Cost{quota.Scheduled: scheduled}, inVain)
	return r
}
