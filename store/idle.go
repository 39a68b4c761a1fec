package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// idleNote is the row of meta with the machines that do not work, by process.
const idleNote = "idle machines"

// idleFor is how long a note of an idle machine is valid. The machine repeats its note at every heartbeat.
const idleFor = 3 * time.Minute

// Clock returns the clock of the store's database, for a machine that compares its own. It is zero for a file. The
// error is ingest.ErrNoWrites if the database takes no writes.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	if s.engine == nil {
		return time.Time{}, nil
	}
	at, err := s.engine.Clock(ctx)
	return at, s.explain(ctx, "read the database's clock", err)
}

// SetIdle notes for the other machines that the process does not work; a zero note deletes its earlier one. It also
// deletes the notes that are no longer valid at seen.
func (s *Store) SetIdle(ctx context.Context, process string, note ingest.IdleMachine, seen time.Time) error {
	return s.tx(ctx, "note that this machine does not work", func(tx *txn) error {
		all := map[string]ingest.IdleMachine{}
		if err := readNote(ctx, tx, idleNote, asJSON{&all}); err != nil {
			return err
		}
		for other, its := range all {
			if seen.Sub(its.SeenAt) > idleFor {
				delete(all, other)
			}
		}
		if all[process] = note; note.Why == "" {
			delete(all, process)
		}
		return writeNote(ctx, tx, idleNote, asJSON{all})
	})
}

// IdleMachines returns the machines that do not work at now, by name, without the machine of one process.
func (s *Store) IdleMachines(ctx context.Context, now time.Time, except string) (idle []ingest.IdleMachine, err error) {
	all := map[string]ingest.IdleMachine{}
	err = readNote(ctx, s.read, idleNote, asJSON{&all})
	for process, note := range all {
		if process != except && now.Sub(note.SeenAt).Abs() <= idleFor {
			idle = append(idle, note)
		}
	}
	slices.SortFunc(idle, func(a, b ingest.IdleMachine) int { return strings.Compare(a.Machine, b.Machine) })
	return idle, s.explain(ctx, "read which machines do not work", err)
}
