package sharedledger

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// UsageSnapshot is the use of a pool when the remote last answered about it. Journals keep it as JSON.
type UsageSnapshot struct {
	Pool       string        `json:"pool"`
	Generation Generation    `json:"generation"`
	At         time.Time     `json:"at"`
	Windows    []WindowUsage `json:"windows"`
	// quota.PoolState.Entries: no later answer of this generation has fewer
	Entries int64       `json:"entries"`
	Drain   quota.Drain `json:"drain"`          // in force then
	Owed    bool        `json:"owed,omitempty"` // the drain has to be synced into the remote
}

// WindowUsage is one window of a UsageSnapshot.
type WindowUsage struct {
	Window quota.Window `json:"window"`
	Start  time.Time    `json:"start"` // entries from then to the snapshot's time counted
	Used   int64        `json:"used"`
}

// Over returns the later of two snapshots of one pool. If the earlier one has an unsynced drain, or one by
// quota.ByUnknown, that the later one does not know, the result has that drain too, and Owed as the earlier one had
// it.
func (u UsageSnapshot) Over(old UsageSnapshot) UsageSnapshot {
	if !u.supersedes(old) {
		u, old = old, u
	}
	d := u.Drain
	switch {
	case old.Drain.By == quota.ByUnknown:
		d = d.Over(old.Drain, u.At)
	case old.Owed && !u.Owed && old.Drain.Active(u.At):
		d = old.Drain.Over(d, u.At)
	}
	if !d.Equal(u.Drain) {
		u.Drain, u.Owed = d, u.Owed || old.Owed
	}
	return u
}

// supersedes reports whether the snapshot is the later of two of one pool. If both have the same time, the one with
// more used in any window is later, since a ledger's clock stands still while its host's clock is behind.
func (u UsageSnapshot) supersedes(old UsageSnapshot) bool {
	if !u.At.Equal(old.At) {
		return u.At.After(old.At)
	}
	for _, w := range u.Windows {
		for _, o := range old.Windows {
			if w.Window == o.Window && w.Used > o.Used {
				return true
			}
		}
	}
	return false
}

// Clone returns a deep copy.
func (u UsageSnapshot) Clone() UsageSnapshot {
	u.Windows = slices.Clone(u.Windows)
	return u
}

// refunded returns the snapshot without a refunded amount that it had counted.
func (u UsageSnapshot) refunded(amount int64) UsageSnapshot {
	u = u.Clone()
	for i := range u.Windows {
		u.Windows[i].Used = max(u.Windows[i].Used-amount, 0)
	}
	return u
}

// discount subtracts a row from the windows that counted it.
func (u UsageSnapshot) discount(r Row) {
	for i, w := range u.Windows {
		if r.CountedAt(u.At, u.Generation) && !r.At.Before(w.Start) {
			u.Windows[i].Used = max(w.Used-r.Amounts[u.Pool], 0)
		}
	}
}

// sameUsage reports whether two snapshots of a pool differ only in time.
func sameUsage(a, b UsageSnapshot) bool {
	return a.Drain.Equal(b.Drain) &&
		slices.EqualFunc(a.Windows, b.Windows,
			func(a, b WindowUsage) bool { return a.Used == b.Used && a.Window == b.Window })
}

// replaceSnapshot replaces its pool's snapshot. A journal keeps the youngest, so that the new one is made younger than
// the old one, even if the remote's clock stands still.
func replaceSnapshot(all []UsageSnapshot, u UsageSnapshot) (kept []UsageSnapshot, _ UsageSnapshot, changed bool) {
	changed = true
	for _, old := range all {
		if old.Pool != u.Pool {
			kept = append(kept, old)
			continue
		}
		if !u.At.After(old.At) {
			u.At = old.At.Add(time.Microsecond)
		}
		u = u.Over(old)
		changed = !sameUsage(old, u)
	}
	return append(kept, u), u, changed
}

// LastUsage returns the remote's last seen use, for quota.EmergencyAccount.
func (s JournalState) LastUsage() []quota.LastUsage {
	var out []quota.LastUsage
	for _, u := range s.Snapshots {
		last := quota.LastUsage{Pool: u.Pool, At: u.At, Used: map[quota.Window]int64{}, Drain: u.Drain}
		for _, w := range u.Windows {
			last.Used[w.Window] = w.Used
		}
		out = append(out, last)
	}
	return out
}

// snapshot returns the newest snapshot of a pool; the zero one if there is none.
func (s JournalState) snapshot(pool string) UsageSnapshot {
	i := slices.IndexFunc(s.Snapshots, func(u UsageSnapshot) bool { return u.Pool == pool })
	if i < 0 {
		return UsageSnapshot{}
	}
	return s.Snapshots[i]
}

// owes reports whether anything has to be synced into the remote.
func (s JournalState) owes() bool {
	return s.Owed || slices.ContainsFunc(s.Snapshots, func(u UsageSnapshot) bool { return u.Owed })
}

// afterSnapshots returns t, or just after the newest snapshot if that is later: a spend without the remote must not
// seem to be counted by it.
func (s JournalState) afterSnapshots(t time.Time) time.Time {
	for _, u := range s.Snapshots {
		if !t.After(u.At) {
			t = u.At.Add(time.Microsecond)
		}
	}
	return t
}

// trustedNow returns now, or the time of the newest snapshot if this machine's clock is ahead of that: a wrong clock
// must not make rows seem old enough to delete.
func (s JournalState) trustedNow(now time.Time) time.Time {
	var seen time.Time
	for _, u := range s.Snapshots {
		if u.At.After(seen) {
			seen = u.At
		}
	}
	if seen.IsZero() || now.Before(seen) {
		return now
	}
	return seen
}

// unsynced returns copies of the snapshots not yet synced into a generation. Of this very generation's snapshots it
// returns only owed drains: their use came from it, and may have been refunded since.
func (s JournalState) unsynced(g Generation) []UsageSnapshot {
	var out []UsageSnapshot
	for _, u := range s.Snapshots {
		switch {
		case u.Generation != g:
			out = append(out, u.Clone())
		case u.Owed:
			u.Windows = nil
			out = append(out, u)
		}
	}
	return out
}
