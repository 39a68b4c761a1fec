package micros_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
)

func TestNothingThatCountsIsRoundedAway(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, 1000: 1, 1001: 2, time.Second: 1_000_000} {
		if got := micros.Of(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
	if got := micros.Asked(quota.Ask{}); got != 0 {
		t.Errorf("no clock is %d", got)
	}
	if got := micros.Asked(quota.Ask{Now: time.UnixMicro(-5)}); got != 1 {
		t.Errorf("a clock of before 1970 is %d, which must not be none", got)
	}
}

func TestTheStepsEqualTruncates(t *testing.T) {
	for _, precision := range []time.Duration{0, time.Microsecond, 7 * time.Second, time.Hour, 100 * time.Hour} {
		length, offset := micros.Steps(quota.Ask{Precision: precision})
		for at := time.Date(2026, 2, 14, 9, 10, 11, 12000, time.UTC); length > 0 && at.Year() < 2027; at = at.Add(31 * time.Hour) {
			us := at.UnixMicro()
			if begin := us - (us+offset)%length; begin != at.Truncate(precision).UnixMicro() {
				t.Errorf("%v, steps of %v: begins at %v", at, precision, time.UnixMicro(begin))
			}
		}
		if precision == 0 && length != 0 {
			t.Errorf("precision 0: got steps of %v, want 0", length)
		}
	}
}
