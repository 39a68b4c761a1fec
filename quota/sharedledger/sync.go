package sharedledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// abandonedAfter is the age at which another process's unanswered operation counts as abandoned. Hardly any process
// waits for so long. One that does finds that its operation was synced, and asks under another number.
const abandonedAfter = 5 * time.Second

// compareEvery is how often a process reads the state of the other hosts.
const compareEvery = 30 * time.Second

// ensureUpToDate makes sure that the remote has this data directory's operations, except inFlight, which is about to
// be asked. Once this writer has written something, the remote itself notices if it has forgotten that or anything
// later. Until then, for peeks, and if another process of the data directory may have written, this method compares
// the remote's state with the journal.
func (s *Ledger) ensureUpToDate(ctx context.Context, inFlight Row) error {
	noticesLoss := !s.hasSibling && (s.written > 0 || !s.state.HasWritten)
	recent := s.Now().Sub(s.comparedAt).Abs() < compareEvery
	if s.comparedIn == s.state.Generation && recent && s.isListed && inFlight.ID != 0 && s.state.Generation != 0 &&
		!s.state.owes() && noticesLoss {
		return nil
	}
	return s.bringUpToDate(ctx, inFlight)
}

// bringUpToDate syncs the operations that the remote lacks, under a new generation if it has lost something. Any
// number of processes may do so at once.
func (s *Ledger) bringUpToDate(ctx context.Context, inFlight Row) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	remote, err := s.ensureGeneration(ctx, inFlight)
	if err != nil {
		return err
	}
	synced, err := s.syncTo(ctx, remote, inFlight)
	if err != nil {
		return err
	}
	if synced {
		if remote, err = s.Remote.State(ctx, s.Account, nil); err != nil {
			return err
		}
		if remote.Generation != s.state.Generation {
			return &GenerationError{remote.Generation}
		}
	}
	s.comparedIn = 0
	if err := s.awaitHosts(ctx, remote); err != nil {
		return err
	}
	s.comparedIn, s.comparedAt, s.isListed = s.state.Generation, s.Now(), s.listed(remote)
	s.siblingWaits = slices.ContainsFunc(s.state.Asked, func(r Row) bool { return r.Writer != s.writer })
	return nil
}

// syncTo syncs the operations that the remote's generation lacks, and reports whether the remote must be asked for
// its state again.
func (s *Ledger) syncTo(ctx context.Context, remote RemoteState, inFlight Row) (synced bool, err error) {
	snapshots := s.state.unsynced(remote.Generation)
	var verdicts []RowVerdict
	var rows []Row
	if remote.Generation == s.state.Generation {
		var abandoned []Row
		verdicts, abandoned = s.orphans(remote)
		if !s.state.owes() && len(abandoned)+len(verdicts) == 0 && (s.listed(remote) || !s.spends(inFlight)) {
			return false, nil
		}
		if rows, err = s.rows(ctx, time.Time{}, true); err != nil {
			return false, err
		}
		rows = append(rows, abandoned...)
		slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	} else {
		if s.state.Generation != 0 {
			s.warn(ctx, "the ledger has begun a new generation: syncing the spends",
				slog.Int64("generation", int64(remote.Generation)))
		}
		s.written = 0
		if rows, err = s.missingRows(ctx, remote, snapshots); err != nil {
			return false, err
		}
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.ID == inFlight.ID })
	d := Batch{Account: s.Account, Generation: remote.Generation, Horizon: s.horizon, Gap: s.gap,
		Rows: rows, Snapshots: snapshots}
	if s.spends(inFlight) {
		d.Host = s.host()
	}
	synced = remote.Generation != s.state.Generation
	if len(rows)+len(snapshots) > 0 || d.Host != nil && (synced || !s.listed(remote)) {
		synced = true
		answers, err := s.syncAll(ctx, d)
		if err != nil {
			return false, err
		}
		verdicts = append(verdicts, answers...)
	}
	notes := Notes{Generation: remote.Generation, Verdicts: verdicts}
	for _, u := range s.state.Snapshots {
		if u.Owed {
			u.Owed, u.At = false, u.At.Add(time.Microsecond)
			notes.Snapshots = append(notes.Snapshots, u)
		}
	}
	if err := s.Journal.Note(ctx, s.Account, notes); err != nil {
		return synced, fmt.Errorf("write the journal: %w", err)
	}
	s.state.Generation = remote.Generation // s.written belongs to it
	return synced, s.load(ctx)
}

// syncAll syncs in as many batches as needed, the last with the snapshots and the host, and returns the verdicts on
// the rows.
func (s *Ledger) syncAll(ctx context.Context, all Batch) (verdicts []RowVerdict, err error) {
	for rows := all.Rows; ; {
		d, n := all, oneBatch(rows)
		d.Rows, rows = rows[:n], rows[n:]
		if len(rows) > 0 {
			d.Snapshots, d.Host = nil, nil
		}
		at, err := s.Remote.Sync(ctx, d)
		if err != nil {
			if errors.Is(err, ErrLost) && !errors.Is(err, ErrRestarted) {
				s.lostIn, s.comparedIn = d.Generation, 0
			}
			return nil, err
		}
		for _, r := range d.Rows {
			if r.Writer == s.writer {
				s.written = max(s.written, r.Number)
			}
			v := RowVerdict{ID: r.ID, State: RowVoid}
			if r.State != RowUnused {
				v = RowVerdict{ID: r.ID, State: RowSynced, Synced: at, Until: s.state.Generation}
			}
			verdicts = append(verdicts, v)
		}
		if len(rows) == 0 {
			return verdicts, nil
		}
	}
}

// oneBatch returns how many of the rows fit in one batch.
func oneBatch(rows []Row) int {
	writers := map[string]bool{}
	for i, r := range rows {
		if writers[r.Writer] = true; i == MaxRows || len(writers) > MaxWriters {
			return i
		}
	}
	return len(rows)
}

// orphans returns other processes' operations without a recorded answer. If one has its writer's last written number,
// it was charged, and gets that verdict. If its number is higher, it was lost with its process or forgotten by the
// remote: it counts as spent, and is synced.
func (s *Ledger) orphans(remote RemoteState) (verdicts []RowVerdict, abandoned []Row) {
	for _, row := range s.state.Asked {
		switch written := remote.Written[row.Writer]; {
		case row.Writer == s.writer:
		case row.Number == written:
			verdicts = append(verdicts, RowVerdict{ID: row.ID, State: RowCharged})
		case row.Number > written && s.Now().Sub(row.At) > abandonedAfter:
			abandoned = append(abandoned, row)
		}
	}
	return verdicts, abandoned
}

// missingRows returns the journal's rows that a new generation lacks. Rows too old to matter are subtracted from the
// snapshots that had counted them, so that no unattributed charge replaces them.
func (s *Ledger) missingRows(ctx context.Context, remote RemoteState, snapshots []UsageSnapshot) ([]Row, error) {
	oldest := remote.At.Add(-s.horizon)
	since := oldest
	for _, u := range snapshots {
		for _, w := range u.Windows {
			if w.Start.Before(since) {
				since = w.Start
			}
		}
	}
	rows, err := s.rows(ctx, since, false)
	if err != nil {
		return nil, err
	}
	now, err := s.Remote.State(ctx, s.Account, writersOf(rows))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(r Row) bool {
		switch {
		case r.State == RowOwed || r.State == RowUnused:
			return false
		case s.state.Generation == 0 && r.State == RowAsked && s.Now().Sub(r.At) < abandonedAfter:
			return true // at a first start its process is about to ask it
		case r.Number <= now.Written[r.Writer]:
			return true
		case r.At.Before(oldest):
			for _, u := range snapshots {
				u.discount(r)
			}
			return true
		}
		return false
	}), nil
}

func (s *Ledger) rows(ctx context.Context, since time.Time, owed bool) ([]Row, error) {
	rows, err := s.Journal.Rows(ctx, s.Account, since, owed)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return rows, nil
}

// sync syncs the operations that the remote lacks.
func (s *Ledger) sync(ctx context.Context) error {
	if err := s.checkBreaker(ctx, false); err != nil {
		return err
	}
	for range maxGenerations {
		err := s.ensureUpToDate(ctx, Row{})
		if !isLost(err) {
			return err
		}
		s.comparedIn = 0
	}
	return fmt.Errorf("%w: it is lost again at every attempt", quota.ErrUnavailable)
}

// syncOwed syncs owed rows. If that fails, a later call syncs them from the journal, so it is not an error.
func (s *Ledger) syncOwed(ctx context.Context) {
	if err := s.sync(ctx); err != nil {
		s.warn(ctx, "operations made meanwhile are synced later: "+err.Error())
	}
}

// isLost reports whether another comparison with the remote may cure an error.
func isLost(err error) bool {
	return errors.Is(err, ErrLost) || errors.As(err, new(*GenerationError))
}

// writersOf returns the writers of rows, and the given names.
func writersOf(rows []Row, names ...string) []string {
	for _, r := range rows {
		names = append(names, r.Writer)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}
