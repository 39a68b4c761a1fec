package pgledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Facts are a server's settings, as far as a ledger's safety depends on them. ingest doctor judges them.
type Facts struct {
	Version int    // 150020 is 15.20
	Name    string // "15.20 (Debian 15.20-0+deb12u1)"
	Replica bool   // it takes no writes

	Fsync             string // "off": a power cut may lose confirmed writes
	SynchronousCommit string // "off": confirmed writes reach the disk a moment later
	Standbys          string // synchronous_standby_names; "": a promoted replica may lack the newest writes

	Pooled     bool          // a pooler is in between
	ClockAhead time.Duration // how far the server's clock is ahead of ours; negative: behind
	RoundTrip  time.Duration // ClockAhead is exact to half of this either way
}

// Durable reports whether confirmed writes survive a power cut of the server's machine.
func (f Facts) Durable() bool { return f.Fsync != "off" && f.SynchronousCommit != "off" }

// Inspect asks the server about itself, in one round trip, and changes nothing.
func (l *Ledger) Inspect(ctx context.Context) (f Facts, err error) {
	var clock int64
	err = l.with(ctx, l.timeout, false, func(ctx context.Context, c *pgxpool.Conn) error {
		began := time.Now()
		err := c.QueryRow(ctx,
			`SELECT current_setting('server_version_num')::integer, current_setting('server_version'), pg_is_in_recovery(),
			current_setting('fsync'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), `+
				serverClock, pgx.QueryExecModeExec).
			Scan(&f.Version, &f.Name, &f.Replica, &f.Fsync, &f.SynchronousCommit, &f.Standbys, &clock)
		f.RoundTrip = time.Since(began)
		f.ClockAhead = protocol.Time(clock).Sub(began.Add(f.RoundTrip / 2))
		return err
	})
	f.Pooled = l.pooled.Load()
	return f, err
}
