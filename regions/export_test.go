package regions

import (
	"maps"
	"slices"
)

// HintZones are the zones that a hint may offer.
func HintZones() []string { return slices.Collect(maps.Values(abbreviations)) }
