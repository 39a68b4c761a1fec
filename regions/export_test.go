package regions

import (
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// HintZones returns the zones that a hint may suggest.
func HintZones() []string { return slices.Collect(maps.Values(abbreviations)) }

// Latest returns the newest slot of every key that is due at now, oldest first.
func (s JobSchedule) Latest(now time.Time) []ingest.SlotKey {
	var out []ingest.SlotKey
	for i := range s.keys {
		if due, ok := s.latest(i, now); ok {
			out = append(out, s.slotKey(i, due))
		}
	}
	slices.SortStableFunc(out, func(a, b ingest.SlotKey) int { return a.DueAt.Compare(b.DueAt) })
	return out
}
