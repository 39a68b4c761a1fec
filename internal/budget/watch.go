package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

// othersNote is the name of the store's note that holds the OthersHistory.
const othersNote = "others"

// Notes is the part of the store that OthersWatch needs.
type Notes interface {
	Note(ctx context.Context, name string) (string, error) // "" if there is none
	SetNote(ctx context.Context, name, text string) error
	UsedSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error)
	// CountToRefresh counts the oldest n videos that fetch.Library's VideosToRefresh would return, by day: first the
	// videos of now, then the videos that each day until ingest.RefreshEarly from now adds. RegionsToName is as
	// there.
	CountToRefresh(ctx context.Context, now time.Time, n int) ([]int, error)
	RegionsToName(ctx context.Context, charted, stale time.Time) ([]ingest.Region, error)
}

// OthersWatch remembers the amounts that others take, and makes reports for planning charts: without the takes of
// others and refreshes.
type OthersWatch struct {
	Notes    Notes
	Schedule PricedSchedule
	Shared   bool // the ledger may also count other hosts' schedules
	Log      *slog.Logger
}

// Spender is the part of a ledger that Observe asks.
type Spender interface {
	Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error)
}

// Observe notes a report's and its ledger's figures about others. After a failure, the next call notes the same.
func (w OthersWatch) Observe(ctx context.Context, l Spender, r quota.Report) error {
	if r.Degraded != nil {
		return nil //nolint:nilerr // there is nothing to note
	}
	history, before, err := w.read(ctx)
	if err != nil {
		return err
	}
	tariff := w.Schedule.Tariff
	begins, ends := dayOf(r, tariff)
	spent, err := l.Spent(ctx, r.Account, begins.Add(-tariff.Grace), 0)
	if err != nil {
		return fmt.Errorf("read the others' spends: %w", err)
	}
	slots, err := w.slots(ctx, begins)
	if err != nil {
		return err
	}
	history.note(r, begins, ends, drawnByOthers(split(spent, w.own(slots, spent), otherHosts)), w.Schedule.Wasted(slots))
	text, err := json.Marshal(history)
	if err == nil && string(text) != before {
		err = w.Notes.SetNote(ctx, othersNote, string(text))
	}
	return err
}

// Expected is a ledger's report for planning charts: all other expected spends count as used.
type Expected struct {
	quota.Report            // as if all other expected spends were made already
	Others       string     // the others' expected takes, in words; "": little
	Refresh      quota.Cost // the refreshes' takes still to come before the provider's day ends
	Idle         IdleHours
	SureUntil    time.Time      // see Forecast
	Counted      map[string]int // see PricedSchedule
	Pages        map[string]int // see PricedSchedule
}

// With returns the schedule with the expected idle hours, and the sizes of its last slots.
func (s PricedSchedule) With(e Expected) PricedSchedule {
	s.Idle, s.Counted, s.Pages = e.Idle, e.Counted, e.Pages
	return s
}

// Expect returns the report of OthersHistory.Expect, less the cost of the day's remaining refreshes and failed calls.
// If the store cannot be read, nothing is expected.
func (w OthersWatch) Expect(ctx context.Context, r quota.Report) Expected {
	history, _, err := w.read(ctx)
	if err != nil || r.Degraded != nil {
		return Expected{Report: r}
	}
	tariff := w.Schedule.Tariff
	slots, err := w.slots(ctx, r.At.Add(-day-tariff.Grace))
	if err != nil {
		return Expected{Report: r}
	}
	today, ends := dayOf(r, tariff)
	begun, _ := providerDay(r.At, tariff.Zone) // the hours of the day before have passed, in the grace too
	out := Expected{Others: history.String(tariff, today), Idle: history.idle(tariff, begun),
		SureUntil: history.sureUntil(tariff, today)}
	out.Counted, out.Pages = w.Schedule.lastSizes(slots)
	if w.Shared {
		history.beginWithEqualParts(tariff, today, int64(w.Schedule.Hosts))
	}
	refreshes, err := w.refreshNeed(ctx, history, slots, r)
	if err != nil {
		return Expected{Report: r}
	}
	out.Refresh = needBy(refreshes, ends.Add(-1), 1)
	planned := setAside(history.Expect(r, tariff, w.own(slots, r.Spent), w.Schedule.trial()), refreshes, out.Refresh)
	out.Report = expectWaste(planned, w.Schedule.Wasted(slots), history.usualWaste(today), ends)
	return out
}

// trial returns the dearest slot's need to begin, by pool.
func (s PricedSchedule) trial() quota.Cost {
	trial := quota.Cost{}
	for _, schedule := range s.Jobs {
		price, _ := s.slotPrice(schedule.Job) // a job without a price is never begun
		for pool, n := range price {
			trial[pool] = max(trial[pool], n+retryRoom(schedule.Job, n))
		}
	}
	return trial
}

// usualWaste returns, by pool, the mean cost of a day's failed calls for charts, and the amount that chance adds on a
// day in six. It leaves out the first remembered day, which is known in part.
func (h OthersHistory) usualWaste(today time.Time) map[string]float64 {
	usual := map[string]float64{}
	for pool, days := range h {
		wasted, n := int64(0), 0.0
		for _, d := range days[min(1, len(days)):] {
			if d.Begins.Before(today) {
				wasted, n = wasted+d.Wasted, n+1
			}
		}
		if n > 0 {
			usual[pool] = float64(wasted)/n + math.Sqrt(float64(wasted)/n)
		}
	}
	return usual
}

// expectWaste counts the expected cost of failed calls before the day ends as used. In a sliding window it gives others
// the cost of the last day's failed calls or, if that is more, of a usual day: charts are planned with the rest.
// Before a whole day is known, the last 24 hours are usual.
func expectWaste(r quota.Report, wasted map[string]int64, usual map[string]float64, ends time.Time) quota.Report {
	less := map[string]int64{}
	for _, p := range r.Pools {
		if _, known := usual[p.Pool]; !known {
			usual[p.Pool] = float64(wasted[p.Pool])
		}
		less[p.Pool] = max(wasted[p.Pool], int64(usual[p.Pool]+0.5))
	}
	return withMoreUsed(withLess(r, less), func(pool string, w quota.Window) int64 {
		if !w.Day() {
			return 0
		}
		return int64(usual[pool] * ends.Sub(r.At).Hours() / day.Hours())
	})
}

// Wasted returns the amount that slots of charts took from each pool without a page to show for it: for calls that
// failed, for pages that a later pass could not continue from, and for charts that were never completed.
func (s PricedSchedule) Wasted(slots []ingest.Slot) map[string]int64 {
	wasted, pages := map[string]int64{}, map[string]quota.Cost{}
	for _, schedule := range s.Jobs {
		if page, err := s.pageCost(schedule.Job); err == nil && schedule.Job.Kind == ingest.KindChart {
			pages[schedule.Job.Name] = page
		}
	}
	for _, slot := range slots {
		page, ok := pages[slot.Job]
		if !ok {
			continue
		}
		if slot.State == ingest.Failed || slot.State == ingest.Skipped || slot.State == ingest.Missed {
			page = nil
		}
		for pool, n := range slot.Charges {
			if n -= page[pool] * int64(slot.Pages); n > 0 {
				wasted[pool] += n
			}
		}
	}
	return wasted
}

// PaceBy returns the schedule's pace for a fetch.Reconciler, by the governor's report at that time, including the
// others' expected takes. It also notes their takes. Without a report nothing is paced.
func (w OthersWatch) PaceBy(g *quota.Governor) func(context.Context, map[ingest.Series]time.Time,
	time.Time) (fetch.Scheduler, map[string]int) {
	return func(ctx context.Context, known map[ingest.Series]time.Time, now time.Time) (fetch.Scheduler, map[string]int) {
		r, err := g.Report(ctx)
		if err != nil {
			return w.Schedule.Jobs, nil
		}
		if err := w.Observe(ctx, g, r); err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "the others' takes are not noted", slog.Any("error", err))
		}
		expected := w.Expect(ctx, r)
		w.Schedule = w.Schedule.With(expected)
		paced, pages := w.Schedule.Pace(expected.Report, known, now), map[string]int{}
		for _, job := range paced.Jobs {
			pages[job.Job.Name] = job.Pages
		}
		return paced.Schedule, pages
	}
}

func (w OthersWatch) read(ctx context.Context) (h OthersHistory, text string, err error) {
	h = OthersHistory{}
	if text, err = w.Notes.Note(ctx, othersNote); err == nil && text != "" {
		if json.Unmarshal([]byte(text), &h) != nil {
			h = OthersHistory{} // of another ledger, or damaged: a new week begins
		}
	}
	return h, text, err
}

// slots returns the slots of the schedule's jobs that were due or fetched since then, without a backfill's pieces.
func (w OthersWatch) slots(ctx context.Context, since time.Time) (out []ingest.Slot, _ error) {
	slots, err := w.Notes.UsedSlots(ctx, since.Add(-2*time.Hour)) // a slot that was due before may have spent since
	for _, slot := range slots {
		at := slot.DueAt
		if !slot.FetchedAt.IsZero() {
			at = slot.FetchedAt
		}
		if slot.Kind != ingest.KindBackfill && !at.Before(since) {
			out = append(out, slot)
		}
	}
	return out, err
}

// own returns this host's assumed part of the takes, by purpose and pool; nil if all of it is. If it is known how
// many hosts share the ledger, that is halfway between its slots' takes and an equal part, so that a lead that one
// host has by chance is lost in a few days.
func (w OthersWatch) own(slots []ingest.Slot, spent []quota.Spent) map[quota.Purpose]quota.Cost {
	if !w.Shared {
		return nil
	}
	own := map[quota.Purpose]quota.Cost{quota.Scheduled: {}, quota.Refresh: {}}
	for _, slot := range slots {
		own[purposeOf(slot.Kind)].Add(slot.Charges, 1)
	}
	if hosts := int64(w.Schedule.Hosts); hosts > 1 {
		for purpose, drew := range own {
			for pool, all := range drawnFor(spent, purpose) {
				drew[pool] = (drew[pool] + all/hosts) / 2
			}
		}
	}
	return own
}
