package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

const (
	sqlZone     = `SELECT zone AS "", +begins AS "", +ends AS "" FROM zones WHERE account = ?`
	sqlKeepZone = `INSERT OR REPLACE INTO zones (account, zone, begins, ends) VALUES (?, ?, ?, ?)`
)

// KeepZone returns the tariff with the zone, or the two zones, of the account's day, also for a ledger elsewhere. If
// the costs have another zone than before, it stores that and logs it once. An unreadable file is no error here: the
// next take reports it.
func (l *Ledger) KeepZone(ctx context.Context, account string, t *quota.Tariff,
	say func(format string, args ...any)) (on *quota.Tariff, err error) {
	var was string
	look := func(x *transaction) error {
		kept := *t
		if was, err = x.zone(account, &kept); err == nil {
			on = kept.CountOn(was, l.Now())
		}
		return err
	}
	if err := l.read(ctx, look); err != nil {
		return t.CountOn("", l.Now()), nil // the next take reports it
	}
	if was == t.Zone.String() {
		return on, nil
	}
	err = l.write(ctx, func(x *transaction) error {
		if err := look(x); err != nil {
			return err
		}
		return x.run(sqlKeepZone, account, t.Zone.String(), microsOrZero(on.LongDay.Begins), microsOrZero(on.LongDay.Ends))
	})
	switch {
	case was == "" || was == t.Zone.String(): // the first time, or another process was faster
		return on, nil
	case err != nil:
		return nil, fmt.Errorf("the zone of the provider's day has changed from %s to %s: %w", was, t.Zone, err)
	}
	say("ingest: the zone of the provider's day has changed from %s to %s: calls since %s count until %s",
		was, t.Zone, on.LongDay.Begins.Format(time.DateTime+"Z"), on.LongDay.Ends.Format(time.DateTime+"Z"))
	return on, nil
}

// zone returns the last zone of an account's day, "" if there was none, and sets the tariff's long day.
func (t *transaction) zone(account string, on *quota.Tariff) (zone string, err error) {
	var begins, ends int64
	if err = t.row(sqlZone, []any{account}, &zone, &begins, &ends); errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	on.LongDay.Begins, on.LongDay.Ends = timeOrZero(begins), timeOrZero(ends)
	return zone, err
}
