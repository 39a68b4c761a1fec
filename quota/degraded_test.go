package quota_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var errDown = fmt.Errorf("%w: connection refused", quota.ErrUnavailable)

// degradedDesk is a desk whose ledger cannot answer, with a journal in a file.
func degradedDesk(t *testing.T, path string) (*desk, *unreachable) {
	t.Helper()
	d := newDesk(t, "2026-06-01 12:00:00")
	ledger := &unreachable{Ledger: d.Ledger, err: errDown}
	d.Ledger = ledger
	d.openJournal(path)
	return d, ledger
}

func (d *desk) openJournal(path string) {
	d.t.Helper()
	journal := openFile(d.t, path)
	journal.Now = d.Now
	d.Journal = journal
}

func (d *desk) try(method string, p quota.Purpose) (quota.Decision, error) {
	return d.Take(d.t.Context(), quota.Request{Method: method, Region: "US", Purpose: p})
}

// emergencies takes as many cheap calls as go on.
func (d *desk) emergencies() (n int, last error) {
	d.t.Helper()
	for n < 1000 {
		got, err := d.try("videos.list", quota.Scheduled)
		if err != nil {
			return n, err
		}
		if !got.Allowed || !got.Degraded || got.Pools[0].Charged != 1 {
			d.t.Fatalf("%+v", got)
		}
		n++
		d.now = d.now.Add(time.Second)
	}
	return n, nil
}

func TestCheapCallsGoOnWithinTheEmergencyBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	d, _ := degradedDesk(t, path)
	if n, err := d.emergencies(); n != 50 || !errors.Is(err, quota.ErrClosed) || !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("%d of 10,000 units went on, then %v; want 50, then %v", n, err, quota.ErrClosed)
	}
	// A crash loop has one budget, not many.
	for range 3 {
		d.openJournal(path)
		if n, _ := d.emergencies(); n != 0 {
			t.Errorf("%d more after the journal was opened again", n)
		}
	}
	d.now = d.now.Add(24*time.Hour + 58*time.Minute) // the longest window of the pool is a day of 25 hours
	if n, _ := d.emergencies(); n != 0 {
		t.Errorf("%d more within the pool's longest window", n)
	}
	d.now = d.now.Add(3 * time.Minute)
	if n, _ := d.emergencies(); n != 50 {
		t.Errorf("%d once the window had passed, want 50", n)
	}
}

// A clock that is set back does not open the budget again.
func TestEmergencyBudgetSurvivesAClockThatIsSetBack(t *testing.T) {
	d, _ := degradedDesk(t, filepath.Join(t.TempDir(), "quota.db"))
	d.emergencies()
	d.now = d.now.Add(-48 * time.Hour)
	if n, _ := d.emergencies(); n != 0 {
		t.Errorf("%d more with the clock two days back", n)
	}
}

func TestExpensiveCallsFailClosed(t *testing.T) {
	d, _ := degradedDesk(t, filepath.Join(t.TempDir(), "quota.db"))
	got, err := d.try("search.list", quota.Manual)
	if !errors.Is(err, quota.ErrClosed) || !errors.Is(err, quota.ErrUnavailable) || got.Allowed {
		t.Errorf("%+v %v, want %v", got, err, quota.ErrClosed)
	}
	for cost, open := range map[int64]bool{10: true, 11: false} { // 0.1% of 10,000
		d.Tariff.Methods["some.list"] = quota.Cost{"units": cost}
		if got, err := d.try("some.list", quota.Manual); got.Allowed != open || (err == nil) != open {
			t.Errorf("a cost of %d: %+v %v", cost, got, err)
		}
	}
}

func TestWithoutAJournalEverythingFailsClosed(t *testing.T) {
	d, _ := degradedDesk(t, filepath.Join(t.TempDir(), "quota.db"))
	d.Journal = nil
	if got, err := d.try("videos.list", quota.Scheduled); !errors.Is(err, quota.ErrClosed) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestEmergenciesArePostedBeforeTheNextTake(t *testing.T) {
	d, ledger := degradedDesk(t, filepath.Join(t.TempDir(), "quota.db"))
	for range 7 {
		if _, err := d.try("videos.list", quota.Scheduled); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(time.Minute)
	}
	began := d.now.Add(-7 * time.Minute)
	ledger.err = nil
	d.at("2026-06-01 15:00:00")
	got := d.take("videos.list", quota.Scheduled)
	if got.Degraded || got.Pools[0].Windows[0].Used != 8 || !got.Pools[0].Windows[0].FreesAt.Equal(began.Add(24*time.Hour+30*time.Second)) {
		t.Errorf("seven went on, the ledger is back, and one more: %+v", got.Pools[0])
	}
	if got := d.take("videos.list", quota.Scheduled); got.Pools[0].Windows[0].Used != 9 {
		t.Errorf("posted once, and %d used", got.Pools[0].Windows[0].Used)
	}
	spent, err := d.Ledger.Spent(t.Context(), "default", began)
	want := quota.Spent{Pool: "units", Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}, Amount: 9}
	if err != nil || len(spent) != 1 || spent[0] != want {
		t.Errorf("spent %v %v, want %v", spent, err, want)
	}
	// What was posted stays on the emergency budget of this window.
	ledger.err = errDown
	if n, _ := d.emergencies(); n != 43 {
		t.Errorf("%d more went on, want the 43 that were left", n)
	}
}

func TestRefusalIsNeverAnEmergency(t *testing.T) {
	d, ledger := degradedDesk(t, filepath.Join(t.TempDir(), "quota.db"))
	ledger.err = nil
	d.spend("units", 9500)
	for range 3 {
		if got := d.take("videos.list", quota.Scheduled); got.Allowed || got.Degraded {
			t.Fatalf("%+v", got)
		}
	}
	if unposted, err := d.Journal.Unposted(t.Context(), "default"); err != nil || len(unposted) != 0 {
		t.Errorf("in the journal: %v %v", unposted, err)
	}
}

func TestOnlyALedgerThatCannotAnswerIsDegraded(t *testing.T) {
	for _, kind := range []error{quota.ErrCorrupt, quota.ErrNewer, quota.ErrNeverFits, quota.ErrUnknown, errors.New("of nobody's kind")} {
		d, ledger := degradedDesk(t, filepath.Join(t.TempDir(), "quota.db"))
		ledger.err = fmt.Errorf("%w: here", kind)
		got, err := d.try("videos.list", quota.Scheduled)
		if got.Allowed || !errors.Is(err, kind) || errors.Is(err, quota.ErrClosed) {
			t.Errorf("%v: %+v %v", kind, got, err)
		}
	}
}

// Who gives up waiting has not been let through, whether before the ledger is asked or while it is.
func TestCancelledTakeIsNoEmergency(t *testing.T) {
	for _, before := range []bool{true, false} {
		d, ledger := degradedDesk(t, filepath.Join(t.TempDir(), "quota.db"))
		ctx, cancel := context.WithCancel(t.Context())
		if ledger.meanwhile = cancel; before {
			cancel()
		}
		if got, err := d.Take(ctx, quota.Request{Method: "videos.list", Purpose: quota.Scheduled}); got.Allowed || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v %v, want %v", got, err, context.Canceled)
		}
		if unposted, err := d.Journal.Unposted(t.Context(), "default"); err != nil || len(unposted) != 0 {
			t.Errorf("in the journal: %v %v", unposted, err)
		}
	}
}
