package quota

import (
	"context"
	"time"
)

// EmergencyAccount is a data directory's record of calls made while the ledger could not answer. They are synced into
// the ledger before it decides again. Packages sqliteledger and sharedledger implement it.
type EmergencyAccount interface {
	// LastUsage returns the use of each pool when the ledger last answered. It does not ask the ledger.
	LastUsage(ctx context.Context, account string) ([]LastUsage, error)
	// Spend records the emergency if every budget has room for it, and returns its row; 0 otherwise. Entries later
	// than e.At count too, so that setting a clock back frees no budget.
	Spend(ctx context.Context, e Emergency, budgets []EmergencyBudget) (row int64, err error)
	// RefundEmergency gives back an emergency whose call was certainly never sent: it counts against no budget, and is
	// not synced. ErrNotRefundable: the row does not exist, or is already synced.
	RefundEmergency(ctx context.Context, account string, row int64) error
	// Left returns the rest of each budget as of at: negative if overspent. It changes nothing.
	Left(ctx context.Context, account string, at time.Time, budgets []EmergencyBudget) ([]int64, error)
}

// LastUsage is the amount that a pool had used when its ledger last answered. Emergencies must fit above it.
type LastUsage struct {
	Pool  string
	At    time.Time
	Used  map[Window]int64
	Drain Drain // in force then
}

// Emergency is a call that is made although the ledger cannot answer. It is charged once the ledger answers again.
type Emergency struct {
	Account string
	At      time.Time
	Who     Who
	Amounts Cost
	Cause   error // the ledger's error in place of a decision
}

// EmergencyBudget is the most that a pool may spend in emergencies.
type EmergencyBudget struct {
	Pool   string
	Amount int64     // at most this much
	Shared bool      // among all data directories: each gets an equal part
	Since  time.Time // counts emergencies from then on, synced or not
}
