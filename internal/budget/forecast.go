package budget

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Forecast is the most that the schedule may still spend before the provider's day ends, and whether enough is left,
// including the pace's room for retries.
type Forecast struct {
	Until     time.Time        `json:"until"`
	Scheduled map[string]int64 `json:"scheduled"`         // at most, per pool
	SetAside  map[string]int64 `json:"set_aside"`         // planned for refreshes, others and failed calls, per pool
	Refresh   map[string]int64 `json:"refresh,omitempty"` // of SetAside: the refreshes' remaining need
	// Left at the time of the day when least is left, of the schedule's ceilings and after all that, per pool;
	// negative: missing.
	Spare  map[string]int64 `json:"spare"`
	Fits   bool             `json:"fits"`             // every slot as configured, at most 15 min after its time
	Pacing string           `json:"pacing,omitempty"` // how the schedule is stretched to fit the rest; "": it is not
	// the others' recent takes, and how much of them is planned for; "": little
	Others string `json:"others,omitempty"`

	State     Lasting   `json:"state,omitempty"`      // how the quota lasts; see Foresee
	RunsOutAt time.Time `json:"runs_out_at,omitzero"` // when the first slot that cannot be paid for is due
	BackAt    time.Time `json:"back_at,omitzero"`     // when units for what has to wait come back, after RunsOutAt
	// SureUntil is the earliest time of an unforeseen refusal on a day before, or when today's charts reach its count, if
	// the plan depends on that: the provider may refuse from then on, since others may come again. While a refusal is
	// doubted, it is when one call asks again.
	SureUntil time.Time `json:"sure_until,omitzero"`
}

// Unsure reports whether the provider may refuse a slot that is due at a time of its day, which then comes later.
func (f Forecast) Unsure(due time.Time) bool {
	return !f.Fits && !f.SureUntil.IsZero() && !due.Before(f.SureUntil) && due.Before(f.Until)
}

// Lasting is how the quota lasts until the provider's day ends, best first.
type Lasting string

// The schedule as configured is paid for; the schedule at its pace is; from a time on something is not; nothing is left
// now, and something is due before units come back.
const (
	Lasts   Lasting = "lasts"
	Slower  Lasting = "slower"
	RunsOut Lasting = "runs_out"
	UsedUp  Lasting = "used_up"
	Short   Lasting = "short" // something is missing, but no slot with a known price lacks it
)

// Forecast compares the need of the schedule as configured until the provider's day ends, slot by slot, with the
// amount left by then: a report's rest now and its returns, less the amounts that the pace's report plans for (see
// OthersWatch.Expect; the zero PacedSchedule plans for nothing). A schedule does not fit if the pace makes a slot of
// that day late, nor without the room to retry a chart, which every chart needs to begin.
func (s PricedSchedule) Forecast(r quota.Report, pace PacedSchedule, waiting map[ingest.Series]ingest.Slot,
	now time.Time) (Forecast, error) {
	f := Forecast{SetAside: map[string]int64{}, Spare: map[string]int64{}, Fits: r.Degraded == nil,
		Pacing: pace.String(), Others: pace.Others, Refresh: pace.Refresh, SureUntil: pace.SureUntil}
	_, f.Until = providerDay(now, s.Tariff.Zone)
	price, err := s.Price(now, f.Until)
	if err != nil {
		return f, err
	}
	var needs []need
	for _, schedule := range s.Jobs {
		cost, err := s.slotPrice(schedule.Job)
		if err != nil {
			return f, err
		}
		each, slots := need{PricedSlot: PricedSlot{Cost: cost}, job: schedule.Job}, len(needs)
		for series := range waiting {
			if series.Job == schedule.Job.Name {
				each.DueAt = now
				needs = append(needs, each)
			}
		}
		price.Total.Add(cost, int64(len(needs)-slots))
		for _, key := range schedule.Between(now, f.Until) {
			each.SlotKey = key
			needs = append(needs, each)
		}
		today := slices.ContainsFunc(needs[slots:], func(n need) bool { return n.DueAt.Before(f.Until) })
		f.Fits = f.Fits && (!today || !pace.delays(schedule.Job.Name, now, f.Until))
	}
	f.Scheduled = price.Total
	planned := r
	if !pace.Report.At.IsZero() {
		planned = pace.Report
	}
	for i, p := range r.Pools {
		spare, _ := s.spare(p, needs, f.Until, now)
		expected, fits := s.spare(planned.Pools[i], needs, f.Until, now)
		if spare > expected {
			f.SetAside[p.Pool] = spare - expected
		}
		if p.Probe > 0 && price.Total[p.Pool] > 0 {
			f.SureUntil = p.DrainedUntil
		}
		f.Spare[p.Pool] = expected
		f.Fits = f.Fits && fits
	}
	return f, nil
}

// need is a slot that a forecast counts.
type need struct {
	PricedSlot
	job ingest.Job
}

// spare returns the least rest of a pool before until, if all slots are paid for at their times; and whether it pays
// for each, with its retries. A slot due as the day ends belongs to the next day: it has its retries.
func (s PricedSchedule) spare(p quota.PoolReport, needs []need, until, now time.Time) (spare int64, fits bool) {
	r := s.room(p, now)
	needs = slices.DeleteFunc(slices.Clone(needs), func(n need) bool { return n.Cost[p.Pool] == 0 })
	slices.SortStableFunc(needs, func(a, b need) int { return a.DueAt.Compare(b.DueAt) })
	if len(needs) == 0 {
		return max(0, r.at(until.Add(-1))), true
	}
	spare, fits = quota.MaxLimit, true
	for _, n := range needs {
		left, cost := r.at(n.DueAt), n.Cost[p.Pool]
		atOnce := cost
		if n.DueAt.Before(until) {
			atOnce += retryRoom(n.job, cost)
		}
		fits = fits && r.pays(atOnce, n.DueAt)
		r.draw(cost, n.DueAt)
		spare = min(spare, left-cost)
	}
	return spare, fits
}

// room returns the amount that the schedule may draw of a pool.
func (s PricedSchedule) room(p quota.PoolReport, now time.Time) *room {
	share := s.Tariff.Ceilings[quota.Scheduled]
	return newRoom(p, func(w quota.WindowState) int64 { return share.Of(w.Window.Limit) - w.Used }, s.Tariff.Grace, now)
}

// Foresee notes whether each slot of NextAt is paid for when it is due, and how the quota lasts. Slots of a paced job
// are paid for by construction: the sentence names the pace, or until when nothing is left.
func (s PricedSchedule) Foresee(f *Forecast, pace PacedSchedule, next []PricedSlot, now time.Time) {
	rooms := map[string]*room{}
	for _, p := range pace.Report.Pools {
		rooms[p.Pool] = s.room(p, now)
	}
	out := false
	for i := range next {
		slot := &next[i]
		due, paid := latest(slot.DueAt, now), true
		for pool, n := range slot.Cost {
			paid = paid && rooms[pool].pays(n, due)
		}
		if slot.Fits = paid || pace.slows(slot.Job); slot.Fits {
			for pool, n := range slot.Cost {
				rooms[pool].draw(n, due)
			}
		} else if !out {
			out, f.RunsOutAt = true, due.UTC()
			for pool, n := range slot.Cost {
				f.BackAt = latest(f.BackAt, rooms[pool].from(n, due))
			}
		}
	}
	held := pace.heldUntil()
	switch {
	case f.Fits:
		f.State, f.RunsOutAt, f.BackAt = Lasts, time.Time{}, time.Time{}
	case !held.IsZero():
		f.State, f.RunsOutAt, f.BackAt = UsedUp, time.Time{}, held
	case out && !f.RunsOutAt.After(now):
		f.State, f.RunsOutAt = UsedUp, time.Time{}
	case out:
		f.State = RunsOut
	case len(pace.Jobs) > 0:
		f.State = Slower
	default:
		f.State = Short
	}
	f.BackAt = f.BackAt.Add(time.Second - 1).Truncate(time.Second).UTC()
}
