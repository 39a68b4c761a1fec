package sqliteledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// add writes a new row and returns its id.
func (t *transaction) add(row sharedledger.Row) (id int64, err error) {
	spender, err := t.spenderID(row.Who)
	if err != nil {
		return 0, err
	}
	amounts, _ := json.Marshal(row.Amounts) // it never fails
	_, id, err = t.change(sqlBegin, row.Account, row.Writer, row.Number, row.Nonce, row.At.UnixMicro(),
		spender, string(amounts), row.State, row.Emergency)
	return id, err
}

// applyVerdicts records verdicts on operations.
func (t *transaction) applyVerdicts(verdicts []sharedledger.RowVerdict, g sharedledger.Generation) error {
	for _, v := range verdicts {
		text, args := sqlJudge, []any{v.ID, v.State, microsOrZero(v.At)}
		if v.State == sharedledger.RowSynced && !v.Synced.IsZero() {
			text, args = sqlNoteSync, []any{v.ID, g, v.Synced.UnixMicro(), v.Until}
		}
		if err := t.run(text, args...); err != nil {
			return err
		}
	}
	return nil
}

// syncs reads the text that sqlNoteSync writes: since/until of each sync; the last one has no until. The first since is
// 0 if it is the row's own time.
func syncs(text string) (all []sharedledger.Sync, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		var s sharedledger.Sync
		since, until, closed := strings.Cut(part, "/")
		us, err := strconv.ParseInt(since, 10, 64)
		if err == nil && closed {
			err = json.Unmarshal([]byte(until), &s.Until)
		}
		if err != nil {
			return nil, err
		}
		s.Since = timeOrZero(us)
		all = append(all, s)
	}
	return all, nil
}

// operations reads the operations of an account that a statement selects.
func (t *transaction) operations(from, account string, args ...any) ([]sharedledger.Row, error) {
	who, err := t.spenders()
	if err != nil {
		return nil, err
	}
	return list(t, from, append([]any{account}, args...), func(rows *sql.Rows) (r sharedledger.Row, err error) {
		r.Account = account
		var at, spender int64
		var amounts, spans string
		if err := rows.Scan(&r.ID, &r.Writer, &r.Number, &r.Nonce, &at, &spender, &amounts, &r.State,
			&r.Emergency, &spans); err != nil {
			return r, err
		}
		var known bool
		if r.Syncs, err = syncs(spans); err != nil {
			return r, &DamagedError{t.ledger.path, fmt.Errorf("the synced part of operation %d: %w", r.ID, err)}
		}
		if r.Who, known = who[spender]; !known || r.State < sharedledger.RowAsked || r.State > sharedledger.RowUnused {
			return r, &DamagedError{t.ledger.path,
				fmt.Errorf("operation %d has spender %d and state %d", r.ID, spender, r.State)}
		}
		r.At = protocol.Time(at)
		r.Amounts, err = t.cost(amounts)
		return r, err
	})
}

// written returns each writer's newest operation that the remote ledger has.
func (t *transaction) written(account string) ([]sharedledger.LastWrite, error) {
	return list(t, sqlWritten, []any{account, sharedledger.MaxWritten},
		func(rows *sql.Rows) (w sharedledger.LastWrite, err error) {
			var at int64
			err = rows.Scan(&w.Writer, &w.Number, &at)
			w.At = protocol.Time(at)
			return w, err
		})
}

// Spenders returns every spender that ever used this file, in no order. It waits for no writer.
func (l *Ledger) Spenders(ctx context.Context) (all []quota.Who, err error) {
	err = l.read(ctx, func(t *transaction) error {
		who, err := t.spenders()
		all = slices.Collect(maps.Values(who))
		return err
	})
	return all, err
}

// spenders returns the file's spenders, by id.
func (t *transaction) spenders() (map[int64]quota.Who, error) {
	who := map[int64]quota.Who{}
	err := t.read(sqlSpenders, nil, func(rows *sql.Rows) error {
		var id int64
		var w quota.Who
		err := rows.Scan(&id, &w.Purpose, &w.Region, &w.Method, &w.Client)
		who[id] = w
		return err
	})
	return who, err
}

// left returns the unspent part of each budget at a time.
func (t *transaction) left(account string, at time.Time, budgets []quota.EmergencyBudget) (left []int64, err error) {
	used := map[time.Time]quota.Cost{} // by EmergencyBudget.Since
	for _, b := range budgets {
		if used[b.Since] == nil {
			if used[b.Since], err = t.emergencies(account, b.Since, at); err != nil {
				return nil, err
			}
		}
		left = append(left, b.Amount-used[b.Since][b.Pool])
	}
	return left, nil
}

// emergencies sums the emergencies at since or later. One dated after now counts, unless it was first seen before
// since.
func (t *transaction) emergencies(account string, since, now time.Time) (quota.Cost, error) {
	sums := quota.Cost{}
	err := t.read(sqlEmergencies, []any{account, since.UnixMicro(), now.UnixMicro()}, func(rows *sql.Rows) error {
		var amounts string
		var n int64
		if err := rows.Scan(&amounts, &n); err != nil {
			return err
		}
		cost, err := t.cost(amounts)
		sums.Add(cost, n)
		return err
	})
	return sums, err
}

// cost reads amounts written by add.
func (t *transaction) cost(amounts string) (c quota.Cost, err error) {
	if err := json.Unmarshal([]byte(amounts), &c); err != nil {
		return nil, &DamagedError{t.ledger.path, fmt.Errorf("the amounts of an operation: %w", err)}
	}
	return c, nil
}
