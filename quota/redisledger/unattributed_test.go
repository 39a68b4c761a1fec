package redisledger_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// A row of the very time of a snapshot was part of what it added to: it is not netted. What was synced since is not
// part of what an older snapshot had seen, also when a take of the same step could have joined it.
func TestWhatASnapshotCannotHaveSeen(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	shared(t, l, "a", 1)
	sync := func(d sharedledger.Batch) {
		t.Helper()
		d.Account, d.Generation, d.Horizon = "a", 1, quota.MinHorizon
		if _, err := l.Sync(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	used := func(want int64) {
		t.Helper()
		a := benchAsk("a", 0, 100, "units")
		a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
		if got := take(t, l, a).Pools[0].Windows[0].Used; got != want {
			t.Errorf("%d used, want %d", got, want)
		}
	}
	at := c.now.Add(-time.Minute)
	snapshot := func(at time.Time, used int64) []sharedledger.UsageSnapshot {
		return []sharedledger.UsageSnapshot{{Pool: "units", Generation: 9, At: at, Windows: []sharedledger.WindowUsage{{Start: at.Add(-time.Hour), Used: used}}}}
	}
	sync(sharedledger.Batch{Snapshots: snapshot(at, 5)})
	row := rows("a", "x", 1, at, 0)
	row[0].Amounts = quota.Cost{"units": 3}
	sync(sharedledger.Batch{Rows: row})
	used(8)

	owed := rows("a", "y", 1, c.now, 0)
	owed[0].State, owed[0].Amounts = sharedledger.RowOwed, quota.Cost{"units": 2}
	sync(sharedledger.Batch{Rows: owed})
	a := benchAsk("a", 4, 100, "units")
	a.Who, a.Precision, a.Now, a.Midnights = owed[0].Who, time.Hour, time.Time{}, quota.Midnights(c.now, time.UTC)
	take(t, l, a)
	used(14)
	if n := s.client.LLen(t.Context(), "ingest:{a}:units").Val(); n != 4 {
		t.Errorf("%d entries: a take joined what was synced, which snapshots count from then on only", n)
	}
}
