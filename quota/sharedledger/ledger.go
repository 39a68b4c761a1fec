package sharedledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Ledger is a ledger for several hosts: a Remote that may forget and whose replies may be lost, made
// exact by a Journal in this data directory. It spends once and loses nothing:
//
//   - Every operation has a number and is written down, durably, before it is asked. One whose reply
//     was lost is asked again under its number.
//   - Any sign that the remote lost something begins a new generation. Whoever meets one that it has
//     not delivered to delivers what its journal has and the remote has not, and raises each pool to
//     what it last saw used, which stands for hosts that are away.
//   - A new generation settles before it decides: until all Hosts have delivered, at the latest after
//     Settle.
//   - A remote that did not answer is not asked again for a while, by no process of the data
//     directory. What went on without it is owed, and delivered before anything else is asked.
//
// While it cannot answer, every method returns ErrUnavailable. What a crash leaves behind in the
// journal is counted once too often at most.
//
// A row that was asked, and whose answer nobody noted, counts as spent once its process is gone for a
// minute, or a new generation has to be told, though its call may never have been made: of all that can
// be wrong it is the safe side.
//
// Looks are raised at their own time, not at the time of the delivery, and only rows that a look can
// have seen eat into them: then nothing that anybody knew is ever counted less than once, and a pool
// is not held back by what has left its windows since.
type Ledger struct {
	Remote  Remote
	Journal Journal
	Account string
	Pools   []string      // all that are counted
	Horizon time.Duration // how long a spend can matter
	Host    Host          // this data directory: its Name and Regions
	Hosts   int           // data directories that share the remote; 0 is 1
	Settle  time.Duration // how long a new generation waits for them at most
	Now     func() time.Time
	Log     *slog.Logger // nil: nothing is logged
	// Pause waits between two tries of one operation; nil: by the clock.
	Pause func(ctx context.Context, d time.Duration)
	// ShortWait is how long an ask that is Brief waits for a sign of life from a remote that was silent of
	// late; 0 is 25 ms.
	ShortWait time.Duration

	turn     chan struct{} // of capacity 1: one operation in flight; made by Open
	state    JournalState  // as last seen
	opened   bool          // the remote was compared with it
	lostIn   Generation    // in which the remote has lost something, and nothing followed from that yet
	settled  Generation    // that need not be waited for
	notes    Notes         // not yet written
	writer   string
	number   int64      // the last one used
	written  int64      // the last one that the remote has written
	asked    time.Time  // when the writer last asked
	doubt    int64      // the row whose answer is not known, 0 for none
	loaded   bool       // state is there
	probing  chan error // of the probe that runs; nil: none
	stopping context.CancelFunc
	probeCtx context.Context //nolint:containedctx // ends with the ledger
}

var (
	_ quota.Ledger  = (*Ledger)(nil)
	_ quota.Reserve = (*Ledger)(nil)
)

const (
	asks        = 4                      // of one operation, the reply being lost every time
	askAgain    = 400 * time.Millisecond // not after this
	firstPause  = 5 * time.Millisecond   // then twice as long each time
	writerIdle  = quota.MinHorizon / 2   // well before the remote forgets a writer
	generations = 4                      // that one call may meet: more is a remote that is lost again and again
)

// Open makes the ledger ready. Nothing is asked yet.
func Open(s Ledger) *Ledger {
	s.turn = make(chan struct{}, 1)
	s.Hosts = max(s.Hosts, 1)
	s.ShortWait = cmp.Or(s.ShortWait, 25*time.Millisecond)
	if s.Pause == nil {
		s.Pause = func(_ context.Context, d time.Duration) { time.Sleep(d) }
	}
	s.probeCtx, s.stopping = context.WithCancel(context.Background())
	return &s
}

// enter waits for its turn.
func (s *Ledger) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Take implements quota.Ledger.
func (s *Ledger) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return quota.Decision{}, err
	}
	defer leave()
	if err := errors.Join(s.mine(a.Account), a.Check(s.Now())); err != nil {
		return quota.Decision{}, err
	}
	if err := s.reach(ctx, a.HasFallback); err != nil {
		return quota.Decision{}, err
	}
	s.name()
	row := Row{Account: a.Account, Who: a.Who, Amounts: quota.Cost{}}
	for _, c := range a.Charges {
		if c.Amount > 0 {
			row.Amounts[c.Pool] = c.Amount
		}
	}
	for range generations {
		if len(row.Amounts) > 0 {
			if row, err = s.begin(ctx, row, s.Now()); err != nil {
				return quota.Decision{}, err
			}
		}
		d, err := s.ask(ctx, a, row)
		d.Row = row.ID
		if errors.Is(err, ErrDelivered) {
			continue // it counts, and must not be acted upon: ask anew
		}
		return d, s.answered(ctx, a, row, d, err)
	}
	return quota.Decision{}, fmt.Errorf("%w: %w again and again", quota.ErrUnavailable, ErrDelivered)
}

// begin writes down an operation, of the time at, under the next number.
func (s *Ledger) begin(ctx context.Context, row Row, at time.Time) (Row, error) {
	s.number++ // also where the write fails: it may be there all the same
	row.ID, row.Writer, row.Number, row.Nonce = 0, s.writer, s.number, random()
	row.At = at
	if row.State == RowAsked {
		row.At = s.after(at)
	}
	s.notes.Now, s.notes.Forget = s.past(), 2*s.Horizon // a look may be old, and what it saw as old again
	id, state, err := s.Journal.Begin(ctx, row, s.notes)
	if err != nil {
		return row, fmt.Errorf("write the journal: %w", err)
	}
	s.notes, s.state, row.ID = Notes{}, state, id
	if id == 0 {
		return row, s.broken()
	}
	return row, nil
}

// ask asks until there is an answer, or there is none.
func (s *Ledger) ask(ctx context.Context, a quota.Ask, row Row) (quota.Decision, error) {
	began, pause := time.Now(), firstPause
	s.doubt = 0
	for try, lost := 1, 0; ; {
		d, err := s.askOnce(ctx, a, row)
		var other *GenerationError
		astray := errors.Is(err, ErrLost) || errors.As(err, &other)
		switch {
		case err == nil:
			s.doubt = 0
			return d, nil
		case astray && lost < generations:
			lost++
			s.opened = false // it is brought up to date before it is asked again
		case astray:
			return quota.Decision{}, fmt.Errorf("%w: again and again: %w", quota.ErrUnavailable, err)
		case errors.Is(err, quota.ErrInDoubt) && try < asks && ctx.Err() == nil && time.Since(began) < askAgain:
			try++
			s.Pause(ctx, pause)
			pause *= 2
		default:
			return quota.Decision{}, err
		}
	}
}

func (s *Ledger) askOnce(ctx context.Context, a quota.Ask, row Row) (quota.Decision, error) {
	if err := s.ready(ctx, row); err != nil {
		return quota.Decision{}, err
	}
	op := Operation{Generation: s.state.Generation, Writer: s.writer, Number: row.Number, Nonce: row.Nonce, Written: s.written}
	if row.ID == 0 { // it only looks
		op.Number, op.Nonce = s.number+1, 1
	}
	d, err := s.Remote.TakeOnce(ctx, a, op)
	switch {
	case errors.Is(err, quota.ErrInDoubt):
		s.doubt = row.ID
	case errors.Is(err, ErrLost):
		s.lostIn = op.Generation
	}
	return d, err
}

// answered notes what became of the row.
func (s *Ledger) answered(ctx context.Context, a quota.Ask, row Row, d quota.Decision, err error) error {
	if err == nil {
		news := s.look(a, d)
		if row.ID == 0 {
			if news {
				return s.flush(ctx) // nothing else may be asked for long
			}
			return nil
		}
		verdict := Verdict{ID: row.ID, State: RowVoid}
		if d.Allowed {
			verdict.State, verdict.At, s.written = RowCharged, d.At, row.Number
		}
		s.notes.Verdicts = append(s.notes.Verdicts, verdict)
		return nil
	}
	if row.ID != 0 { // whatever became of it, nobody acts upon it, unless it becomes an emergency
		s.notes.Verdicts = append(s.notes.Verdicts, Verdict{ID: row.ID, State: RowVoid})
	}
	if errors.Is(err, ErrClone) {
		s.writer = "" // whoever it is, it is not asked to stop
	}
	if errors.Is(err, quota.ErrUnavailable) && !errors.Is(err, errSettling) && ctx.Err() == nil {
		s.trip(ctx, err)
	}
	if row.ID != 0 && s.doubt == row.ID {
		return &doubtError{row.ID, err}
	}
	return err
}

// doubtError is an operation whose answer is not known.
type doubtError struct {
	row int64
	err error
}

func (e *doubtError) Error() string { return e.err.Error() }
func (e *doubtError) Unwrap() error { return e.err }

// look keeps what the decision saw used, and says whether that was news.
func (s *Ledger) look(a quota.Ask, d quota.Decision) (news bool) {
	for i, p := range d.Pools {
		l := UsageSnapshot{Pool: p.Pool, Generation: s.state.Generation, At: d.At, DrainedUntil: p.DrainedUntil, DrainedUsed: p.DrainedUsed}
		for j, lookup := range a.Lookups(a.Charges[i], d.At) {
			w := p.Windows[j]
			l.Windows = append(l.Windows, WindowUsage{w.Window, quota.FromMicros(lookup.Start), w.Used})
		}
		news = s.keep(l) || news
	}
	return news
}

// keep notes a look, forgets the one before it, and says whether it differed. It is younger than that,
// also where the ledger's clock stands still: a journal keeps the youngest.
func (s *Ledger) keep(l UsageSnapshot) (news bool) {
	for _, old := range s.state.Snapshots {
		if old.Pool == l.Pool && !l.At.After(old.At) {
			l.At = old.At.Add(time.Microsecond)
		}
	}
	news = !slices.ContainsFunc(s.state.Snapshots, func(old UsageSnapshot) bool {
		return old.Pool == l.Pool && old.DrainedUntil.Equal(l.DrainedUntil) &&
			slices.EqualFunc(old.Windows, l.Windows, func(a, b WindowUsage) bool { return a.Used == b.Used && a.Window == b.Window })
	})
	for _, looks := range []*[]UsageSnapshot{&s.notes.Snapshots, &s.state.Snapshots} {
		kept := (*looks)[:0:0]
		for _, old := range *looks {
			if old.Pool != l.Pool {
				kept = append(kept, old)
			}
		}
		*looks = append(kept, l)
	}
	return news
}

// after is t, or just after the newest look where that is later: what is spent without the ledger must
// not seem to have been seen by it.
func (s *Ledger) after(t time.Time) time.Time {
	for _, l := range s.state.Snapshots {
		if !t.After(l.At) {
			t = l.At.Add(time.Microsecond)
		}
	}
	return t
}

// past is now, or when the ledger was last seen where this machine's clock is ahead of that: what is old
// by a clock that is wrong must not be forgotten.
func (s *Ledger) past() time.Time {
	var seen time.Time
	for _, l := range s.state.Snapshots {
		if l.At.After(seen) {
			seen = l.At
		}
	}
	if now := s.Now(); seen.IsZero() || now.Before(seen) {
		return now
	}
	return seen
}

// name takes a new name where there is none, or the remote might soon forget the old one.
func (s *Ledger) name() {
	now := s.Now()
	if s.writer == "" || now.Sub(s.asked) > writerIdle {
		s.writer, s.number, s.written, s.doubt = rand.Text(), 0, 0, 0
	}
	s.asked = now
}

func (s *Ledger) mine(account string) error {
	if account != s.Account {
		return fmt.Errorf("%w: account %q: this ledger is of %q", quota.ErrUnknown, account, s.Account)
	}
	return nil
}

// random is in 1..MaxGeneration.
func random() int64 {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(MaxGeneration)))
	if err != nil {
		panic(err) // it never fails
	}
	return n.Int64() + 1
}

// flush writes the notes.
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

func (s *Ledger) warn(ctx context.Context, text string, attrs ...slog.Attr) {
	if s.Log != nil {
		s.Log.LogAttrs(ctx, slog.LevelWarn, text, attrs...)
	}
}
