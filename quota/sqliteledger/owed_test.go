package sqliteledger_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// clocked is a ledger whose clock the test moves.
func clocked(t *testing.T, path string, now *time.Time) *sqliteledger.Ledger {
	t.Helper()
	l := open(t, path)
	l.Now = func() time.Time { return *now }
	return l
}

// owe lets a call go on without the ledger, as the Governor does.
func owe(t *testing.T, l *sqliteledger.Ledger, at time.Time, cost quota.Cost) {
	t.Helper()
	r := sharedledger.Row{Account: "default", At: at, Who: quota.Who{Purpose: quota.Refresh, Method: "videos.list"}, Amounts: cost}
	if id, err := l.Allow(t.Context(), r, nil); err != nil || id == 0 {
		t.Fatal(id, err)
	}
}

// owed counts the operations to be synced into a remote, owedHere the operations to be synced into this file.
func owed(t *testing.T, l *sqliteledger.Ledger) []sharedledger.Row {
	t.Helper()
	rows, err := l.Rows(t.Context(), "default", time.Time{}, true)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func owedHere(t *testing.T, l *sqliteledger.Ledger) []sharedledger.Row {
	t.Helper()
	rows, err := l.OwedHere(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func used(t *testing.T, l *sqliteledger.Ledger, now time.Time) int64 {
	t.Helper()
	return take(t, l, askAt(now, "default", 0, 10_000)).Pools[0].Windows[0].Used
}

// The host's clock stood two hours back, so that the ledger would not decide, and calls went on
// without it. Once the clock is right, the first ask counts them, once.
func TestASpendWithoutTheLedgerIsCountedOnce(t *testing.T) {
	for name, first := range map[string]struct {
		ask  func(t *testing.T, l *sqliteledger.Ledger, now time.Time)
		adds int64
	}{
		"look": {func(*testing.T, *sqliteledger.Ledger, time.Time) {}, 0},
		"take": {func(t *testing.T, l *sqliteledger.Ledger, now time.Time) {
			take(t, l, askAt(now, "default", 1, 10_000))
		}, 1},
		"refused take": {func(t *testing.T, l *sqliteledger.Ledger, now time.Time) { take(t, l, askAt(now, "default", 10, 20)) }, 0},
		"post": {func(t *testing.T, l *sqliteledger.Ledger, now time.Time) {
			if err := l.Post(t.Context(), askAt(now, "default", 2, 10_000), now); err != nil {
				t.Fatal(err)
			}
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			path, now := filepath.Join(t.TempDir(), "quota.db"), noon
			l := clocked(t, path, &now)
			take(t, l, askAt(now, "default", 10, 10_000))
			back := noon.Add(-2 * time.Hour)
			now = back
			if _, err := l.Take(t.Context(), askAt(now, "default", 1, 10_000)); !errors.Is(err, quota.ErrUnavailable) {
				t.Fatalf("with the clock two hours back: %v, want %v", err, quota.ErrUnavailable)
			}
			for range 3 {
				owe(t, l, now, quota.Cost{"units": 1})
			}
			if _, err := l.Take(t.Context(), askAt(now, "default", 0, 10_000)); !errors.Is(err, quota.ErrUnavailable) || len(owedHere(t, l)) != 3 {
				t.Fatalf("a look with the clock two hours back: %v, %d owed, want error %v and 3", err, len(owedHere(t, l)), quota.ErrUnavailable)
			}
			spends(t, l, 10, 3)

			now = noon.Add(time.Minute)
			l = clocked(t, path, &now) // by another process
			first.ask(t, l, now)
			for range 2 {
				if got, want := used(t, l, now), 13+first.adds; got != want {
					t.Fatalf("%d used, want %d", got, want)
				}
			}
			if left := owedHere(t, l); len(left) != 0 {
				t.Errorf("still owed: %+v, want none", left)
			}
			if s, err := l.State(t.Context(), "default"); err != nil || s.HasWritten || len(s.Written) > 0 {
				t.Errorf("%+v %v: want nothing that was synced into a ledger elsewhere", s, err)
			}
			spends(t, l, 10+first.adds, 3)
			// They count from their own time on.
			now = back.Add(24*time.Hour - time.Microsecond)
			if got := used(t, l, now); got != 13+first.adds {
				t.Errorf("%d used just before they are a day old, want %d", got, 13+first.adds)
			}
			if now = back.Add(24 * time.Hour); used(t, l, now) != 10+first.adds {
				t.Errorf("%d used when they are a day old, want %d", used(t, l, now), 10+first.adds)
			}
		})
	}
}

// spends wants the given amount charged by the two who spend here.
func spends(t *testing.T, l *sqliteledger.Ledger, scheduled, refresh int64) {
	t.Helper()
	got, err := l.Spent(t.Context(), "default", time.Time{}, 0)
	want := []quota.Spent{
		{Pool: "units", Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}, Amount: scheduled},
		{Pool: "units", Who: quota.Who{Purpose: quota.Refresh, Method: "videos.list"}, Amount: refresh},
	}
	slices.SortFunc(want, quota.Spent.Compare)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("spent %+v %v, want %+v", got, err, want)
	}
}

// Operations of any kind and time are entered as if they had been posted.
func TestALateOperationIsEnteredAsPostWouldEnterIt(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		now := noon
		owing, posting := clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now), clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now)
		for range 5 {
			now = now.Add(time.Duration(random.IntN(3600)) * time.Second)
			for _, l := range []*sqliteledger.Ledger{owing, posting} {
				take(t, l, askAt(now, "default", 1, 10_000))
			}
		}
		now = now.Add(time.Duration(random.IntN(30)) * time.Hour) // into the next day, or not
		for range 10 {
			at := now.Add(time.Duration(random.IntN(30*3600)-28*3600) * time.Second) // beyond the horizon, and ahead
			amount := int64(1 + random.IntN(5))
			owe(t, owing, at, quota.Cost{"units": amount})
			a := askAt(now, "default", amount, 10_000)
			a.Who = quota.Who{Purpose: quota.Refresh, Method: "videos.list"}
			if err := posting.Post(t.Context(), a, at); err != nil {
				t.Fatal(err)
			}
		}
		for range 60 {
			got, want := take(t, owing, askAt(now, "default", 0, 10_000)), take(t, posting, askAt(now, "default", 0, 10_000))
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("at %v:\n%+v, want\n%+v", now, got, want)
			}
			now = now.Add(30 * time.Minute)
		}
	}
}

// Operations older than the horizon no longer count: it is not entered, and not owed.
func TestAnOldOperationIsDropped(t *testing.T) {
	now := noon
	l := clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now)
	owe(t, l, now.Add(-quota.MinHorizon), quota.Cost{"units": 7})
	owe(t, l, now.Add(-quota.MinHorizon+time.Microsecond), quota.Cost{"units": 3})
	take(t, l, askAt(now, "default", 2, 10_000))
	if left := owedHere(t, l); len(left) != 0 {
		t.Errorf("still owed: %+v, want none", left)
	}
	spends(t, l, 2, 3)
}

// A call that never left is refunded until it is entered, like every late operation.
func TestACallThatNeverLeftIsNotEntered(t *testing.T) {
	now := noon
	l := clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now)
	spend := func() int64 {
		row, err := l.Spend(t.Context(), quota.Emergency{Account: "default", At: now, Amounts: quota.Cost{"units": 5}}, nil)
		if err != nil || row == 0 {
			t.Fatal(row, err)
		}
		return row
	}
	if err := l.RefundEmergency(t.Context(), "default", spend()); err != nil {
		t.Fatal(err)
	}
	if n := used(t, l, now); n != 0 {
		t.Errorf("%d used of what never left", n)
	}
	row := spend()
	if n := used(t, l, now); n != 5 {
		t.Errorf("%d used, want 5", n)
	}
	if err := l.RefundEmergency(t.Context(), "default", row); !errors.Is(err, quota.ErrNotRefundable) {
		t.Errorf("entered, and given back: %v, want error %v", err, quota.ErrNotRefundable)
	}
	if n := used(t, l, now); n != 5 {
		t.Errorf("%d used, want 5 still", n)
	}
}

// An emergency that another ledger has still to enter counts here too, and the other ledger still enters it.
func TestAnotherLedgersEmergencyCountsHereAndStaysOwed(t *testing.T) {
	now := noon
	l := clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now)
	if id, err := l.Allow(t.Context(), row(now), nil); err != nil || id == 0 {
		t.Fatal(id, err)
	}
	if take(t, l, askAt(now, "default", 1, 10_000)); used(t, l, now) != 2 || len(owed(t, l)) != 1 {
		t.Errorf("%d used, want 2; owed %+v, want it still", used(t, l, now), owed(t, l))
	}
}

// An ask about one pool enters the late operations of all pools.
func TestOwedAmountsOfOtherPoolsAreEnteredToo(t *testing.T) {
	now := noon
	l := clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now)
	owe(t, l, now, quota.Cost{"units": 100, "search": 1})
	if got := used(t, l, now); got != 100 {
		t.Errorf("%d units used, want 100", got)
	}
	a := askAt(now, "default", 0, 10_000)
	a.Charges[0].Pool = "search"
	if got := take(t, l, a).Pools[0].Windows[0].Used; got != 1 {
		t.Errorf("%d searches used, want 1", got)
	}
}

// Two processes that come back at once enter it once.
func TestManyWhoSettleAtOnceCountOnce(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "quota.db"), noon
	ledgers := []*sqliteledger.Ledger{clocked(t, path, &now), clocked(t, path, &now)}
	for round := range 10 {
		for range 3 {
			owe(t, ledgers[0], now, quota.Cost{"units": 1})
		}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				a := askAt(now, "default", int64(i/2), 10_000) // looks, and takes
				if _, err := ledgers[i%2].Take(t.Context(), a); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, want := used(t, ledgers[1], now), int64(5*(round+1)); got != want {
			t.Fatalf("round %d: %d used, want %d", round, got, want)
		}
	}
}

// A reset deletes operations that were still to be synced into this ledger, and no emergency budget opens again.
func TestResetDeletesLateOperations(t *testing.T) {
	now := noon
	l := clocked(t, filepath.Join(t.TempDir(), "quota.db"), &now)
	owe(t, l, noon, quota.Cost{"units": 5})
	if got := used(t, l, now); got != 5 {
		t.Fatalf("%d used, want 5", got)
	}
	owe(t, l, noon, quota.Cost{"units": 7})
	if err := l.Reset(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	if got, spent := used(t, l, now), owedHere(t, l); got != 0 || len(spent) > 0 {
		t.Errorf("%d used, and %v is owed, want nothing", got, spent)
	}
	if sums, err := l.Emergencies(t.Context(), "default", noon); err != nil || sums["units"] != 12 {
		t.Errorf("emergencies of %v (%v), want units 12", sums, err)
	}
}
