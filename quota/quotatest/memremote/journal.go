package memremote

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Journal implements sharedledger.Journal. The zero value is ready to use. One value is one data directory: its
// processes come and go.
type Journal struct {
	HostID string // of the data directory; "": a random one is made
	// Broken is the error of every write, as on a full disk; nil: writes succeed. A failed write changes nothing. Do
	// not set it during a call.
	Broken error

	mu       sync.Mutex
	last     int64 // id of a row
	accounts map[string]*book
}

var _ sharedledger.Journal = (*Journal)(nil)

// book is one account's part.
type book struct {
	generation sharedledger.Generation
	breaker    sharedledger.Breaker
	snapshots  map[string]sharedledger.UsageSnapshot
	hosts      []string
	rows       []sharedledger.Row  // by id
	seen       map[int64]time.Time // of an emergency in the future, by id: when that was first seen
}

// State implements sharedledger.Journal.
func (j *Journal) State(_ context.Context, account string) (sharedledger.JournalState, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.named(); err != nil {
		return sharedledger.JournalState{}, err
	}
	return j.state(account), nil
}

// Begin implements sharedledger.Journal.
func (j *Journal) Begin(_ context.Context, row sharedledger.Row,
	n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.named(); err != nil {
		return 0, sharedledger.JournalState{}, err
	}
	b, err := j.write(row.Account)
	if err != nil {
		return 0, sharedledger.JournalState{}, err
	}
	b.note(n)
	if row.State != sharedledger.RowOwed {
		if b.breaker.Until.After(row.At) {
			return 0, j.state(row.Account), nil
		}
		row.State = sharedledger.RowAsked
	}
	id := j.add(b, row)
	return id, j.state(row.Account), nil
}

// Note implements sharedledger.Journal.
func (j *Journal) Note(_ context.Context, account string, n sharedledger.Notes) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, err := j.write(account)
	if err != nil {
		return err
	}
	b.note(n)
	return nil
}

func isOwed(r sharedledger.Row) bool {
	return r.State == sharedledger.RowOwed || r.State == sharedledger.RowUnused
}

// Rows implements sharedledger.Journal.
func (j *Journal) Rows(_ context.Context, account string, since time.Time, owed bool) ([]sharedledger.Row, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, ok := j.accounts[account]
	if !ok {
		return nil, nil
	}
	var out []sharedledger.Row
	for _, r := range b.rows {
		if owed && isOwed(r) || !owed && r.State != sharedledger.RowVoid && !r.At.Before(since) {
			out = append(out, cloneRow(r))
		}
	}
	return out, nil
}

// Allow implements sharedledger.Journal.
func (j *Journal) Allow(_ context.Context, row sharedledger.Row, budgets []quota.EmergencyBudget) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, err := j.write(row.Account)
	if err != nil {
		return 0, err
	}
	for _, r := range b.rows {
		if _, known := b.seen[r.ID]; r.Emergency && r.At.After(row.At) && !known {
			b.seen[r.ID] = row.At
		}
	}
	for i, left := range b.left(row.At, budgets) {
		if row.Amounts[budgets[i].Pool] > left {
			return 0, nil
		}
	}
	row.State, row.Emergency = sharedledger.RowOwed, true
	return j.add(b, row), nil
}

// RefundEmergency implements sharedledger.Journal.
func (j *Journal) RefundEmergency(_ context.Context, account string, id int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, err := j.write(account)
	if err != nil {
		return err
	}
	r := b.row(id)
	if r == nil || r.State != sharedledger.RowOwed || !r.Emergency {
		return fmt.Errorf("%w: no emergency that is still owed", quota.ErrNotRefundable)
	}
	r.State = sharedledger.RowVoid
	return nil
}

// Left implements sharedledger.Journal.
func (j *Journal) Left(_ context.Context, account string, at time.Time,
	budgets []quota.EmergencyBudget) ([]int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, ok := j.accounts[account]
	if !ok {
		b = &book{}
	}
	return b.left(at, budgets), nil
}

func (b *book) left(at time.Time, budgets []quota.EmergencyBudget) (left []int64) {
	for _, budget := range budgets {
		for _, r := range b.rows {
			seen, ahead := b.seen[r.ID]
			passed := ahead && r.At.After(at) && seen.Before(budget.Since)
			if r.Emergency && r.State != sharedledger.RowVoid && !r.At.Before(budget.Since) && !passed {
				budget.Amount -= r.Amounts[budget.Pool]
			}
		}
		left = append(left, budget.Amount)
	}
	return left
}

// named makes the host's id.
func (j *Journal) named() error {
	if j.HostID == "" {
		if j.Broken != nil {
			return j.Broken
		}
		j.HostID = rand.Text()
	}
	return nil
}

// write returns the account's book, to be written into.
func (j *Journal) write(account string) (*book, error) {
	if j.Broken != nil {
		return nil, j.Broken
	}
	b, ok := j.accounts[account]
	if !ok {
		if j.accounts == nil {
			j.accounts = map[string]*book{}
		}
		b = &book{snapshots: map[string]sharedledger.UsageSnapshot{}, seen: map[int64]time.Time{}}
		j.accounts[account] = b
	}
	return b, nil
}

func (j *Journal) state(account string) sharedledger.JournalState {
	s := sharedledger.JournalState{HostID: j.HostID}
	written := map[string]sharedledger.LastWrite{}
	b, ok := j.accounts[account]
	if !ok {
		return s
	}
	s.Generation, s.Breaker, s.Hosts = b.generation, b.breaker, slices.Clone(b.hosts)
	for _, r := range b.rows {
		s.Owed = s.Owed || isOwed(r)
		if r.State == sharedledger.RowCharged || r.State == sharedledger.RowSynced {
			s.HasWritten = true
			if r.Number > written[r.Writer].Number {
				written[r.Writer] = sharedledger.LastWrite{Writer: r.Writer, Number: r.Number, At: r.At}
			}
		}
	}
	s.Written = slices.SortedFunc(maps.Values(written),
		func(a, b sharedledger.LastWrite) int { return cmp.Compare(b.Writer, a.Writer) })
	s.Written = s.Written[:min(len(s.Written), sharedledger.MaxWritten)]
	for i := len(b.rows) - 1; i >= 0 && len(s.Asked) < sharedledger.MaxAsked; i-- {
		if b.rows[i].State == sharedledger.RowAsked {
			s.Asked = append(s.Asked, cloneRow(b.rows[i]))
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(b.snapshots)) {
		s.Snapshots = append(s.Snapshots, b.snapshots[pool].Clone())
	}
	return s
}

// add writes the row down as a new one and returns its id.
func (j *Journal) add(b *book, row sharedledger.Row) int64 {
	j.last++
	row.ID = j.last
	b.rows = append(b.rows, cloneRow(row))
	return row.ID
}

// row returns the row with the id, nil if there is none.
func (b *book) row(id int64) *sharedledger.Row {
	i, ok := slices.BinarySearchFunc(b.rows, id, func(r sharedledger.Row, id int64) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return nil
	}
	return &b.rows[i]
}

func (b *book) note(n sharedledger.Notes) {
	for _, v := range n.Verdicts {
		r := b.row(v.ID)
		if r == nil || v.State == sharedledger.RowCharged &&
			(r.State == sharedledger.RowOwed || r.State == sharedledger.RowSynced) {
			continue
		}
		if v.State == sharedledger.RowSynced && !v.Synced.IsZero() && (r.State != v.State || n.Generation != b.generation) {
			r.Syncs = append(synced(*r, v.Until), sharedledger.Sync{Since: v.Synced})
		}
		r.State = v.State
		if !v.At.IsZero() {
			r.At = v.At
		}
	}
	if n.Hosts != nil {
		b.hosts = slices.Clone(n.Hosts)
	}
	for _, l := range n.Snapshots {
		b.snapshots[l.Pool] = l.Over(b.snapshots[l.Pool]).Clone()
	}
	if n.Generation != 0 {
		b.generation = n.Generation
	}
	if n.Breaker != nil {
		b.breaker = *n.Breaker
	}
	if !n.Now.IsZero() {
		b.forget(n.Now.Add(-n.Forget))
	}
}

// synced returns the row's syncs, with the last one ended.
func synced(r sharedledger.Row, until sharedledger.Generation) []sharedledger.Sync {
	if r.State != sharedledger.RowCharged && r.State != sharedledger.RowSynced {
		return nil
	}
	all := slices.Clone(r.Syncs)
	if len(all) == 0 {
		all = []sharedledger.Sync{{}}
	}
	all[len(all)-1].Until = until
	return all
}

// forget drops the rows older than t that need no sync any more.
func (b *book) forget(t time.Time) {
	b.rows = slices.DeleteFunc(b.rows,
		func(r sharedledger.Row) bool { return r.At.Before(t) && r.State != sharedledger.RowOwed })
}

func cloneRow(r sharedledger.Row) sharedledger.Row {
	r.Amounts, r.Syncs = maps.Clone(r.Amounts), slices.Clone(r.Syncs)
	return r
}
