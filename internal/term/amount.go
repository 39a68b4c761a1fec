package term

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/amount"
)

// Thousands formats n with separators: 10,000.
func Thousands(n int64) string { return amount.Thousands(n) }

// Amount formats an amount of a quota pool: "32 units", "1 unit", "5 search calls".
func Amount(n int64, pool string) string { return amount.Of(n, pool) }

// Plural counts things: "1 job", "8 regions".
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Thousands(int64(n)) + " " + thing + "s"
}

// Amounts formats several amounts, in the order of their pools: "1 search call, 100 units".
func Amounts(amounts map[string]int64) string {
	return strings.Join(Texts(slices.Sorted(maps.Keys(amounts)), func(pool string) string {
		return Amount(amounts[pool], pool)
	}), ", ")
}

// Texts returns the text of each item.
func Texts[T any](items []T, text func(T) string) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	return texts
}

// DayShares formats daily amounts as shares of each pool's limit: "1,536 units a day of 9,500 (16 %)".
func DayShares(amounts, limits map[string]int64) string {
	var parts []string
	for _, pool := range slices.Sorted(maps.Keys(amounts)) {
		if limit, ok := limits[pool]; ok && amounts[pool] > 0 {
			parts = append(parts, fmt.Sprintf("%s a day of %s (%d %%)", Amount(amounts[pool], pool),
				Thousands(limit), 100*amounts[pool]/max(limit, 1)))
		}
	}
	return strings.Join(parts, ", ")
}

// Bytes formats a size in the largest unit that leaves at least two digits: "80 GiB".
func Bytes(n int64) string {
	switch {
	case n >= 10<<30:
		return Thousands(n>>30) + " GiB"
	case n >= 10<<20:
		return Thousands(n>>20) + " MiB"
	}
	return Thousands(n>>10) + " KiB"
}

// Count formats a count; "-" if it is not known.
func Count(n *int64) string {
	if n == nil {
		return "-"
	}
	return Thousands(*n)
}

// Gain formats the growth of a count, with its sign.
func Gain(n *int64) string {
	if n != nil && *n > 0 {
		return "+" + Count(n)
	}
	return Count(n)
}

// Enumerate names the first few things, and counts the rest: "FR, IN and 2 more".
func Enumerate(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// Bar draws the used part of a whole over the given columns: "[####------]". The bar is empty only if nothing is used,
// and full only if all is.
func Bar(used, whole int64, columns int) string {
	inside := int64(max(columns-2, 1))
	n := inside
	if used < whole {
		n = min(max(used, 0)*inside/whole, inside-1)
	}
	if used > 0 && n == 0 {
		n = min(1, inside-1)
	}
	return "[" + strings.Repeat("#", int(n)) + strings.Repeat("-", int(inside-n)) + "]"
}
