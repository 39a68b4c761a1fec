package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// ForecastSentence says in one sentence whether the quota lasts, by the state of the forecast. next are the slots until
// the provider's day ends.
func ForecastSentence(d QuotaDocument, next []NextDocument) string {
	midnight, f := "midnight"+d.InZone(), d.Forecast
	if f.Fits {
		return fitSentence(d, midnight)
	}
	for _, p := range d.Pools {
		if p.DrainedUntil != nil && f.Scheduled[p.Pool] > 0 {
			if p.DrainedBy == "unknown" {
				return fmt.Sprintf("Closed until %s: the number of %s spent is unknown.", term.StampFrom(*p.DrainedUntil), p.Pool)
			}
			if p.DrainedBy == "hand" {
				return fmt.Sprintf("Closed by hand until %s: no %s may be spent.", term.StampFrom(*p.DrainedUntil), p.Pool)
			}
			if p.Probe > 0 {
				return fmt.Sprintf("The provider refused at %s of %s, far below the limit: one call tries again at %s.",
					term.Thousands(p.StoppedAt), term.Amount(p.Limit, p.Pool), term.StampFrom(*p.DrainedUntil))
			}
			return fmt.Sprintf("Quota is used up until %s: the provider says that no %s are left.",
				term.StampFrom(*p.DrainedUntil), p.Pool)
		}
	}
	switch {
	case f.State == budget.UsedUp && f.BackAt.IsZero():
		return "Quota is used up until " + midnight + "."
	case f.State == budget.UsedUp && f.Pacing != "":
		return fmt.Sprintf("Quota is used up until %s; then a slower pace: %s.", term.StampFrom(f.BackAt), f.Pacing)
	case f.State == budget.UsedUp:
		return fmt.Sprintf("Quota is used up until %s.", term.StampFrom(f.BackAt))
	case f.State == budget.RunsOut:
		return fmt.Sprintf("The quota runs out at %s: %s.", f.RunsOutAt.UTC().Format("15:04Z"), d.without(next, midnight))
	case f.Pacing != "" && !f.SureUntil.IsZero():
		return fmt.Sprintf("The quota lasts until %s at a slower pace, or until the provider refuses "+
			"(possible from %s on): %s.", midnight, f.SureUntil.UTC().Format("15:04Z"), f.Pacing)
	case f.Pacing != "":
		return fmt.Sprintf("The quota lasts until %s at a slower pace: %s.", midnight, f.Pacing)
	}
	return "Too little quota is left: the schedule needs more until " + midnight + "."
}

// without says which of the next slots are not paid for, and when units come back.
func (d QuotaDocument) without(next []NextDocument, midnight string) string {
	var names []string
	for _, slot := range next {
		if name := slot.Name(); !slot.Fits && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	verb := "go without until " + midnight
	if back := d.Forecast.BackAt; !back.IsZero() && back.Before(d.Forecast.Until) {
		verb = "wait for units, which come back from " + term.StampFrom(back) + " on"
	}
	if len(names) == 1 {
		verb = strings.Replace(strings.Replace(verb, "go ", "goes ", 1), "wait ", "waits ", 1)
	}
	return term.Enumerate(names, 3) + " " + verb
}

// fitSentence returns the sentence for a day that fits, about the pool with the least to spare.
func fitSentence(d QuotaDocument, midnight string) string {
	scarce := d.scarce()
	if scarce == nil {
		return "The quota lasts until " + midnight + ": the schedule spends none of it."
	}
	return fmt.Sprintf("The quota lasts until %s: %s to spare.", midnight,
		term.Amount(d.Forecast.Spare[scarce.Pool], scarce.Pool))
}

// scarce returns the pool with the smallest part of the schedule's ceiling left; nil if none is needed.
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
	FitsNow = "fits"
	FitsNot = "does not fit"
)

// Verdict says whether there is quota for the slot when it is due.
func (n NextDocument) Verdict() string {
	if n.Fits {
		return FitsNow
	}
	return FitsNot
}

// Name names the slot for a person: its region, or its job if it has none.
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
