package quota_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// A machine whose clock is up to a minute ahead spends no more than the limit in any true day, whatever the ledger: its
// own clock is the only one that a file has.
func TestAClockThatIsAheadOpensNoDayEarly(t *testing.T) {
	const limit = 20
	for _, midnight := range []string{"2026-06-02T07:00:00Z", "2026-11-02T08:00:00Z", "2027-03-15T07:00:00Z"} {
		for _, ahead := range []time.Duration{0, 29 * time.Second, 31 * time.Second, 45 * time.Second, time.Minute} {
			for name, ledger := range map[string]func(now func() time.Time) quota.Ledger{
				"memory": func(now func() time.Time) quota.Ledger { return &memledger.Ledger{Now: now} },
				"SQLite": func(now func() time.Time) quota.Ledger {
					l, err := sqliteledger.Open(t.Context(), filepath.Join(t.TempDir(), "quota.db"))
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = l.Close() })
					l.Now = now
					return l
				},
			} {
				turn := instant(t, midnight)
				truth, asked := turn.Add(-3*time.Minute), 0
				clock := func() time.Time { return truth.Add(ahead) }
				g := &quota.Governor{Ledger: ledger(clock), Account: "default", Now: clock, Tariff: dayOf(limit),
					Date: func(context.Context) (time.Time, error) { asked++; return truth.Truncate(time.Second), nil }}
				sent := map[bool]int64{} // since the true midnight
				for ; truth.Before(turn.Add(2 * time.Minute)); truth = truth.Add(1300 * time.Millisecond) {
					calls, _, err := g.TakeUpTo(t.Context(), quota.Request{Method: "get", Purpose: quota.Manual}, 3)
					if err != nil && !errors.Is(err, quota.ErrClosed) {
						t.Fatal(err)
					}
					sent[!truth.Before(turn)] += calls
				}
				if sent[false] != limit || sent[true] != limit {
					t.Errorf("%s, a clock %v ahead at %s: %v sent before and after the true midnight, limit %d", name, ahead, midnight, sent, limit)
				}
				if asked == 0 {
					t.Error("calls of the provider's clock: got 0, want at least 1")
				}
			}
		}
	}
}

// dayOf is a tariff of the given number of calls a day.
func dayOf(limit int64) *quota.Tariff {
	pacific, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err)
	}
	return &quota.Tariff{
		Zone: pacific, Grace: 30 * time.Second,
		Pools:    []quota.Pool{{Name: "calls", Windows: []quota.Window{{Name: "day", Limit: limit}}}},
		Methods:  map[string]quota.Cost{"get": {"calls": 1}},
		Ceilings: map[quota.Purpose]quota.Share{quota.Manual: 1_000_000},
	}
}

// A process that was suspended between its take and its call takes again, as soon as the windows no longer cover the
// call: they count a take for the configured grace longer.
func TestACallLeavesWithinTheGrace(t *testing.T) {
	for _, c := range []struct {
		grace, stop time.Duration
		again       bool
	}{
		{0, 29 * time.Second, false}, // none is configured: 30 s
		{0, 31 * time.Second, true},
		{5 * time.Second, 4 * time.Second, false},
		{5 * time.Second, 6 * time.Second, true},
		{2 * time.Minute, 90 * time.Second, false},
		{100 * time.Millisecond, 900 * time.Millisecond, false}, // not less than a second
	} {
		d := newTestGovernor(t, "2026-06-01 12:00:00")
		tariff := *d.Tariff
		tariff.Grace, d.Tariff = c.grace, &tariff
		d.Ledger = &stopping{d.Ledger, d, []time.Duration{c.stop}}
		got, err := d.try("videos.list", quota.Scheduled)
		if late := d.now.Sub(got.At); err != nil || !got.Allowed || (late < c.stop) != c.again {
			t.Errorf("grace %v, stopped for %v: the call leaves %v after its take, %v", c.grace, c.stop, late, err)
		}
	}
}
