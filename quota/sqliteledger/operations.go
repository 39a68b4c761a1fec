package sqliteledger

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// add writes the row down as a new one and returns its id.
func (t *transaction) add(row sharedledger.Row) (id int64, err error) {
	spender, err := t.spenderID(row.Who)
	if err != nil {
		return 0, err
	}
	amounts, err := json.Marshal(row.Amounts)
	if err != nil {
		return 0, fmt.Errorf("encode the amounts: %w", err)
	}
	t.changed = true
	result, err := t.exec(sqlBegin, row.Account, row.Writer, row.Number, row.Nonce, row.At.UnixMicro(), spender, string(amounts), row.State, row.Emergency)
	if err == nil {
		id, err = result.LastInsertId()
	}
	if err != nil {
		return 0, t.ledger.explain("write", err)
	}
	return id, nil
}

// owe writes the row down as owed: the one with its ID, or a new one if it has no ID or that one is forgotten.
func (t *transaction) owe(row sharedledger.Row) error {
	if row.ID != 0 {
		var id int64
		err := t.returning(sqlOwe, []any{row.ID, row.At.UnixMicro()}, &id)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	_, err := t.add(row)
	return err
}

// applyVerdicts notes what became of operations. Many of the same verdict, all at their own time, as after a
// sync, are one statement.
func (t *transaction) applyVerdicts(verdicts []sharedledger.RowVerdict, g sharedledger.Generation) error {
	for len(verdicts) > 0 {
		v := verdicts[0]
		if !v.At.IsZero() {
			if err := t.run(sqlJudge, v.ID, v.State, v.At.UnixMicro()); err != nil {
				return err
			}
			verdicts = verdicts[1:]
			continue
		}
		var ids []int64
		for len(verdicts) > 0 && sameVerdict(verdicts[0], v) {
			ids = append(ids, verdicts[0].ID)
			verdicts = verdicts[1:]
		}
		text, err := json.Marshal(ids)
		if err != nil {
			return fmt.Errorf("encode the verdicts: %w", err)
		}
		if v.State == sharedledger.RowSynced && !v.Synced.IsZero() {
			err = t.run(sqlNoteSync, string(text), g, v.Synced.UnixMicro(), v.Until)
		} else {
			err = t.run(sqlJudgeMany, string(text), v.State)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameVerdict reports whether two verdicts say the same of their rows.
func sameVerdict(a, b sharedledger.RowVerdict) bool {
	return a.State == b.State && a.At.IsZero() && b.At.IsZero() && a.Synced.Equal(b.Synced) && a.Until == b.Until
}

// syncs reads what noteSync has written.
func syncs(text string) (all []sharedledger.Sync, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		since, until, _ := strings.Cut(part, "/")
		var t sharedledger.Sync
		for _, n := range []struct {
			text string
			put  func(int64)
		}{{since, func(us int64) { t.Since = quota.FromMicros(us) }}, {until, func(g int64) { t.Until = sharedledger.Generation(g) }}} {
			if n.text == "" {
				continue
			}
			v, err := strconv.ParseInt(n.text, 10, 64)
			if err != nil {
				return nil, err
			}
			n.put(v)
		}
		all = append(all, t)
	}
	return all, nil
}

// operations reads those of an account that a statement selects.
func (t *transaction) operations(from, account string, args ...any) (out []sharedledger.Row, err error) {
	who, err := t.spenders()
	if err != nil {
		return nil, err
	}
	costs := map[string]quota.Cost{} // most cost the same
	err = t.read(from, append([]any{account}, args...), func(rows *sql.Rows) (err error) {
		r := sharedledger.Row{Account: account}
		var at, spender int64
		var amounts, spans string
		if err := rows.Scan(&r.ID, &r.Writer, &r.Number, &r.Nonce, &at, &spender, &amounts, &r.State, &r.Emergency, &spans); err != nil {
			return err
		}
		var known bool
		if r.Syncs, err = syncs(spans); err != nil {
			return fmt.Errorf("%w: %s: what was synced of operation %d: %w", quota.ErrCorrupt, t.ledger.path, r.ID, err)
		}
		if r.Who, known = who[spender]; !known || r.State < sharedledger.RowAsked || r.State > sharedledger.RowUnused {
			return fmt.Errorf("%w: %s: operation %d has spender %d and state %d", quota.ErrCorrupt, t.ledger.path, r.ID, spender, r.State)
		}
		if _, known = costs[amounts]; !known {
			if costs[amounts], err = t.cost(amounts); err != nil {
				return err
			}
		}
		r.At, r.Amounts = quota.FromMicros(at), maps.Clone(costs[amounts])
		out = append(out, r)
		return nil
	})
	return out, err
}

// written returns the newest operation of each writer that the ledger elsewhere has.
func (t *transaction) written(account string) (all []sharedledger.LastWrite, err error) {
	err = t.read(sqlWritten, []any{account, sharedledger.MaxWritten}, func(rows *sql.Rows) error {
		var w sharedledger.LastWrite
		var at int64
		err := rows.Scan(&w.Writer, &w.Number, &at)
		w.At = quota.FromMicros(at)
		all = append(all, w)
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

// seeAhead notes which emergencies lie in the future.
func (t *transaction) seeAhead(account string, now time.Time) error {
	result, err := t.exec(sqlSeeAhead, account, now.UnixMicro())
	if err != nil {
		return t.ledger.explain("write", err)
	}
	found, err := result.RowsAffected()
	t.changed = t.changed || found > 0
	return err
}

// emergencies returns the sums of the emergencies at since or later, except the operation with that id. What lies after
// now counts as long as it was not seen there before since.
func (t *transaction) emergencies(account string, since, now time.Time, except int64) (quota.Cost, error) {
	sums := quota.Cost{}
	err := t.read(sqlEmergencies, []any{account, since.UnixMicro(), except, now.UnixMicro()}, func(rows *sql.Rows) error {
		var amounts string
		var n int64
		if err := rows.Scan(&amounts, &n); err != nil {
			return err
		}
		cost, err := t.cost(amounts)
		for pool, amount := range cost {
			sums[pool] += n * amount
		}
		return err
	})
	return sums, err
}

// cost reads amounts as add writes them.
func (t *transaction) cost(amounts string) (c quota.Cost, err error) {
	if err := json.Unmarshal([]byte(amounts), &c); err != nil {
		return nil, fmt.Errorf("%w: %s: the amounts of an operation: %w", quota.ErrCorrupt, t.ledger.path, err)
	}
	return c, nil
}
