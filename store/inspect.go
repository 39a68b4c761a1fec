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

// Summary sums up a store's file.
type Summary struct {
	Path     string
	Version  int       // of its tables
	Upstream string    // "" when nothing was written to it yet
	Videos   int64     // how many it has
	DoneAt   time.Time // when a slot was last done; zero: never
	Contact  ingest.Contact
}

// SlotSummary is the state of the scheduled slots, and what all slots spent.
type SlotSummary struct {
	Latest  ingest.Latest // as of Store.Latest
	Claimed []ingest.Slot // newest first
	Failed  []ingest.Slot // newest first
	Waiting []ingest.Slot // newest first: due, with the reason why the last run gave them back
	Ahead   []ingest.Slot // newest first: due after now by more than ingest.ClockAhead, added while a clock was ahead
	Spent   []ingest.Slot // as of SpentSlots
	Ended   []ingest.Slot // newest first: due since then
	Lacking []ingest.Slot // pieces of backfills planned since then that brought less than there is
}

// Inspect reads the store in dir without opening it as one, which would create files beside it. A missing store is an
// fs.ErrNotExist, one left by a crash a sqlitefile.ErrLeftover, and others are refused as by Open with ReadOnly. With an
// error the Summary still has Path.
func Inspect(ctx context.Context, dir string) (Summary, error) {
	s := Summary{Path: filepath.Join(dir, FileName)}
	err := inspect(ctx, s.Path, func(db *sql.DB, id identity) error {
		s.Version, s.Upstream = id.version, id.upstream
		return s.read(ctx, db)
	})
	return s, err
}

func (s *Summary) read(ctx context.Context, q querier) error {
	calls, err := readCallStats(ctx, q)
	if s.Contact = calls.Contact(); err != nil {
		return err
	}
	return q.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM videos), (SELECT max(fetched_at) FROM slots WHERE state = 'done')`).
		Scan(&s.Videos, inMillis(&s.DoneAt))
}

// Summary is Inspect for an open store.
func (s *Store) Summary(ctx context.Context) (Summary, error) {
	of := Summary{Path: s.path, Version: tables.Version(), Upstream: s.upstream}
	err := s.view(ctx, "look at the store", func(tx *txn) error { return of.read(ctx, tx) })
	return of, err
}

// InspectSlots is Inspect for the slots: Failed are those that were due after since, and Spent those of SpentSlots.
func InspectSlots(ctx context.Context, dir string, since, now time.Time) (SlotSummary, error) {
	var s SlotSummary
	err := inspect(ctx, filepath.Join(dir, FileName), func(db *sql.DB, _ identity) error {
		return s.read(ctx, db, since, now)
	})
	return s, err
}

func (s *SlotSummary) read(ctx context.Context, q querier, since, now time.Time) (err error) {
	if s.Latest, err = latest(ctx, q, now); err != nil {
		return err
	}
	if s.Claimed, err = selectReports(ctx, q, `kind <> 'backfill' AND state = 'claimed'`); err != nil {
		return err
	}
	if s.Failed, err = selectReports(ctx, q, `kind <> 'backfill' AND state = 'failed' AND due_at > ?`, since.Unix()); err != nil {
		return err
	}
	if s.Waiting, err = selectReports(ctx, q, `kind <> 'backfill' AND state = 'due' AND reason <> '' AND due_at <= ?`, now.Unix()); err != nil {
		return err
	}
	if s.Ahead, err = selectReports(ctx, q, `kind <> 'backfill' AND due_at > ?`, future(now)); err != nil {
		return err
	}
	if s.Lacking, err = selectReports(ctx, q, lackingPieces, since.Unix()); err != nil {
		return err
	}
	if s.Spent, err = usedSlots(ctx, q, since, 1); err != nil {
		return err
	}
	s.Ended, err = selectReports(ctx, q, `kind <> 'backfill' AND state NOT IN ('due', 'claimed') AND due_at > ? AND due_at <= ?`, since.Unix(), now.Unix())
	for i, slot := range s.Ended {
		s.Ended[i] = slot.TicksSince(since)
	}
	return err
}

// SlotSummary is InspectSlots for an open store.
func (s *Store) SlotSummary(ctx context.Context, since, now time.Time) (SlotSummary, error) {
	var of SlotSummary
	err := s.view(ctx, "look at the slots", func(tx *txn) error { return of.read(ctx, tx, since, now) })
	return of, err
}

// Check looks for damage to the file and for tables that contradict each other, and returns a line for each finding;
// none if all is well. An error means that the check itself failed.
func (s *Store) Check(ctx context.Context) (found []string, err error) {
	found, _, err = s.check(ctx)
	return found, err
}

// CheckFile is Check for a store that must not be opened as one. The budget bounds the comparison of texts and index,
// not the rest.
func CheckFile(ctx context.Context, dir string, budget time.Duration) (found []string, err error) {
	err = inspect(ctx, filepath.Join(dir, FileName), func(db *sql.DB, _ identity) error {
		found, _, err = examine(ctx, db, budget)
		return err
	})
	return found, err
}

// inspect calls read with a store's file, which must be ours and of this program's version. It may call read several
// times: see sqlitefile.Peek.
func inspect(ctx context.Context, path string, read func(db *sql.DB, id identity) error) error {
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
		return read(db, id)
	})
}

// SpentSlots returns the slots that spent quota, as far as the store knows: scheduled ones that were due at since or
// later, newest first, and after them the pieces of backfills that were last worked on at since or later.
func (s *Store) SpentSlots(ctx context.Context, since time.Time) (slots []ingest.Slot, err error) {
	err = s.view(ctx, "list the slots that spent quota", func(tx *txn) error {
		slots, err = usedSlots(ctx, tx, since, 1)
		return err
	})
	return slots, err
}

// UsedSlots is SpentSlots with the scheduled slots that spent nothing.
func (s *Store) UsedSlots(ctx context.Context, since time.Time) (slots []ingest.Slot, err error) {
	err = s.view(ctx, "list the slots that spent quota", func(tx *txn) error {
		slots, err = usedSlots(ctx, tx, since, 0)
		return err
	})
	return slots, err
}

func usedSlots(ctx context.Context, q querier, since time.Time, least int) ([]ingest.Slot, error) {
	slots, err := selectReports(ctx, q, `kind <> 'backfill' AND units >= ? AND due_at >= ?`, least, ceilUnix(since))
	if err != nil {
		return nil, err
	}
	pieces, err := selectReports(ctx, q,
		`kind = 'backfill' AND units > 0 AND coalesce(fetched_at, due_at * 1000) >= ?`, since.UnixMilli())
	return append(slots, pieces...), err
}

// selectReports reads the slots that match a condition.
func selectReports(ctx context.Context, q querier, where string, args ...any) ([]ingest.Slot, error) {
	return collect(ctx, q, scanSlot, selectSlots+` WHERE `+where+` ORDER BY due_at DESC, job, key`, args...)
}
