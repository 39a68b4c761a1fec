package sqliteledger_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// daily has a pool with a limit of two calls in the day of a zone, and no other window.
func daily(zone *time.Location) *quota.Tariff {
	return &quota.Tariff{
		Zone: zone, Pools: []quota.Pool{{Name: "units", Windows: []quota.Window{{Name: "day", Limit: 14}}}}, Methods: map[string]quota.Cost{"videos.list": {"units": 7}},
		Ceilings: map[quota.Purpose]quota.Share{quota.Scheduled: 1_000_000}, Failure: quota.Failure{SyncWait: time.Minute},
	}
}

// zoned runs do with a Governor in a zone: a process on the file itself, or on a ledger elsewhere.
func zoned(t *testing.T, path, zone string, now *time.Time, remote *memremote.Remote, do func(*quota.Governor)) {
	t.Helper()
	at, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	l := clocked(t, path, now)
	defer func() { _ = l.Close() }()
	tariff, err := l.KeepZone(t.Context(), "default", daily(at), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	g := &quota.Governor{Ledger: l, EmergencyAccount: l, Tariff: tariff, Account: "default", Now: l.Now}
	if remote != nil {
		shared, err := sharedledger.Open(tariff, remote, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = shared.Close() }()
		shared.Now, g.Ledger = l.Now, shared
	}
	do(g)
}

// The costs' zone is changed again and again, at any time, between processes that spend as much as they may, on both
// kinds of ledger: no call exceeds the limit of a day in its own zone, nor in an earlier zone on the day of its change.
func TestAChangedZoneForgetsNoSpend(t *testing.T) {
	zones := []string{"America/Los_Angeles", "Asia/Tokyo", "UTC", "Asia/Kathmandu", "Pacific/Kiritimati", "America/Sao_Paulo"}
	for seed := range uint64(20) {
		rng, path := rand.New(rand.NewPCG(seed, 51)), filepath.Join(t.TempDir(), "quota.db")
		now := time.Date(2026, 10, 29, rng.IntN(24), 13, 0, 0, time.UTC)
		remote := &memremote.Remote{Now: func() time.Time { return now }}
		var calls []time.Time
		was := map[string]string{} // the earlier zones, each with the date of its change
		for range 4 {
			zone := zones[rng.IntN(len(zones))]
			delete(was, zone)
			zoned(t, path, zone, &now, []*memremote.Remote{nil, remote}[rng.IntN(2)], func(g *quota.Governor) {
				for range 1 + rng.IntN(20) {
					for range 15 {
						d, err := g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Scheduled})
						if err != nil {
							t.Fatal(err)
						}
						if !d.Allowed {
							break
						}
						calls = append(calls, now)
						for in, day := range was {
							if date(now, in) == day && arrived(calls, now, in) > 2 {
								t.Fatalf("seed %d: %d calls on %s in %s, of 2, after a change to %s", seed, arrived(calls, now, in), day, in, zone)
							}
						}
						if n := arrived(calls, now, zone); n > 2 {
							t.Fatalf("seed %d: %d calls on %s in %s, of 2, want at most 2", seed, n, date(now, zone), zone)
						}
					}
					now = now.Add(2 * time.Hour)
				}
			})
			was[zone] = date(now, zone)
		}
	}
}

// arrived is how many calls arrived in a zone's day around a time.
func arrived(calls []time.Time, at time.Time, zone string) (n int) {
	for _, c := range calls {
		if date(c, zone) == date(at, zone) {
			n++
		}
	}
	return n
}

func date(at time.Time, zone string) string {
	in, _ := time.LoadLocation(zone)
	return at.In(in).Format(time.DateOnly)
}

// A change of the zone is logged once. The long day ends, and then the new zone's days count.
func TestALongDayEndsWithADayOfTheNewZone(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "quota.db"), time.Date(2026, 6, 1, 16, 0, 0, 0, time.UTC)
	used := func(zone string) (used int64, turns time.Time) {
		zoned(t, path, zone, &now, nil, func(g *quota.Governor) {
			r, err := g.Report(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			used, turns = r.Pools[0].Windows[0].Used, r.Pools[0].Windows[0].FreesAt
		})
		return used, turns
	}
	zoned(t, path, "America/Los_Angeles", &now, nil, func(g *quota.Governor) {
		if d, err := g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Scheduled}); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
	})
	until := time.Date(2026, 6, 2, 15, 0, 0, 0, time.UTC) // Tokyo's first midnight after the one in Los Angeles
	l := clocked(t, path, &now)
	tokyo, _ := time.LoadLocation("Asia/Tokyo")
	said := ""
	for range 2 {
		if _, err := l.KeepZone(t.Context(), "default", daily(tokyo), func(format string, args ...any) { said += fmt.Sprintf(format, args...) }); err != nil {
			t.Fatal(err)
		}
	}
	if want := "ingest: the zone of the provider's day has changed from America/Los_Angeles to Asia/Tokyo: calls since 2026-06-01 07:00:00Z count until 2026-06-02 15:00:00Z"; said != want {
		t.Errorf("it said %q, want %q", said, want)
	}
	for _, tt := range []struct {
		at    time.Time
		used  int64
		turns time.Time
	}{
		{now, 7, until}, {until.Add(-time.Second), 7, until}, {until, 0, until.AddDate(0, 0, 1)}, {until.AddDate(0, 0, 5), 0, until.AddDate(0, 0, 6)},
	} {
		now = tt.at
		if n, turns := used("Asia/Tokyo"); n != tt.used || !turns.Equal(tt.turns) {
			t.Errorf("at %v %d are used until %v, want %d until %v", tt.at, n, turns, tt.used, tt.turns)
		}
	}
}
