package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/amount"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Errors that a ledger or a governor returns; compare with errors.Is.
var (
	// ErrUnknown is a method, pool, purpose or account that does not exist or is not well formed.
	ErrUnknown = errors.New("unknown")
	// ErrNeverFits is a cost above its purpose's ceiling. Nothing was changed.
	ErrNeverFits = errors.New("can never fit")
	// ErrUnavailable is a ledger that cannot answer: not reachable, hung, read-only, its clock off.
	ErrUnavailable = errors.New("the ledger cannot answer")
	// ErrInDoubt accompanies ErrUnavailable when the operation may have been carried out: the request may have arrived
	// and only the reply been lost.
	ErrInDoubt = errors.New("it may have been carried out")
	// ErrCorrupt is a ledger with content that no ledger writes. Nothing was changed.
	ErrCorrupt = errors.New("the ledger is damaged")
	// ErrOlderCopy accompanies ErrCorrupt: the ledger's file is an older copy, which lacks acknowledged calls.
	ErrOlderCopy = errors.New("is an older copy")
	// ErrMissing accompanies ErrUnavailable: the ledger's file is gone, although calls were counted in it. It is not
	// created anew.
	ErrMissing = errors.New("the file is missing")
	// ErrIncomplete accompanies ErrClosed: the ledger lacks spends that Governor.Known shows.
	ErrIncomplete = errors.New("the ledger lacks calls that the store knows")
	// ErrNewer is a ledger written by a newer version of the program. Nothing was changed.
	ErrNewer = errors.New("the ledger was written by a newer version")
	// ErrNotRefundable is a second refund, one after two minutes, or one of an emergency that was synced into the
	// ledger meanwhile. Nothing was changed.
	ErrNotRefundable = errors.New("nothing to refund")
	// ErrShared is a reset of a ledger that several data directories share. Nothing was changed.
	ErrShared = errors.New("the ledger is shared")
	// ErrClosed is a call that is not made because the ledger cannot answer: the gate fails closed.
	ErrClosed = errors.New("no call is made")
)

// ClockError is an ErrUnavailable: two clocks are further apart than is trusted. It says which.
type ClockError string

func (e ClockError) Error() string { return ErrUnavailable.Error() + ": " + string(e) }

func (e ClockError) Unwrap() error { return ErrUnavailable }

func clocksApart(format string, args ...any) error {
	return ClockError(protocol.Sprintf(format, args...))
}

// Ledger counts quota exactly. It keeps, per account and pool, a log of takes with their times. All methods
// are safe for concurrent use, by many processes if the backend is shared. Every error is one of the above, wrapped.
type Ledger interface {
	// Take advances the clock, checks every bound of every charge, and charges all or nothing; a refusal writes
	// nothing. An amount of 0 is a peek and is never refused. ErrNeverFits: a charge could never fit.
	Take(ctx context.Context, a Ask) (Decision, error)
	// Refund takes a decision's charges out of their entries: once, within two minutes.
	Refund(ctx context.Context, account string, d Decision) error
	// Post records past spends at their own time, even above a limit: bounds only decide whether the charge could ever
	// fit. A time before the horizon is forgotten at once; one after the ledger's clock becomes that clock's time.
	Post(ctx context.Context, a Ask, at time.Time) error
	// Drain refuses every charge on the pool until d.Until, and keeps the rest of d for reports. The zero Drain opens
	// the pool; one that does not supersede the last changes nothing.
	Drain(ctx context.Context, account, pool string, d Drain) error
	// Reset forgets the account's charges and drains; ErrShared: other hosts would bring them back. Earlier takes can
	// no longer be refunded.
	Reset(ctx context.Context, account string) error
	// Spent sums charges since a time, by pool and who, largest first. If every is not 0, each part of that length
	// has sums of its own.
	Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]Spent, error)
	// Close closes the ledger's connections and files.
	Close() error
}

// Ask is one request to a ledger, with everything it needs to decide by its own clock. Programs send a Request to a
// Governor, which makes the Ask; only authors and tests of ledgers build one.
type Ask struct {
	Account   string // letters, digits, '.', '-', '_'; 1..64 of them
	Who       Who
	Charges   []Charge      // at least one, each pool once
	Midnights []time.Time   // the provider's midnights around now, ascending: at least two before, two after
	Grace     time.Duration // windows count this much longer; days begin this much earlier and end this much later
	Horizon   time.Duration // entries are kept this long; the ledger keeps the largest it has seen
	Precision time.Duration // entries within one such step may be merged into the newest; 0: never
	Now       time.Time     // the caller's clock, to compare with the ledger's clock; zero: not compared
	Gap       time.Duration // how far two clocks may be apart and still be trusted; 0: MaxClockGap
	// Peek decides the same way, with the exact RetryAfter of a refusal, and charges nothing.
	Peek bool
	// HasFallback says that the caller can go on without the ledger, and prefers that to waiting for one that did not
	// answer recently.
	HasFallback bool
}

// Who is one spender: a ledger keeps it with each charge, and Report.Spent sums charges by it.
type Who struct {
	Purpose Purpose
	Region  string // "" if the call has none
	Method  string
	Client  string // which tool; "" if the program spends for itself
}

// Charge is one pool's part of an Ask. A call that costs units and a search has two, charged together or not at all.
type Charge struct {
	Pool   string
	Amount int64 // 0 is a peek
	Bounds []Bound
}

// Bound is one window of a pool and the asking purpose's ceiling in it.
type Bound struct {
	Window  Window
	Ceiling int64 // at most Window.Limit
	// Reserved is the schedule's remaining need of the window, if that lowered the ceiling; otherwise 0.
	Reserved int64

	scheduled int64 // with Reserved: the schedule's own ceiling
}

// refusal returns this window's refusal of an ask, given the pool's use in it.
func (b Bound) refusal(a Ask, pool string, used int64) *Refusal {
	r := &Refusal{Pool: pool, Window: b.Window.Name, Used: used, Ceiling: b.Ceiling, Limit: b.Window.Limit,
		Purpose: a.Who.Purpose}
	if b.Reserved > 0 {
		r.Reserved, r.left = b.Reserved, max(b.scheduled-used, 0)
	}
	return r
}

// Decision is a ledger's answer to an Ask. Check Allowed: a refusal is no error.
type Decision struct {
	Allowed bool
	At      time.Time // the ledger's clock; for an admitted take the time of its entries
	Who     Who
	Pools   []PoolState // in the order of the charges
	Refusal *Refusal    // nil when allowed
	// RetryAfter is how long to wait by the ledger's clock, in whole milliseconds; 0 when allowed. The same ask is
	// then admitted unless others spend in between. RetryAt is the exact moment by the same clock, up to a
	// millisecond earlier; asking again does not change it.
	RetryAfter time.Duration
	RetryAt    time.Time
	// Degraded marks a call let through while the ledger could not answer: it was charged to the emergency budget,
	// and Pools has only that charge.
	Degraded bool
	// Probe marks the call that asks whether a doubted refusal is still in force: once it is answered, call
	// Governor.Answered.
	Probe bool
	// Row is the take or the emergency in the journal of a data directory, for Refund; 0 if there is none.
	Row int64
}

// PoolState is a pool as one decision left it; for the state of all pools and purposes see PoolReport.
type PoolState struct {
	Pool      string
	Charged   int64 // by this decision
	Entry     int64 // the ledger's number of the new entry, for Refund
	Entries   int64 // PoolFacts.Entries before the decision; a fall means that entries are lost
	Remaining int64 // for the purpose that asked, over all windows; 0 while drained
	Drain     Drain // in force; zero: the pool is open
	LastDrain Drain // the last one known to the ledger, even if it is over
	Windows   []WindowState
}

// WindowState is the use of one window of a pool, in a Decision or a Report.
type WindowState struct {
	Window  Window
	Used    int64
	Ceiling int64
	// FreesAt is when the window next has more room: for a sliding window when its oldest entry leaves (zero if
	// empty), for a day the grace after the provider's next midnight.
	FreesAt time.Time
	// Returns is when the used amount comes back, soonest first; only in a Report.
	Returns []Return
}

// Return is an amount of a pool that a window stops counting at At.
type Return struct {
	At     time.Time
	Amount int64
}

// Refusal says which window had no room: the one that frees latest.
type Refusal struct {
	Pool    string `json:"pool"`
	Window  string `json:"window"` // "drained" while the pool is closed
	Used    int64  `json:"used"`
	Ceiling int64  `json:"ceiling"`
	Limit   int64  `json:"limit"`
	// Reserved is the schedule's remaining need of the window, if that is the reason; 0 if it is not.
	Reserved int64 `json:"reserved,omitempty"`

	// With window "drained": ByHand, when a person closed the pool; Unknown, when a closure for unknown use ends. Both
	// are zero if the provider said no.
	ByHand  time.Time `json:"-"`
	Unknown time.Time `json:"-"`
	// RoomIn names a window of the same pool that has room for the cost; "" if none has.
	RoomIn string `json:"-"`
	// AtOnce is how much had to fit at once, if that is more than the call's own cost; 0 otherwise.
	AtOnce int64 `json:"-"`
	// Probe is the number of the next probe if the provider's refusal is doubted, otherwise 0.
	Probe int `json:"-"`
	// Purpose is the purpose of the refused call, if a window refused it; "" if it has none.
	Purpose Purpose `json:"-"`

	left int64 // with Reserved: the rest below the schedule's own ceiling
}

func (r Refusal) String() string {
	if pool, client, own := strings.Cut(r.Pool, clientSign); own {
		return fmt.Sprintf("client %s: %s of its %s used %s", client, amount.Thousands(r.Used),
			amount.Of(r.Limit, pool), r.within())
	}
	switch {
	case !r.ByHand.IsZero():
		return fmt.Sprintf("%s: closed by hand at %s, until the drain is lifted", r.Pool,
			r.ByHand.UTC().Format(time.DateTime+"Z"))
	case !r.Unknown.IsZero():
		return fmt.Sprintf("%s: closed because its use is not known, until %s or ingest quota post %[1]s N",
			r.Pool, r.Unknown.UTC().Format(time.DateTime+"Z"))
	case r.Window == protocol.DrainWindow:
		s := fmt.Sprintf("%s: the provider said no at %s used", r.Pool, amount.Thousands(r.Used))
		if r.Probe > 0 {
			s += fmt.Sprintf(" of %s: another tool may use this project, or its limit is lower; "+
				"one call tries again (probe %d)", amount.Thousands(r.Limit), r.Probe)
		}
		return s
	}
	s := r.usedUp()
	if r.Reserved > 0 {
		s = r.reserved()
	}
	if r.AtOnce > 0 {
		s += fmt.Sprintf(", and %s are needed at once", amount.Thousands(r.AtOnce))
	}
	return s
}

// usedUp says how much of its ceiling the caller has used.
func (r Refusal) usedUp() string {
	s := fmt.Sprintf("%s of the %s that %s may use %s are used", amount.Thousands(r.Used),
		amount.Of(r.Ceiling, r.Pool), r.Purpose.callers(), r.within())
	if r.Used >= r.Ceiling {
		s = fmt.Sprintf("all %s that %s may use %s are used", amount.Of(r.Ceiling, r.Pool), r.Purpose.callers(), r.within())
	}
	if r.Limit > r.Ceiling {
		s += fmt.Sprintf(" (limit %s)", amount.Thousands(r.Limit))
	}
	return s
}

// reserved gives the schedule's need, and the rest.
func (r Refusal) reserved() string {
	left := "none"
	if n := r.Ceiling - r.Used; n > 0 {
		left = "only " + amount.Thousands(n)
	}
	needs := amount.Thousands(r.Reserved) + " of the"
	if r.Reserved > r.left {
		needs = "all"
	}
	return fmt.Sprintf("the schedule still needs %s %s left %s; %s may use %s", needs, amount.Of(r.left, r.Pool),
		r.within(), r.Purpose.callers(), left)
}

// within says for how long the window of the refusal counts.
func (r Refusal) within() string {
	if r.Window == "day" {
		return "today"
	}
	return "in " + r.Window
}

// callers names those who call for a purpose.
func (p Purpose) callers() string {
	switch p {
	case Scheduled:
		return "the schedule"
	case Client, Backfill:
		return string(p) + "s"
	case Refresh:
		return "the refresh"
	case Manual:
		return "manual takes"
	}
	return "callers"
}

// Spent is the sum of a spender's charges to a pool: it shows who used the quota.
type Spent struct {
	Pool   string
	Who    Who
	Part   int64 // number of the part of the time, from 0
	Amount int64
}

// Compare orders sums by pool, then largest first, then by who: the order that Ledger.Spent gives.
func (s Spent) Compare(other Spent) int {
	return cmp.Or(
		cmp.Compare(s.Pool, other.Pool),
		cmp.Compare(other.Amount, s.Amount),
		cmp.Compare(s.Who.Purpose, other.Who.Purpose),
		cmp.Compare(s.Who.Region, other.Who.Region),
		cmp.Compare(s.Who.Method, other.Who.Method),
		cmp.Compare(s.Who.Client, other.Who.Client),
		cmp.Compare(s.Part, other.Part),
	)
}
