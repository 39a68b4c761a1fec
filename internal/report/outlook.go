package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// OutlookSentence says in one sentence whether the quota lasts. next are the slots until the provider's day ends.
//
// Like the forecast, it ignores what a sliding window may free until then, and says so if that matters.
func OutlookSentence(d QuotaDocument, next []NextDocument) string {
	midnight := "midnight" + d.InZone()
	switch {
	case d.Degraded:
		return "The ledger cannot answer: " + d.withoutLedger() + "."
	case d.Forecast.Fits:
		return fitSentence(d, midnight)
	}
	for _, p := range d.Pools {
		if p.DrainedUntil != nil && d.Forecast.Scheduled[p.Pool] > 0 {
			if p.DrainedBy == "hand" {
				return fmt.Sprintf("Closed by hand until %s: no %s may be spent.", term.StampFrom(*p.DrainedUntil), p.Pool)
			}
			if p.Probe > 0 {
				return fmt.Sprintf("The provider refused at %s of %s, far below the limit: one call tries again at %s.",
					term.Thousands(p.StoppedAt), term.Amount(p.Limit, p.Pool), term.StampFrom(*p.DrainedUntil))
			}
			return fmt.Sprintf("Quota is used up until %s: the provider says that no %s are left.", term.StampFrom(*p.DrainedUntil), p.Pool)
		}
	}
	fits := Fitting(d, next)
	var without []string
	var out time.Time
	for i, slot := range next {
		if fits[i] {
			continue
		}
		if out.IsZero() {
			out = slot.DueAt
		}
		if name := slot.Name(); !slices.Contains(without, name) {
			without = append(without, name)
		}
	}
	switch {
	case out.IsZero() && d.Forecast.Pacing != "" && d.resumesAt() != nil:
		return fmt.Sprintf("Quota is used up until %s; then at a slower pace: %s.", term.StampFrom(*d.resumesAt()), d.Forecast.Pacing)
	case out.IsZero() && d.resumesAt() != nil:
		return fmt.Sprintf("Quota is used up until %s.", term.StampFrom(*d.resumesAt()))
	case out.IsZero() && d.Forecast.Pacing != "":
		return fmt.Sprintf("The quota lasts until %s at a slower pace: %s.", midnight, d.Forecast.Pacing)
	case out.IsZero():
		return "Too little quota is left: the schedule needs more until " + midnight + "."
	}
	verb := "go without until " + midnight
	if at := d.refillAt(next, fits); at != nil {
		verb = "wait for units, which come back from " + term.StampFrom(*at) + " on"
	}
	if len(without) == 1 {
		verb = strings.Replace(strings.Replace(verb, "go ", "goes ", 1), "wait ", "waits ", 1)
	}
	if !out.After(d.At) {
		return fmt.Sprintf("Too little quota is left: %s %s.", term.Enumerate(without, 3), verb)
	}
	return fmt.Sprintf("The quota runs out at %s: %s %s.", out.UTC().Format("15:04Z"), term.Enumerate(without, 3), verb)
}

// refillAt is when a sliding window begins to return units to the first next slot that lacks them. It is nil if the
// provider's day lacks them too: then nothing comes back before midnight.
func (d QuotaDocument) refillAt(next []NextDocument, fits []bool) (from *time.Time) {
	drawn := map[string]int64{}
	for i, slot := range next {
		for _, p := range d.Pools {
			n := slot.Cost[p.Pool]
			if fits[i] {
				drawn[p.Pool] += n
				continue
			}
			if n == 0 || drawn[p.Pool]+n <= p.supply(slot.DueAt.Sub(d.At)) {
				continue
			}
			at := p.roomAt(drawn[p.Pool] + n)
			if at == nil {
				return nil
			}
			if from == nil || at.After(*from) {
				from = at
			}
		}
		if !fits[i] {
			return from
		}
	}
	return nil
}

// roomAt is when the pool may give the schedule n units that a sliding window refuses now; nil if the provider's day
// refuses them too.
func (p PoolDocument) roomAt(n int64) (from *time.Time) {
	if p.DrainedUntil != nil {
		return nil
	}
	for _, w := range p.Windows {
		switch at := w.FreesAt(); {
		case w.Used+n <= w.Ceilings[quota.Scheduled]:
		case w.ResetsAt != nil || w.Zone != "" || at == nil:
			return nil
		case from == nil || at.After(*from):
			from = at
		}
	}
	if at := p.For(quota.Scheduled).ResumesAt; at != nil && from != nil {
		return at
	}
	return from
}

// resumesAt returns when the schedule can continue if nothing is left for it now; nil if something is.
func (d QuotaDocument) resumesAt() (latest *time.Time) {
	for _, p := range d.Pools {
		left := p.For(quota.Scheduled)
		if left.Remaining == 0 && left.ResumesAt != nil && d.Forecast.Scheduled[p.Pool] > 0 && (latest == nil || left.ResumesAt.After(*latest)) {
			latest = left.ResumesAt
		}
	}
	return latest
}

// fitSentence returns the sentence for a day that fits, about the pool with the least to spare.
func fitSentence(d QuotaDocument, midnight string) string {
	scarce := d.scarce()
	if scarce == nil {
		return "The quota lasts until " + midnight + ": the schedule draws nothing that is counted."
	}
	return fmt.Sprintf("The quota lasts until %s: %s to spare.", midnight, term.Amount(d.Forecast.Spare[scarce.Pool], scarce.Pool))
}

// scarce returns the pool in which the schedule leaves the smallest part of its ceiling; nil if it needs nothing.
func (d QuotaDocument) scarce() (pool *PoolDocument) {
	least := int64(math.MaxInt64)
	for i, p := range d.Pools {
		permille := 1000 * d.Forecast.Spare[p.Pool] / max(p.For(quota.Scheduled).Ceiling, 1)
		if _, wanted := d.Forecast.Scheduled[p.Pool]; wanted && permille < least {
			pool, least = &d.Pools[i], permille
		}
	}
	return pool
}

// The verdicts on a slot that is due.
const (
	FitsNow   = "fits"
	FitsNot   = "does not fit"
	FitsLater = "fits if enough comes back by then" // to a sliding window
)

// Verdicts says for each of the next slots whether there is quota for it.
func Verdicts(d QuotaDocument, next []NextDocument) []string {
	fits := Fitting(d, next)
	from, verdicts := d.refillAt(next, fits), make([]string, len(next))
	for i := range next {
		switch verdicts[i] = FitsNow; {
		case fits[i]:
		case from != nil && !next[i].DueAt.Before(*from):
			verdicts[i] = FitsLater
		default:
			verdicts[i] = FitsNot
		}
	}
	return verdicts
}

// Fitting reports which of the next slots have quota if nobody else spends and no window of a day or more frees any
// before them. Each slot that fits spends the most that it may cost.
func Fitting(d QuotaDocument, next []NextDocument) []bool {
	drawn := quota.Cost{}
	fits := make([]bool, len(next))
	for i, slot := range next {
		fits[i] = !d.Degraded
		for _, p := range d.Pools {
			if n := slot.Cost[p.Pool]; n > 0 {
				fits[i] = fits[i] && drawn[p.Pool]+n <= p.supply(slot.DueAt.Sub(d.At))
			}
		}
		if fits[i] {
			drawn.Add(slot.Cost, 1)
		}
	}
	return fits
}

// supply returns what the pool gives the schedule over a span from now: what remains, or more if a window is so short
// that it renews within the span.
func (p PoolDocument) supply(span time.Duration) int64 {
	gives, again := int64(quota.MaxLimit), false
	for _, w := range p.Windows {
		if window, err := quota.ParseWindow(w.Window); err == nil {
			gives = min(gives, window.Supply(w.Ceilings[quota.Scheduled], w.Used, max(span, 0)))
			again = again || !window.Day() && window.Length <= span
		}
	}
	if !again || p.DrainedUntil != nil {
		return p.For(quota.Scheduled).Remaining
	}
	return gives
}

// Name returns the slot for a person: its region, or its job if it has none.
func (n NextDocument) Name() string { return cmp.Or(n.Region, n.Job) }

// InZone says where the provider's day ends: " in Los Angeles".
func (d QuotaDocument) InZone() string {
	for _, p := range d.Pools {
		for _, w := range p.Windows {
			if w.Zone != "" {
				return " in " + strings.ReplaceAll(w.Zone[strings.LastIndex(w.Zone, "/")+1:], "_", " ")
			}
		}
	}
	return ""
}
