package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Governor draws the cost of calls from a ledger at a tariff's prices, and decides which calls may go on when the
// ledger cannot answer. Safe for concurrent use.
type Governor struct {
	Ledger           Ledger
	Tariff           *Tariff
	Usual            string // the most frequent method, for Report.ResumesAt; "": the cheapest of each pool
	Account          string
	Now              func() time.Time
	EmergencyAccount EmergencyAccount // nil: every call fails closed while the ledger cannot answer
	Log              *slog.Logger     // nil: nothing is logged
	// Reserve returns the amounts that calls of backfills and clients must leave for the schedule. It applies to each
	// Request without a Reserve of its own, and to Report. nil: nothing is reserved.
	Reserve func(context.Context) Reserve
	// Known returns the spends after a time, from the program's own records, such as rows of its store; for the file
	// of another ledger of the account see sqliteledger.Ledger.Known. While the ledger lacks any of them, a take fails
	// with ErrClosed and ErrIncomplete. nil: nothing is known.
	Known func(ctx context.Context, since time.Time) ([]Spent, error)
	// Date asks the provider's clock. Within MaxClockGap after the provider's midnight by this machine's clock, a take
	// calls it and fails closed if the provider's day has not turned yet. nil: the provider is not asked.
	Date func(ctx context.Context) (time.Time, error)

	isWhole     atomic.Bool // the ledger once had all spends of Known
	inEmergency atomic.Bool // the last call went on without the ledger, so that only the first is logged
}

// Request is one call to be admitted: Governor.Take prices it by its method. A ledger gets it as an Ask.
type Request struct {
	Method  string // as costs.yaml names it
	Region  string // "" if a call has none
	Client  string // which tool asks; its own limits (Tariff.LimitClients) apply too. "": the program itself
	Purpose Purpose
	// Reserve is the schedule's need: this call's ceilings are lowered to leave it free. The zero value is
	// Governor.Reserve.
	Reserve Reserve
	// Calls is how many such calls must fit for the first to be admitted, for work that is worthless unless finished.
	// Only the first is charged. 0, or a number that can never fit, means one.
	Calls int

	times int64 // calls that are charged together; 0: one
}

// sendWithin is how long after its take a call may leave if no grace is configured.
const sendWithin = 30 * time.Second

// SendWithin returns how long after its take a call may leave: the grace, but at least a second for slow disks.
func (g *Governor) SendWithin() time.Duration {
	return max(cmp.Or(g.Tariff.Grace, sendWithin), time.Second)
}

// Take draws the cost of one call. A refusal is a value. Errors: ErrUnknown for a method without a price or an unknown
// purpose, ErrNeverFits, ErrClosed when the ledger cannot answer and the call must not go on without it, otherwise the
// ledger's own. A take answered later than SendWithin, as in a process that was suspended, is refunded and drawn
// again.
func (g *Governor) Take(ctx context.Context, r Request) (Decision, error) {
	for range 3 {
		asked := g.Now()
		d, err := g.take(ctx, r)
		if err != nil || !d.Allowed || elapsed(asked, g.Now()) <= g.SendWithin() {
			return d, err
		}
		g.giveBack(ctx, d)
	}
	return Decision{}, fmt.Errorf("%w: %s: every answer came more than %v after the request: "+
		"is this machine stopped again and again?", ErrClosed, r.Method, g.SendWithin())
}

// elapsed returns the longer of the monotonic and the wall-clock time between two readings: the monotonic clock misses
// a suspended machine, the wall clock misses being set back.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// giveBack refunds a take that was never used. If that fails, it stays charged, which is the safe side.
func (g *Governor) giveBack(ctx context.Context, d Decision) {
	if err := g.Refund(ctx, d); err != nil && g.Log != nil {
		g.Log.WarnContext(ctx, "a take that was not used could not be refunded", slog.String("method", d.Who.Method),
			slog.Any("error", err))
	}
}

// take draws the cost once.
func (g *Governor) take(ctx context.Context, r Request) (Decision, error) {
	a, fits, err := g.ask(ctx, r)
	if err != nil {
		return Decision{}, err
	}
	if err := g.checkWhole(ctx); err != nil {
		return Decision{}, err
	}
	if !fits {
		return g.refuseReserved(ctx, a)
	}
	a = a.times(max(r.times, 1))
	if err := g.turned(ctx, a); err != nil {
		return g.degraded(ctx, a, err)
	}
	// Fail a client fast: it has no emergency budget.
	a.HasFallback = r.Purpose == Client || g.EmergencyAccount != nil && g.cheap(a) == nil
	if r.Calls > 1 {
		if d, err := g.peek(ctx, a, r.Calls); err == nil && !d.Allowed { // the take reports the error
			return d, nil
		}
	}
	d, err := g.ledger().Take(ctx, a)
	if err != nil {
		return g.degraded(ctx, a, err)
	}
	g.inEmergency.Store(false)
	if !d.Allowed {
		return d, nil
	}
	return g.probe(ctx, d)
}

// peek decides whether that many calls fit together or, if they never can, whether one fits.
func (g *Governor) peek(ctx context.Context, a Ask, calls int) (Decision, error) {
	all := a.times(int64(max(calls, 1)))
	all.Peek = true
	d, err := g.ledger().Take(ctx, all)
	if errors.Is(err, ErrNeverFits) && calls > 1 {
		return g.peek(ctx, a, 1)
	}
	if r := d.Refusal; r != nil && calls > 1 && r.Window != protocol.DrainWindow {
		for _, c := range all.Charges {
			if c.Pool == r.Pool {
				r.AtOnce = c.Amount
			}
		}
	}
	return d, err
}

// turned returns ErrUnavailable if the provider's day has just turned by this machine's clock, but not by
// the provider's clock: a take would still count in the day before. It returns nil if the provider gives no time.
func (g *Governor) turned(ctx context.Context, a Ask) error {
	today := a.day(a.Now)
	daily := slices.ContainsFunc(a.Charges, func(c Charge) bool {
		return slices.ContainsFunc(c.Bounds, func(b Bound) bool { return b.Window.Day() })
	})
	if g.Date == nil || !daily || a.Now.Sub(a.turns(today)) >= MaxClockGap {
		return nil
	}
	date, err := g.Date(ctx)
	if err != nil || date.IsZero() || !date.Before(a.Midnights[today]) {
		return nil //nolint:nilerr // the call itself will then fail too
	}
	return clocksApart("the provider's day has not turned: its clock says %s, this machine's %s: "+
		"set the clock (timedatectl set-ntp true)", date, a.Now)
}

// ask converts the request for a ledger. fits is false if r.Reserve leaves too little for it.
func (g *Governor) ask(ctx context.Context, r Request) (a Ask, fits bool, err error) {
	if err := r.Purpose.Check(); err != nil {
		return Ask{}, false, err
	}
	if err := g.Tariff.Check(); err != nil {
		return Ask{}, false, err
	}
	if r.Client != "" && CheckAccount(r.Client) != nil {
		return Ask{}, false, fmt.Errorf("%w: client %q: use up to 64 letters, digits, '.', '-' and '_'", ErrUnknown, r.Client)
	}
	cost, err := g.Tariff.Cost(r.Method)
	if err != nil {
		return Ask{}, false, err
	}
	for pool, amount := range cost {
		if int64(r.Calls) > MaxLimit/amount {
			return Ask{}, false, fmt.Errorf("%w: %d calls of %s, each %d of pool %s: at most %d are counted",
				ErrNeverFits, r.Calls, r.Method, amount, pool, int64(MaxLimit))
		}
	}
	fits = true
	if r.Reserve.Today == nil && r.Reserve.Whole == nil {
		r.Reserve = g.reserve(ctx, r.Purpose)
	}
	a = g.Tariff.ask(g.Account, g.Now())
	a.Who = Who{Purpose: r.Purpose, Region: r.Region, Method: r.Method, Client: r.Client}
	for _, p := range g.Tariff.Pools {
		if amount, ok := cost[p.Name]; ok {
			c := p.charge(amount, g.Tariff.Ceilings[r.Purpose])
			fits = g.Tariff.leave(&c, r.Purpose, r.Reserve) && fits
			a.Charges = append(a.Charges, c)
		}
	}
	a.Charges = append(a.Charges, g.Tariff.ownCharges(r.Client, cost)...)
	return a, fits, nil
}

// reserve returns the amounts that calls of a purpose must leave for the schedule.
func (g *Governor) reserve(ctx context.Context, purpose Purpose) Reserve {
	if g.Reserve == nil || !purpose.yields() {
		return Reserve{}
	}
	return g.Reserve(ctx)
}

// ledger returns the ledger under the tariff's names.
func (g *Governor) ledger() Ledger {
	if g.Tariff.renames() {
		return renamedLedger{g.Ledger, g.Tariff}
	}
	return g.Ledger
}

// emergencies returns the emergency account under the tariff's names.
func (g *Governor) emergencies() EmergencyAccount {
	if g.Tariff.renames() {
		return renamedEmergencies{g.EmergencyAccount, g.Tariff}
	}
	return g.EmergencyAccount
}

// Spent is Ledger.Spent, by the names that the pools have now.
func (g *Governor) Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]Spent, error) {
	return g.ledger().Spent(ctx, account, since, every)
}

// Missing returns the spends that Known shows and the ledger has not counted. Nothing is missing if Known is nil.
// Take calls it until it first returns none. ErrUnavailable: the ledger cannot say.
func (g *Governor) Missing(ctx context.Context) ([]Spent, error) {
	if g.Known == nil {
		return nil, nil
	}
	now, horizon := g.Now(), g.Tariff.Horizon()
	known, err := g.Known(ctx, now.Add(MaxClockGap-horizon)) // a ledger whose clock is ahead has forgotten more
	if err != nil {
		return nil, fmt.Errorf("read the recorded spends: %w", err)
	}
	if len(known) == 0 {
		g.isWhole.Store(true)
		return nil, nil
	}
	for i, s := range known { // a ledger's file uses the pools' first names
		if g.Tariff.renames() {
			known[i].Pool = g.Tariff.NowNamed(s.Pool)
		}
	}
	counted, err := g.ledger().Spent(ctx, g.Account, now.Add(-horizon), 0)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(Lacking(known, counted), func(s Spent) bool { return s.Amount == 0 })
	g.isWhole.Store(len(missing) == 0)
	return missing, nil
}

// checkWhole fails if the ledger lacks a spend that Known shows: it was lost, or is an older copy. A ledger that
// cannot say is asked again before the next take.
func (g *Governor) checkWhole(ctx context.Context) error {
	if g.Known == nil || g.isWhole.Load() {
		return nil
	}
	missing, err := g.Missing(ctx)
	switch {
	case errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCorrupt):
		return nil // the take returns the error
	case err != nil:
		return fmt.Errorf("%w: %w", ErrClosed, err)
	case len(missing) > 0:
		return fmt.Errorf("%w: %w: the first is %d of pool %s by %s: "+
			"put the ledger back as it was, or post the missing spends", ErrClosed, ErrIncomplete,
			missing[0].Amount, missing[0].Pool, missing[0].Who)
	}
	return nil
}
