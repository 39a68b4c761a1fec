// Package amount writes amounts of quota for people: the ledger's refusals and every screen write them alike.
package amount

import (
	"fmt"
	"strings"
)

// Thousands formats n with separators: 10,000.
func Thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Of formats an amount of a quota pool: "32 units", "1 unit", "5 search calls".
func Of(n int64, pool string) string { return Thousands(n) + " " + Unit(n, pool) }

// Unit names the unit of that much of a pool: a pool that is not named after its unit counts calls.
func Unit(n int64, pool string) string {
	if !strings.HasSuffix(pool, "s") {
		pool += " calls"
	}
	if n == 1 && (pool == "units" || strings.HasSuffix(pool, "calls")) {
		pool = strings.TrimSuffix(pool, "s")
	}
	return pool
}
