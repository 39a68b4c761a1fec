package regions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest/regions"
)

// zones are where most people live.
const zones = `
UTC
Africa/Abidjan Africa/Accra Africa/Addis_Ababa Africa/Algiers Africa/Cairo Africa/Casablanca Africa/Dakar
Africa/Dar_es_Salaam Africa/Harare Africa/Johannesburg Africa/Kampala Africa/Khartoum Africa/Kinshasa Africa/Lagos
Africa/Luanda Africa/Maputo Africa/Nairobi Africa/Tripoli Africa/Tunis
America/Anchorage America/Argentina/Buenos_Aires America/Asuncion America/Bogota America/Caracas America/Chicago
America/Denver America/Edmonton America/Guatemala America/Halifax America/Havana America/Jamaica America/La_Paz
America/Lima America/Los_Angeles America/Manaus America/Mexico_City America/Montevideo
America/New_York America/Panama America/Phoenix America/Puerto_Rico America/Santiago America/Santo_Domingo
America/Sao_Paulo America/St_Johns America/Tijuana America/Toronto America/Vancouver America/Winnipeg
Asia/Almaty Asia/Amman Asia/Baghdad Asia/Baku Asia/Bangkok Asia/Beirut Asia/Colombo Asia/Damascus
Asia/Dhaka Asia/Dubai Asia/Ho_Chi_Minh Asia/Hong_Kong Asia/Jakarta Asia/Jerusalem Asia/Kabul Asia/Karachi
Asia/Kathmandu Asia/Kolkata Asia/Kuala_Lumpur Asia/Kuwait Asia/Manila Asia/Novosibirsk Asia/Qatar Asia/Riyadh
Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei Asia/Tashkent Asia/Tbilisi Asia/Tehran Asia/Tokyo
Asia/Ulaanbaatar Asia/Vladivostok Asia/Yangon Asia/Yekaterinburg Asia/Yerevan
Atlantic/Azores Atlantic/Canary Atlantic/Reykjavik
Australia/Adelaide Australia/Brisbane Australia/Darwin Australia/Hobart Australia/Lord_Howe Australia/Melbourne
Australia/Perth Australia/Sydney
Europe/Amsterdam Europe/Athens Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Bucharest
Europe/Budapest Europe/Chisinau Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul Europe/Kyiv
Europe/Lisbon Europe/Ljubljana Europe/London Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Minsk
Europe/Moscow Europe/Oslo Europe/Paris Europe/Prague Europe/Riga Europe/Rome Europe/Sarajevo Europe/Sofia
Europe/Stockholm Europe/Tallinn Europe/Vienna Europe/Vilnius Europe/Warsaw Europe/Zagreb Europe/Zurich
Indian/Maldives Indian/Mauritius
Pacific/Apia Pacific/Auckland Pacific/Fiji Pacific/Guam Pacific/Honolulu Pacific/Port_Moresby Pacific/Tongatapu
`

// anyField draws a field of a cron line: a star, numbers, spans and steps.
func anyField(t *rapid.T, name string, lowest, highest int) string {
	var parts []string
	for range rapid.IntRange(1, 2).Draw(t, name+" parts") {
		from := rapid.IntRange(lowest, highest).Draw(t, name+" from")
		to := rapid.IntRange(from, highest).Draw(t, name+" to")
		step := rapid.IntRange(1, highest).Draw(t, name+" step")
		parts = append(parts, rapid.SampledFrom([]string{
			fmt.Sprint(from), fmt.Sprintf("%d-%d", from, to), fmt.Sprintf("%d-%d/%d", from, to, step), fmt.Sprintf("%d/%d", from, step),
		}).Draw(t, name))
	}
	return strings.Join(parts, ",")
}

// anyLine draws a cron line that does not fire too rarely, since half of its fields are stars.
func anyLine(t *rapid.T) string {
	fields := make([]string, 5)
	for i, f := range []struct {
		name            string
		lowest, highest int
	}{{"minute", 0, 59}, {"hour", 0, 23}, {"day", 1, 31}, {"month", 1, 12}, {"weekday", 0, 6}} {
		fields[i] = "*"
		if i == 0 || rapid.Bool().Draw(t, f.name+" is not a star") {
			fields[i] = anyField(t, f.name, f.lowest, f.highest)
		}
	}
	return strings.Join(fields, " ")
}

// Any line in any zone, around a change of its clocks since 1990 or at any other time.
func TestAnyLineInAnyZoneEqualsAWalk(t *testing.T) {
	names := strings.Fields(zones)
	rapid.Check(t, func(t *rapid.T) {
		line, name := anyLine(t), rapid.SampledFrom(names).Draw(t, "zone")
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := regions.NewJobSchedule(oneRegion("CRON_TZ=" + name + " " + line))
		if err != nil {
			if !strings.Contains(err.Error(), "never fires") {
				t.Fatal(err)
			}
			return // 31 February
		}
		day := time.Unix(rapid.Int64Range(631152000, 4102444800).Draw(t, "day"), 0) // 1990 to 2100
		if _, change := day.In(z).ZoneBounds(); !change.IsZero() {
			day = change
		}
		from := day.Add(-time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "before")))
		to := day.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "behind")))
		cut := from.Add(time.Duration(rapid.Int64Range(0, int64(to.Sub(from))).Draw(t, "cut")))
		want := newWalker(line, z).fires(from, to)
		if got := dues(s.Between(from, to)); !slices.Equal(got, want) {
			t.Fatalf("from %v to %v:\n got %v\nwant %v", from, to, got, want)
		}
		if got := append(dues(s.Between(from, cut)), dues(s.Between(cut, to))...); !slices.Equal(got, want) {
			t.Fatalf("from %v to %v, cut at %v:\n got %v\nwant %v", from, to, cut, got, want)
		}
		for _, k := range s.Latest(to) {
			if len(want) > 0 && !k.DueAt.Equal(want[len(want)-1]) || len(want) == 0 && k.DueAt.After(from) {
				t.Fatalf("latest at %v is %v, want the last of %v", to, k.DueAt, want)
			}
		}
		if next := s.Next(from); len(want) > 0 && !next.Equal(want[0]) || len(want) == 0 && !next.After(to) {
			t.Fatalf("next after %v is %v, want the first of %v", from, next, want)
		}
	})
}
