package memremote_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// synced is a ledger in its second generation that rows and snapshots are synced to.
type synced struct {
	*memremote.Remote

	t   *testing.T
	now time.Time
}

func newSynced(t *testing.T) *synced {
	l := &synced{t: t, now: noon}
	l.Remote = &memremote.Remote{Now: func() time.Time { return l.now }}
	if _, err := l.Renew(t.Context(), sharedledger.Renewal{Account: "default", Next: 2, Horizon: quota.MinHorizon}); err != nil {
		t.Fatal(err)
	}
	return l
}

var day = quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: 1000}

func (l *synced) sync(d sharedledger.Batch) {
	l.t.Helper()
	d.Account, d.Generation, d.Horizon = "default", 2, quota.MinHorizon
	if _, err := l.Sync(l.t.Context(), d); err != nil {
		l.t.Fatal(err)
	}
}

func (l *synced) row(writer string, at time.Time, amount int64, s sharedledger.RowState) {
	l.t.Helper()
	l.sync(sharedledger.Batch{Rows: []sharedledger.Row{{Writer: writer, Number: 1, Nonce: 1, At: at, Amounts: quota.Cost{"units": amount}, State: s}}})
}

func (l *synced) snapshot(at time.Time, used int64) {
	l.t.Helper()
	l.sync(sharedledger.Batch{Snapshots: []sharedledger.UsageSnapshot{{Pool: "units", Generation: 1, At: at,
		Windows: []sharedledger.WindowUsage{{Window: day, Start: at.Add(-day.Length + time.Microsecond), Used: used}}}}})
}

func (l *synced) wants(used int64) {
	l.t.Helper()
	d, err := l.Take(l.t.Context(), quota.Ask{Account: "default", Horizon: quota.MinHorizon,
		Charges: []quota.Charge{{Pool: "units", Bounds: []quota.Bound{{Window: day, Ceiling: 1000}}}}})
	if err != nil || d.Pools[0].Windows[0].Used != used {
		l.t.Errorf("%+v %v, want %d used", d.Pools, err, used)
	}
}

// What had left the snapshot's window when it was taken is no part of what its unattributed charge stands for.
func TestRowOlderThanASnapshotsWindowNetsNothing(t *testing.T) {
	l := newSynced(t)
	l.now = noon.Add(25 * time.Hour)
	l.row("here", l.now.Add(-20*time.Minute), 500, sharedledger.RowCharged)
	l.snapshot(l.now.Add(-10*time.Minute), 800)
	l.wants(800)
	l.row("away", noon.Add(time.Second), 300, sharedledger.RowCharged)
	l.wants(800)
}

// An operation in doubt, or spent without the ledger, is not what a snapshot had seen before it was synced.
func TestSnapshotIsNotSatisfiedByWhatItCannotHaveSeen(t *testing.T) {
	for _, s := range []sharedledger.RowState{sharedledger.RowAsked, sharedledger.RowOwed} {
		for _, rowFirst := range []bool{true, false} {
			l := newSynced(t)
			l.now = noon.Add(time.Hour)
			if rowFirst {
				l.row("here", noon.Add(10*time.Minute), 200, s)
			}
			l.snapshot(noon.Add(30*time.Minute), 300)
			if !rowFirst {
				l.row("here", noon.Add(10*time.Minute), 200, s)
			}
			l.wants(500)
			l.snapshot(l.now, 500) // saw both
			l.wants(500)
		}
	}
}
