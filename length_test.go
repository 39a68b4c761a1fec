package ingest_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestALengthIsARangeOfDurations(t *testing.T) {
	for text, want := range map[string]struct {
		in, out []time.Duration
	}{
		"-3m":     {[]time.Duration{time.Second, 3 * time.Minute}, []time.Duration{0, 3*time.Minute + time.Second}},
		"3m-20m":  {[]time.Duration{3 * time.Minute, 20 * time.Minute}, []time.Duration{0, time.Minute, time.Hour}},
		"1h-":     {[]time.Duration{time.Hour, 100 * time.Hour}, []time.Duration{0, 59 * time.Minute}},
		"90s-90s": {[]time.Duration{90 * time.Second}, []time.Duration{89 * time.Second, 91 * time.Second}},
	} {
		l, err := ingest.ParseLength(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ingest.ParseLength(l.String()); err != nil || again != l {
			t.Errorf("%s: String returns %s, and ParseLength reads that as %+v, %v", text, l, again, err)
		}
		for _, d := range want.in {
			if !l.Contains(d) {
				t.Errorf("%s does not hold %v", text, d)
			}
		}
		for _, d := range want.out {
			if l.Contains(d) {
				t.Errorf("%s holds %v", text, d)
			}
		}
	}
	if !(ingest.Length{}).Contains(0) {
		t.Error("the zero Length holds the 0 of a live video: got false, want true")
	}
	for _, text := range []string{"", "-", "3m", "short", "-3", "20m-3m", "-0s", "-500ms", "-1m-", "3m-20m-", "1h0.5s-"} {
		if l, err := ingest.ParseLength(text); err == nil {
			t.Errorf("%q: ParseLength returns %+v, want an error", text, l)
		}
	}
}
