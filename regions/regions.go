// Package regions says which countries are fetched and when: it parses region codes, turns a job into its slots, says
// when a series is stale, and wakes the fetcher. Except for Serve it is pure: a schedule is computed, never stored,
// and the same on every machine.
//
// robfig/cron parses the five fields of a cron line, and ticks for Serve. It panics on a bare "TZ=UTC", does not find
// 29 February across the year 2100, skips a local time or fires it twice when clocks change, and its timer sleeps
// through a suspended laptop. Firing times are computed here (the rules are in wallclock.go), and callers ask for the
// slots Between two instants: after a sleep they ask for a longer span.
package regions

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/trendvidstream/ingest"
)

// Default returns the eight regions that are fetched when a config names none.
func Default() []ingest.Region {
	return []ingest.Region{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"}
}

// Parse reads one ISO 3166-1 alpha-2 code, in either case.
func Parse(s string) (ingest.Region, error) {
	code := strings.ToUpper(strings.TrimSpace(s))
	r, err := language.ParseRegion(code)
	if len(code) != 2 || err != nil || !r.IsCountry() {
		return "", fmt.Errorf("unknown region %q: use ISO 3166 codes of two letters, such as US or GB", s)
	}
	if canonical := r.Canonicalize().String(); canonical != code {
		return "", fmt.Errorf("unknown region %q: did you mean %s?", s, canonical)
	}
	return ingest.Region(code), nil
}

// ParseList reads codes separated by commas; a code given twice is refused.
func ParseList(s string) ([]ingest.Region, error) {
	var out []ingest.Region
	for field := range strings.SplitSeq(s, ",") {
		r, err := Parse(field)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, r) {
			return nil, fmt.Errorf("region %s is named twice", r)
		}
		out = append(out, r)
	}
	return out, nil
}
