package sharedledger

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Journal is a data directory's own account of what it asked of a remote ledger and what it spent
// without one. It outlives the process, so that a crash loop has one budget, not many, and a remote
// that forgets can be told again. Many processes share it. What a call has written is on disk when it
// returns; every error is one of package quota's, wrapped. Rows without a writer are no remote's: State
// and Rows do not have them.
type Journal interface {
	// State is the account's, an empty one where nothing was noted yet, and makes the host's id.
	State(ctx context.Context, account string) (JournalState, error)
	// Begin notes n, and writes down an operation that is about to be asked, as RowAsked, or as
	// RowOwed where the row says so. It returns the row's id and the state that then is. Where the
	// breaker is open at row.At and the row is not owed, nothing is written down but the notes, and
	// the id is 0.
	Begin(ctx context.Context, row Row, n Notes) (int64, JournalState, error)
	// Note writes n down.
	Note(ctx context.Context, account string, n Notes) error
	// Rows are those at since or later that count as spent, of all writers, in the order in which they
	// were written down; with owed only those that are RowOwed, of any time.
	Rows(ctx context.Context, account string, since time.Time, owed bool) ([]Row, error)
	// Allow writes the row down as RowOwed and an emergency when every budget has room for it, all or
	// nothing, and says whether it did. A row with an ID is one that was asked already; whatever has
	// become of it, it is owed then. What lies after row.At counts too: a clock that was set back must
	// not open a budget again.
	Allow(ctx context.Context, row Row, budgets []quota.Budget) (bool, error)
}

// MaxAsked is how many rows without an answer a state holds: each process that died leaves one.
const MaxAsked = 64

// JournalState is what a journal knows about an account.
type JournalState struct {
	HostID     string          // of this data directory, random
	Generation Generation      // that it has delivered to; 0: none
	Owed       bool            // there is a row that the ledger has to be told
	Synced     Row             // the newest, by id, that the ledger has: RowCharged or RowDelivered; zero: none
	Asked      []Row           // of State only: those that are RowAsked, newest first, at most MaxAsked
	Snapshots  []UsageSnapshot // the newest of each pool
	Breaker    Breaker
}

// LastUsage is what the ledger was last seen to have used, for quota.Reserve.
func (s JournalState) LastUsage() []quota.LastUsage {
	var out []quota.LastUsage
	for _, l := range s.Snapshots {
		u := quota.LastUsage{Pool: l.Pool, At: l.At, Used: map[quota.Window]int64{}, DrainedUntil: l.DrainedUntil, DrainedUsed: l.DrainedUsed}
		for _, w := range l.Windows {
			u.Used[w.Window] = w.Used
		}
		out = append(out, u)
	}
	return out
}

// Notes is what has become known since the last write; the zero Notes are none.
type Notes struct {
	Verdicts   []Verdict
	Snapshots  []UsageSnapshot // kept where younger than what is there
	Generation Generation      // 0: unchanged
	Breaker    *Breaker        // nil: unchanged
	Now        time.Time       // rows older than Forget before it may go; zero: none go
	Forget     time.Duration
}

// Verdict is what became of a row. RowCharged is no news about one that is owed or delivered: another
// process has told the ledger meanwhile.
type Verdict struct {
	ID    int64
	State RowState
	At    time.Time // zero: unchanged
}

// Breaker keeps calls from waiting for a ledger that did not answer: until then, nobody asks it. It
// is shared by all processes of a data directory.
type Breaker struct {
	Until    time.Time // zero: closed
	Failures int       // in a row
	Why      string    // for a person
}
