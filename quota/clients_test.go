package quota_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// limited gives client reports 205 units in 24 h and two searches a day.
func limited(t *testing.T, d *testGovernor) {
	t.Helper()
	err := d.Tariff.LimitClients(map[string][]quota.Pool{"reports": {
		{Name: "units", Windows: []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: 205}}},
		{Name: "search", Windows: []quota.Window{{Name: "day", Limit: 2}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func (d *testGovernor) ask(method, client string) quota.Decision {
	d.t.Helper()
	got, err := d.Take(d.t.Context(), quota.Request{Method: method, Purpose: quota.Client, Client: client})
	if err != nil {
		d.t.Fatal(err)
	}
	return got
}

func TestAClientsOwnLimitIsPartOfTheSameTake(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	limited(t, d)
	for range 2 {
		if got := d.ask("search.list", "reports"); !got.Allowed || len(got.Pools) != 4 {
			t.Fatalf("%+v, want it admitted in 4 pools", got)
		}
	}
	got := d.ask("search.list", "reports")
	if got.Allowed || !strings.HasSuffix(got.Refusal.Pool, "@reports") {
		t.Fatalf("a third search: %+v", got.Refusal)
	}
	if said := d.Explain(t.Context(), got); strings.Contains(said, "provider's own day") || strings.Contains(said, "costs.yaml") ||
		!strings.Contains(said, "client reports") {
		t.Errorf("said %q of a limit that the provider knows nothing of", said)
	}
	if used := d.pool("units").Windows[0].Used; used != 200 {
		t.Errorf("%d of the shared pool used, want 200: a refusal charges nothing", used)
	}
	if got := d.ask("search.list", "notebook"); !got.Allowed || len(got.Pools) != 2 {
		t.Errorf("a client without limits: %+v", got)
	}
	spent, err := d.Ledger.Spent(t.Context(), "default", d.now.Add(-time.Hour), 0)
	want := quota.Spent{Pool: "units", Who: quota.Who{Purpose: quota.Client, Method: "search.list", Client: "reports"}, Amount: 200}
	if err != nil || !slices.Contains(spent, want) {
		t.Errorf("spent %v (%v), want %v among it", spent, err, want)
	}
}

func TestTheProvidersNoClosesNoPoolOfAClient(t *testing.T) {
	for _, pool := range []string{"units", ""} {
		d := newTestGovernor(t, "2026-02-14 09:00:00")
		limited(t, d)
		if err := d.Drain(t.Context(), d.ask("videos.list", "reports"), pool); err != nil {
			t.Fatal(err)
		}
		got := d.ask("videos.list", "reports")
		if got.Allowed || got.Refusal.Pool != "units" || !got.Pools[1].Drain.Until.IsZero() {
			t.Errorf("after a no about pool %q: %+v, own pool %+v", pool, got.Refusal, got.Pools[1])
		}
	}
}

func TestAClientLeavesTheSchedulesNeed(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	d.spend("units", 5_000)
	need := quota.Reserve{Today: quota.Cost{"units": 4_500}}
	got, err := d.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Client, Reserve: need})
	if err != nil || got.Allowed || got.Refusal.Ceiling != 5_000 {
		t.Errorf("%+v %v: want a refusal, since 9,500 less 4,500 are used", got.Refusal, err)
	}
}

// Only the schedule has the emergency budget.
func TestAClientSpendsNothingWhileTheLedgerIsSilent(t *testing.T) {
	d, _ := degradedGovernor(t, filepath.Join(t.TempDir(), "quota.db"))
	if _, err := d.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Client}); !errors.Is(err, quota.ErrClosed) {
		t.Errorf("a client: %v, want ErrClosed", err)
	}
	if got := d.take("videos.list", quota.Scheduled); !got.Degraded {
		t.Errorf("the schedule: %+v", got)
	}
}

func TestAClientsNameIsAName(t *testing.T) {
	d := newTestGovernor(t, "2026-02-14 09:00:00")
	for _, name := range []string{"a@b", "a b", strings.Repeat("a", 65)} {
		if _, err := d.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Client, Client: name}); !errors.Is(err, quota.ErrUnknown) {
			t.Errorf("client %q: %v, want ErrUnknown", name, err)
		}
	}
}

func TestAClientsLimitNamesAPoolOfTheTariff(t *testing.T) {
	err := tariff(t).LimitClients(map[string][]quota.Pool{"reports": {{Name: "unit"}}})
	if !errors.Is(err, quota.ErrUnknown) || !strings.Contains(err.Error(), `client reports: unknown: pool "unit": did you mean "units"?`) {
		t.Errorf("%v, want error %v and \"client reports: unknown: pool \\\"unit\\\": did you mean \\\"units\\\"?\" in it", err, quota.ErrUnknown)
	}
}
