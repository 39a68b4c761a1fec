package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/trendvidstream/ingest"
)

// ErrNoBackfill is returned for a backfill that the store does not have.
var ErrNoBackfill = errors.New("there is no such backfill")

// BackfillStatus is how far a backfill has come.
type BackfillStatus struct {
	ingest.Backfill
	Pieces   map[ingest.State]int // how many are in each state
	Units    int64                // charged so far, as a slot counts them
	Videos   int                  // looked up and kept
	Known    int                  // left out: fetched shortly before, or found before
	Vanished int                  // looked up in vain: the upstream no longer has them
	GivenUp  int                  // ids that could not be looked up
	Waiting  int                  // ids found, or given, that are yet to be looked up
	Again    int                  // pages paid for once more, since the upstream refused its token
	RetryAt  time.Time            // when quota may be found again, by the latest refusal; zero: none was
	LastAt   time.Time            // when a page was last saved; zero: never
}

// Open is how many pieces may yet be claimed, or are.
func (b BackfillStatus) Open() int {
	return b.Pieces[ingest.Due] + b.Pieces[ingest.Claimed] + b.Pieces[ingest.Stopped]
}

// Failure is a piece that failed, or an id of a piece that could not be looked up.
type Failure struct {
	Piece  string // its key
	ID     string // "": the piece itself
	Reason string
}

// AddBackfill adds a plan with its pieces, in one transaction, and gives it its id. Pieces are read one by
// one; an error among them adds nothing. Where an open plan asks for the same already, added is false, that
// one is returned, and nothing is read.
func (s *Store) AddBackfill(ctx context.Context, b ingest.Backfill, pieces iter.Seq2[ingest.Piece, error]) (_ ingest.Backfill, added bool, err error) {
	return b, false, errors.ErrUnsupported
}

// Backfills lists all backfills, newest first.
func (s *Store) Backfills(ctx context.Context) ([]BackfillStatus, error) {
	return nil, errors.ErrUnsupported
}

// FindBackfill finds a backfill by its id, or else the newest with that identity that was not cancelled:
// ErrNoBackfill when there is none.
func (s *Store) FindBackfill(ctx context.Context, idOrIdentity string) (BackfillStatus, error) {
	return BackfillStatus{}, errors.ErrUnsupported
}

// WaitingBackfills are those that ingest serve may carry on and that have open pieces, oldest first.
func (s *Store) WaitingBackfills(ctx context.Context) ([]ingest.Backfill, error) {
	return nil, errors.ErrUnsupported
}

// FailedPieces are up to n failures of a backfill, by piece; n 0: all.
func (s *Store) FailedPieces(ctx context.Context, id string, n int) ([]Failure, error) {
	return nil, errors.ErrUnsupported
}

// CancelBackfill ends a backfill: what is open is skipped, and what a run works on ends with the page in
// flight. What it found stays. It reports whether there was anything to cancel.
func (s *Store) CancelBackfill(ctx context.Context, id string, now time.Time) (bool, error) {
	return false, errors.ErrUnsupported
}

// RetryBackfill makes the pieces that failed, and those with ids that could not be looked up, due again, and
// says how many. A cancelled backfill has none.
func (s *Store) RetryBackfill(ctx context.Context, id string) (pieces int, err error) {
	return 0, errors.ErrUnsupported
}

// SetWait says whether ingest serve may carry the backfill on.
func (s *Store) SetWait(ctx context.Context, id string, wait bool) error {
	return errors.ErrUnsupported
}

// Reprice notes the table of costs that the backfill was last priced under.
func (s *Store) Reprice(ctx context.Context, id, table string) error {
	return errors.ErrUnsupported
}

// SpentOnPieces are the pieces of all backfills that spent quota and were last worked on at since or later,
// so far as the store knows.
func (s *Store) SpentOnPieces(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	return nil, errors.ErrUnsupported
}
