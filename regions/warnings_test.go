package regions_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/regions"
)

func TestWarningsDescribeACronLinesRealEffect(t *testing.T) {
	now := at(t, "2026-02-14T09:10:00Z")
	for _, c := range []struct {
		line string
		says []string // a part of each warning, in order
	}{
		{"*/30 * * * *", nil},
		{"0 6 * * *", nil},
		{"15/20 * * * *", nil}, // 15, 35, 55: even
		{"0 */6 * * *", nil},
		{"0 6 1,15 * *", nil},
		{"0 6 * * 1-5", nil},
		{"0 6 28 * *", nil},
		{"0 6 31 1,3,5,7,8,10,12 *", nil},
		{"0 6 1-31 * *", nil},
		{"@daily", nil},
		{"0-30/7 9-17/3 * * *", nil}, // a range says where it ends
		{"CRON_TZ=Asia/Kolkata 0 6 * * *", nil},
		{"CRON_TZ=Etc/UTC 0 6 * * *", nil},

		{"*/90 * * * *", []string{"minute */90 is only ever 0, since steps restart each hour: it fires once each hour; for even steps set every: 90m"}},
		{"*/60 * * * *", []string{"every: 60m"}},
		{"30/45 * * * *", []string{"minute 30/45 is only ever 30"}},
		{"*/7 * * * *", []string{"minute */7 restarts each hour: the step from 56 to 0 is 4, not 7; for even steps set every: 7m"}},
		{"5/25 * * * *", []string{"the step from 55 to 5 is 10, not 25"}},
		{"0 */5 * * *", []string{"hour */5 restarts each day: the step from 20 to 0 is 4, not 5; for even steps set every: 5h"}},
		{"0 */36 * * *", []string{"it fires once each day; for even steps set every: 36h"}},
		{"0 6 */2 * *", []string{"day of month */2 restarts on day 1 of each month: the step from the end of a month is shorter or longer than 2 days; for even steps set every: 48h"}},
		{"0 6 */40 * *", []string{"once each month"}},
		{"0 6 1 */5 *", []string{"month */5 restarts each year: the step from 11 to 1 is 2, not 5"}},
		{"0 6 * * */2", []string{"day of week */2 restarts each week: the step from 6 to 0 is 1, not 2; for even steps set every: 48h"}},
		{"*/9223372036854775807 * * * *", []string{"once each hour"}},
		{"*/7,*/11 * * * *", []string{"minute */7", "minute */11"}},

		{"0 6 31 * *", []string{"there is no day 31 in February, April, June, September, November: nothing fires for that day"}},
		{"0 6 1,30 * *", []string{"there is no day 30 in February: nothing"}},
		{"0 6 29 2 *", []string{"there is no day 29 in February, except in leap years"}},
		{"0 6 29-31 2-4 *", []string{"no day 29 in February, except in leap years", "no day 30 in February", "no day 31 in February, April"}},
		{"0 6 13 * 5", []string{"day of month 13 and day of week 5 are both set: cron fires on days that match either, not both"}},

		{"CRON_TZ=America/New_York 0 6 * * *", []string{"America/New_York is local time, whose clocks next change at 2026-03-08 07:00:00Z, from UTC-05:00 to UTC-04:00: the times in UTC move with them"}},
		{"CRON_TZ=America/New_York */20 * * * *", []string{"also in an hour that comes twice"}},
		{"CRON_TZ=Australia/Lord_Howe 0 6 * * *", []string{"from UTC+11:00 to UTC+10:30"}},
		{"CRON_TZ=America/New_York */90 * 31 * 1", []string{"*/90", "both set", "no day 31", "America/New_York"}},
	} {
		got := jobSchedule(t, oneRegion(c.line)).Warnings(now)
		if len(got) != len(c.says) {
			t.Errorf("%s: %d warnings, want %d: %q", c.line, len(got), len(c.says), got)
			continue
		}
		for i, says := range c.says {
			if !strings.Contains(got[i], says) {
				t.Errorf("%s: warning %q, want it to say %q", c.line, got[i], says)
			}
		}
	}
	if got := jobSchedule(t, chart(regions.MinEvery*7, "")).Warnings(now); len(got) > 0 {
		t.Errorf("an interval was warned of: %q, want none", got)
	}
}

// The interval that a warning suggests is one that New accepts.
func TestASuggestedIntervalIsInBounds(t *testing.T) {
	now := at(t, "2026-02-14T09:10:00Z")
	for _, line := range []string{"*/43201 * * * *", "0 */721 * * *", "0 6 */31 * *", "0 6 1 */99 *"} {
		for _, w := range jobSchedule(t, oneRegion(line)).Warnings(now) {
			if strings.Contains(w, "every:") {
				t.Errorf("%s: %q, want no every: in it", line, w)
			}
		}
	}
}
