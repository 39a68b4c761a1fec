package sqliteledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// journal returns the state of the account's journal.
func (t *transaction) journal(account string) (s sharedledger.JournalState, err error) {
	var until int64
	var snapshots, hosts string
	err = t.row(sqlJournal, []any{account}, &s.HostID, &s.Generation, &until, &s.Breaker.Failures, &s.Breaker.Why, &snapshots, &hosts, &s.Owed, &s.HasWritten)
	if err != nil {
		return s, err
	}
	s.Breaker.Until = timeOrZero(until)
	if err = cmp.Or(json.Unmarshal([]byte(snapshots), &s.Snapshots), json.Unmarshal([]byte(hosts), &s.Hosts)); err != nil {
		return s, fmt.Errorf("%w: %s: the snapshots and hosts of account %s: %w", quota.ErrCorrupt, t.ledger.path, account, err)
	}
	return s, nil
}

// note writes the notes down and returns the state after them.
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
	hosts, err := json.Marshal(append([]string{}, s.Hosts...))
	if err != nil {
		return s, fmt.Errorf("encode the hosts: %w", err)
	}
	return s, t.run(sqlKeepJournal, account, s.Generation, microsOrZero(s.Breaker.Until), s.Breaker.Failures, s.Breaker.Why, string(snapshots), string(hosts))
}

// keepSnapshot puts a snapshot among those of the other pools, and reports whether it supersedes what is there.
func keepSnapshot(all *[]sharedledger.UsageSnapshot, u sharedledger.UsageSnapshot) bool {
	for i, old := range *all {
		if old.Pool == u.Pool {
			if !u.Supersedes(old) {
				return false
			}
			(*all)[i] = u
			return true
		}
	}
	*all = append(*all, u)
	slices.SortFunc(*all, func(a, b sharedledger.UsageSnapshot) int { return cmp.Compare(a.Pool, b.Pool) })
	return true
}

// forgetOperations deletes, now and then, the operations that are too old to matter.
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

// timeOrZero returns what microsOrZero was given.
func timeOrZero(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return quota.FromMicros(us)
}

// microsOrZero returns microseconds since 1970; 0 for the zero time.
func microsOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
