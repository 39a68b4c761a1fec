package regions_test

import (
	"testing"
	"time"
)

// crontab(5): if day of month or day of week begins with a star, even with a step after it, both have to match.
func TestAStepOfAllDaysAndADayOfWeekBothHaveToMatch(t *testing.T) {
	from := at(t, "2026-02-01T00:00:00Z")
	for line, want := range map[string]int{"0 6 */2 * 1": 2, "0 6 1-31/2 * 1": 16, "0 6 * * 1": 4, "0 6 15 * */2": 1} {
		got := jobSchedule(t, oneRegion(line)).Between(from, from.Add(28*24*time.Hour))
		days := map[time.Time]bool{}
		for _, k := range got {
			days[k.DueAt] = true
		}
		if len(days) != want {
			t.Errorf("%s fires on %d days of February 2026, want %d", line, len(days), want)
		}
	}
}
