package sharedledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// A clock that is apart by more than the grace could open a day early.
func TestClockBeyondTheGraceIsNotTrusted(t *testing.T) {
	for gap, trusted := range map[time.Duration]bool{29 * time.Second: true, -29 * time.Second: true, 31 * time.Second: false, -31 * time.Second: false} {
		s, err := sharedledger.Open(tariff(), &memremote.Remote{Now: func() time.Time { return time.Now().Add(gap) }}, &memremote.Journal{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		a := quota.Ask{Account: "default", Midnights: quota.Midnights(time.Now(), pacific), Horizon: quota.MinHorizon, Grace: grace,
			Charges: []quota.Charge{{Pool: "units", Bounds: []quota.Bound{{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: 10}, Ceiling: 10}}}}}
		if _, err := s.Take(t.Context(), a); errors.Is(err, quota.ErrUnavailable) == trusted {
			t.Errorf("%v apart: %v", gap, err)
		}
		_ = s.Close()
	}
}

// An omitted part must not make a ledger forget at once, or decide without the others.
func TestNoZeroValueIsUnsafe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*quota.Tariff)
		hosts  int
	}{
		"no pools":            {func(t *quota.Tariff) { t.Pools = nil }, 2},
		"no zone":             {func(t *quota.Tariff) { t.Zone = nil }, 2},
		"no settling":         {func(t *quota.Tariff) { t.Failure.SyncWait = 0 }, 2},
		"an unknown pool":     {func(t *quota.Tariff) { t.Methods["x"] = quota.Cost{"unit": 1} }, 2},
		"a negative grace":    {func(t *quota.Tariff) { t.Grace = -12 * time.Hour }, 2},
		"a negative window":   {func(t *quota.Tariff) { t.Pools[0].Windows[0].Length = -time.Hour }, 2},
		"a window too long":   {func(t *quota.Tariff) { t.Pools[0].Windows[0].Length = protocol.MaxWindow + 1 }, 2},
		"a limit of nothing":  {func(t *quota.Tariff) { t.Pools[0].Windows[0].Limit = 0 }, 2},
		"a cost of nothing":   {func(t *quota.Tariff) { t.Methods["x"] = quota.Cost{"units": 0} }, 2},
		"no data directories": {func(*quota.Tariff) {}, 0},
	} {
		tariff := tariff()
		c.change(tariff)
		if _, err := sharedledger.Open(tariff, &memremote.Remote{}, &memremote.Journal{}, c.hosts); !errors.Is(err, quota.ErrUnknown) {
			t.Errorf("%s: %v, want error %v", name, err, quota.ErrUnknown)
		}
	}
	_, noTariff := sharedledger.Open(nil, &memremote.Remote{}, &memremote.Journal{}, 1)
	_, noRemote := sharedledger.Open(tariff(), nil, &memremote.Journal{}, 1)
	_, noJournal := sharedledger.Open(tariff(), &memremote.Remote{}, nil, 1)
	for _, err := range []error{noTariff, noRemote, noJournal} {
		if !errors.Is(err, quota.ErrUnknown) {
			t.Errorf("%v, want error %v", err, quota.ErrUnknown)
		}
	}
	s, err := sharedledger.Open(tariff(), &memremote.Remote{Now: time.Now}, &memremote.Journal{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if s.SyncWait != 10*time.Minute || s.Now == nil || s.Account != "default" {
		t.Errorf("settle %v, a clock: %t, account %q", s.SyncWait, s.Now != nil, s.Account)
	}
	s.SyncWait = 0
	if _, err := s.Take(t.Context(), quota.Ask{Account: "default"}); !errors.Is(err, quota.ErrUnknown) || !strings.Contains(err.Error(), "settle") {
		t.Errorf("a ledger that waits for nobody: %v, want error %v and \"settle\" in it", err, quota.ErrUnknown)
	}
	if _, err := new(sharedledger.Ledger).Take(t.Context(), quota.Ask{}); !errors.Is(err, quota.ErrUnknown) {
		t.Errorf("a ledger that nobody opened: %v, want error %v", err, quota.ErrUnknown)
	}
}
