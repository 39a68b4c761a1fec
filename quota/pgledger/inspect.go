package pgledger

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Facts are what a server says about itself.
type Facts struct {
	Version int    // 150020 is 15.20
	Name    string // "15.20 (Debian 15.20-0+deb12u1)"
	Replica bool   // it only follows another, and takes no writes

	Fsync             string // "off": what it confirms may not survive a power cut
	SynchronousCommit string // "off": what it confirms is on disk a moment later; "on" and more: it is
	Standbys          string // synchronous_standby_names; "": a replica that is promoted may lack the newest

	Pooled     bool          // a pooler stands between
	ClockAhead time.Duration // the server's clock before this machine's; negative: behind it
	RoundTrip  time.Duration // how exact that is: half of it either way
}

// Durable reports whether what the server confirms survives a power cut of its machine.
func (f Facts) Durable() bool { return f.Fsync != "off" && f.SynchronousCommit != "off" }

// Inspect asks the server about itself, in one round trip, and changes nothing.
func (l *Ledger) Inspect(ctx context.Context) (f Facts, err error) {
	err = l.with(ctx, l.timeout, false, func(ctx context.Context, c *conn) error {
		f.Pooled = !c.direct
		began := time.Now()
		found, err := l.conns.run(ctx, c, `SELECT current_setting('server_version_num'), current_setting('server_version'), pg_is_in_recovery(),
			current_setting('fsync'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), `+serverClock, nil)
		if err != nil {
			return err
		}
		f.RoundTrip = time.Since(began)
		return rows(found).each(func(r row) {
			f.Version, f.Name, f.Replica = int(r.int(0)), r.text(1), r.text(2) == "t"
			f.Fsync, f.SynchronousCommit, f.Standbys = r.text(3), r.text(4), r.text(5)
			f.ClockAhead = quota.FromMicros(r.int(6)).Sub(began.Add(f.RoundTrip / 2))
		})
	})
	return f, err
}
