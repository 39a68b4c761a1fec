package quota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

var errDown = fmt.Errorf("%w: connection refused", quota.ErrUnavailable)

// degradedGovernor is a governor whose shared ledger cannot answer, with a journal in a file.
func degradedGovernor(t *testing.T, path string) (*testGovernor, *unreachable) {
	t.Helper()
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	remote := &unreachable{Remote: &memremote.Remote{Now: d.Now}, err: errDown}
	d.openJournal(path, remote)
	return d, remote
}

func (d *testGovernor) openJournal(path string, remote sharedledger.Remote) *sqliteledger.Ledger {
	d.t.Helper()
	return d.openShared(path, remote, 1)
}

func (d *testGovernor) openShared(path string, remote sharedledger.Remote, hosts int) *sqliteledger.Ledger {
	d.t.Helper()
	journal := openFile(d.t, path)
	journal.Now = d.Now
	shared, err := sharedledger.Open(d.Tariff, remote, journal, hosts)
	if err != nil {
		d.t.Fatal(err)
	}
	shared.Account, shared.Now, shared.Pause, shared.ShortWait = d.Account, d.Now, func(context.Context, time.Duration) {}, time.Minute
	d.t.Cleanup(func() { _ = shared.Close() })
	d.Ledger, d.EmergencyAccount, d.journal = shared, shared, journal
	return journal
}

// unreachable is a remote that does not answer while err is set.
type unreachable struct {
	sharedledger.Remote

	err       error
	meanwhile func() // happens during the question
}

func (u *unreachable) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if u.meanwhile != nil {
		u.meanwhile()
	}
	if u.err != nil {
		return quota.Decision{}, u.err
	}
	return u.Remote.TakeOnce(ctx, a, op)
}

func (u *unreachable) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	if u.meanwhile != nil {
		u.meanwhile()
	}
	if u.err != nil {
		return sharedledger.RemoteState{}, u.err
	}
	return u.Remote.State(ctx, account, writers)
}

func (u *unreachable) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	if u.err != nil {
		return time.Time{}, u.err
	}
	return u.Remote.Sync(ctx, d)
}

func (d *testGovernor) try(method string, p quota.Purpose) (quota.Decision, error) {
	return d.Take(d.t.Context(), quota.Request{Method: method, Region: "US", Purpose: p})
}

// emergencies takes as many cheap calls as go on.
func (d *testGovernor) emergencies() (n int, last error) {
	d.t.Helper()
	for n < 1000 {
		got, err := d.try("videos.list", quota.Scheduled)
		if err != nil {
			return n, err
		}
		if !got.Allowed || !got.Degraded || got.Pools[0].Charged != 1 {
			d.t.Fatalf("%+v, want it admitted while degraded, for 1", got)
		}
		n++
		d.now = d.now.Add(time.Second)
	}
	return n, nil
}

// A call that the schedule's needs refuse is refused all the more while the ledger cannot answer.
func TestNoEmergencyIsSpentFromReservedUnits(t *testing.T) {
	d, _ := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	for _, purpose := range []quota.Purpose{quota.Backfill, quota.Refresh} {
		got, err := d.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: purpose, Reserve: quota.Reserve{Today: quota.Cost{"units": 20_000}}})
		if got.Allowed || !errors.Is(err, quota.ErrClosed) || !errors.Is(err, quota.ErrUnavailable) {
			t.Errorf("%s, with more needed than there is: allowed %v, %v", purpose, got.Allowed, err)
		}
	}
}

func TestCheapCallsGoOnWithinTheEmergencyBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	d, remote := degradedGovernor(t, path)
	if n, err := d.emergencies(); n != 50 || !errors.Is(err, quota.ErrClosed) || !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("%d of 10,000 units went on, then %v; want 50, then %v", n, err, quota.ErrClosed)
	}
	// A crash loop has one budget, not many.
	for range 3 {
		d.openJournal(path, remote)
		if n, _ := d.emergencies(); n != 0 {
			t.Errorf("%d more after the journal was opened again, want 0", n)
		}
	}
	d.now = d.now.Add(24*time.Hour + 58*time.Minute) // the longest window of the pool is a day of 25 hours
	if n, _ := d.emergencies(); n != 0 {
		t.Errorf("%d more within the pool's longest window, want 0", n)
	}
	d.now = d.now.Add(3 * time.Minute)
	if n, _ := d.emergencies(); n != 50 {
		t.Errorf("%d once the window had passed, want 50", n)
	}
}

// Ledger and upstream are behind one cable: a call that did not leave costs nothing of the emergency budget, and when
// the ledger is back it counts only the calls that did.
func TestACallThatNeverLeftIsGivenBackToTheEmergencyBudget(t *testing.T) {
	d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	for range 200 {
		got, err := d.try("videos.list", quota.Scheduled)
		if err != nil || !got.Degraded {
			t.Fatalf("%+v %v, want it degraded", got, err)
		}
		if err := d.Refund(t.Context(), got); err != nil {
			t.Fatal(err)
		}
		if err := d.Refund(t.Context(), got); !errors.Is(err, quota.ErrNotRefundable) {
			t.Fatalf("twice: %v, want error %v", err, quota.ErrNotRefundable)
		}
		d.now = d.now.Add(time.Second)
	}
	late, err := d.try("videos.list", quota.Scheduled)
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(protocol.RefundWithin + time.Second)
	if err := d.Refund(t.Context(), late); !errors.Is(err, quota.ErrNotRefundable) {
		t.Errorf("late: %v, want error %v", err, quota.ErrNotRefundable)
	}
	if n, _ := d.emergencies(); n != 49 {
		t.Errorf("%d more went on, want 49: one was not given back in time", n)
	}
	remote.err, d.now = nil, d.now.Add(time.Minute)
	if got, err := d.try("videos.list", quota.Scheduled); err != nil || got.Degraded || got.Pools[0].Windows[0].Used != 51 {
		t.Errorf("the ledger is back: %+v %v, want 51 used", got, err)
	}
	if err := d.Refund(t.Context(), late); !errors.Is(err, quota.ErrNotRefundable) {
		t.Errorf("synced: %v, want error %v", err, quota.ErrNotRefundable)
	}
}

// Each time that the ledger falls silent is logged, not each call.
func TestALedgerThatCannotAnswerIsLoggedOnce(t *testing.T) {
	d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	var logged bytes.Buffer
	d.Log = slog.New(slog.NewTextHandler(&logged, nil))
	for want := 1; want <= 2; want++ {
		for remote.err = errDown; ; remote.err = nil {
			for range 3 {
				if got, err := d.try("videos.list", quota.Scheduled); err != nil || got.Degraded != (remote.err != nil) {
					t.Fatalf("%+v, %v, want it degraded if and only if the ledger cannot answer", got, err)
				}
				d.now = d.now.Add(time.Minute)
			}
			if remote.err == nil {
				break
			}
		}
		if n := strings.Count(logged.String(), "level=WARN"); n != want {
			t.Errorf("after %d silences %d warnings:\n%s", want, n, &logged)
		}
	}
}

// A clock that is set back does not open the budget again.
func TestEmergencyBudgetSurvivesAClockThatIsSetBack(t *testing.T) {
	d, _ := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	d.emergencies()
	d.now = d.now.Add(-48 * time.Hour)
	if n, _ := d.emergencies(); n != 0 {
		t.Errorf("%d more with the clock two days back, want 0", n)
	}
}

func TestExpensiveCallsFailClosed(t *testing.T) {
	d, _ := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	got, err := d.try("search.list", quota.Manual)
	if !errors.Is(err, quota.ErrClosed) || !errors.Is(err, quota.ErrUnavailable) || got.Allowed {
		t.Errorf("%+v %v, want %v", got, err, quota.ErrClosed)
	}
	for cost, open := range map[int64]bool{10: true, 11: false} { // 0.1% of 10,000
		d.Tariff.Methods["some.list"] = quota.Cost{"units": cost}
		if got, err := d.try("some.list", quota.Manual); got.Allowed != open || (err == nil) != open {
			t.Errorf("a cost of %d: %+v %v, want %v and %v", cost, got, err, open, open)
		}
	}
}

func TestWithoutAReserveEverythingFailsClosed(t *testing.T) {
	d, _ := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	d.EmergencyAccount = nil
	if got, err := d.try("videos.list", quota.Scheduled); !errors.Is(err, quota.ErrClosed) {
		t.Errorf("%+v %v, want error %v", got, err, quota.ErrClosed)
	}
}

func TestEmergenciesAreSyncedBeforeTheNextTake(t *testing.T) {
	d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	for range 7 {
		if _, err := d.try("videos.list", quota.Scheduled); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(time.Minute)
	}
	began := d.now.Add(-7 * time.Minute)
	remote.err = nil
	d.at("2026-06-01 15:00:00")
	got := d.take("videos.list", quota.Scheduled)
	if got.Degraded || got.Pools[0].Windows[0].Used != 8 || !got.Pools[0].Windows[0].FreesAt.Equal(began.Add(24*time.Hour+30*time.Second)) {
		t.Errorf("seven went on, the ledger is back, and one more: %+v", got.Pools[0])
	}
	if got := d.take("videos.list", quota.Scheduled); got.Pools[0].Windows[0].Used != 9 {
		t.Errorf("synced once, and %d used, want 9", got.Pools[0].Windows[0].Used)
	}
	spent, err := d.Ledger.Spent(t.Context(), "default", began, 0)
	want := quota.Spent{Pool: "units", Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}, Amount: 9}
	if err != nil || len(spent) != 1 || spent[0] != want {
		t.Errorf("spent %v %v, want %v", spent, err, want)
	}
	// A synced operation stays on the emergency budget of this window.
	remote.err = errDown
	if n, _ := d.emergencies(); n != 43 {
		t.Errorf("%d more went on, want the 43 that were left", n)
	}
}

// A report's rest without the ledger equals the calls that go on, and when it says that there is more, there is.
func TestTheReportShowsTheCallsWithoutTheLedger(t *testing.T) {
	for name, tt := range map[string]struct {
		hosts   int
		used    int64 // when the ledger last answered; 0: it never did
		drained bool
		left    int64
		resumes string // once that is spent, a second a call from 12:00
	}{
		"all of it":                      {hosts: 1, left: 50, resumes: "2026-06-02 13:00:31"},
		"a host's part":                  {hosts: 3, left: 16, resumes: "2026-06-02 13:00:31"},
		"no host's part":                 {hosts: 99},
		"what was last known to be left": {hosts: 1, used: 9496, left: 4, resumes: "2026-06-02 12:00:31"},
		"the provider has said no":       {hosts: 1, used: 9496, drained: true, resumes: "2026-06-02 00:00:00"},
	} {
		d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
		d.Usual = "videos.list"
		d.openShared(filepath.Join(t.TempDir(), "quota.db"), remote, tt.hosts)
		if tt.used > 0 {
			remote.err = nil
			d.spend("units", tt.used)
			got := d.take("videos.list", quota.Scheduled)
			if tt.left--; tt.drained {
				tt.left = 0
				if err := d.Drain(t.Context(), got, "units"); err != nil {
					t.Fatal(err)
				}
			}
			if r, err := d.Report(t.Context()); err != nil || r.EmergencyLeft != nil {
				t.Errorf("%s: the ledger answers, and %+v is left without it, %v", name, r.EmergencyLeft, err)
			}
			remote.err = errDown
		}
		look := func() quota.EmergencyLeft {
			r, err := d.Report(t.Context())
			if !errors.Is(err, quota.ErrUnavailable) || len(r.EmergencyLeft) != 1 || r.EmergencyLeft[0].Pool != "units" {
				t.Fatalf("%s: %+v, %v, want error %v, 1 and \"units\"", name, r.EmergencyLeft, err, quota.ErrUnavailable)
			}
			return r.EmergencyLeft[0]
		}
		left := look()
		n, _ := d.emergenciesOrNo()
		if left.Remaining != tt.left || int64(n) != tt.left {
			t.Errorf("%s: %d were said to be left and %d went on, want %d", name, left.Remaining, n, tt.left)
		}
		left = look()
		resumes := ""
		if !left.ResumesAt.IsZero() {
			resumes = left.ResumesAt.In(zone(t, "America/Los_Angeles")).Format(time.DateTime)
		}
		if left.Remaining != 0 || resumes != tt.resumes {
			t.Errorf("%s: %d are left, more at %q, want %q", name, left.Remaining, resumes, tt.resumes)
		}
		for _, after := range []time.Duration{-time.Second, 0} {
			if left.ResumesAt.IsZero() {
				break
			}
			d.now = left.ResumesAt.Add(after)
			if n, _ := d.emergenciesOrNo(); (n > 0) != (after == 0) {
				t.Errorf("%s: %d went on %v after it was said that there are more", name, n, after)
			}
		}
	}
}

// waiting is a ledger that waits for other hosts.
type waiting struct {
	quota.Ledger

	err error
}

func (w waiting) Take(context.Context, quota.Ask) (quota.Decision, error) {
	return quota.Decision{}, w.err
}

// TestALedgerThatWaitsSaysUntilWhen: not until the emergency budget is renewed, a day later.
func TestALedgerThatWaitsSaysUntilWhen(t *testing.T) {
	d, _ := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	d.Usual = "videos.list"
	until := d.now.Add(10 * time.Minute).Truncate(time.Second)
	d.Ledger = waiting{d.Ledger, &protocol.WaitingError{Err: errDown, Until: until}}
	if r, err := d.Report(t.Context()); !errors.Is(err, quota.ErrUnavailable) || len(r.EmergencyLeft) != 1 || !r.EmergencyLeft[0].ResumesAt.IsZero() {
		t.Errorf("while cheap calls go on: %+v, %v", r.EmergencyLeft, err)
	}
	_, _ = d.emergenciesOrNo()
	r, err := d.Report(t.Context())
	if len(r.EmergencyLeft) != 1 || r.EmergencyLeft[0].Remaining != 0 || !r.EmergencyLeft[0].ResumesAt.Equal(until) {
		t.Errorf("%+v, %v, want %v", r.EmergencyLeft, err, until)
	}
	if want := "goes on at " + until.UTC().Format(time.DateTime+"Z") + " at the latest"; !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v does not say that it %s", err, want)
	}
}

// emergenciesOrNo takes as many cheap calls as go on, until the account or the provider's last answer closes.
func (d *testGovernor) emergenciesOrNo() (n int, err error) {
	for n < 1000 {
		got, err := d.try("videos.list", quota.Scheduled)
		if err != nil || !got.Allowed {
			return n, err
		}
		n++
		d.now = d.now.Add(time.Second)
	}
	return n, nil
}

func TestRefusalIsNeverAnEmergency(t *testing.T) {
	d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	remote.err = nil
	d.spend("units", 9500)
	for range 3 {
		if got := d.take("videos.list", quota.Scheduled); got.Allowed || got.Degraded {
			t.Fatalf("%+v, want it refused by the ledger", got)
		}
	}
	d.owesNothing()
}

func (d *testGovernor) owesNothing() {
	d.t.Helper()
	state, err := d.journal.State(context.Background(), "default")
	if err != nil || state.Owed {
		d.t.Errorf("the journal owes something: %+v %v", state, err)
	}
}

// The ledger's last answer is not forgotten when it falls silent: a pool that was used up then is used up.
func TestEmergenciesKeepToTheLastKnownRest(t *testing.T) {
	d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	remote.err = nil
	d.spend("units", 9496)
	d.take("videos.list", quota.Scheduled)
	remote.err = errDown
	if n, err := d.emergencies(); n != 3 || !errors.Is(err, quota.ErrClosed) {
		t.Errorf("%d went on (%v), and 3 of 9,500 were left, want 3 and error %v", n, err, quota.ErrClosed)
	}
	d.at("2026-06-02 00:00:01") // another day of the provider, but the 24 hours are not over
	if n, _ := d.emergencies(); n != 0 {
		t.Errorf("%d more went on after midnight, want 0", n)
	}
	d.at("2026-06-02 12:02:00")
	if n, _ := d.emergencies(); n != 47 {
		t.Errorf("%d went on after all that was known to be used had left the windows, want what is left of 50", n)
	}
}

// The provider's own no needs no ledger.
func TestDrainedPoolStaysClosedWithoutTheLedger(t *testing.T) {
	for _, heard := range []string{"before", "while the ledger is away"} {
		d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
		remote.err = nil
		d.spend("units", 9_000) // near the limit: no doubt
		got := d.take("videos.list", quota.Scheduled)
		if heard != "before" {
			remote.err = errDown
		}
		if err := d.Drain(t.Context(), got, "units"); err != nil {
			t.Fatalf("heard %s: %v", heard, err)
		}
		remote.err = errDown
		got, err := d.try("videos.list", quota.Scheduled)
		if err != nil || got.Allowed || got.Refusal == nil || got.Refusal.Window != protocol.DrainWindow || got.RetryAfter != 12*time.Hour {
			t.Errorf("heard %s: %+v %v", heard, got, err)
		}
		// And it is synced into the ledger, by another process of the data directory.
		remote.err = nil
		d.now = d.now.Add(time.Minute)
		if got := d.take("videos.list", quota.Scheduled); got.Allowed || got.Degraded || got.Refusal.Window != protocol.DrainWindow {
			t.Errorf("heard %s: with the ledger back: %+v", heard, got)
		}
	}
}

func TestHostsShareTheEmergencyBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quota.db")
	d, remote := degradedGovernor(t, path)
	d.openShared(path, remote, 3)
	if n, _ := d.emergencies(); n != 16 {
		t.Errorf("%d went on, want a third of 50", n)
	}
}

// A ledger with forged content cannot answer either.
func TestOnlyUnavailableAndCorruptLedgersDegrade(t *testing.T) {
	for _, kind := range []error{quota.ErrNewer, quota.ErrNeverFits, quota.ErrUnknown, errors.New("of nobody's kind"), quota.ErrCorrupt, quota.ErrUnavailable} {
		d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
		remote.err = fmt.Errorf("%w: here", kind)
		got, err := d.try("videos.list", quota.Scheduled)
		if kind == quota.ErrCorrupt || kind == quota.ErrUnavailable {
			if err != nil || !got.Degraded {
				t.Errorf("%v: %+v %v, want it degraded", kind, got, err)
			}
			continue
		}
		if got.Allowed || !errors.Is(err, kind) || errors.Is(err, quota.ErrClosed) {
			t.Errorf("%v: %+v %v, want it refused with error %v", kind, got, err, kind)
		}
	}
}

// Who gives up waiting has not been let through, whether before the ledger is asked or while it is.
func TestCancelledTakeIsNoEmergency(t *testing.T) {
	for _, before := range []bool{true, false} {
		d, remote := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
		ctx, cancel := context.WithCancel(t.Context())
		if remote.meanwhile = cancel; before {
			cancel()
		}
		if got, err := d.Take(ctx, quota.Request{Method: "videos.list", Purpose: quota.Scheduled}); got.Allowed || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v %v, want %v", got, err, context.Canceled)
		}
		d.owesNothing()
	}
}
