package regions_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

func chart(every time.Duration, cron string) ingest.Job {
	return ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: every, Cron: cron}
}

func jobSchedule(t *testing.T, job ingest.Job) regions.JobSchedule {
	t.Helper()
	s, err := regions.NewJobSchedule(job)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestRegionsAreStaggeredOverTheInterval(t *testing.T) {
	from := at(t, "2026-02-14T09:00:00Z").Add(-time.Second)
	got := jobSchedule(t, chart(30*time.Minute, "")).Between(from, from.Add(30*time.Minute))
	if len(got) != 8 {
		t.Fatalf("%d slots in one interval, want one of each region", len(got))
	}
	for i, k := range got {
		want := from.Add(time.Second + time.Duration(i)*(3*time.Minute+45*time.Second))
		if !k.DueAt.Equal(want) || k.Region() != regions.Default()[i] {
			t.Errorf("slot %d is %s at %s, want %s at %s", i, k.Key, k.DueAt, regions.Default()[i], want)
		}
	}
}

// A span split at any point has the same slots as the whole: a caller that slept loses none.
func TestBetweenIsTheSameHoweverItIsCut(t *testing.T) {
	for _, job := range []ingest.Job{
		chart(30*time.Minute, ""), chart(7*time.Hour+time.Second, ""),
		chart(0, "*/20 * * * *"), chart(0, "CRON_TZ=America/Los_Angeles 15 3 * * *"),
	} {
		s := jobSchedule(t, job)
		from := at(t, "2026-10-31T00:00:13Z") // over the 25-hour day
		to := from.Add(72 * time.Hour)
		whole := s.Between(from, to)
		var pieces []ingest.SlotKey
		for cut := from; cut.Before(to); cut = cut.Add(41*time.Minute + 7*time.Second) {
			pieces = append(pieces, s.Between(cut, earlier(to, cut.Add(41*time.Minute+7*time.Second)))...)
		}
		if len(whole) == 0 || len(whole) != len(pieces) {
			t.Fatalf("%v: %d slots at once, %d in pieces", job, len(whole), len(pieces))
		}
		if n := s.Count(from, to); n != len(whole) {
			t.Errorf("%v: %d slots are counted, of %d", job, n, len(whole))
		}
		for i := range whole {
			if whole[i] != pieces[i] {
				t.Fatalf("%v: slot %d is %v at once, %v in pieces", job, i, whole[i], pieces[i])
			}
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func TestLatestIsTheLastOfBetween(t *testing.T) {
	now := at(t, "2026-02-14T09:10:00Z")
	for _, job := range []ingest.Job{chart(30*time.Minute, ""), chart(0, "0 6 29 2 *"), chart(0, "30 6 * * *")} {
		s := jobSchedule(t, job)
		for _, k := range s.Latest(now) {
			if k.DueAt.After(now) {
				t.Errorf("%v: latest %v is after now", job, k)
			}
			for _, other := range s.Between(k.DueAt, now) {
				if other.Key == k.Key {
					t.Errorf("%v: %v is newer than the latest, %v", job, other, k)
				}
			}
		}
		if len(s.Latest(now)) != 8 {
			t.Errorf("%v: %d latest slots, want 8", job, len(s.Latest(now)))
		}
	}
}

func TestDueMissesSlotsWithoutARun(t *testing.T) {
	schedule, err := regions.NewSchedule([]ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US"}, Every: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	us := ingest.Series{Job: "chart", Key: "US"}
	now := at(t, "2026-02-14T09:30:00Z")
	for _, c := range []struct {
		name   string
		known  map[ingest.Series]time.Time
		missed int
		due    string
	}{
		{"an empty table has one due", nil, 0, "2026-02-14T09:00:00Z"},
		{"nothing new", map[ingest.Series]time.Time{us: at(t, "2026-02-14T09:00:00Z")}, 0, ""},
		{"one new", map[ingest.Series]time.Time{us: at(t, "2026-02-14T08:00:00Z")}, 0, "2026-02-14T09:00:00Z"},
		{"three hours asleep", map[ingest.Series]time.Time{us: at(t, "2026-02-14T05:00:00Z")}, 3, "2026-02-14T09:00:00Z"},
		{"a year asleep is missed for 29 days", map[ingest.Series]time.Time{us: at(t, "2025-02-14T05:00:00Z")}, 29*24 - 1, "2026-02-14T09:00:00Z"},
		{"a table from the future", map[ingest.Series]time.Time{us: at(t, "2027-02-14T05:00:00Z")}, 0, ""},
	} {
		missed, due := 0, ""
		for _, s := range schedule.Due(c.known, now) {
			switch s.State {
			case ingest.Missed:
				missed++
			case ingest.Due:
				due = s.DueAt.Format(time.RFC3339)
			}
		}
		if missed != c.missed || due != c.due {
			t.Errorf("%s: %d missed and due %q, want %d and %q", c.name, missed, due, c.missed, c.due)
		}
	}
}

func TestBadTimingIsRefusedWithAHint(t *testing.T) {
	for _, c := range []struct {
		job  ingest.Job
		says string
	}{
		{chart(0, ""), "either every: or cron:"},
		{chart(time.Hour, "* * * * *"), "either every: or cron:"},
		{chart(30*time.Second, ""), "try 30m"},
		{chart(-time.Hour, ""), "try 30m"},
		{chart(90*24*time.Hour, ""), "try 30m"},
		{chart(time.Minute+time.Millisecond, ""), "try 30m"},
		{chart(0, "TZ=UTC"), "a zone without a line: try \"TZ=UTC */30 * * * *\""},
		{chart(0, "CRON_TZ=UTC   "), "a zone without a line"},
		{chart(0, "TZ= 0 6 * * *"), "the zone has no name"},
		{chart(0, "TZ=Local 0 6 * * *"), "not the same on every host"},
		{chart(0, "TZ=right/Europe/Berlin 0 6 * * *"), "try \"CRON_TZ=Europe/Berlin\""},
		{chart(0, "TZ=../../etc/passwd 0 6 * * *"), "CRON_TZ=America/New_York"},
		{chart(0, "CRON_TZ=Mars/Olympus 0 6 * * *"), "no zone \"Mars/Olympus\" here: use a name of the IANA database, as in \"CRON_TZ=America/New_York"},
		{chart(0, "CRON_TZ=America/NewYork 0 6 * * *"), "use a name of the IANA database"},
		{chart(0, "CRON_TZ=America/New York 0 6 * * *"), "use a name of the IANA database"},
		{chart(0, "CRON_TZ=Berlin 0 6 * * *"), "use a name of the IANA database"},
		{chart(0, "CRON_TZ=PST 0 6 * * *"), "did you mean CRON_TZ=America/Los_Angeles?"},
		{chart(0, "CRON_TZ=utc 0 6 * * *"), "did you mean CRON_TZ=UTC?"},
		{chart(0, "CRON_TZ=UTC+2 0 6 * * *"), "CRON_TZ=Etc/GMT-2"},
		{chart(0, "CRON_TZ=UTC CRON_TZ=UTC 0 6 * * *"), "has 6 fields"},
		{chart(0, "cron_tz=UTC 0 6 * * *"), "a zone is written CRON_TZ="},
		{chart(0, "0 6 31 2 *"), "never fires"},
		{chart(0, "0 6 31 4,6,9,11 *"), "never fires"},
		{chart(0, "0 6 30,31 2 *"), "try \"0 6 28 * *\""},
		{chart(0, "@every 30s"), "write an interval as every: 30m"},
		{chart(0, "@every 90m"), "write an interval as every: 90m"},
		{chart(0, "@every 0s"), "every: 30m"},
		{chart(0, "@every -1h"), "every: 30m"},
		{chart(0, "@every"), "every: 30m"},
		{chart(0, "@reboot"), "try"},
		{chart(0, "61 * * * *"), "try"},
		{chart(0, "* * * *"), "has 4 fields"},
		{chart(0, "*/10 * * * * *"), "no seconds"},
		{chart(0, "   "), "has 0 fields"},
		{chart(0, "0 6 * * 7"), "Sunday is 0"},
		{chart(0, "*/0 * * * *"), "try"},
		{chart(0, "*/-5 * * * *"), "try"},
		{chart(0, ", * * * *"), "empty place"},
		{chart(0, "0,,30 * * * *"), "empty place"},
		{chart(0, "0 6 * * * "+strings.Repeat("*", 1<<20)), "longer than"},
		{ingest.Job{Name: "chart", Every: time.Hour, Regions: []ingest.Region{"US", "GB", "US"}}, "\"US\" is named twice"},
	} {
		if _, err := regions.NewJobSchedule(c.job); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("every %v, cron %q: %v, want it to say %q", c.job.Every, c.job.Cron, err, c.says)
		}
	}
	if _, err := regions.NewSchedule([]ingest.Job{chart(time.Hour, ""), chart(time.Hour, "")}); err == nil ||
		!strings.Contains(err.Error(), "give each its own name") {
		t.Errorf("two jobs of one name: got %v, want the advice to give each its own name", err)
	}
}

func TestARefusalEchoesNothingThatATerminalObeys(t *testing.T) {
	for _, bad := range []string{"\x1b[2J", "\x07", "\x7f", "\u202e", "\u0085", "\x00", "\xff", "\r\nroot", "é"} {
		for _, job := range []ingest.Job{
			chart(0, "0 6 * * "+bad+"x"), chart(0, bad), chart(0, "@every "+bad), chart(0, bad+" 6 * * * *"), chart(0, "61 * * *\t"+bad),
			chart(0, "CRON_TZ="+bad+"x 0 6 * * *"), chart(0, "CRON_TZ=America/"+bad+" 0 6 * * *"), chart(0, "CRON_TZ="+bad), chart(0, bad+"=x 0 6 * * *"),
			{Name: "a" + bad + "b", Every: time.Second},
			{Name: "a", Every: time.Hour, Regions: []ingest.Region{ingest.Region(bad), ingest.Region(bad)}},
		} {
			_, err := regions.NewJobSchedule(job)
			if err == nil {
				t.Errorf("%+v was accepted, want an error", job)
				continue
			}
			if i := strings.IndexFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' && !unicode.IsLetter(r) || r == unicode.ReplacementChar }); i >= 0 {
				t.Errorf("%+v: the error has the raw %q: %q, want less than 0", job, err.Error()[i:], err)
			}
		}
	}
}

func TestEveryZoneThatAHintMayOfferExists(t *testing.T) {
	for _, name := range regions.HintZones() {
		if zone, err := time.LoadLocation(name); err != nil || zone.String() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhitespaceAndMacrosAreReadAsCronReadsThem(t *testing.T) {
	now := at(t, "2026-02-14T09:10:00Z")
	for line, same := range map[string]string{
		"  0\t6  * * *\n":                  "0 6 * * *",
		"CRON_TZ=Europe/Berlin\t0 6 * * *": "TZ=Europe/Berlin 0 6 * * *",
		"CRON_TZ=Europe/Berlin  @daily":    "CRON_TZ=Europe/Berlin 0 0 * * *",
		"@hourly":                          "0 * * * *",
		"@midnight":                        "0 0 * * *",
		"@weekly":                          "0 0 * * sun",
		"@monthly":                         "0 0 1 * ?",
		"@yearly":                          "0 0 1 jan *",
		"@annually":                        "0 0 1 1 *",
		"0-59/15 6-8 * mar-may mon":        "0,15,30,45 6,7,8 * 3,4,5 1",
		strings.Repeat("0,", 60) + "0 0 1 1,12 *": "0 0 1 12,1 *",
	} {
		got, want := jobSchedule(t, oneRegion(line)).NextTimes(now, 20), jobSchedule(t, oneRegion(same)).NextTimes(now, 20)
		if len(got) != 20 || !slices.Equal(got, want) {
			t.Errorf("%q: %v, want those of %q: %v", line, got, same, want)
		}
	}
}

func TestNextTimesAreTheFirstOfTheFirstKey(t *testing.T) {
	now := at(t, "2026-10-31T22:10:00.5Z")
	for _, job := range []ingest.Job{
		chart(30*time.Minute, ""), chart(time.Minute, ""), chart(25*time.Hour+time.Second, ""), chart(0, "CRON_TZ=America/New_York 30 1 * * *"), {Name: "refresh", Every: 24 * time.Hour},
	} {
		s := jobSchedule(t, job)
		all := s.Between(now, now.Add(8*24*time.Hour))
		want := dues(slices.DeleteFunc(slices.Clone(all), func(k ingest.SlotKey) bool { return k.Key != s.Keys()[0] }))[:5]
		if got := s.NextTimes(now, 5); !slices.Equal(got, want) {
			t.Errorf("%v: next %v, want %v", job, got, want)
		}
		if next := s.Next(now); !next.Equal(all[0].DueAt) {
			t.Errorf("%v: next %v, want %v", job, next, all[0].DueAt)
		}
		if got := s.NextTimes(now, 0); len(got) > 0 {
			t.Errorf("%v: none was asked for: %v, want none", job, got)
		}
	}
}

func TestParseKnowsCountries(t *testing.T) {
	for in, want := range map[string]ingest.Region{"US": "US", "gb": "GB", " de ": "DE", "CA": "CA"} {
		if got, err := regions.Parse(in); err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "U", "USA", "XX", "ZZ", "UK", "EU", "U\x00", "840", "🇺🇸"} {
		if got, err := regions.Parse(in); err == nil {
			t.Errorf("Parse(%q) = %q, want an error", in, got)
		}
	}
	if _, err := regions.ParseList("US,us"); err == nil {
		t.Error(`ParseList("US,us"): got no error, want one`)
	}
}

// The first region is due when the line says, the others before its next tick and within half an hour.
func TestTheRegionsOfACronLineAreStaggered(t *testing.T) {
	day := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC) // clocks go forward on the 29th in Berlin
	for line, gap := range map[string]time.Duration{
		"*/8 * * * *": time.Minute, "0 6 * * *": 30 * time.Minute / 8, "CRON_TZ=Europe/Berlin 30 2 * * *": 30 * time.Minute / 8, "0,10 5-7 * * *": 10 * time.Minute / 8,
	} {
		together := chart(0, line)
		together.AtOnce = true
		s, err := regions.NewJobSchedule(chart(0, line))
		ticks, err2 := regions.NewJobSchedule(together)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		due, at := s.Between(day, day.Add(48*time.Hour)), ticks.Between(day.Add(-24*time.Hour), day.Add(48*time.Hour))
		first := map[time.Time]bool{}
		for _, slot := range at {
			first[slot.DueAt] = true
		}
		if len(due) < 16 || due[1].DueAt.Sub(due[0].DueAt) != gap.Truncate(time.Second) && due[2].DueAt.Sub(due[1].DueAt) != gap.Truncate(time.Second) {
			t.Errorf("%s: %v, want %v between the first slots", line, due[:3], gap)
		}
		for i, slot := range due {
			if first[slot.DueAt] != (slot.Key == string(regions.Default()[0])) {
				t.Errorf("%s: %v is due at a tick: %v", line, slot, first[slot.DueAt])
			}
			late := slot.DueAt.Sub(latestTick(first, slot.DueAt))
			if late < 0 || late >= 30*time.Minute {
				t.Errorf("%s: %v is due %v after its tick", line, slot, late)
			}
			// Reconciles at any moment find the same newest slots.
			for _, now := range []time.Time{slot.DueAt, slot.DueAt.Add(time.Second)} {
				if got := latestOf(s.Latest(now), slot.Key); !got.Equal(slot.DueAt) {
					t.Errorf("%s: slot %d, at %v the newest of %s is %v", line, i, now, slot.Key, got)
				}
			}
			if got := s.Next(slot.DueAt.Add(-time.Second)); got.After(slot.DueAt) {
				t.Errorf("%s: next before %v is %v", line, slot.DueAt, got)
			}
		}
		if n := s.Count(day, day.Add(48*time.Hour)); n != len(due) {
			t.Errorf("%s: %d slots are counted, %d are due", line, n, len(due))
		}
	}
}

func latestTick(ticks map[time.Time]bool, at time.Time) (latest time.Time) {
	for tick := range ticks {
		if !tick.After(at) && tick.After(latest) {
			latest = tick
		}
	}
	return latest
}

func latestOf(slots []ingest.SlotKey, key string) time.Time {
	for _, s := range slots {
		if s.Key == key {
			return s.DueAt
		}
	}
	return time.Time{}
}
