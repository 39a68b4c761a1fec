package store

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// Summary sums up a store's file, for ingest doctor. For its slots see SlotSummary.
type Summary struct {
	Version  int       // of its schema
	Upstream string    // "" if nothing was written yet
	Videos   int64     // their number
	DoneAt   time.Time // when a slot was last done; zero: never
	Contact  ingest.Contact
	InDoubt  int64 // videos that a look-up left out, to be asked for again
}

// SlotSummary is the state of the scheduled slots, and the total spends of all slots.
type SlotSummary struct {
	Latest  ingest.Latest // see Store.Latest
	Claimed []ingest.Slot // newest first
	Failed  []ingest.Slot // newest first
	Ahead   []ingest.Slot // newest first: due more than ingest.ClockAhead from now, added while a clock was ahead
	Spent   []ingest.Slot // see SpentSlots
	Ended   []ingest.Slot // newest first: due since the time asked about
	Lacking []ingest.Slot // incomplete pieces of backfills planned since that time
}

// Inspect calls read with the store in dir, without opening it normally, which would create files beside it. read may
// be called several times: see sqlitefile.Peek. It returns fs.ErrNotExist without a store, sqlitefile.ErrLeftover
// after a crash, and otherwise the errors of Open with ReadOnly.
func Inspect(ctx context.Context, dir string, read func(*Store) error) error {
	path := filepath.Join(dir, FileName)
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return &CorruptError{Path: path, Doing: "look at the store", Err: ErrEmpty}
	}
	return sqlitefile.Peek(ctx, path, func(db *sql.DB) error {
		id, err := identify(ctx, db, path, "look at the store")
		if err != nil {
			return err
		}
		if id.version < tables.Version() {
			return &VersionError{Path: path, Have: id.version, Know: tables.Version()}
		}
		return read(&Store{database: &database{path: path, read: db, now: time.Now}, upstream: id.upstream})
	})
}

// Summary sums up the store.
func (s *Store) Summary(ctx context.Context) (Summary, error) {
	sum := Summary{Version: tables.Version(), Upstream: s.upstream}
	err := s.view(ctx, "look at the store", func(tx *txn) error {
		calls, err := readCallStats(ctx, tx)
		if sum.Contact = calls.Contact(); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx,
			`SELECT (SELECT count(*) FROM videos), (SELECT max(fetched_at) FROM slots WHERE state = 'done'),
			(SELECT count(*) FROM absences JOIN videos ON videos.id = video WHERE asked_at > fetched_at)`).
			Scan(&sum.Videos, inMillis(&sum.DoneAt), &sum.InDoubt)
	})
	return sum, err
}

func (s *SlotSummary) read(ctx context.Context, q querier, since, now time.Time) (err error) {
	for _, list := range []struct {
		slots *[]ingest.Slot
		where string
		args  []any
	}{
		{&s.Claimed, `kind <> 'backfill' AND state = 'claimed'`, nil},
		{&s.Failed, `kind <> 'backfill' AND state = 'failed' AND due_at > ?`, []any{since.Unix()}},
		{&s.Ahead, `kind <> 'backfill' AND due_at > ?`, []any{future(now)}},
		{&s.Lacking, lackingPieces, []any{since.Unix()}},
		{&s.Ended, `kind <> 'backfill' AND state NOT IN ('due', 'claimed') AND due_at > ? AND due_at <= ?`,
			[]any{since.Unix(), now.Unix()}},
	} {
		if *list.slots, err = selectReports(ctx, q, selectSlots+` WHERE `+list.where, list.args...); err != nil {
			return err
		}
	}
	for i, slot := range s.Ended {
		s.Ended[i] = slot.TicksSince(since)
	}
	if s.Latest, err = latest(ctx, q, now); err != nil {
		return err
	}
	s.Spent, err = usedSlots(ctx, q, since, 1)
	return err
}

// SlotSummary sums up the slots; since bounds Failed, Ended, Spent and Lacking.
func (s *Store) SlotSummary(ctx context.Context, since, now time.Time) (SlotSummary, error) {
	var sum SlotSummary
	err := s.view(ctx, "look at the slots", func(tx *txn) error { return sum.read(ctx, tx, since, now) })
	return sum, err
}

// Check looks for damage and for tables that contradict each other, and returns a line for each finding. The
// connection must not have searched before: see check. A budget above 0 bounds only the comparison of texts with the
// index.
func (s *Store) Check(ctx context.Context, budget time.Duration) (found []string, err error) {
	err = s.view(ctx, "check the store", func(tx *txn) error {
		found, _, err = examine(ctx, tx, budget)
		return err
	})
	return found, err
}

// SpentSlots returns the slots that spent quota: scheduled ones due at since or later, newest first, then pieces of
// backfills last worked on at since or later.
func (s *Store) SpentSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	return viewed(ctx, s.database, "list the slots that spent quota",
		func(tx *txn) ([]ingest.Slot, error) { return usedSlots(ctx, tx, since, 1) })
}

// UsedSlots is SpentSlots including scheduled slots that spent nothing.
func (s *Store) UsedSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	return viewed(ctx, s.database, "list the slots that spent quota",
		func(tx *txn) ([]ingest.Slot, error) { return usedSlots(ctx, tx, since, 0) })
}

func usedSlots(ctx context.Context, q querier, since time.Time, least int) ([]ingest.Slot, error) {
	slots, err := selectReports(ctx, q, selectSlots+` WHERE kind <> 'backfill' AND units >= ? AND due_at >= ?`,
		least, ceilUnix(since))
	if err != nil {
		return nil, err
	}
	pieces, err := selectReports(ctx, q, spentPieces, since.UnixMilli())
	return append(slots, pieces...), err
}

// selectReports reads slots, the newest first.
func selectReports(ctx context.Context, q querier, query string, args ...any) ([]ingest.Slot, error) {
	return collect(ctx, q, scanSlot, query+` ORDER BY due_at DESC, job, key`, args...)
}
