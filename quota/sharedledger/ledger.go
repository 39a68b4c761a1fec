package sharedledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Ledger is one process's access to the account of a data directory; Open makes it. See the package comment.
type Ledger struct {
	Remote   Remote
	Journal  Journal
	Account  string
	Host     Host             // this data directory: its Name and Regions
	SyncWait time.Duration    // above 0: the longest that a new generation waits for the other hosts
	Now      func() time.Time // this machine's clock
	Log      *slog.Logger     // nil: nothing is logged
	// Pause waits before an operation is asked again.
	Pause func(ctx context.Context, d time.Duration)
	// ShortWait is how long an ask with a fallback waits for a remote that did not answer recently.
	ShortWait time.Duration

	pools   []string      // all counted pools
	horizon time.Duration // how long a spend can matter
	gap     time.Duration // the largest gap between clocks
	hosts   int           // data directories that share the remote

	turn       chan struct{} // of capacity 1: one operation in flight
	state      JournalState  // as last read
	loaded     bool          // state was read
	isFresh    bool          // no earlier process used this data directory with the remote
	comparedIn Generation    // the generation when the remote was last compared and found up to date; 0: none
	comparedAt time.Time
	lostIn     Generation // the generation whose remote lost something, still to be handled
	// hasSibling says that another process of the data directory may have been charged after this one.
	hasSibling   bool
	siblingWaits bool  // waited for an answer when the remote was last compared
	lastRow      int64 // the journal's id of the last row begun
	isListed     bool  // this data directory is one of its hosts
	notes        Notes // not written yet
	writer       string
	number       int64      // the last one used
	written      int64      // the last one written by the remote
	asked        time.Time  // when the writer last asked
	doubt        int64      // the row whose answer is unknown, 0 for none
	probing      chan error // of a running probe; nil: none
	stopping     context.CancelFunc
	probeCtx     context.Context //nolint:containedctx // ends with the ledger
}

var (
	_ quota.Ledger           = (*Ledger)(nil)
	_ quota.EmergencyAccount = (*Ledger)(nil)
)

const (
	maxAsks        = 4                      // of one operation whose replies are lost
	repeatWithin   = 400 * time.Millisecond // of the first
	firstPause     = 5 * time.Millisecond   // then twice as long each time
	writerIdle     = quota.MinHorizon / 2   // well before the remote forgets a writer
	maxGenerations = 4                      // in one call: more means that the remote keeps losing its memory
)

// on calls do when it is this call's turn, if this ledger counts the account.
func (s *Ledger) on(ctx context.Context, account string, do func() error) error {
	if s.turn == nil {
		return fmt.Errorf("%w: a shared ledger that Open has not made", quota.ErrUnknown)
	}
	if s.SyncWait <= 0 {
		return fmt.Errorf("%w: settle is %v: a new generation has to wait for the other hosts", quota.ErrUnknown, s.SyncWait)
	}
	if err := quota.CheckAccount(account); err != nil {
		return err
	}
	if account != s.Account {
		return fmt.Errorf("%w: account %q: this ledger is of %q", quota.ErrUnknown, account, s.Account)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Take implements quota.Ledger.
func (s *Ledger) Take(ctx context.Context, a quota.Ask) (d quota.Decision, err error) {
	err = s.on(ctx, a.Account, func() error {
		d, err = s.take(ctx, a)
		return err
	})
	return d, err
}

func (s *Ledger) take(ctx context.Context, a quota.Ask) (d quota.Decision, err error) {
	if err := a.Check(s.Now()); err != nil {
		return quota.Decision{}, err
	}
	if err := s.checkBreaker(ctx, a.HasFallback); err != nil {
		return quota.Decision{}, err
	}
	s.ensureWriter()
	if s.seemsFull(a) { // an expected refusal costs no row
		d, err = s.ask(ctx, a, Row{})
		if err = s.noteAnswer(ctx, a, Row{}, d, err); err != nil || !d.Allowed {
			return d, err
		}
	}
	row := Row{Account: a.Account, Who: a.Who, Amounts: quota.Cost{}}
	for _, c := range a.Charges {
		if c.Amount > 0 && !a.Peek {
			row.Amounts[c.Pool] = c.Amount
		}
	}
	for range maxGenerations {
		if len(row.Amounts) > 0 {
			if row, err = s.begin(ctx, row, s.Now()); err != nil {
				return quota.Decision{}, err
			}
		}
		d, err = s.ask(ctx, a, row)
		d.Row = row.ID
		if errors.Is(err, ErrSynced) || errors.Is(err, errForgetful) {
			// The remote counts this charge, or the next sync takes it back: do not use it. Ask under a new number.
			continue
		}
		return d, s.noteAnswer(ctx, a, row, d, err)
	}
	return quota.Decision{}, fmt.Errorf("%w: it loses its data, or others sync it, at every attempt", quota.ErrUnavailable)
}

// seemsFull reports whether the ask does not fit into the use that the remote last reported.
func (s *Ledger) seemsFull(a quota.Ask) bool {
	return slices.ContainsFunc(a.Charges, func(c quota.Charge) bool {
		seen := s.state.snapshot(c.Pool)
		return c.Amount > 0 && (seen.Drain.Active(s.Now()) || slices.ContainsFunc(seen.Windows, func(w WindowUsage) bool {
			return slices.ContainsFunc(c.Bounds,
				func(b quota.Bound) bool { return b.Window == w.Window && w.Used+c.Amount > b.Ceiling })
		}))
	})
}

// begin writes an operation at a time to the journal, under the next number.
func (s *Ledger) begin(ctx context.Context, row Row, at time.Time) (Row, error) {
	s.number++ // even if the write fails, as the row may exist
	row.ID, row.Writer, row.Number, row.Nonce = 0, s.writer, s.number, random()
	row.At = at
	if row.State == RowAsked {
		row.At = s.state.afterSnapshots(at)
	}
	s.notes.Now, s.notes.Forget = s.state.trustedNow(s.Now()), 2*s.horizon // twice: snapshots look back a horizon
	id, state, err := s.Journal.Begin(ctx, row, s.notes)
	if err != nil {
		return row, fmt.Errorf("write the journal: %w", err)
	}
	s.notes, row.ID = Notes{}, id
	s.adopt(state)
	if id == 0 {
		return row, s.breakerError()
	}
	s.hasSibling = s.hasSibling || id != s.lastRow+1
	s.lastRow = id
	return row, nil
}

// ask asks until there is an answer or no hope of one.
func (s *Ledger) ask(ctx context.Context, a quota.Ask, row Row) (quota.Decision, error) {
	began, pause := time.Now(), firstPause
	s.doubt = 0
	for asks, losses := 1, 0; ; {
		d, err := s.askOnce(ctx, a, row, asks > 1)
		lost := isLost(err)
		switch {
		case err == nil:
			s.doubt = 0
			return d, nil
		case errors.Is(err, errForgetful):
			return d, err
		case lost && losses < maxGenerations:
			losses++
			s.comparedIn = 0 // compares the remote before it is asked again
		case lost:
			return quota.Decision{}, fmt.Errorf("%w: at every attempt: %w", quota.ErrUnavailable, err)
		case errors.Is(err, quota.ErrInDoubt) && asks < maxAsks && ctx.Err() == nil && time.Since(began) < repeatWithin:
			asks++
			s.Pause(ctx, pause)
			pause *= 2
		default:
			return quota.Decision{}, err
		}
	}
}

// errForgetful means that a remote charged although it has forgotten something. The next sync takes the charge back.
var errForgetful = errors.New("charged by a ledger that has lost operations that were seen")

// askOnce asks once. again says that it was asked before, so its answer may be older than known snapshots.
func (s *Ledger) askOnce(ctx context.Context, a quota.Ask, row Row, again bool) (quota.Decision, error) {
	err := s.ensureUpToDate(ctx, row)
	if errors.Is(err, errNew) {
		a.Peek = true
		return s.Remote.Take(ctx, a)
	}
	if err != nil {
		return quota.Decision{}, err
	}
	op := Operation{Generation: s.state.Generation, Writer: s.writer, Number: row.Number,
		Nonce: row.Nonce, Written: s.written}
	if row.ID == 0 { // the ask charges nothing
		op.Number, op.Nonce = s.number+1, 0
	}
	d, err := s.Remote.TakeOnce(ctx, a, op)
	if err == nil && !again {
		if err = s.checkSeen(d); err != nil && d.Allowed && row.ID != 0 {
			s.lostIn, s.comparedIn, s.state.Owed = op.Generation, 0, true
			s.notes.Verdicts = append(s.notes.Verdicts, RowVerdict{ID: row.ID, State: RowUnused})
			return d, fmt.Errorf("%w: %w", errForgetful, err)
		}
	}
	switch {
	case errors.Is(err, quota.ErrInDoubt):
		s.doubt = row.ID
	case errors.Is(err, ErrLost) && !errors.Is(err, ErrRestarted):
		s.lostIn = op.Generation
	}
	return d, err
}

// noteAnswer records the verdict on the row.
func (s *Ledger) noteAnswer(ctx context.Context, a quota.Ask, row Row, d quota.Decision, err error) error {
	if err == nil {
		changed := s.state.Generation != 0 && s.observe(a, d, row.ID != 0)
		if row.ID == 0 {
			if changed {
				return s.flush(ctx) // there may be no other write for a long time
			}
			return nil
		}
		if d.Allowed {
			s.written, s.hasSibling = row.Number, s.siblingWaits
			s.notes.Verdicts = append(s.notes.Verdicts, RowVerdict{ID: row.ID, State: RowCharged, At: d.At})
			return nil
		}
		s.notes.Verdicts = append(s.notes.Verdicts, RowVerdict{ID: row.ID, State: RowVoid})
		return s.flush(ctx) // otherwise another process would treat it as lost
	}
	if row.ID != 0 { // it is not used, unless it becomes an emergency
		verdict := RowVerdict{ID: row.ID, State: RowVoid}
		if s.doubt == row.ID {
			verdict.State, s.state.Owed = RowUnused, true
		}
		s.notes.Verdicts = append(s.notes.Verdicts, verdict)
	}
	if errors.Is(err, ErrClone) {
		s.writer = "" // the other process keeps the name
	}
	if errors.Is(err, quota.ErrUnavailable) && !errors.Is(err, errSettling) && ctx.Err() == nil {
		s.openBreaker(ctx, err)
	} else if row.ID != 0 {
		_ = s.flush(context.WithoutCancel(ctx)) // the next write tries again
	}
	// of several asks, one may have been carried out
	if row.ID != 0 && s.doubt == row.ID && !errors.Is(err, quota.ErrInDoubt) {
		return fmt.Errorf("%w: %w", err, quota.ErrInDoubt)
	}
	return err
}

// observe stores the use that the decision saw, and reports whether it changed. charges: the ask could charge.
func (s *Ledger) observe(a quota.Ask, d quota.Decision, charges bool) (changed bool) {
	for i, p := range d.Pools {
		u := UsageSnapshot{Pool: p.Pool, Generation: s.state.Generation, At: d.At, Drain: p.Drain,
			Entries: max(p.Entries, s.entriesSeen(p.Pool))}
		if p.LastDrain.By == quota.ByUnknown {
			u.Drain = p.LastDrain // even if it is over: then the use is known since that time
		}
		if charges && p.Charged > 0 {
			u.Entries = max(u.Entries, p.Entries+1)
		}
		for j, l := range a.Lookups(a.Charges[i], d.At) {
			u.Windows = append(u.Windows, WindowUsage{p.Windows[j].Window, protocol.Time(l.Start), p.Windows[j].Used})
		}
		changed = s.noteSnapshot(u) || changed
	}
	return changed
}

// entriesSeen returns how many entries of a pool this data directory has seen in the current generation.
func (s *Ledger) entriesSeen(pool string) int64 {
	if u := s.state.snapshot(pool); u.Generation == s.state.Generation {
		return u.Entries
	}
	return 0
}

// checkSeen returns ErrLost for an answer with fewer entries of a pool than an earlier one of the same generation, or
// without a known closure for unknown use: then an older copy of the remote is back, or a part of the account is gone.
// So even a host that wrote nothing notices a loss.
func (s *Ledger) checkSeen(d quota.Decision) error {
	for _, p := range d.Pools {
		if seen := s.entriesSeen(p.Pool); p.Entries < seen {
			return fmt.Errorf("%w: pool %s had %d entries, but %d were seen before", ErrLost, p.Pool, p.Entries, seen)
		}
		if seen := s.state.snapshot(p.Pool).Drain; seen.By == quota.ByUnknown && seen.Active(d.At) &&
			(p.LastDrain.By != quota.ByUnknown || p.LastDrain.At.Before(seen.At)) {
			return fmt.Errorf("%w: pool %s was closed because its use is unknown", ErrLost, p.Pool)
		}
	}
	return nil
}

// noteSnapshot replaces the pool's snapshot, and reports whether it differs.
func (s *Ledger) noteSnapshot(u UsageSnapshot) (changed bool) {
	s.state.Snapshots, u, changed = replaceSnapshot(s.state.Snapshots, u)
	s.notes.Snapshots, _, _ = replaceSnapshot(s.notes.Snapshots, u)
	return changed
}

// ensureWriter takes a new name if there is none, or the remote might soon forget the old one.
func (s *Ledger) ensureWriter() {
	now := s.Now()
	if s.writer == "" || now.Sub(s.asked) > writerIdle {
		// Names are chronological, so that a journal finds recent ones.
		s.writer = fmt.Sprintf("%013x%s", max(now.UnixMicro(), 0), rand.Text()[:16])
		s.number, s.written, s.doubt = 0, 0, 0
	}
	s.asked = now
}

func (s *Ledger) flush(ctx context.Context) error {
	if len(s.notes.Verdicts) == 0 && len(s.notes.Snapshots) == 0 && s.notes.Breaker == nil {
		return nil
	}
	if err := s.Journal.Note(ctx, s.Account, s.notes); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	s.notes = Notes{}
	return nil
}

// load reads the journal's state.
func (s *Ledger) load(ctx context.Context) error {
	if own, ok := s.Journal.(OwnLog); ok {
		if err := own.Owe(ctx, s.Account); err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
	}
	state, err := s.Journal.State(ctx, s.Account)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if !s.loaded {
		s.isFresh = state.Generation == 0 && !state.HasWritten
	}
	s.adopt(state)
	s.loaded = true
	return nil
}

// adopt takes over the journal's state. A new generation that another process has synced may lack this writer's last
// number, as void rows are not synced.
func (s *Ledger) adopt(state JournalState) {
	if state.Generation != s.state.Generation {
		s.written = 0
	}
	s.state = state
}

// loadOnce reads the journal's state if it was not read yet.
func (s *Ledger) loadOnce(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	return s.load(ctx)
}

func (s *Ledger) warn(ctx context.Context, text string, attrs ...slog.Attr) {
	if s.Log != nil {
		s.Log.LogAttrs(ctx, slog.LevelWarn, text, attrs...)
	}
}

// random returns a random number in 1..MaxGeneration.
func random() int64 {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(MaxGeneration)))
	if err != nil {
		panic(err) // it never fails
	}
	return n.Int64() + 1
}
