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
	Probe int       `json:"probe"` // the number of the probe that follows at Until; 0: the refusal is not doubted
}

// DrainedBy says who closed a pool. Ledgers store the number.
type DrainedBy int

// Who closes a pool.
const (
	ByProvider DrainedBy = iota // it said that the quota is spent
	ByHand
	ByReset // a person reset the account: the pool is open, and Drain.At says since when
	// ByUnknown: the pool's use until Drain.At is not known, see Governor.CloseUnknown; or it is known again, if the
	// drain ends by then.
	ByUnknown
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

// Active reports whether the pool is closed at t.
func (d Drain) Active(t time.Time) bool { return d.Until.After(t) }

// Equal reports whether two drains are the same, in any time zone.
func (d Drain) Equal(other Drain) bool {
	same := d.Until.Equal(other.Until) && d.At.Equal(other.At)
	d.Until, d.At = other.Until, other.At
	return same && d == other
}

// Over returns the pool's last drain after last and then d, which every ledger keeps. The one that ends later wins; the
// zero Drain lifts any. If several drains are recorded for the same probe, the first wins while it is in force, so
// that only one call is the probe. Only a later drain by ByUnknown, which may end at once, replaces or lifts one by
// ByUnknown; others can only prolong it. So a pool with unknown use stays closed, and the order that hosts and ledgers
// learn of drains does not matter.
func (d Drain) Over(last Drain, now time.Time) Drain {
	if d.By != ByUnknown && last.By != ByUnknown {
		if d.Until.IsZero() || d.Until.After(last.Until) && (d.Probe == 0 || d.Probe != last.Probe || !last.Active(now)) {
			return d
		}
		return last
	}
	wins, other := last, d
	if d.outranks(last, now) {
		wins, other = d, last
	}
	if wins.By == ByUnknown && wins.closes(now) && other.Until.After(wins.Until) {
		wins.Until = other.Until
	}
	return wins
}

// outranks reports whether d replaces the other drain, when at least one of the two has the cause ByUnknown.
func (d Drain) outranks(last Drain, now time.Time) bool {
	if d.By == ByUnknown && last.By == ByUnknown {
		return d.At.After(last.At) || d.At.Equal(last.At) && d.Until.After(last.Until)
	}
	return d.closes(now) && (d.By == ByUnknown || !last.closes(now)) || d.By == ByUnknown && !last.closes(now)
}

// closes reports whether the drain closes the pool at t, rather than only saying that its use is known again.
func (d Drain) closes(t time.Time) bool {
	return d.Active(t) && (d.By != ByUnknown || d.Until.After(d.At))
}

// refusal returns the refusal of a charge with that bound on the pool.
func (d Drain) refusal(pool string, b Bound) *Refusal {
	r := &Refusal{Pool: pool, Window: protocol.DrainWindow, Used: d.Used, Ceiling: b.Ceiling,
		Limit: b.Window.Limit, Probe: d.Probe}
	switch d.By {
	case ByHand:
		r.ByHand = d.At
	case ByUnknown:
		r.Unknown = d.Until
	case ByProvider, ByReset:
	}
	return r
}
