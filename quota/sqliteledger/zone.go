package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

const (
	sqlZone     = `SELECT zone AS "", +begins AS "", +ends AS "" FROM zones WHERE account = ?`
	sqlKeepZone = `INSERT OR REPLACE INTO zones (account, zone, begins, ends) VALUES (?, ?, ?, ?)`
)

// KeepZone returns the tariff as the account's day is to be counted on, also by a ledger elsewhere. If the costs have
// another zone than before, it writes that and says so once. Takes report a file that cannot be read: that is no error
// here.
func (l *Ledger) KeepZone(ctx context.Context, account string, t *quota.Tariff,
	say func(format string, args ...any)) (*quota.Tariff, error) {
	var kept protocol.ZoneChange
	err := l.read(ctx, func(x *transaction) (err error) { kept, err = x.zone(account); return err })
	on, next := t.CountOn(kept, l.Now())
	if err != nil || next == kept {
		return on, nil //nolint:nilerr // the next take reports it
	}
	err = l.write(ctx, func(x *transaction) error {
		if kept, err = x.zone(account); err != nil {
			return err
		}
		on, next = t.CountOn(kept, l.Now())
		return x.run(sqlKeepZone, account, next.Zone, microsOrZero(next.Begins), microsOrZero(next.Ends))
	})
	switch {
	case kept.Zone == "" || kept.Zone == next.Zone: // a first time, or another process was faster
		return on, nil
	case err != nil:
		return nil, fmt.Errorf("the zone of the provider's day has changed from %s to %s: %w", kept.Zone, next.Zone, err)
	}
	say("ingest: the zone of the provider's day has changed from %s to %s: calls since %s count until %s",
		kept.Zone, next.Zone, next.Begins.Format(time.RFC3339), next.Ends.Format(time.RFC3339))
	return on, nil
}

func (t *transaction) zone(account string) (c protocol.ZoneChange, err error) {
	var begins, ends int64
	if err = t.row(sqlZone, []any{account}, &c.Zone, &begins, &ends); errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	c.Begins, c.Ends = timeOrZero(begins), timeOrZero(ends)
	return c, err
}
