package quota_test

import (
	"errors"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// today is the day around now among the midnights: when it begins and when the next does.
func today(t testing.TB, now time.Time, midnights []time.Time) (begin, end time.Time) {
	t.Helper()
	for i, m := range midnights {
		if m.After(now) {
			return midnights[i-1], m
		}
	}
	t.Fatalf("no midnight after %s in %s", now, midnights)
	return
}

func TestMidnightsAreTheFirstInstantsOfDays(t *testing.T) {
	for _, c := range []struct{ name, zone, now, begin, end string }{
		{"a plain day", "America/Los_Angeles", "2026-06-01T12:00:00Z", "2026-06-01T07:00:00Z", "2026-06-02T07:00:00Z"},
		{"the day of 25 hours", "America/Los_Angeles", "2026-11-01T20:00:00Z", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"},
		{"its first instant", "America/Los_Angeles", "2026-11-01T07:00:00Z", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"},
		{"the instant before it", "America/Los_Angeles", "2026-11-01T06:59:59Z", "2026-10-31T07:00:00Z", "2026-11-01T07:00:00Z"},
		{"its last instant", "America/Los_Angeles", "2026-11-02T07:59:59Z", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"},
		{"the first of two one o'clocks", "America/Los_Angeles", "2026-11-01T08:30:00Z", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"},
		{"the second of two one o'clocks", "America/Los_Angeles", "2026-11-01T09:30:00Z", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"},
		{"the day of 23 hours", "America/Los_Angeles", "2027-03-14T20:00:00Z", "2027-03-14T08:00:00Z", "2027-03-15T07:00:00Z"},
		{"a day without a midnight, São Paulo", "America/Sao_Paulo", "2018-11-04T15:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"the day before, São Paulo", "America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"a day whose last hour comes twice, São Paulo", "America/Sao_Paulo", "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		{"a day without a midnight, Cairo", "Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},
		{"a day whose last hour comes twice, Cairo", "Africa/Cairo", "2026-10-29T21:30:00Z", "2026-10-28T21:00:00Z", "2026-10-29T22:00:00Z"},
		{"a day without a midnight, Beirut", "Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"},
		{"a day with two midnights, Havana", "America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"between the two midnights, Havana", "America/Havana", "2026-11-01T04:30:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"a day without a midnight, Havana", "America/Havana", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		{"half an hour, Lord Howe", "Australia/Lord_Howe", "2026-04-05T01:00:00Z", "2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z"},
		{"a leap day", "UTC", "2028-02-29T23:59:59Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"},
		{"the end of a year", "Asia/Kathmandu", "2026-12-31T20:00:00Z", "2026-12-31T18:15:00Z", "2027-01-01T18:15:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := instant(t, c.now)
			midnights := quota.Midnights(now, zone(t, c.zone))
			begin, end := today(t, now, midnights)
			if !begin.Equal(instant(t, c.begin)) || !end.Equal(instant(t, c.end)) {
				t.Errorf("from %s to %s, want %s to %s", begin.UTC(), end.UTC(), c.begin, c.end)
			}
		})
	}
}

// Whatever the zone, the midnights ascend day by day, and surround every clock within a day of now.
func TestMidnightsSurroundClocksThatDiffer(t *testing.T) {
	for _, name := range []string{"UTC", "America/Los_Angeles", "America/Havana", "America/Sao_Paulo", "Africa/Cairo", "Asia/Beirut", "Australia/Lord_Howe",
		"Pacific/Chatham", "America/Santiago", "Asia/Gaza", "Pacific/Kiritimati", "America/Nuuk", "Africa/Casablanca", "Europe/Dublin", "Antarctica/Troll"} {
		z := zone(t, name)
		for now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); now.Year() < 2028; now = now.Add(7*time.Hour + 13*time.Minute) {
			midnights := quota.Midnights(now, z)
			for i, m := range midnights[1:] {
				if day := m.Sub(midnights[i]); day < 22*time.Hour || day > 26*time.Hour {
					t.Fatalf("%s, %s: a day of %v from %s", name, now, day, midnights[i])
				}
				if m.Add(-time.Second).In(z).Day() == m.In(z).Day() {
					t.Fatalf("%s, %s: %s is not the first instant of its day", name, now, m.In(z))
				}
			}
			for _, off := range []time.Duration{0, -time.Minute, time.Minute, -22 * time.Hour, 22 * time.Hour} {
				a := quota.Ask{Account: "a", Midnights: midnights, Charges: []quota.Charge{{Pool: "units", Bounds: []quota.Bound{{Window: quota.Window{Name: "day", Limit: 1}}}}}}
				if err := a.Check(now.Add(off)); err != nil {
					t.Fatalf("%s, %s, a clock %v away: %v", name, now, off, err)
				}
			}
		}
	}
}

func TestAccountsAreNamesThatKeysAndFilesCanHold(t *testing.T) {
	for _, s := range []string{"default", "A", "a.b-c_9", "0123456789012345678901234567890123456789012345678901234567890123"} {
		if err := quota.CheckAccount(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", " ", "a b", "{a}", "a:b", "a/b", "a\n", "ä", "01234567890123456789012345678901234567890123456789012345678901234"} {
		if err := quota.CheckAccount(s); !errors.Is(err, quota.ErrUnknown) {
			t.Errorf("%q: %v, want error %v", s, err, quota.ErrUnknown)
		}
	}
}
