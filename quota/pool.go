// Package quota draws the cost of metered calls from one exact ledger.
//
// A provider counts pools (units, search calls) over windows (any 24 hours, its own calendar day). A purpose may use a
// share of each limit, its ceiling. A Ledger keeps the log and decides; a Governor knows the price list (costs.yaml)
// and what to do when the ledger cannot answer.
//
// A refusal is a value; an error is a broken thing, or a cost that never fits.
//
// A program needs a Governor with a Ledger from one of the packages below and a Tariff, either read by ParseCosts or
// built from Pools, Windows and Costs. It sends a Request with a Purpose and gets a Decision with PoolStates, and a
// Refusal if there is no room. A Report shows how much is left and who spent the rest. Ask, Decide and their parts
// are for authors of Ledgers.
package quota

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Bounds of asks and tariffs. Lua scripts compute in doubles, which are exact up to 2^53: a limit of 10^12 leaves room
// for thousands of windows.
const (
	MaxLimit    = 1_000_000_000_000
	MinHorizon  = 26 * time.Hour   // the longest provider day is 25 h
	MaxClockGap = 60 * time.Second // see Ask.Gap
)

// Pool is something that the provider counts, such as units or searches. Each of its windows has a limit, and a call is
// admitted only if it fits all of them.
type Pool struct {
	Name    string
	Windows []Window
	// Was has its earlier names, the first one first: ledgers count the pool under that one. Records under any of them
	// belong to the pool.
	Was  []string
	Line int // in the file with its limits; 0 if there is no file
}

// Limit returns the smallest limit of the pool's windows.
func (p Pool) Limit() int64 {
	limit := int64(MaxLimit)
	for _, w := range p.Windows {
		limit = min(limit, w.Limit)
	}
	return limit
}

// Window is a span of time with a limit. With a Length it slides, so that no burst at midnight exceeds it; without
// one it is the provider's calendar day.
type Window struct {
	Name   string        // as written: "24h", "day"
	Length time.Duration // up to 768 h; 0 for the provider's calendar day
	Limit  int64         // 1..MaxLimit
}

// Day reports whether the window is the provider's calendar day.
func (w Window) Day() bool { return w.Length == 0 }

// ParseWindow reads "day" or a duration such as "24h": 100 ms up to 768 h. The limit is left 0.
func ParseWindow(s string) (Window, error) {
	if s == "day" {
		return Window{Name: s}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return Window{}, fmt.Errorf("window %q is neither day nor a duration like 24h or 60s", s)
	}
	if d < protocol.MinWindow || d > protocol.MaxWindow {
		return Window{}, fmt.Errorf("window %q is outside %v..%v", s, protocol.MinWindow, protocol.MaxWindow)
	}
	if d%time.Millisecond != 0 {
		return Window{}, fmt.Errorf("window %q is not a whole number of milliseconds", s)
	}
	return Window{Name: s, Length: d}, nil
}

// Purpose is why quota is spent. Each has a ceiling (Tariff.Ceilings), so that a backfill cannot use up the schedule's
// quota, nor the schedule a person's part.
type Purpose string

// The purposes. Others are refused.
const (
	Scheduled Purpose = "scheduled"
	Refresh   Purpose = "refresh"
	Backfill  Purpose = "backfill"
	Manual    Purpose = "manual"
	Client    Purpose = "client" // another tool
)

// Purposes lists every purpose, in the order of reports.
func Purposes() []Purpose { return []Purpose{Scheduled, Refresh, Backfill, Manual, Client} }

// Check refuses a purpose that is not known.
func (p Purpose) Check() error {
	if slices.Contains(Purposes(), p) {
		return nil
	}
	return fmt.Errorf("%w: purpose %q: use scheduled, refresh, backfill, manual or client", ErrUnknown, string(p))
}

// Share is a part of a limit, in millionths: 95% is 950,000. Ceilings and emergency budgets are shares, so that they
// follow a raised limit.
type Share int64

const whole Share = 1_000_000

// parseShare reads a percentage above 0% and up to 100%, with at most four decimals.
func parseShare(s string) (Share, error) {
	digits, ok := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not a percentage like 95%%", s)
	}
	millionths := math.Round(f * 10_000)
	if math.Abs(f*10_000-millionths) > 1e-6 {
		return 0, fmt.Errorf("%q has more than four decimals", s)
	}
	if !(millionths >= 1 && millionths <= float64(whole)) {
		return 0, fmt.Errorf("%q is outside 0.0001%%..100%%", s)
	}
	return Share(millionths), nil
}

// Of returns the share of limit, rounded down.
func (s Share) Of(limit int64) int64 {
	return limit * int64(s) / int64(whole) // at most MaxLimit * whole: no overflow
}

func (s Share) String() string {
	return strconv.FormatFloat(float64(s)/10_000, 'f', -1, 64) + "%"
}
