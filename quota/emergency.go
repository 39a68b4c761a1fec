package quota

import (
	"context"
	"time"
)

// EmergencyAccount is a data directory's own account of what goes on while the ledger cannot answer. It is synced into
// the ledger before that decides again. The ledgers of packages sqliteledger and sharedledger are their own.
type EmergencyAccount interface {
	// LastUsage returns the amount that each pool had used when the ledger last answered. It does not ask the ledger.
	LastUsage(ctx context.Context, account string) ([]LastUsage, error)
	// Spend writes the emergency down when every budget has room for it, all or nothing, and says whether it did.
	// What lies after e.At counts too: a clock that was set back must not open a budget again.
	Spend(ctx context.Context, e Emergency, budgets []EmergencyBudget) (bool, error)
	// Replays reports whether all spending here was synced into this ledger before, and so will be again should it lose
	// its memory.
	Replays(ctx context.Context, account string) (bool, error)
}

// LastUsage is the amount that a pool had used when its ledger last answered.
type LastUsage struct {
	Pool  string
	At    time.Time
	Used  map[Window]int64
	Drain Drain // that held then
}

// Emergency is a call that goes on because the ledger cannot answer.
type Emergency struct {
	Account string
	At      time.Time
	Who     Who
	Amounts Cost
	Cause   error // what the ledger returned instead of a decision
}

// EmergencyBudget is the most that a pool may spend in emergencies.
type EmergencyBudget struct {
	Pool   string
	Amount int64     // at most this much
	Shared bool      // it is that of all data directories together: each has an equal part
	Since  time.Time // of the emergencies from here on, whether or not they were synced since
}
