package audit_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/quota"
)

var now = time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)

const horizon = quota.MinHorizon

type entries []quota.Spent

func (e entries) Spent(context.Context, string, time.Time, time.Duration) ([]quota.Spent, error) {
	return e, nil
}

// asked counts the readings of a ledger.
type asked struct {
	entries

	times int
}

func (a *asked) Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error) {
	a.times++
	return a.entries.Spent(ctx, account, since, every)
}

type unreachable struct{}

func (unreachable) Spent(context.Context, string, time.Time, time.Duration) ([]quota.Spent, error) {
	return nil, quota.ErrUnavailable
}

func entry(purpose quota.Purpose, region, pool string, amount int64) quota.Spent {
	return quota.Spent{Pool: pool, Who: quota.Who{Purpose: purpose, Region: region, Method: "videos.list"}, Amount: amount}
}

func account(l audit.Ledger) audit.Account {
	return audit.Account{Ledger: l, Tariff: &quota.Tariff{}, Name: "default", Now: now}
}

// slot returns one that was due so long ago and spent these charges.
func slot(kind ingest.Kind, key string, ago time.Duration, charges map[string]int64) ingest.Slot {
	s := ingest.Slot{Kind: kind, State: ingest.Done, Attempt: 1, FetchedAt: now.Add(-ago + time.Minute)}
	s.Job, s.Key, s.DueAt = string(kind), key, now.Add(-ago)
	s.Charge(charges, false)
	return s
}

// The gate, doctor and rebuild ask the same question: each slot and each piece, of an old plan or a new
// one, done or cut short, is missing for all of them or for none.
func TestEachSlotOfALostLedgerIsMissingOrTooOldToJudge(t *testing.T) {
	units := map[string]int64{"units": 4}
	cut := func(s ingest.Slot) ingest.Slot {
		s.State = ingest.Stopped
		return s
	}
	again := func(s ingest.Slot) ingest.Slot {
		s.Attempt = 2
		return s
	}
	fetched := func(s ingest.Slot, ago time.Duration) ingest.Slot {
		s.FetchedAt = now.Add(-ago)
		return s
	}
	const old = 100 * time.Hour
	for _, tt := range []struct {
		name           string
		slot           ingest.Slot
		missing, later bool // later: posted in full once anything else is missing
	}{
		{"a chart of today", slot(ingest.KindChart, "US", time.Hour, units), true, false},
		{"one that was cut short", cut(slot(ingest.KindChart, "US", time.Hour, units)), true, false},
		{"a chart within the horizon", slot(ingest.KindChart, "US", horizon-2*time.Minute, units), true, false},
		{"a chart before the horizon", slot(ingest.KindChart, "US", horizon+time.Hour, units), false, false},
		{"one that ended within it", fetched(slot(ingest.KindChart, "US", horizon+time.Hour, units), time.Hour), false, true},
		{"one that was cut short and may have been tried since", cut(slot(ingest.KindChart, "US", horizon+time.Hour, units)), false, true},
		{"a refresh", slot(ingest.KindRefresh, "", time.Hour, units), true, false},
		{"a search", slot(ingest.KindSearch, "", time.Hour, map[string]int64{"units": 101, "search": 1}), true, false},
		{"a piece of a new plan", slot(ingest.KindBackfill, "000001", time.Hour, units), true, false},
		{"a piece of a new plan, in several attempts", again(slot(ingest.KindBackfill, "000001", time.Hour, units)), true, false},
		{"a piece of an old plan", fetched(slot(ingest.KindBackfill, "000001", old, units), time.Hour), true, false},
		{"a piece of an old plan, cut short", cut(fetched(slot(ingest.KindBackfill, "000001", old, units), time.Hour)), true, false},
		{"a piece of an old plan, in several attempts", again(fetched(slot(ingest.KindBackfill, "000001", old, units), time.Hour)), false, true},
		{"a piece of an old plan that was fetched then", slot(ingest.KindBackfill, "000001", old, units), false, false},
		{"a slot that spent nothing", slot(ingest.KindChart, "US", time.Hour, nil), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			missing, err := account(nil).Missing(t.Context(), []ingest.Slot{tt.slot})
			if err != nil || (len(missing) == 1) != tt.missing || tt.missing && missing[0].Units != tt.slot.Units {
				t.Fatalf("missing: %+v, %v", missing, err)
			}
			rebuild, err := account(nil).Rebuild(t.Context(), []ingest.Slot{tt.slot})
			if err != nil || len(rebuild) != len(missing) {
				t.Errorf("rebuild posts %+v, %v where %d are missing", rebuild, err, len(missing))
			}
			other := slot(ingest.KindChart, "GB", time.Hour, units)
			rebuild, err = account(nil).Rebuild(t.Context(), []ingest.Slot{tt.slot, other})
			if want := tt.missing || tt.later; err != nil || (len(rebuild) == 2) != want {
				t.Errorf("beside another: %+v, %v, want %v", rebuild, err, want)
			}
		})
	}
}

func TestCountedSpendsAreNotMissing(t *testing.T) {
	search := map[string]int64{"units": 303, "search": 3}
	unit := map[string]int64{"units": 4}
	for _, tt := range []struct {
		name    string
		slots   []ingest.Slot
		ledger  entries
		missing int64
	}{
		{"a chart", []ingest.Slot{slot(ingest.KindChart, "US", time.Hour, unit)}, entries{entry("scheduled", "US", "units", 4)}, 0},
		{"a chart that was forced", []ingest.Slot{slot(ingest.KindChart, "US", time.Hour, unit)}, entries{entry("manual", "US", "units", 4)}, 0},
		{"more than the slots know", []ingest.Slot{slot(ingest.KindChart, "US", time.Hour, unit)}, entries{entry("scheduled", "US", "units", 5)}, 0},
		{"a part", []ingest.Slot{slot(ingest.KindChart, "US", time.Hour, unit)}, entries{entry("scheduled", "US", "units", 3)}, 1},
		{"of another region", []ingest.Slot{slot(ingest.KindChart, "US", time.Hour, unit)}, entries{entry("scheduled", "GB", "units", 4)}, 4},
		{"one of two slots", []ingest.Slot{slot(ingest.KindChart, "US", time.Hour, unit), slot(ingest.KindChart, "US", 2*time.Hour, unit)},
			entries{entry("scheduled", "US", "units", 4)}, 4},
		{"a refresh that asked about a region", []ingest.Slot{slot(ingest.KindRefresh, "", time.Hour, unit)},
			entries{entry("refresh", "US", "units", 1), entry("refresh", "", "units", 3)}, 0},
		{"a piece", []ingest.Slot{slot(ingest.KindBackfill, "000001", time.Hour, unit)}, entries{entry("backfill", "", "units", 4)}, 0},
		{"a search", []ingest.Slot{slot(ingest.KindSearch, "", time.Hour, search)},
			entries{entry("scheduled", "", "units", 303), entry("scheduled", "", "search", 3)}, 0},
		{"a search whose second pool is lost", []ingest.Slot{slot(ingest.KindSearch, "", time.Hour, search)},
			entries{entry("scheduled", "", "units", 303)}, 3},
		{"no ledger", []ingest.Slot{slot(ingest.KindSearch, "", time.Hour, search), slot(ingest.KindChart, "US", time.Hour, unit)}, nil, 307},
	} {
		t.Run(tt.name, func(t *testing.T) {
			missing, err := account(tt.ledger).Missing(t.Context(), tt.slots)
			if got := audit.Units(missing); err != nil || got != tt.missing {
				t.Errorf("%d units are missing, want %d: %+v, %v", got, tt.missing, missing, err)
			}
		})
	}
}

func TestALedgerThatCannotAnswerIsNotALostOne(t *testing.T) {
	missing, err := account(unreachable{}).Missing(t.Context(), []ingest.Slot{slot(ingest.KindChart, "US", time.Hour, map[string]int64{"units": 4})})
	if !errors.Is(err, quota.ErrUnavailable) || missing != nil {
		t.Errorf("%v, %v, want nothing and error %v", missing, err, quota.ErrUnavailable)
	}
}

// The posted spends equal the charges, and the ledger then lacks nothing.
func TestPostedSpendsAreExact(t *testing.T) {
	slots := []ingest.Slot{
		slot(ingest.KindSearch, "", time.Hour, map[string]int64{"units": 303, "search": 3}),
		slot(ingest.KindChart, "US", time.Hour, map[string]int64{"units": 4}),
		slot(ingest.KindBackfill, "000001", time.Hour, map[string]int64{"units": 2}),
	}
	slots[1].State = ingest.Stopped
	ledger := entries{entry("scheduled", "", "units", 101), entry("scheduled", "", "search", 1)}
	once := &asked{entries: ledger}
	missing, err := account(once).Rebuild(t.Context(), slots)
	if err != nil || once.times != 1 { // another process may spend between two
		t.Fatalf("read %d times, %v, want 1", once.times, err)
	}
	total := quota.Cost{}
	for _, s := range missing {
		p, err := s.Posting([]string{"search.list", "videos.list"}, tariff(t, "classic"), now)
		if err != nil {
			t.Fatal(err)
		}
		if want := s.Slot.State == ingest.Done; p.At.Equal(s.Slot.FetchedAt) != want {
			t.Errorf("%s, %s: posted at %v, want %v", s.Slot.Kind, s.Slot.State, p.At, want)
		}
		for pool, amount := range p.Cost {
			total[pool] += amount
			ledger = append(ledger, quota.Spent{Pool: pool, Who: p.Who, Amount: amount})
		}
	}
	if want := (quota.Cost{"units": 202 + 4 + 2, "search": 2}); !maps.Equal(total, want) {
		t.Errorf("posted %v, want %v", total, want)
	}
	if left, err := account(ledger).Missing(t.Context(), slots); err != nil || len(left) > 0 {
		t.Errorf("after it %+v is still missing, %v, want none", left, err)
	}
}

func tariff(t *testing.T, table string) *quota.Tariff {
	t.Helper()
	costs, err := os.ReadFile("../../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := quota.ParseCosts("costs.yaml", costs, "youtube", table)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
