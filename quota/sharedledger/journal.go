package sharedledger

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Journal is a data directory's record of its operations with a remote and its spends without one. It outlives the
// process, so that a crash loop has one emergency budget, and it can be synced again into a remote that forgets. Many
// processes share it. A call's writes are on disk when it returns; every error wraps one of package quota.
// Rows without a writer do not concern a remote: State and Rows leave them out.
type Journal interface {
	// State returns the account's state, an empty one if nothing was noted yet. It creates the host's id.
	State(ctx context.Context, account string) (JournalState, error)
	// Begin writes n and an operation that is about to be asked, as RowOwed if the row says so, else as RowAsked. It
	// returns the row's id, one above the previous row's of any process, and the resulting state. If the breaker is
	// open at row.At and the row is not owed, it writes only n and returns id 0.
	Begin(ctx context.Context, row Row, n Notes) (int64, JournalState, error)
	// Note writes n.
	Note(ctx context.Context, account string, n Notes) error
	// Rows returns the rows at since or later except for RowVoid, of all writers, in the order of writing; with owed
	// only RowOwed and RowUnused ones, of any time.
	Rows(ctx context.Context, account string, since time.Time, owed bool) ([]Row, error)
	// Allow is quota.EmergencyAccount's Spend for a new row, which becomes RowOwed and an emergency. It returns the row's
	// id, as Begin does; 0 if a budget has no room.
	Allow(ctx context.Context, row Row, budgets []quota.EmergencyBudget) (int64, error)
	// RefundEmergency is as in quota.EmergencyAccount: an emergency that is still RowOwed becomes RowVoid. A sync under
	// way may have it nevertheless, and then still makes it RowSynced. Any other row is quota.ErrNotRefundable.
	RefundEmergency(ctx context.Context, account string, id int64) error
	// Left is as in quota.EmergencyAccount.
	Left(ctx context.Context, account string, at time.Time, budgets []quota.EmergencyBudget) ([]int64, error)
}

// OwnLog is a Journal that also has a ledger of its own, which may have counted the same account at other times.
type OwnLog interface {
	// Owe begins a RowOwed row for each charge of that ledger that the journal lacks.
	Owe(ctx context.Context, account string) error
	// Lift lifts that ledger's drain of a pool. Otherwise Owe would close the pool again after it was opened.
	Lift(ctx context.Context, account, pool string) error
}

// Limits of the lists in a state.
const (
	MaxAsked   = 64   // rows without an answer: each killed process may leave one
	MaxWritten = 1024 // writers with operations in the remote
)

// JournalState is a journal's knowledge of an account.
type JournalState struct {
	HostID     string     // of this data directory, random
	Generation Generation // that the journal was synced to; 0: none
	// there is a RowOwed or RowUnused row, or the log of the same file was charged since it was carried
	Owed       bool
	HasWritten bool            // there is a RowCharged or RowSynced row: the remote has data of this directory
	Written    []LastWrite     // only from State: one per writer, the last names first, at most MaxWritten
	Asked      []Row           // only from State: RowAsked rows, newest first, at most MaxAsked
	Snapshots  []UsageSnapshot // the newest of each pool
	Hosts      []string        // ids of the hosts that had synced when a generation last decided
	Breaker    Breaker
}

// LastWrite is a writer's operation with the highest number that the remote has: RowCharged or RowSynced.
type LastWrite struct {
	Writer string
	Number int64
	At     time.Time
}

// Notes has the changes since the last write; the zero value has none.
type Notes struct {
	Verdicts   []RowVerdict
	Snapshots  []UsageSnapshot // each over the stored one: UsageSnapshot.Over
	Generation Generation      // 0: unchanged
	Hosts      []string        // nil: unchanged
	Breaker    *Breaker        // nil: unchanged
	Now        time.Time       // rows older than Forget before it may be deleted; zero: none
	Forget     time.Duration
}

// RowVerdict is the remote's verdict on a row. RowCharged does not change a row that is synced or due for a sync,
// since another process synced it meanwhile. RowSynced ends the open Sync of a charged or synced row and begins
// another; for any other row it begins the first.
type RowVerdict struct {
	ID    int64
	State RowState
	At    time.Time // zero: unchanged
	// For RowSynced: Synced is the time by the remote's clock, Until the generation that the journal knew before: an
	// earlier Sync of the row ended in it.
	Synced time.Time
	Until  Generation
}

// Breaker keeps calls from waiting for a remote that did not answer: it is not asked before Until. All processes of a
// data directory share it.
type Breaker struct {
	Until    time.Time // zero: closed
	Failures int       // in a row
	Why      string    // for a person
	// Server is the cause and cure at the remote's server; nil: not known.
	Server *quota.ServerError
}

// Row is one operation as a journal keeps it.
type Row struct {
	ID      int64 // in the journal; 0: not written yet
	Account string
	Writer  string
	Number  int64
	Nonce   int64
	At      time.Time // of the charge, by the remote's clock once known
	Who     quota.Who
	Amounts quota.Cost
	State   RowState
	// Emergency marks a spend made because the remote could not answer: it counts against budgets.
	Emergency bool
	// Syncs has, for RowSynced, one Sync for each time that the remote learned of the row; the last one is open.
	// Empty: the remote has it since its own time.
	Syncs []Sync
}

// Sync is a span of time while the remote has a row. It ends when the remote loses its memory.
type Sync struct {
	Since time.Time  // by the remote's clock; zero: the row's own time
	Until Generation // its last generation; 0: open
}

// CountedAt reports whether a snapshot taken at a time, in a generation, can have counted the row. For an unknown
// generation, 0, only rows that were not lost since are certain.
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
	RowAsked   RowState = iota // the answer is unknown
	RowCharged                 // the remote answered: charged
	RowOwed                    // spent without the remote; to be synced
	RowSynced                  // synced into the remote later
	RowVoid                    // refused, given back, or certainly never asked
	RowUnused                  // the answer is unknown and unused: to be synced
)
