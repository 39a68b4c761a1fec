package sharedledger

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// errSettling is a new generation that still waits for other hosts.
var errSettling = fmt.Errorf("%w: it was lost, and waits for the other hosts to say what they spent", quota.ErrUnavailable)

// abandoned is how long after it was asked an operation of another process is taken for one that died
// over it: none waits so long for an answer.
const abandoned = time.Minute

// ready makes sure that the remote knows what this data directory knows. row is in flight, and not
// delivered. As long as nothing of this writer's is there, by which the remote itself would notice that
// it has forgotten something, that is looked at here; and by everybody who only looks.
func (s *Ledger) ready(ctx context.Context, row Row) error {
	if s.opened && row.ID != 0 && s.state.Generation != 0 && !s.owes() && (s.written > 0 || s.state.Synced.ID == 0) {
		return s.settle(ctx)
	}
	return s.deliver(ctx, row)
}

func (s *Ledger) owes() bool {
	return s.state.Owed || slices.ContainsFunc(s.state.Snapshots, func(l UsageSnapshot) bool { return l.Owed })
}

// deliver brings the remote up to date, under a new generation where it has lost something. Any number
// of processes may do so at once.
func (s *Ledger) deliver(ctx context.Context, inFlight Row) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	standing, err := s.stand(ctx)
	if err != nil {
		return err
	}
	if err := s.tell(ctx, standing, inFlight); err != nil {
		return err
	}
	s.opened = true
	return s.settle(ctx)
}

// tell delivers what the generation was not told.
func (s *Ledger) tell(ctx context.Context, standing RemoteState, inFlight Row) error {
	notes := Notes{Generation: standing.Generation}
	var rows []Row
	var err error
	if standing.Generation == s.state.Generation {
		var gone []Row
		notes.Verdicts, gone = s.orphans(standing)
		if !s.owes() && len(gone)+len(notes.Verdicts) == 0 {
			return nil
		}
		if rows, err = s.rows(ctx, time.Time{}, true); err != nil {
			return err
		}
		rows = append(rows, gone...)
		slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	}
	looks := s.news(standing.Generation)
	if standing.Generation != s.state.Generation {
		if s.state.Generation != 0 {
			s.warn(ctx, "the ledger has begun a new generation: it is told what was spent", slog.Int64("generation", int64(standing.Generation)))
		}
		s.written = 0
		if rows, err = s.lacking(ctx, standing, looks); err != nil {
			return err
		}
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.ID == inFlight.ID })
	d := Delivery{Account: s.Account, Generation: standing.Generation, Horizon: s.Horizon}
	for len(rows) > MaxRows {
		d.Rows, rows = rows[:MaxRows], rows[MaxRows:]
		if err := s.told(ctx, d); err != nil {
			return err
		}
		notes.Verdicts = s.delivered(notes.Verdicts, d.Rows)
	}
	host := s.Host
	host.ID, host.At = s.state.HostID, s.Now()
	d.Rows, d.Snapshots, d.Host = rows, looks, &host
	if err := s.told(ctx, d); err != nil {
		return err
	}
	notes.Verdicts = s.delivered(notes.Verdicts, d.Rows)
	for _, l := range looks {
		if l.Owed {
			l.Owed, l.At = false, l.At.Add(time.Microsecond)
			notes.Snapshots = append(notes.Snapshots, l)
		}
	}
	if err := s.Journal.Note(ctx, s.Account, notes); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return s.load(ctx)
}

// orphans are the operations that other processes asked and never noted the answer of. The last number
// that a writer has written was charged: that is a verdict. One above it was lost with the process, or
// with what the remote has forgotten unnoticed: it counts as spent, and is delivered.
func (s *Ledger) orphans(standing RemoteState) (verdicts []Verdict, gone []Row) {
	for _, row := range s.state.Asked {
		switch written := standing.Written[row.Writer]; {
		case row.Writer == s.writer:
		case row.Number == written:
			verdicts = append(verdicts, Verdict{ID: row.ID, State: RowCharged})
		case row.Number > written && s.Now().Sub(row.At) > abandoned:
			gone = append(gone, row)
		}
	}
	return verdicts, gone
}

// news are the looks that a generation has not been told of.
func (s *Ledger) news(g Generation) []UsageSnapshot {
	var looks []UsageSnapshot
	for _, l := range s.state.Snapshots {
		if l.Generation != g || l.Owed {
			l.Windows = slices.Clone(l.Windows)
			looks = append(looks, l)
		}
	}
	return looks
}

// lacking are the journal's rows that a new generation does not have. What of them is too old to matter
// is taken off the looks that had seen it: it need not be made up for.
func (s *Ledger) lacking(ctx context.Context, standing RemoteState, looks []UsageSnapshot) ([]Row, error) {
	oldest := standing.At.Add(-s.Horizon)
	since := oldest
	for _, l := range looks {
		for _, w := range l.Windows {
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
		if r.State == RowOwed {
			return false
		}
		if r.Number <= now.Written[r.Writer] {
			return true
		}
		if r.At.Before(oldest) {
			for _, l := range looks {
				l.forget(r)
			}
			return true
		}
		return false
	}), nil
}

// forget takes a row off the windows that had seen it. One whose answer is not known may not have been
// there.
func (l UsageSnapshot) forget(r Row) {
	for i, w := range l.Windows {
		if r.State != RowAsked && !r.At.Before(w.Start) && !r.At.After(l.At) {
			l.Windows[i].Used = max(w.Used-r.Amounts[l.Pool], 0)
		}
	}
}

func (s *Ledger) rows(ctx context.Context, since time.Time, owed bool) ([]Row, error) {
	rows, err := s.Journal.Rows(ctx, s.Account, since, owed)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return rows, nil
}

func writersOf(rows []Row) []string {
	seen := map[string]bool{}
	var writers []string
	for _, r := range rows {
		if r.Writer != "" && !seen[r.Writer] {
			seen[r.Writer] = true
			writers = append(writers, r.Writer)
		}
	}
	return writers
}

// delivered adds the verdicts on rows that have been.
func (s *Ledger) delivered(verdicts []Verdict, rows []Row) []Verdict {
	for _, r := range rows {
		if r.Writer == s.writer {
			s.written = max(s.written, r.Number)
		}
		verdicts = append(verdicts, Verdict{ID: r.ID, State: RowDelivered})
	}
	return verdicts
}

// settle waits, by refusing to answer, until all hosts have delivered to the generation.
func (s *Ledger) settle(ctx context.Context) error {
	if s.Hosts <= 1 || s.settled == s.state.Generation {
		return nil
	}
	standing, err := s.Remote.State(ctx, s.Account, nil)
	if err != nil {
		return err
	}
	if standing.Generation != s.state.Generation {
		return &GenerationError{standing.Generation}
	}
	if !standing.Born.IsZero() && len(standing.Hosts) < s.Hosts && standing.At.Sub(standing.Born) < s.Settle {
		return fmt.Errorf("%w: %d of %d have, at the latest it goes on at %s", errSettling, len(standing.Hosts), s.Hosts,
			standing.Born.Add(s.Settle).Format(time.RFC3339))
	}
	s.settled = s.state.Generation
	return nil
}
