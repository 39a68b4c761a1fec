package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// SlotDocument is an ingest.Slot as JSON.
type SlotDocument struct {
	Job       string       `json:"job"`
	Region    string       `json:"region,omitempty"`
	Slot      time.Time    `json:"slot"`
	DueAt     time.Time    `json:"due_at"`
	Outcome   ingest.State `json:"outcome"`
	Reason    string       `json:"reason"`
	RetryAt   *time.Time   `json:"retry_at"`
	FetchedAt *time.Time   `json:"fetched_at"`
	Attempt   int          `json:"attempt"`
	Pages     int          `json:"pages"`
	Videos    int          `json:"videos"`
	// Charges of its calls, by pool, and of the pool units: in all or, where a run prints it, in that run.
	Charges map[string]int64 `json:"charges"`
	Units   int64            `json:"units"`

	// Set for consecutive missed ticks. They are one slot, due when the last of them was.
	Count      int        `json:"count,omitempty"`
	FirstDueAt *time.Time `json:"first_due_at,omitempty"`
}

// SlotsDocument is a list of slots, newest first, with the known facts about the schedule's series.
type SlotsDocument struct {
	Slots  []SlotDocument   `json:"slots"`
	Series []SeriesDocument `json:"series,omitempty"`
	// Idle is the machines that share the store and do not work.
	Idle []ingest.IdleMachine `json:"idle_machines,omitempty"`
}

// NewSlotsDocument returns slots as a document.
func NewSlotsDocument(slots []ingest.Slot, series []SeriesDocument) SlotsDocument {
	d := SlotsDocument{Slots: make([]SlotDocument, len(slots)), Series: series}
	for i, s := range slots {
		d.Slots[i] = NewSlotDocument(s)
	}
	return d
}

// Ticks returns how many ticks the slot stands for.
func (d SlotDocument) Ticks() int { return max(d.Count, 1) }

// lost reports whether the slot's ticks passed without a fetch: nothing ran, or none of them was begun before the next
// was due.
func (d SlotDocument) lost() bool {
	return d.Outcome == ingest.Missed || d.Outcome == ingest.Skipped && strings.HasPrefix(d.Reason, "superseded")
}

// LostTicks says how many ticks of the last day's slots were lost, if more than one per series: a restart loses one.
func LostTicks(slots []SlotDocument, series int) string {
	lost, ended := 0, 0
	for _, slot := range slots {
		if slot.Outcome != ingest.Due && slot.Outcome != ingest.Claimed {
			ended += slot.Ticks()
		}
		if slot.lost() {
			lost += slot.Ticks()
		}
	}
	if 10*lost <= ended || lost <= series {
		return ""
	}
	return fmt.Sprintf("%d of %d ticks of the last day were skipped or missed: "+
		"nothing fetched them before the next was due", lost, ended)
}

// NewSlotDocument returns a slot as a document.
func NewSlotDocument(s ingest.Slot) SlotDocument {
	d := SlotDocument{
		Job: s.Job, Region: s.Key, Slot: term.Second(s.DueAt), DueAt: term.Second(s.DueAt),
		Outcome: s.State, Reason: s.Reason,
		FetchedAt: term.TimeOrNull(s.FetchedAt), Attempt: s.Attempt, Pages: s.Pages, Videos: s.Videos,
		Count: s.Count, FirstDueAt: term.TimeOrNull(s.FirstDueAt),
	}
	if s.State == ingest.Stopped {
		d.RetryAt = term.FromOrNull(s.RetryAt)
	}
	return d.Drew(s.Units, s.Charges)
}

// Drew returns the document of a slot with these charges; nil with units above 0 means that only the units are known.
func (d SlotDocument) Drew(units int64, charges map[string]int64) SlotDocument {
	if d.Charges, d.Units = charges, charges["units"]; charges == nil {
		d.Charges, d.Units = map[string]int64{}, units
	}
	return d
}

// Spent says in words how much the slot's calls spent.
func (d SlotDocument) Spent() string {
	if len(d.Charges) == 0 {
		return term.Amount(d.Units, "units")
	}
	return term.Amounts(d.Charges)
}

// NextDocument is a future slot, its price, and whether the quota will pay for it.
type NextDocument struct {
	Job    string           `json:"job"`
	Region string           `json:"region,omitempty"`
	DueAt  time.Time        `json:"due_at"`
	Cost   map[string]int64 `json:"cost"` // at most, per pool; empty if it depends on stored rows
	Fits   bool             `json:"fits"` // it is paid for when it is due

	Overdue bool `json:"overdue,omitempty"`
}

// NewNextDocuments returns the documents of the slots that wait or come due before the provider's day ends.
func NewNextDocuments(st standing.Standing) []NextDocument {
	docs := make([]NextDocument, 0, len(st.Next))
	for _, n := range st.Next {
		doc := NextDocument{Job: n.Job, Region: n.Key, DueAt: term.Second(n.DueAt), Cost: n.Cost, Fits: n.Fits}
		if slot, ok := st.Waiting[n.Series()]; ok && !n.DueAt.After(st.Now) {
			doc.Overdue = !st.WaitOf(slot).OverdueSince.IsZero()
		}
		docs = append(docs, doc)
	}
	return docs
}

// NextSlots returns the next n slots of the schedule of one key, "" for all, the waiting ones with the reason;
// detailed: also with the reason of their last run.
func NextSlots(st standing.Standing, n int, key string, detailed bool) []ingest.Slot {
	slots := st.Pace.Schedule.Upcoming(st.Latest, st.Now,
		n, func(s ingest.Series) bool { return key == "" || s.Key == key })
	for i, slot := range slots {
		slots[i].Reason = joined(WaitText(st, slot), orLater(st.Forecast, slot.DueAt))
		if detailed {
			slots[i].Reason = joined(slots[i].Reason, slot.Reason)
		}
	}
	return slots
}

// orLater says why a slot may come later than its time; "" if there is no such reason.
func orLater(f budget.Forecast, due time.Time) string {
	switch {
	case !f.Unsure(due):
		return ""
	case due.Sub(f.SureUntil) < time.Second: // as the times are printed
		return "or later, if the provider refuses again"
	}
	return "or later: the provider may refuse from " + term.StampFrom(f.SureUntil) + " on"
}

// joined returns the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}
