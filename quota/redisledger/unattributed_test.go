package redisledger_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Which unattributed charge a row is netted against can depend on which row came first: it is the order of the sync.
func TestRowsAreNettedInTheOrderOfTheirSync(t *testing.T) {
	s := redisServer(t)
	l, c := moved(t, s)
	ago := func(minutes int) time.Time { return c.now.Add(-time.Duration(minutes) * time.Minute) }
	snapshot := func(at, start int, used int64) sharedledger.UsageSnapshot {
		return sharedledger.UsageSnapshot{Pool: "units", Generation: 9, At: ago(at), Windows: []sharedledger.WindowUsage{{Start: ago(start), Used: used}}}
	}
	either, narrow := rows("a", "x", 1, ago(60), 0)[0], rows("a", "y", 1, ago(100), 0)[0]
	for want, order := range map[int64][]sharedledger.Row{10: {narrow, either}, 15: {either, narrow}} {
		s.client.Del(t.Context(), "ingest:{a}", "ingest:{a}:units")
		shared(t, l, "a", 1)
		for i := range order {
			order[i].Amounts = quota.Cost{"units": 5}
		}
		for _, d := range []sharedledger.Batch{{Snapshots: []sharedledger.UsageSnapshot{snapshot(50, 110, 5), snapshot(40, 70, 10)}}, {Rows: order}} {
			d.Account, d.Generation, d.Horizon = "a", 1, quota.MinHorizon
			if _, err := l.Sync(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		sum := int64(0)
		spent, err := l.Spent(t.Context(), "a", ago(200))
		for _, s := range spent {
			sum += s.Amount
		}
		if err != nil || sum != want {
			t.Errorf("%d in all, want %d: %+v, %v", sum, want, spent, err)
		}
	}
}

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
