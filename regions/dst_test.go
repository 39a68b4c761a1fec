package regions_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// oneRegion is a job with one series, so that its slots are its times.
func oneRegion(cron string) ingest.Job {
	return ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US"}, Cron: cron}
}

func dues(keys []ingest.SlotKey) []time.Time {
	var out []time.Time
	for _, k := range keys {
		out = append(out, k.DueAt)
	}
	return out
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// Expected ticks on days when the clocks change, written by hand from the tz database.
func TestALocalTimeFiresExactlyOnceWhenTheClocksChange(t *testing.T) {
	for _, c := range []struct {
		name, line, from, to string // from is excluded
		want                 []string
	}{
		{"New York, 02:30 is skipped", "CRON_TZ=America/New_York 30 2 * * *", "2026-03-07T06:00:00Z", "2026-03-09T12:00:00Z",
			[]string{"2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		{"New York, 01:30 comes twice", "TZ=America/New_York 30 1 * * *", "2026-10-31T04:00:00Z", "2026-11-02T12:00:00Z",
			[]string{"2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
		{"New York, three times of one gap are one slot, and 03:00 is in it", "CRON_TZ=America/New_York 0,30 2-3 * * *", "2026-03-08T06:00:00Z", "2026-03-08T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z"}},
		{"New York, every 20 minutes through the gap", "CRON_TZ=America/New_York */20 * * * *", "2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z",
			[]string{"2026-03-08T06:40:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:20:00Z"}},
		{"New York, every 20 minutes through both hours", "CRON_TZ=America/New_York */20 * * * *", "2026-11-01T05:30:00Z", "2026-11-01T07:00:00Z",
			[]string{"2026-11-01T05:40:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:20:00Z", "2026-11-01T06:40:00Z", "2026-11-01T07:00:00Z"}},
		{"New York, every minute of a fixed hour, the first time only", "CRON_TZ=America/New_York */20 1 * * *", "2026-11-01T04:00:00Z", "2026-11-01T12:00:00Z",
			[]string{"2026-11-01T05:00:00Z", "2026-11-01T05:20:00Z", "2026-11-01T05:40:00Z"}},
		{"Berlin, every other hour loses none", "CRON_TZ=Europe/Berlin 0 */2 * * *", "2026-03-28T22:00:00Z", "2026-03-29T04:00:00Z",
			[]string{"2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z", "2026-03-29T04:00:00Z"}},
		{"Sao Paulo has no midnight", "CRON_TZ=America/Sao_Paulo 0 0 * * *", "2018-11-03T02:00:00Z", "2018-11-05T12:00:00Z",
			[]string{"2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}},
		{"Sao Paulo has 23:30 twice", "CRON_TZ=America/Sao_Paulo 30 23 * * *", "2018-02-17T00:00:00Z", "2018-02-19T12:00:00Z",
			[]string{"2018-02-17T01:30:00Z", "2018-02-18T01:30:00Z", "2018-02-19T02:30:00Z"}},
		{"Sao Paulo's Sunday begins once, an hour late", "CRON_TZ=America/Sao_Paulo 15 0 * * 0", "2018-10-29T00:00:00Z", "2018-11-11T12:00:00Z",
			[]string{"2018-11-04T03:00:00Z", "2018-11-11T02:15:00Z"}},
		{"Beirut has no midnight", "CRON_TZ=Asia/Beirut 0 0 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
			[]string{"2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"}},
		{"Cairo has no midnight", "CRON_TZ=Africa/Cairo 0 0 * * *", "2026-04-22T12:00:00Z", "2026-04-25T12:00:00Z",
			[]string{"2026-04-22T22:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"}},
		{"Havana has no midnight", "CRON_TZ=America/Havana 0 0 * * *", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z",
			[]string{"2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"}},
		{"Havana has two midnights", "CRON_TZ=America/Havana 0 0 * * *", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z",
			[]string{"2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"}},
		{"Lord Howe skips half an hour", "CRON_TZ=Australia/Lord_Howe 15 2 * * *", "2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"Lord Howe has half an hour twice", "CRON_TZ=Australia/Lord_Howe 45 1 * * *", "2026-04-03T12:00:00Z", "2026-04-05T20:00:00Z",
			[]string{"2026-04-03T14:45:00Z", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		{"Apia has no 30 December", "CRON_TZ=Pacific/Apia 0 6 * * *", "2011-12-28T20:00:00Z", "2011-12-31T20:00:00Z",
			[]string{"2011-12-29T16:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T16:00:00Z", "2011-12-31T16:00:00Z"}},
		{"Apia's two midnights are one", "CRON_TZ=Pacific/Apia 0 0 * * *", "2011-12-28T20:00:00Z", "2011-12-31T20:00:00Z",
			[]string{"2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"}},
		{"Apia's yearly 30 December is not lost", "CRON_TZ=Pacific/Apia 0 6 30 12 *", "2011-01-01T00:00:00Z", "2012-01-31T00:00:00Z",
			[]string{"2011-12-30T10:00:00Z"}},
		{"a leap day", "0 6 29 2 *", "2025-01-01T00:00:00Z", "2033-01-01T00:00:00Z",
			[]string{"2028-02-29T06:00:00Z", "2032-02-29T06:00:00Z"}},
		{"no leap day in 2100", "0 6 29 2 *", "2095-01-01T00:00:00Z", "2105-01-01T00:00:00Z",
			[]string{"2096-02-29T06:00:00Z", "2104-02-29T06:00:00Z"}},
		{"every hour of no leap day in 2100", "30 * 29 2 *", "2096-02-29T22:00:00Z", "2104-02-29T01:00:00Z",
			[]string{"2096-02-29T22:30:00Z", "2096-02-29T23:30:00Z", "2104-02-29T00:30:00Z"}},
	} {
		got := jobSchedule(t, oneRegion(c.line)).Between(at(t, c.from), at(t, c.to))
		var times []string
		for _, k := range got {
			times = append(times, k.DueAt.Format(time.RFC3339))
		}
		if !slices.Equal(times, c.want) {
			t.Errorf("%s: %s\n got %v\nwant %v", c.name, c.line, times, c.want)
		}
	}
}

// The days on which clocks of all sorts change, and some on which none do.
var changes = []struct{ zone, day string }{
	{"America/New_York", "2026-03-08"}, {"America/New_York", "2026-11-01"},
	{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"},
	{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-18"},
	{"Asia/Beirut", "2026-03-29"}, {"Asia/Beirut", "2026-10-25"},
	{"Africa/Cairo", "2026-04-24"}, {"Africa/Cairo", "2026-10-30"},
	{"America/Havana", "2026-03-08"}, {"America/Havana", "2026-11-01"},
	{"Australia/Lord_Howe", "2026-10-04"}, {"Australia/Lord_Howe", "2026-04-05"}, // half an hour
	{"Antarctica/Troll", "2026-03-29"}, {"Antarctica/Troll", "2026-10-25"}, // two hours
	{"Pacific/Apia", "2011-12-30"}, {"Pacific/Kwajalein", "1993-08-21"}, // a whole day
	{"Africa/Casablanca", "2026-02-15"}, {"Africa/Casablanca", "2026-03-22"},
	{"America/Caracas", "2016-05-01"}, {"Asia/Pyongyang", "2018-05-05"}, {"Asia/Kathmandu", "1986-01-01"}, // for good
	{"America/New_York", "2028-12-31"}, {"Australia/Sydney", "2040-12-31"}, // Go forgets that it is the 366th day
	{"UTC", "2028-02-29"}, {"Asia/Kolkata", "2026-03-29"},
}

var lines = []string{
	"30 2 * * *", "0 0 * * *", "15 0 * * *", "45 1 * * *", "59 23 * * *", "0 6 * * *",
	"*/20 * * * *", "* * * * *", "7 * * * *", "0 0-23 * * *", "*/20 */1 * * 0",
	"*/20 2 * * *", "15,45 0-3 * * *", "0 */2 * * *", "0 */6 * * *", "*/7 23,0,1 * * *",
	"0 6 29 2 *", "30 1 * * 0", "0 0 1,15 * 1", "5 * 4 * *", "0 12 30 12 *", "10/15 2/1 * 3,10,11 *",
}

// change is one line over one day of changes, from two days before it to two days after, with the ticks that the
// walker finds there.
type change struct {
	name     string
	schedule regions.JobSchedule
	from, to time.Time
	want     []time.Time
}

// allChanges is every line on every day of changes; the walks take a second.
var allChanges = sync.OnceValues(func() (all []change, err error) {
	for _, c := range changes {
		z, err := time.LoadLocation(c.zone)
		if err != nil {
			return nil, err
		}
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			return nil, err
		}
		from, to := day.Add(-48*time.Hour), day.Add(48*time.Hour)
		for _, line := range lines {
			s, err := regions.NewJobSchedule(oneRegion("CRON_TZ=" + c.zone + " " + line))
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("%s in %s on %s", line, c.zone, c.day)
			all = append(all, change{name, s, from, to, newWalker(line, z).fires(from, to)})
		}
	}
	return all, nil
})

func overChanges(t *testing.T, check func(name string, s regions.JobSchedule, from, to time.Time, want []time.Time)) {
	t.Helper()
	all, err := allChanges()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		check(c.name, c.schedule, c.from, c.to, c.want)
	}
}

func TestBetweenReturnsTheTicksThatAWalkThroughEveryMinuteFinds(t *testing.T) {
	total := 0
	overChanges(t, func(name string, s regions.JobSchedule, from, to time.Time, want []time.Time) {
		got := dues(s.Between(from, to))
		total += len(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
		for i, due := range got {
			if i > 0 && !due.After(got[i-1]) {
				t.Errorf("%s: two slots are due at %v", name, due)
			}
			if due.Location() != time.UTC || due.Nanosecond() != 0 {
				t.Errorf("%s: %v is not a whole second in UTC", name, due)
			}
		}
	})
	t.Logf("%d slots of %d lines on %d days", total, len(lines), len(changes))
}

func TestBetweenCutAnywhereIsTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	overChanges(t, func(name string, s regions.JobSchedule, from, to time.Time, want []time.Time) {
		var pieces []time.Time
		for cut := from; cut.Before(to); {
			step := time.Duration(random.Int64N(int64(5 * time.Hour))) // to the nanosecond
			if len(want) > 0 && random.IntN(3) == 0 {
				if due := want[random.IntN(len(want))]; due.After(cut) {
					step = due.Sub(cut) // on a slot: it belongs to the piece that ends there
				}
			}
			end := earlier(to, cut.Add(step))
			pieces = append(pieces, dues(s.Between(cut, end))...)
			cut = end
		}
		if !slices.Equal(pieces, want) {
			t.Errorf("%s:\n in pieces %v\n  at once %v", name, pieces, want)
		}
	})
}

func TestLatestAndNextAreTheNeighboursOfNow(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	overChanges(t, func(name string, s regions.JobSchedule, from, to time.Time, want []time.Time) {
		nows := slices.Clone(want)
		for range 40 {
			nows = append(nows, from.Add(time.Duration(random.Int64N(int64(to.Sub(from))))))
		}
		for _, due := range want {
			nows = append(nows, due.Add(-time.Nanosecond), due.Add(-time.Second), due.Add(time.Nanosecond))
		}
		for _, now := range nows {
			after, _ := slices.BinarySearchFunc(want, now, func(due, now time.Time) int {
				if due.After(now) {
					return 1
				}
				return -1
			})
			latest := s.Latest(now)
			if len(latest) != 1 || latest[0].DueAt.After(now) {
				t.Fatalf("%s at %v: latest %v", name, now, latest)
			}
			if after > 0 && !latest[0].DueAt.Equal(want[after-1]) {
				t.Fatalf("%s at %v: latest %v, want %v", name, now, latest, want[after-1])
			}
			if after == 0 && latest[0].DueAt.After(from) {
				t.Fatalf("%s at %v: latest %v, want none after %v", name, now, latest, from)
			}
			if next := s.Next(now); after < len(want) && !next.Equal(want[after]) || after == len(want) && !next.After(to) {
				t.Fatalf("%s at %v: next %v, want that after %v", name, now, next, want[:after])
			}
		}
	})
}

// Every day of a year has each local time once, whatever the clocks do: 365 slots, or 366.
func TestADailyTimeFiresOnceOnEveryDayOfTheYear(t *testing.T) {
	for _, name := range []string{"UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut", "Africa/Cairo", "Africa/Casablanca"} {
		z := zone(t, name)
		for minute := 0; minute < 24*60; minute += 15 {
			s := jobSchedule(t, oneRegion(fmt.Sprintf("CRON_TZ=%s %d %d * * *", name, minute%60, minute/60)))
			for year, days := range map[int]int{2025: 365, 2028: 366} {
				from, to := time.Date(year, 1, 1, 0, 0, -1, 0, z), time.Date(year+1, 1, 1, 0, 0, -1, 0, z)
				if got := s.Between(from, to); len(got) != days {
					t.Errorf("%s, %02d:%02d in %d: %d slots, want %d", name, minute/60, minute%60, year, len(got), days)
				}
			}
		}
	}
}
