package regions

import (
	"maps"
	"slices"
)

// HintZones returns the zones that a hint may suggest.
func HintZones() []string { return slices.Collect(maps.Values(abbreviations)) }
