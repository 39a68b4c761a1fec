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

// journal is the account's state.
func (t *transaction) journal(account string) (s sharedledger.JournalState, err error) {
	told := &s.Synced
	var until, at int64
	var looks, amounts string
	err = t.row(t.sql.journal, account).Scan(&s.HostID, &s.Generation, &until, &s.Breaker.Failures, &s.Breaker.Why, &looks, &s.Owed,
		&told.ID, &told.Writer, &told.Number, &told.Nonce, &at, &told.Who.Purpose, &told.Who.Region, &told.Who.Method, &amounts, &told.State, &told.Emergency)
	if err != nil {
		return s, t.ledger.broken("read", err)
	}
	if until != 0 {
		s.Breaker.Until = quota.FromMicros(until)
	}
	if s.Snapshots, err = t.ledger.parseLooks(looks); err != nil {
		return s, fmt.Errorf("%w: %s: the looks of account %s: %w", quota.ErrCorrupt, t.ledger.path, account, err)
	}
	if told.ID != 0 {
		told.Account, told.At = account, quota.FromMicros(at)
		if told.Amounts, err = t.cost(amounts); err != nil {
			return s, err
		}
	}
	return s, nil
}

// note writes the notes down and returns the state that then is.
func (t *transaction) note(account string, n sharedledger.Notes) (sharedledger.JournalState, error) {
	if err := t.judge(n.Verdicts); err != nil {
		return sharedledger.JournalState{}, err
	}
	if err := t.forgetOperations(account, n); err != nil {
		return sharedledger.JournalState{}, err
	}
	s, err := t.journal(account)
	if err != nil {
		return s, err
	}
	changed := n.Generation != 0 || n.Breaker != nil
	for _, l := range n.Snapshots {
		changed = keepLook(&s.Snapshots, l) || changed
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
	looks, err := json.Marshal(s.Snapshots)
	if err != nil {
		return s, fmt.Errorf("encode the looks: %w", err)
	}
	t.ledger.looks.Store(&parsed{string(looks), cloneLooks(s.Snapshots)})
	return s, t.run(t.sql.keepJournal, account, s.Generation, microsOrZero(s.Breaker.Until), s.Breaker.Failures, s.Breaker.Why, string(looks))
}

// parsed is the text of looks and what it says: mostly it is what this process wrote last.
type parsed struct {
	text  string
	looks []sharedledger.UsageSnapshot
}

func (l *Ledger) parseLooks(text string) (looks []sharedledger.UsageSnapshot, err error) {
	if last := l.looks.Load(); last != nil && last.text == text {
		return cloneLooks(last.looks), nil
	}
	err = json.Unmarshal([]byte(text), &looks)
	return looks, err
}

func cloneLooks(looks []sharedledger.UsageSnapshot) []sharedledger.UsageSnapshot {
	out := slices.Clone(looks)
	for i := range out {
		out[i].Windows = slices.Clone(out[i].Windows)
	}
	return out
}

// keepLook puts a look among those of the other pools, where it is younger than what is there.
func keepLook(looks *[]sharedledger.UsageSnapshot, l sharedledger.UsageSnapshot) bool {
	for i, old := range *looks {
		if old.Pool == l.Pool {
			younger := l.At.After(old.At) || l.At.Equal(old.At) && sawMore(l, old)
			if younger {
				(*looks)[i] = l
			}
			return younger
		}
	}
	*looks = append(*looks, l)
	slices.SortFunc(*looks, func(a, b sharedledger.UsageSnapshot) int { return cmp.Compare(a.Pool, b.Pool) })
	return true
}

// sawMore reports whether the look saw more used than another of the same time: it is the later one
// then. A ledger's clock stands still while the host's was set back.
func sawMore(l, old sharedledger.UsageSnapshot) bool {
	for _, w := range l.Windows {
		for _, o := range old.Windows {
			if w.Window == o.Window && w.Used > o.Used {
				return true
			}
		}
	}
	return false
}

// forgetOperations now and then deletes those that are older than they need be.
func (t *transaction) forgetOperations(account string, n sharedledger.Notes) error {
	if n.Now.IsZero() {
		return nil
	}
	t.ledger.notes++
	if t.ledger.notes%forgetNotesEvery != 1 {
		return nil
	}
	return t.run(t.sql.forgetOps, account, n.Now.Add(-n.Forget).UnixMicro())
}

// microsOrZero is 0 for the zero time.
func microsOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
