package regions

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// loadZone loads a zone of the IANA database by its name. Names that mean another zone on another
// host are refused, and an unknown one is answered with a near one.
func loadZone(name string) (*time.Location, error) {
	const example = "CRON_TZ=America/New_York 0 6 * * *"
	switch {
	case name == "":
		return nil, fmt.Errorf("the zone has no name: try %q, or leave it out for UTC", example)
	case name == "Local" || name == "localtime" || name == "Factory":
		return nil, fmt.Errorf("the zone %q is not the same on every host: name it, as in %q", name, example)
	case strings.HasPrefix(name, "right/") || strings.HasPrefix(name, "posix/"):
		return nil, fmt.Errorf("the zone %.80q counts seconds in its own way: try %q", name, "CRON_TZ="+name[len("right/"):])
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		return zone, nil
	}
	if hours, ok := fixedOffset(name); ok {
		return nil, fmt.Errorf("there is no zone %.80q here: a fixed offset is written CRON_TZ=Etc/GMT%+d, with its sign reversed", name, -hours)
	}
	if near := nearZone(name); near != "" {
		return nil, fmt.Errorf("there is no zone %.80q here: did you mean CRON_TZ=%s?", name, near)
	}
	return nil, fmt.Errorf("there is no zone %.80q here: use a name of the IANA database, as in %q", name, example)
}

// fixedOffset is how many hours ahead of UTC a name such as UTC+2, GMT-05 or +3 means to be.
func fixedOffset(name string) (hours int, ok bool) {
	number := strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(name), "UTC"), "GMT")
	if number == "" || number[0] != '+' && number[0] != '-' {
		return 0, false
	}
	hours, err := strconv.Atoi(number)
	return hours, err == nil && hours >= -12 && hours <= 14 && hours != 0
}

// nearZone is a zone that somebody who wrote name may have meant: that of the city which begins most like the
// one asked for, whatever stands before it; "" when none does.
func nearZone(name string) string {
	asked := foldZone(name)
	if zone, ok := abbreviations[asked]; ok {
		return zone
	}
	asked = asked[strings.LastIndex(asked, "/")+1:]
	if len(asked) < 3 {
		return ""
	}
	best, alike := "", min(len(asked), 4)-1
	for zone := range strings.FieldsSeq(zones) {
		city := foldZone(zone[strings.LastIndex(zone, "/")+1:])
		if n := commonPrefix(asked, city); n > alike {
			best, alike = zone, n
		}
	}
	return best
}

// commonPrefix is how many bytes a and b begin with that are the same.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// foldZone is a name without the differences that people do not see.
func foldZone(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", "'", "").Replace(strings.ToLower(name))
}

// abbreviations are not names of zones, and some stand for several: this is the most likely one.
var abbreviations = map[string]string{
	"pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "pt": "America/Los_Angeles",
	"mdt": "America/Denver", "cst": "America/Chicago", "cdt": "America/Chicago",
	"edt": "America/New_York", "et": "America/New_York", "bst": "Europe/London",
	"cest": "Europe/Berlin", "eest": "Europe/Athens", "ist": "Asia/Kolkata", "jst": "Asia/Tokyo",
	"kst": "Asia/Seoul", "aest": "Australia/Sydney", "aedt": "Australia/Sydney", "acst": "Australia/Adelaide",
	"awst": "Australia/Perth", "nzst": "Pacific/Auckland", "nzdt": "Pacific/Auckland", "brt": "America/Sao_Paulo",
	"msk": "Europe/Moscow", "sgt": "Asia/Singapore", "hkt": "Asia/Hong_Kong", "z": "UTC", "utc": "UTC", "gmt": "UTC",
}

// zones are the names that a hint may offer: of the places most people live in, not of all.
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
