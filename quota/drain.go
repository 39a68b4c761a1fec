package quota

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Drain closes a pool until a time, and says who closed it. The zero Drain is none.
type Drain struct {
	Until time.Time `json:"until"`
	Used  int64     `json:"used"` // our count when the provider said no
	By    DrainedBy `json:"by"`
	At    time.Time `json:"at"`    // when it was closed, or the account was reset; zero for ByProvider
	Probe int       `json:"probe"` // the number of the probe that follows at Until; 0: the no is not doubted
}

// DrainedBy says who closed a pool. Ledgers store the number.
type DrainedBy int

// Who closes a pool.
const (
	ByProvider DrainedBy = iota // it said that the quota is spent
	ByHand
	ByReset   // a person reset the account: the pool is open, and Drain.At says since when
	ByUnknown // nobody: what was spent of the pool is not known, see Governor.CloseUnknown
)

// Check refuses a drain that no ledger may keep. Every backend calls it.
func (d Drain) Check(account, pool string) error {
	if err := CheckAccount(account); err != nil {
		return err
	}
	if pool == "" || d.Used < 0 || d.Used > MaxLimit || d.By < ByProvider || d.By > ByUnknown || d.Probe < 0 {
		return fmt.Errorf("%w: a drain of pool %q at %d used, by %d, probe %d", ErrUnknown, pool, d.Used, d.By, d.Probe)
	}
	return nil
}

// Holds reports whether the pool is closed at t.
func (d Drain) Holds(t time.Time) bool { return d.Until.After(t) }

// Supersedes reports whether the drain replaces the last one of its pool: it lifts that, or ends later. Of several
// drains for the same probe the first wins while it holds, so that only one call is the probe.
func (d Drain) Supersedes(last Drain, now time.Time) bool {
	if d.Until.IsZero() {
		return true
	}
	sameProbe := d.Probe > 0 && d.Probe == last.Probe
	return d.Until.After(last.Until) && (!sameProbe || !last.Holds(now))
}

// refusal returns the refusal of a charge with that bound on the pool.
func (d Drain) refusal(pool string, b Bound) *Refusal {
	r := &Refusal{Pool: pool, Window: protocol.DrainWindow, Used: d.Used, Ceiling: b.Ceiling, Limit: b.Window.Limit, Probe: d.Probe}
	switch d.By {
	case ByHand:
		r.ByHand = d.At
	case ByUnknown:
		r.Unknown = d.Until
	case ByProvider, ByReset:
	}
	return r
}
