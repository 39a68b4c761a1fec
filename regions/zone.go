package regions

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// loadZone loads a zone of the IANA database by name. It refuses names that mean different zones on different hosts.
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
		return nil, fmt.Errorf("there is no zone %.80q here: "+
			"a fixed offset is written CRON_TZ=Etc/GMT%+d, with its sign reversed", name, -hours)
	}
	if near, ok := abbreviations[strings.ToLower(name)]; ok {
		return nil, fmt.Errorf("there is no zone %.80q here: did you mean CRON_TZ=%s?", name, near)
	}
	return nil, fmt.Errorf("there is no zone %.80q here: use a name of the IANA database, as in %q", name, example)
}

// fixedOffset returns the hours ahead of UTC of a name such as UTC+2, GMT-05 or +3.
func fixedOffset(name string) (hours int, ok bool) {
	number := strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(name), "UTC"), "GMT")
	if number == "" || number[0] != '+' && number[0] != '-' {
		return 0, false
	}
	hours, err := strconv.Atoi(number)
	return hours, err == nil && hours >= -12 && hours <= 14 && hours != 0
}

// abbreviations are not zone names, and some stand for several zones: each maps to the most likely one.
var abbreviations = map[string]string{
	"pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "pt": "America/Los_Angeles",
	"mdt": "America/Denver", "cst": "America/Chicago", "cdt": "America/Chicago",
	"edt": "America/New_York", "et": "America/New_York", "bst": "Europe/London",
	"cest": "Europe/Berlin", "eest": "Europe/Athens", "ist": "Asia/Kolkata", "jst": "Asia/Tokyo",
	"kst": "Asia/Seoul", "aest": "Australia/Sydney", "aedt": "Australia/Sydney", "acst": "Australia/Adelaide",
	"awst": "Australia/Perth", "nzst": "Pacific/Auckland", "nzdt": "Pacific/Auckland", "brt": "America/Sao_Paulo",
	"msk": "Europe/Moscow", "sgt": "Asia/Singapore", "hkt": "Asia/Hong_Kong", "z": "UTC", "utc": "UTC", "gmt": "UTC",
}
