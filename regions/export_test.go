package regions

import "strings"

// HintZones is what the tests know of the hints: the zones that one may offer.
func HintZones() []string {
	names := strings.Fields(zones)
	for _, name := range abbreviations {
		names = append(names, name)
	}
	return names
}
