package quota_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

func TestShareIsReadExactly(t *testing.T) {
	for s, want := range map[string]quota.Share{
		"100%": 1_000_000, "95%": 950_000, "99.5%": 995_000, "0.1%": 1_000, "0.0001%": 1, "99.9999%": 999_999, " 70% ": 700_000, "070%": 700_000, "33.3333%": 333_333,
	} {
		if got, err := quota.ParseShare(s); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "%", "95", "95 %", "0%", "-1%", "100.0001%", "101%", "Inf%", "NaN%", "1e9%", "a%", "95%%", "1,5%", "0.00001%"} {
		if got, err := quota.ParseShare(s); err == nil {
			t.Errorf("%q is read as %v, want an error", s, got)
		} else if !strings.Contains(err.Error(), `"`+s+`"`) {
			t.Errorf("%q: %v does not quote it", s, err)
		}
	}
	for share, want := range map[quota.Share]string{950_000: "95%", 995_000: "99.5%", 1: "0.0001%", 1_000_000: "100%"} {
		if got := share.String(); got != want {
			t.Errorf("%d is written %q, want %q", share, got, want)
		}
	}
}

func TestShareOfALimitIsRoundedDownAndNeverOverflows(t *testing.T) {
	limits := []int64{1, 2, 99, 100, 10_000, 999_999, 1_000_000, 1_000_001, quota.MaxLimit - 1, quota.MaxLimit}
	for _, share := range []quota.Share{1, 999, 1_000, 5_000, 333_333, 700_000, 950_000, 995_000, 999_999, 1_000_000} {
		for _, limit := range limits {
			exact := new(big.Int).Mul(big.NewInt(int64(share)), big.NewInt(limit))
			want := exact.Div(exact, big.NewInt(1_000_000)).Int64()
			if got := share.Of(limit); got != want {
				t.Errorf("%v of %d is %d, want %d", share, limit, got, want)
			}
		}
	}
}

func TestWindowIsADayOrAWholeDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{"day": 0, "24h": 24 * time.Hour, "100ms": 100 * time.Millisecond, "1s": time.Second, "60s": time.Minute, "1h30m": 90 * time.Minute, "768h": protocol.MaxWindow, "1500ms": 1500 * time.Millisecond} {
		w, err := quota.ParseWindow(s)
		if err != nil || w.Length != want || w.Name != s || w.Day() != (s == "day") || w.Limit != 0 {
			t.Errorf("%q is %+v (%v), want %v", s, w, err, want)
		}
	}
	for _, s := range []string{"", "Day", "days", "24", "0s", "-24h", "99ms", "768h0m0.001s", "1.0000001s", "1000000h", "9999999999h", "1h ", "٣h"} {
		if w, err := quota.ParseWindow(s); err == nil {
			t.Errorf("%q is read as %+v, want an error", s, w)
		}
	}
}

// ParseWindow accepts only day and whole milliseconds within the bounds.
func FuzzWindow(f *testing.F) {
	for _, s := range []string{"day", "24h", "60s", "768h", "1ms", "-1h", "1h1h", "1.5s", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := quota.ParseWindow(s)
		if err != nil {
			return
		}
		if w.Name != s || w.Day() != (s == "day") {
			t.Fatalf("%q: %+v, want this window", s, w)
		}
		if !w.Day() && (w.Length < protocol.MinWindow || w.Length > protocol.MaxWindow || w.Length%time.Millisecond != 0) {
			t.Fatalf("%q is %v", s, w.Length)
		}
	})
}

// A share that ParseShare accepts is at least 1 of the largest limit and at most all, and is read back from its String.
func FuzzShare(f *testing.F) {
	for _, s := range []string{"95%", "0.1%", "100%", "1e2%", "0x1p3%", "%", "-0%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		share, err := quota.ParseShare(s)
		if err != nil {
			return
		}
		if of := share.Of(quota.MaxLimit); of < 1 || of > quota.MaxLimit {
			t.Fatalf("%q of %d is %d, want at least 1 and at most %v", s, int64(quota.MaxLimit), of, quota.MaxLimit)
		}
		if again, err := quota.ParseShare(share.String()); err != nil || again != share {
			t.Fatalf("%q is written %v and read as %v (%v)", s, share, again, err)
		}
	})
}

func TestPurposesAreTheFiveAndNoOther(t *testing.T) {
	for _, p := range quota.Purposes() {
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, s := range []quota.Purpose{"", "Scheduled", "other", "manual "} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "use scheduled, refresh, backfill, manual or client") {
			t.Errorf("%q: %v", s, err)
		}
	}
}
