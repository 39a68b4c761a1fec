package sharedledger

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Journal is a data directory's own account of what it asked of a remote and what it spent without one. It
// outlives the process, so that a crash loop has one budget and not many, and can be synced again into a remote that
// forgets. Many processes share it. What a call has written is on disk when it returns; every error is one of
// package quota's, wrapped. Rows without a writer do not concern a remote: State and Rows leave them out.
type Journal interface {
	// State returns the account's state, an empty one if nothing was noted yet. It makes the host's id.
	State(ctx context.Context, account string) (JournalState, error)
	// Begin notes n, and writes down an operation that is about to be asked: as RowOwed if the row says so,
	// else as RowAsked. It returns the row's id, one above that of the row before it, whoever wrote that down, and the state
	// after it. If the breaker is open at row.At
	// and the row is not owed, only the notes are written, and the id is 0.
	Begin(ctx context.Context, row Row, n Notes) (int64, JournalState, error)
	// Note writes n down.
	Note(ctx context.Context, account string, n Notes) error
	// Rows returns the rows at since or later except for RowVoid, of all writers, in the order in which they
	// were written down; with owed only those that are RowOwed or RowUnused, of any time.
	Rows(ctx context.Context, account string, since time.Time, owed bool) ([]Row, error)
	// Allow does what quota.EmergencyAccount's Spend does, for a row: it becomes RowOwed and an emergency. A row with
	// an ID was asked already, and is owed from then on whatever has become of it.
	Allow(ctx context.Context, row Row, budgets []quota.EmergencyBudget) (bool, error)
}

// What a state holds at most of one kind.
const (
	MaxAsked   = 64   // rows without an answer: each process that died leaves one
	MaxWritten = 1024 // writers of which the remote has something
)

// JournalState is a journal's knowledge of an account.
type JournalState struct {
	HostID     string          // of this data directory, random
	Generation Generation      // that it has synced to; 0: none
	Owed       bool            // there is a RowOwed or RowUnused
	HasWritten bool            // there is a RowCharged or RowSynced: the remote has something of this data directory
	Written    []LastWrite     // of State only: one for each writer, by name, the last names first, at most MaxWritten
	Asked      []Row           // of State only: those that are RowAsked, newest first, at most MaxAsked
	Snapshots  []UsageSnapshot // the newest of each pool
	Hosts      []string        // ids of those that had synced when a generation was last seen to decide
	Breaker    Breaker
}

// LastWrite is the operation of the highest number that the remote has of a writer: RowCharged or RowSynced.
type LastWrite struct {
	Writer string
	Number int64
	At     time.Time
}

// Notes is what has become known since the last write; the zero Notes are none.
type Notes struct {
	Verdicts   []RowVerdict
	Snapshots  []UsageSnapshot // kept if they supersede what is there
	Generation Generation      // 0: unchanged
	Hosts      []string        // nil: unchanged
	Breaker    *Breaker        // nil: unchanged
	Now        time.Time       // rows older than Forget before it may go; zero: none go
	Forget     time.Duration
}

// RowVerdict is the remote's verdict on a row. RowCharged changes nothing about one that is owed or synced: another
// process has synced it meanwhile. RowSynced ends, of a row that was charged or synced, the open
// Sync, and begins another; of any other row it is the first.
type RowVerdict struct {
	ID    int64
	State RowState
	At    time.Time // zero: unchanged
	// Synced is, of RowSynced, when it was by the remote's clock, and Until the generation that the journal
	// knew before: the last one for which an earlier Sync of the row holds.
	Synced time.Time
	Until  Generation
}

// Breaker keeps calls from waiting for a remote that did not answer: nobody asks it before Until. All processes
// of a data directory share it.
type Breaker struct {
	Until    time.Time // zero: closed
	Failures int       // in a row
	Why      string    // for a person
}

// Row is one operation as a journal keeps it.
type Row struct {
	ID      int64 // the journal's; 0: not yet written down
	Account string
	Writer  string
	Number  int64
	Nonce   int64
	At      time.Time // of the charge by the remote's clock once that is known
	Who     quota.Who
	Amounts quota.Cost
	State   RowState
	// Emergency marks a spend that went on because the remote could not answer: it counts against budgets.
	Emergency bool
	// Syncs is, of RowSynced, the row's life in the remote: one for each time that the remote came to know
	// it, the last one open. Empty: from its own time on.
	Syncs []Sync
}

// Sync is a part of a row's life in the remote. It ends when the remote loses its memory.
type Sync struct {
	Since time.Time  // by the remote's clock; zero: the row's own time
	Until Generation // the last generation of it; 0: open, it has not been lost since
}

// CountedAt reports whether a snapshot that was taken at a time, in a generation, can have counted the row. Where
// the generation is not known, 0, only what was not lost since is sure.
func (r Row) CountedAt(at time.Time, g Generation) bool {
	switch r.State {
	case RowCharged:
		return !r.At.After(at)
	case RowSynced:
		for _, t := range r.syncs() {
			if !r.At.After(at) && !t.Since.After(at) && (t.Until == 0 || g != 0 && (g == t.Until || g.age() < t.Until.age())) {
				return true
			}
		}
	case RowAsked, RowOwed, RowVoid, RowUnused:
	}
	return false
}

func (r Row) syncs() []Sync {
	if len(r.Syncs) == 0 {
		return []Sync{{}}
	}
	return r.Syncs
}

// RowState is the state of an operation.
type RowState int

// The states of a row. All but RowVoid and RowUnused count as spent.
const (
	RowAsked   RowState = iota // an answer is not known
	RowCharged                 // the remote answered: charged
	RowOwed                    // spent without the remote; to be synced
	RowSynced                  // synced into the remote later
	RowVoid                    // refused, given back, or surely never asked
	RowUnused                  // an answer is not known, and nobody acts upon it: to be synced
)
