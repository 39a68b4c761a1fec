package sqliteledger

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/trendvidstream/ingest/quota"
)

// log is one pool's entries as quota.Decide reads them, within a transaction.
type log struct {
	t *transaction
	p *pool
}

var _ quota.Log = (*log)(nil)

// Total implements quota.Log.
func (l *log) Total() int64 { return l.p.total }

// Before implements quota.Log.
func (l *log) Before(t int64) (sum, first int64, err error) {
	if t > l.p.newest.at {
		return l.p.total, 0, nil
	}
	err = l.t.row(l.t.sql.before, l.p.id, t).Scan(&sum, &first)
	if errors.Is(err, sql.ErrNoRows) {
		return l.p.total, 0, nil
	}
	if err != nil {
		return 0, 0, l.t.ledger.broken("read", err)
	}
	return sum, first, nil
}

// Reaching implements quota.Log. It reads as many entries as the amount asked for has to wait for.
func (l *log) Reaching(c, from int64) (int64, error) {
	var at int64
	err := l.t.row(l.t.sql.reaching, l.p.id, from, c).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("%w: %s: pool %s sums to %d, but no entry reaches %d", quota.ErrCorrupt, l.t.ledger.path, l.p.name, l.p.total, c)
	}
	if err != nil {
		return 0, l.t.ledger.broken("read", err)
	}
	return at, nil
}
