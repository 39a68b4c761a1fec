package sqliteledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var (
	_ sharedledger.Journal   = (*Ledger)(nil)
	_ quota.Ledger           = (*Ledger)(nil)
	_ quota.EmergencyAccount = (*Ledger)(nil)
)

// forgetNotesEvery is how many notes of this process pass between two deletions of old operations. The first note
// deletes too, for programs that write once and end.
const forgetNotesEvery = 64

// State implements sharedledger.Journal. It waits for no writer.
func (l *Ledger) State(ctx context.Context, account string) (s sharedledger.JournalState, err error) {
	err = l.read(ctx, func(t *transaction) error {
		if s, err = t.journal(account); err != nil {
			return err
		}
		if s.Asked, err = t.operations(sqlAsked, account, sharedledger.MaxAsked); err != nil {
			return err
		}
		s.Written, err = t.written(account)
		return err
	})
	if err != nil {
		return sharedledger.JournalState{}, err
	}
	return s, nil
}

// Begin implements sharedledger.Journal: one transaction.
func (l *Ledger) Begin(ctx context.Context, row sharedledger.Row,
	n sharedledger.Notes) (id int64, s sharedledger.JournalState, err error) {
	if err := checkRow(row); err != nil {
		return 0, sharedledger.JournalState{}, err
	}
	err = l.write(ctx, func(t *transaction) error {
		if s, err = t.note(row.Account, n); err != nil {
			return err
		}
		if row.State != sharedledger.RowOwed {
			if s.Breaker.Until.After(row.At) {
				return nil
			}
			row.State = sharedledger.RowAsked
		}
		s.Owed = s.Owed || row.State == sharedledger.RowOwed
		id, err = t.add(row)
		return err
	})
	if err != nil {
		return 0, sharedledger.JournalState{}, err
	}
	return id, s, nil
}

// Note implements sharedledger.Journal: one transaction.
func (l *Ledger) Note(ctx context.Context, account string, n sharedledger.Notes) error {
	if err := quota.CheckAccount(account); err != nil {
		return err
	}
	return l.write(ctx, func(t *transaction) error { _, err := t.note(account, n); return err })
}

// Rows implements sharedledger.Journal. It waits for no writer.
func (l *Ledger) Rows(ctx context.Context, account string, since time.Time,
	owed bool) (out []sharedledger.Row, err error) {
	err = l.read(ctx, func(t *transaction) error {
		if owed {
			out, err = t.operations(sqlRowsOwed, account)
		} else {
			out, err = t.operations(sqlRows, account, since.UnixMicro())
		}
		return err
	})
	return out, err
}

// Emergencies sums the spends that Spend and Allow have admitted at since or later, synced or not. It waits for no
// writer.
func (l *Ledger) Emergencies(ctx context.Context, account string, since time.Time) (sums quota.Cost, err error) {
	err = l.read(ctx, func(t *transaction) error {
		sums, err = t.emergencies(account, since, l.Now())
		return err
	})
	return sums, err
}

// LastUsage implements quota.EmergencyAccount.
func (l *Ledger) LastUsage(ctx context.Context, account string) ([]quota.LastUsage, error) {
	s, err := l.State(ctx, account)
	return s.LastUsage(), err
}

// Spend implements quota.EmergencyAccount. The row has no writer: this file's own ledger enters it before it decides
// again.
func (l *Ledger) Spend(ctx context.Context, e quota.Emergency, budgets []quota.EmergencyBudget) (int64, error) {
	return l.Allow(ctx, sharedledger.Row{Account: e.Account, At: e.At, Who: e.Who, Amounts: e.Amounts}, budgets)
}

// Allow implements sharedledger.Journal: one transaction.
func (l *Ledger) Allow(ctx context.Context, row sharedledger.Row,
	budgets []quota.EmergencyBudget) (id int64, err error) {
	if err := checkRow(row); err != nil {
		return 0, err
	}
	err = l.write(ctx, func(t *transaction) error {
		if err := t.run(sqlSeeAhead, row.Account, row.At.UnixMicro()); err != nil {
			return err
		}
		left, err := t.left(row.Account, row.At, budgets)
		if err != nil {
			return err
		}
		for i, b := range budgets {
			if row.Amounts[b.Pool] > left[i] {
				return nil
			}
		}
		row.State, row.Emergency = sharedledger.RowOwed, true
		id, err = t.add(row)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// RefundEmergency implements quota.EmergencyAccount and sharedledger.Journal: one transaction.
func (l *Ledger) RefundEmergency(ctx context.Context, account string, row int64) error {
	return l.write(ctx, func(t *transaction) error {
		refunded, _, err := t.change(sqlRefundEmergency, account, row)
		if err == nil && refunded == 0 {
			return fmt.Errorf("%w: no emergency that is still owed", quota.ErrNotRefundable)
		}
		return err
	})
}

// Left implements quota.EmergencyAccount and sharedledger.Journal. It waits for no writer.
func (l *Ledger) Left(ctx context.Context, account string, at time.Time,
	budgets []quota.EmergencyBudget) (left []int64, err error) {
	err = l.read(ctx, func(t *transaction) error {
		left, err = t.left(account, at, budgets)
		return err
	})
	return left, err
}

// checkRow refuses a row that no journal may keep.
func checkRow(row sharedledger.Row) error {
	for pool, amount := range row.Amounts {
		if amount < 0 || amount > quota.MaxLimit {
			return fmt.Errorf("%w: %d of pool %s: amounts are 0..%d", quota.ErrNeverFits, amount, pool, int64(quota.MaxLimit))
		}
	}
	return quota.CheckAccount(row.Account)
}

func (t *transaction) journal(account string) (s sharedledger.JournalState, err error) {
	var until int64
	var lastError, snapshots, hosts string
	err = t.row(sqlJournal, []any{account, t.ledger.Now().UnixMicro()}, &t.writes, &s.HostID,
		&s.Generation, &until, &s.Breaker.Failures, &lastError, &snapshots, &hosts, &s.Owed, &s.HasWritten)
	if err != nil {
		return s, err
	}
	s.Breaker.Until = timeOrZero(until)
	s.Breaker.Why, s.Breaker.Server = readWhy(lastError)
	if snapshots != t.text {
		t.text, t.snapshots = snapshots, nil
		err = json.Unmarshal([]byte(snapshots), &t.snapshots)
	}
	s.Snapshots = clone(t.snapshots)
	if err = cmp.Or(err, json.Unmarshal([]byte(hosts), &s.Hosts)); err != nil {
		t.text = ""
		return s, &DamagedError{t.ledger.path, fmt.Errorf("the snapshots and hosts of account %s: %w", account, err)}
	}
	return s, nil
}

func clone(all []sharedledger.UsageSnapshot) []sharedledger.UsageSnapshot {
	all = slices.Clone(all)
	for i, u := range all {
		all[i] = u.Clone()
	}
	return all
}

// note writes the notes and returns the resulting state.
func (t *transaction) note(account string, n sharedledger.Notes) (sharedledger.JournalState, error) {
	if err := t.applyVerdicts(n.Verdicts, n.Generation); err != nil {
		return sharedledger.JournalState{}, err
	}
	if err := t.forgetOperations(account, n); err != nil {
		return sharedledger.JournalState{}, err
	}
	s, err := t.journal(account)
	if err != nil {
		return s, err
	}
	changed := n.Generation != 0 || n.Breaker != nil || n.Hosts != nil
	if n.Hosts != nil {
		s.Hosts = n.Hosts
	}
	for _, u := range n.Snapshots {
		changed = keepSnapshot(&s.Snapshots, u) || changed
	}
	if n.Generation != 0 {
		s.Generation = n.Generation
	}
	if n.Breaker != nil {
		s.Breaker = *n.Breaker
	}
	if !changed {
		return s, nil
	}
	snapshots, err := json.Marshal(s.Snapshots)
	if err != nil {
		return s, fmt.Errorf("encode the snapshots: %w", err)
	}
	hosts, _ := json.Marshal(append([]string{}, s.Hosts...)) // it never fails
	t.text, t.snapshots = string(snapshots), clone(s.Snapshots)
	return s, t.run(sqlKeepJournal, account, s.Generation, microsOrZero(s.Breaker.Until), s.Breaker.Failures,
		writeWhy(s.Breaker), t.text, string(hosts))
}

// why is the column of that name: the ledger's last error, and its server's cause and cure if known.
type why struct {
	Text  string `json:"text"`
	Cause string `json:"cause,omitempty"`
	Cure  string `json:"cure,omitempty"`
}

func writeWhy(b sharedledger.Breaker) string {
	if b.Why == "" {
		return ""
	}
	w := why{Text: b.Why}
	if b.Server != nil {
		w.Cause, w.Cure = b.Server.Cause, b.Server.Cure
	}
	text, _ := json.Marshal(w) // it never fails
	return string(text)
}

// readWhy parses the column; a column of another form is only a text.
func readWhy(column string) (text string, server *quota.ServerError) {
	w := why{}
	if json.Unmarshal([]byte(column), &w) != nil {
		w = why{Text: column}
	}
	if w.Cause != "" {
		server = &quota.ServerError{Cause: w.Cause, Cure: w.Cure, Err: errors.New(w.Text)}
	}
	return w.Text, server
}

// keepSnapshot replaces the pool's snapshot if the new one supersedes it, and reports whether it does.
func keepSnapshot(all *[]sharedledger.UsageSnapshot, u sharedledger.UsageSnapshot) bool {
	for i, old := range *all {
		if old.Pool == u.Pool {
			(*all)[i] = u.Over(old)
			return !reflect.DeepEqual((*all)[i], old)
		}
	}
	*all = append(*all, u)
	slices.SortFunc(*all, func(a, b sharedledger.UsageSnapshot) int { return cmp.Compare(a.Pool, b.Pool) })
	return true
}

// forgetOperations deletes operations too old to matter, once per forgetNotesEvery notes.
func (t *transaction) forgetOperations(account string, n sharedledger.Notes) error {
	if n.Now.IsZero() {
		return nil
	}
	t.ledger.notes++
	if t.ledger.notes%forgetNotesEvery != 1 {
		return nil
	}
	return t.run(sqlForgetOperations, account, n.Now.Add(-n.Forget).UnixMicro(), forgetAtMost)
}

// timeOrZero reverses microsOrZero.
func timeOrZero(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return protocol.Time(us)
}

// microsOrZero returns microseconds since 1970; 0 for the zero time.
func microsOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
