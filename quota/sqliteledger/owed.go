package sqliteledger

import (
	"errors"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// errOwed is what a peek, which may not write, finds: what went on without this ledger has to be entered
// before anything is decided.
var errOwed = errors.New("operations are owed")

// enterOwed enters what went on while this ledger could not decide, and the Governor let it. Entry and
// verdict are one transaction, so that each is counted exactly once.
func (t *transaction) enterOwed(acc *account, a quota.Ask, now time.Time, mayWrite bool) error {
	if !acc.owed {
		return nil
	}
	owed, err := t.operations(sqlOwedHere, a.Account)
	if err != nil || len(owed) == 0 {
		return err
	}
	if !mayWrite {
		return errOwed
	}
	var verdicts []sharedledger.RowVerdict
	for _, row := range owed {
		spent := quota.Ask{Account: a.Account, Who: row.Who, Horizon: a.Horizon}
		for pool, amount := range row.Amounts {
			spent.Charges = append(spent.Charges, quota.Charge{Pool: pool, Amount: amount})
		}
		if err := t.post(acc, spent, row.At, now); err != nil {
			return err
		}
		verdicts = append(verdicts, sharedledger.RowVerdict{ID: row.ID, State: sharedledger.RowSynced})
	}
	return t.applyVerdicts(verdicts, 0)
}
