package quota_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// testGovernor is a governor over a ledger in memory, under one clock.
type testGovernor struct {
	*quota.Governor

	t       *testing.T
	now     time.Time
	journal *sqliteledger.Ledger // of one whose ledger is shared
}

// newTestGovernor opens a governor for small costs, at a time in Los Angeles.
func newTestGovernor(t *testing.T, local string) *testGovernor {
	t.Helper()
	d := &testGovernor{t: t}
	d.at(local)
	d.Governor = &quota.Governor{Tariff: tariff(t), Account: "default", Now: func() time.Time { return d.now }}
	d.Ledger = &memledger.Ledger{Now: d.Now}
	return d
}

func tariff(t testing.TB) *quota.Tariff {
	t.Helper()
	tariff, err := quota.ParseCosts("costs.yaml", []byte(smallCosts), "youtube", "")
	if err != nil {
		t.Fatal(err)
	}
	return tariff
}

func (d *testGovernor) at(local string) {
	d.t.Helper()
	now, err := time.ParseInLocation(time.DateTime, local, zone(d.t, "America/Los_Angeles"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.now = now
}

func (d *testGovernor) take(method string, p quota.Purpose) quota.Decision {
	d.t.Helper()
	got, err := d.Take(d.t.Context(), quota.Request{Method: method, Region: "US", Purpose: p})
	if err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
	return got
}

var byHand = quota.Who{Purpose: quota.Manual, Method: "post"}

// spend posts units that count from now on.
func (d *testGovernor) spend(pool string, amount int64) {
	d.t.Helper()
	if err := d.Post(d.t.Context(), byHand, quota.Cost{pool: amount}, d.now); err != nil {
		d.t.Fatal(err)
	}
}

func (d *testGovernor) pool(name string) quota.PoolReport {
	d.t.Helper()
	r, err := d.Report(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, p := range r.Pools {
		if p.Pool == name {
			return p
		}
	}
	d.t.Fatalf("no pool %s in %+v", name, r)
	return quota.PoolReport{}
}

func TestTakeDrawsTheMethodsCost(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	got := d.take("search.list", quota.Manual)
	if !got.Allowed || len(got.Pools) != 2 || got.Degraded || got.Who != (quota.Who{Purpose: quota.Manual, Region: "US", Method: "search.list"}) {
		t.Fatalf("%+v, want it admitted in 2 pools, for a manual search of US", got)
	}
	for i, want := range []struct {
		pool               string
		charged, remaining int64
	}{{"search", 1, 98}, {"units", 100, 9850}} { // 99.5% of 100 and of 10,000
		p := got.Pools[i]
		if p.Pool != want.pool || p.Charged != want.charged || p.Remaining != want.remaining || len(p.Windows) != 2 {
			t.Errorf("got %+v, want %+v", p, want)
		}
	}
}

func TestRefusalIsAValueThatSaysWhy(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 22:00:00")
	d.take("search.list", quota.Scheduled)
	d.spend("units", 9300)
	d.at("2026-06-01 23:00:00")
	d.spend("units", 200)
	got := d.take("videos.list", quota.Scheduled)
	if r := got.Refusal; got.Allowed || r.Pool != "units" || r.Window != "24h" || r.Used != 9600 || r.Ceiling != 9500 || r.Limit != 10_000 {
		t.Fatalf("got %+v, want 9,600 of 9,500 units used in 24h", got)
	}
	if due := got.RetryAt; !due.Equal(instant(t, "2026-06-03T05:00:30Z")) {
		t.Errorf("free at %s, want 24h30s after the first", due.UTC())
	}
	d.at("2026-06-02 00:00:31") // a day holds for the grace after its end
	got = d.take("search.list", quota.Scheduled)
	if got.Allowed || got.Refusal.RoomIn != "day" {
		t.Fatalf("%+v, want it refused until there is room in window day", got)
	}
	text := d.Explain(t.Context(), got)
	for _, want := range []string{"all 9,500 units that the schedule may use in 24h are used (limit 10,000)", "window day has room", "24h: under pools.units in costs.yaml",
		"most by manual post (9,500 in 24h)", "frees at 2026-06-03 05:00:30Z"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	if text := d.Explain(t.Context(), quota.Decision{Allowed: true}); text != "" {
		t.Errorf("an admitted call is explained by %q, want no text", text)
	}
}

func TestUnknownMethodsPurposesAndPoolsAreErrorsWithAHint(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	take := func(method string, p quota.Purpose) func() error {
		return func() error {
			_, err := d.Take(t.Context(), quota.Request{Method: method, Purpose: p})
			return err
		}
	}
	for name, c := range map[string]struct {
		do   func() error
		hint string
	}{
		"method":     {take("video.list", quota.Manual), `did you mean "videos.list"?`},
		"far method": {take("thumbnails.set", quota.Manual), "use one of search.list, videos.list"},
		"purpose":    {take("videos.list", "sheduled"), "use scheduled, refresh, backfill, manual or client"},
		"no purpose": {take("videos.list", ""), "use scheduled"},
		"pool of post": {func() error {
			return d.Post(t.Context(), byHand, quota.Cost{"unit": 1}, d.now)
		}, `did you mean "units"?`},
		"pool of drain":  {func() error { return d.DrainByHand(t.Context(), "calls", false) }, "use one of search, units"},
		"pool of lift":   {func() error { return d.DrainByHand(t.Context(), "", true) }, "use one of search, units"},
		"the very worst": {take(strings.Repeat("x", 1000)+"\n", quota.Manual), "use one of"},
	} {
		if err := c.do(); !errors.Is(err, quota.ErrUnknown) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v, want a hint of %q", name, err, c.hint)
		}
	}
	if used := d.pool("units").Windows[0].Used; used != 0 {
		t.Errorf("%d were charged, want 0", used)
	}
}

func TestACostAboveEveryLimitIsAnError(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	d.Tariff.Methods["captions.download"] = quota.Cost{"units": 9501}
	for purpose, never := range map[quota.Purpose]bool{quota.Scheduled: true, quota.Backfill: true, quota.Manual: false} {
		_, err := d.Take(t.Context(), quota.Request{Method: "captions.download", Purpose: purpose})
		if errors.Is(err, quota.ErrNeverFits) != never {
			t.Errorf("9,501 for %s: %v, want %v", purpose, err, never)
		}
	}
}

func TestPurposesStopAtTheirCeilings(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	for _, c := range []struct {
		purpose quota.Purpose
		used    int64
	}{{quota.Backfill, 7000}, {quota.Scheduled, 9500}, {quota.Refresh, 9500}, {quota.Manual, 9950}} {
		d.spend("units", max(c.used-1-d.pool("units").Windows[0].Used, 0))
		if left := d.pool("units").Remaining[c.purpose]; c.purpose != quota.Refresh && left != 1 {
			t.Errorf("%s: %d remain before its ceiling, want 1", c.purpose, left)
		}
		for d.take("videos.list", c.purpose).Allowed {
		}
		p := d.pool("units")
		if p.Windows[0].Used != c.used || p.Remaining[c.purpose] != 0 || p.Ceilings[c.purpose] != c.used {
			t.Errorf("%s stopped at %d with %d remaining, want %d and 0", c.purpose, p.Windows[0].Used, p.Remaining[c.purpose], c.used)
		}
	}
}

func TestDrainLastsUntilTheFirstMidnightAfterTheTake(t *testing.T) {
	for _, c := range []struct {
		name              string
		taken, told, open string // local; open "" when nothing closes
	}{
		{"at noon", "2026-06-01 12:00:00", "2026-06-01 12:00:01", "2026-06-02 00:00:00"},
		{"just before midnight", "2026-06-01 23:59:58", "2026-06-01 23:59:59", "2026-06-02 00:00:00"},
		{"told after the midnight", "2026-06-01 23:59:58", "2026-06-02 00:00:01", ""},
		{"told at the midnight", "2026-06-01 23:59:58", "2026-06-02 00:00:00", ""},
		{"taken at midnight", "2026-06-02 00:00:00", "2026-06-02 00:00:01", "2026-06-02 00:05:01"},
		{"within ten minutes after it", "2026-06-02 00:09:59", "2026-06-02 00:10:02", "2026-06-02 00:15:02"},
		{"ten minutes after it", "2026-06-02 00:10:00", "2026-06-02 00:10:01", "2026-06-03 00:00:00"},
		{"on the day of 25 hours", "2026-11-01 00:30:00", "2026-11-01 00:30:01", "2026-11-02 00:00:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTestGovernor(t, c.taken)
			d.spend("units", 9_000) // near the limit: no doubt
			got := d.take("videos.list", quota.Scheduled)
			d.at(c.told)
			if err := d.Drain(t.Context(), got, ""); err != nil {
				t.Fatal(err)
			}
			next := d.take("videos.list", quota.Scheduled)
			if c.open == "" {
				if !next.Allowed {
					t.Fatalf("a day that is over was drained: %v", next.Refusal)
				}
				return
			}
			if next.Allowed || next.Refusal.Window != protocol.DrainWindow || next.Pools[0].Remaining != 0 {
				t.Fatalf("not drained: %+v", next)
			}
			d.at(c.open)
			if at := next.RetryAt; !at.Equal(d.now) {
				t.Errorf("open at %s, want %s", at, d.now)
			}
			d.now = d.now.Add(-time.Millisecond)
			if d.take("videos.list", quota.Scheduled).Allowed {
				t.Error("a take 1 ms before the drain ends: got allowed, want refused")
			}
			d.now = d.now.Add(time.Millisecond)
			if next := d.take("videos.list", quota.Scheduled); !next.Allowed {
				t.Errorf("it did not open by itself: %v", next.Refusal)
			}
		})
	}
}

func TestDrainClosesThePoolsOfTheCallAndReportsTheDrift(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	d.spend("units", 6712)
	got := d.take("search.list", quota.Manual)
	if err := d.Drain(t.Context(), got, "units"); err != nil {
		t.Fatal(err)
	}
	if p := d.pool("units"); p.Drift != 10_000-6812 || p.Remaining[quota.Manual] != 0 || p.Probe != 1 || !p.DrainedUntil.Before(d.now.Add(7*time.Minute)) {
		t.Errorf("upstream stopped at 6,812 of 10,000: %+v", p)
	}
	if p := d.pool("search"); p.Drift != 0 || !p.DrainedUntil.IsZero() || p.Remaining[quota.Manual] != 98 {
		t.Errorf("search was not drained: %+v", p)
	}
	if err := d.DrainByHand(t.Context(), "units", true); err != nil {
		t.Fatal(err)
	}
	if p := d.pool("units"); p.Drift != 0 || p.Remaining[quota.Manual] != 9950-6812 {
		t.Errorf("lifted: %+v", p)
	}
	for _, unknown := range []string{"", "queries"} { // the provider does not say which, or one of its own
		if err := errors.Join(d.DrainByHand(t.Context(), "units", true), d.DrainByHand(t.Context(), "search", true), d.Drain(t.Context(), got, unknown)); err != nil {
			t.Fatal(err)
		}
		for _, pool := range []string{"units", "search"} {
			if p := d.pool(pool); p.Remaining[quota.Manual] != 0 {
				t.Errorf("pool %q is spent: all that the call drew is, but %+v, want 0", unknown, p)
			}
		}
	}
}

// A refusal that arrives late must not open a pool that a newer one has closed.
func TestDrainOfADayThatIsOverOpensNothing(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 23:59:00")
	late := d.take("videos.list", quota.Scheduled)
	d.at("2026-06-02 12:00:00")
	d.spend("units", 9_000)
	if err := d.Drain(t.Context(), d.take("videos.list", quota.Scheduled), ""); err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(t.Context(), late, ""); err != nil {
		t.Fatal(err)
	}
	got := d.take("videos.list", quota.Scheduled)
	if got.Allowed || !got.Pools[0].Drain.Until.Equal(instant(t, "2026-06-03T07:00:00Z")) {
		t.Errorf("%+v, want it refused, and closed until 07:00", got)
	}
	if got.Pools[0].Drain.Used != 9_001 {
		t.Errorf("the provider said no at %d of its day, want 9,001", got.Pools[0].Drain.Used)
	}
}

func TestDrainByHandLastsUntilTheNextMidnight(t *testing.T) {
	d := newTestGovernor(t, "2026-11-01 00:30:00") // the day of 25 hours
	if err := d.DrainByHand(t.Context(), "search", false); err != nil {
		t.Fatal(err)
	}
	if p := d.pool("search"); !p.DrainedUntil.Equal(instant(t, "2026-11-02T08:00:00Z")) {
		t.Errorf("until %s", p.DrainedUntil)
	}
	if !d.take("videos.list", quota.Scheduled).Allowed {
		t.Error("videos.list after a drain of the other pool: got refused, want allowed")
	}
}

func TestResetIsNotedWithWhoAndWhen(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	var log strings.Builder
	d.Log = slog.New(slog.NewTextHandler(&log, nil))
	got := d.take("search.list", quota.Manual)
	if err := errors.Join(d.Drain(t.Context(), got, "search"), d.Reset(t.Context(), "ann")); err != nil {
		t.Fatal(err)
	}
	for _, pool := range []string{"units", "search"} {
		p := d.pool(pool)
		if !p.ResetAt.Equal(d.now) || !p.DrainedUntil.IsZero() || p.Drift != 0 || p.Windows[0].Used != 0 {
			t.Errorf("%+v, want an empty pool", p)
		}
	}
	if !strings.Contains(log.String(), "reset by hand") || !strings.Contains(log.String(), "by=ann") {
		t.Errorf("the log says %q, want \"reset by hand\" in it and \"by=ann\" in it", log.String())
	}
	d.now = d.now.Add(time.Second)
	if err := d.DrainByHand(t.Context(), "units", false); err != nil {
		t.Fatal(err)
	}
	if p := d.pool("units"); !p.ResetAt.IsZero() || !p.DrainedByHand.Equal(d.now) {
		t.Errorf("closed by hand since: %+v", p)
	}
}

func TestRefundGivesBackATakeOnce(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	got := d.take("search.list", quota.Manual)
	if err := d.Refund(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if err := d.Refund(t.Context(), got); !errors.Is(err, quota.ErrNotRefundable) {
		t.Errorf("twice: %v, want error %v", err, quota.ErrNotRefundable)
	}
	for _, pool := range []string{"units", "search"} {
		if used := d.pool(pool).Windows[0].Used; used != 0 {
			t.Errorf("%s: %d used, want 0", pool, used)
		}
	}
	if err := d.Refund(t.Context(), quota.Decision{Allowed: true, Degraded: true}); !errors.Is(err, quota.ErrNotRefundable) {
		t.Errorf("an emergency of no row: %v", err)
	}
}

func TestReportSumsTheSpendsBySpenderAndChangesNothing(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	for range 3 {
		d.take("videos.list", quota.Scheduled)
	}
	d.take("search.list", quota.Manual)
	d.spend("units", 40)
	d.at("2026-06-02 11:00:00")
	d.take("videos.list", quota.Backfill)
	r, err := d.Report(t.Context())
	if err != nil || r.Degraded != nil || r.Account != "default" || !r.At.Equal(d.now) {
		t.Fatalf("%+v %v, want the report of account default at %v", r, err, d.now)
	}
	of := func(p quota.Purpose, region, method, pool string, amount int64) quota.Spent {
		return quota.Spent{Pool: pool, Who: quota.Who{Purpose: p, Region: region, Method: method}, Amount: amount}
	}
	want := []quota.Spent{of("manual", "US", "search.list", "search", 1), of("manual", "US", "search.list", "units", 100), of("manual", "", "post", "units", 40),
		of("scheduled", "US", "videos.list", "units", 3), of("backfill", "US", "videos.list", "units", 1)}
	if !slices.Equal(r.Spent, want) {
		t.Errorf("spent %v\nwant  %v", r.Spent, want)
	}
	sums := map[string]int64{}
	for _, s := range r.Spent {
		sums[s.Pool] += s.Amount
	}
	for _, p := range r.Pools {
		if p.Windows[0].Used != sums[p.Pool] {
			t.Errorf("pool %s: %d used in 24h, but %d spent", p.Pool, p.Windows[0].Used, sums[p.Pool])
		}
	}
	units := d.pool("units")
	if units.Limit != 10_000 || units.Windows[1].Used != 1 || !units.Windows[1].FreesAt.Equal(instant(t, "2026-06-03T07:00:30Z")) ||
		!units.Windows[0].FreesAt.Equal(instant(t, "2026-06-02T19:00:30Z")) {
		t.Errorf("%+v, want 1 used, free at 07:00:30 and at 19:00:30", units)
	}
	if again, err := d.Report(t.Context()); err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
		t.Errorf("a second report differs: %+v", again)
	}
}

// stopping is a ledger whose process is stopped while it waits for an answer.
type stopping struct {
	quota.Ledger

	d    *testGovernor
	stop []time.Duration
}

func (l *stopping) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	d, err := l.Ledger.Take(ctx, a)
	if len(l.stop) > 0 {
		l.d.now, l.stop = l.d.now.Add(l.stop[0]), l.stop[1:]
	}
	return d, err
}

// K10: a take whose process was stopped before it saw the answer is given back, and another is drawn.
func TestTakeThatIsAnsweredTooLateIsVoid(t *testing.T) {
	for _, c := range []struct {
		stop  []time.Duration
		count int64
		err   error
	}{
		{[]time.Duration{30 * time.Second}, 1, nil},
		{[]time.Duration{90 * time.Second}, 1, nil},
		{[]time.Duration{90 * time.Second, time.Minute}, 1, nil},
		{[]time.Duration{5 * time.Minute}, 2, nil}, // too late to give it back
		{[]time.Duration{time.Minute, time.Minute, time.Minute, time.Minute}, 0, quota.ErrClosed},
	} {
		d := newTestGovernor(t, "2026-06-01 12:00:00")
		d.Ledger = &stopping{d.Ledger, d, c.stop}
		got, err := d.try("videos.list", quota.Scheduled)
		if !errors.Is(err, c.err) || err == nil && (!got.Allowed || d.now.Sub(got.At) > d.SendWithin()) {
			t.Errorf("stopped for %v: %+v %v at %s", c.stop, got, err, d.now)
		}
		spent, err := d.Ledger.Spent(t.Context(), d.Account, d.now.Add(-time.Hour), 0)
		sum := int64(0)
		for _, s := range spent {
			sum += s.Amount
		}
		if err != nil || sum != c.count {
			t.Errorf("stopped for %v: %d counted, want %d (%v)", c.stop, sum, c.count, err)
		}
	}
}

// A machine that sleeps stops the monotonic clock as well: an answer that is 90 s old by the time of day is too old.
func TestTakeOfAMachineThatSleptIsVoid(t *testing.T) {
	d := newTestGovernor(t, "2026-06-01 12:00:00")
	now := time.Now()
	d.Now = func() time.Time { return now }
	d.Ledger = &asleep{Ledger: &memledger.Ledger{Now: func() time.Time { return now }}, now: &now}
	got, err := d.try("videos.list", quota.Scheduled)
	if late := now.Round(0).Sub(got.At); err != nil || !got.Allowed || late > d.SendWithin() {
		t.Errorf("the call leaves %v after its take, %v", late, err)
	}
}

// asleep is a ledger whose machine sleeps for 90 s while its first take is answered.
type asleep struct {
	quota.Ledger

	now   *time.Time
	slept bool
}

func (l *asleep) Take(ctx context.Context, a quota.Ask) (quota.Decision, error) {
	d, err := l.Ledger.Take(ctx, a)
	if !l.slept { // a time's first word has the seconds of its time of day above 30 bits
		*(*uint64)(unsafe.Pointer(l.now)) += 90 << 30
		l.slept = true
	}
	return d, err
}

// Where a pool has a window that is longer than a day, the figure of today would open it with too little counted: a
// posted total counts in that window.
func TestAPostedTotalCountsInTheLongestWindow(t *testing.T) {
	for windows, want := range map[string]struct {
		span   string
		posted int64
	}{
		"{24h: 10000, day: 10000}":  {"today", 40 - 8},
		"{768h: 10000, day: 10000}": {"in 768h", 40 - 16},
	} {
		d := newTestGovernor(t, "2026-06-01 12:00:00")
		tariff, err := quota.ParseCosts("costs.yaml", []byte(strings.Replace(smallCosts, "units: {24h: 10000, day: 10000}", "units: "+windows, 1)), "youtube", "")
		if err != nil {
			t.Fatal(err)
		}
		d.Tariff = tariff
		for _, at := range []string{"2026-06-01 12:00:00", "2026-06-03 12:00:00"} {
			d.at(at)
			for range 8 {
				d.take("videos.list", quota.Scheduled)
			}
		}
		if err := d.CloseUnknown(t.Context(), "units"); err != nil {
			t.Fatal(err)
		}
		span, _ := d.pool("units").Total()
		posted, err := d.PostTotal(t.Context(), quota.Who{}, "units", 40)
		if err != nil || posted != want.posted || span != want.span {
			t.Errorf("%s: %d are posted (%s), want %d (%s): %v", windows, posted, span, want.posted, want.span, err)
		}
	}
}
