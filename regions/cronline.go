package regions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronLine is a cron line: minutes of the local day, days, and a zone. Bit n of a set of days stands for the value n;
// Sunday is 0.
type cronLine struct {
	fields          []string // as written: minute, hour, day of month, month, day of week
	zone            *time.Location
	minutes         []int // of the day, in order
	dom, month, dow uint64

	// anyDay says that days of month and days of week are alternatives, as in cron when neither field is a star.
	anyDay bool
	// everyHour lines follow real time; the others name local times. See wallclock.go.
	everyHour bool
}

// searchDays is how many days a named time is searched for: a 29 February that is a Sunday may be forty years away,
// across a year such as 2100. Every line that can fire is found to fire.
const searchDays = 41 * 366

const (
	dayMinutes = 24 * 60
	daySeconds = dayMinutes * 60
)

// maxLine bounds a cron line, in characters. One that names all minutes, hours, days and months has 380.
const maxLine = 500

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// parseCron reads five fields, or a macro such as @daily, after an optional CRON_TZ=Zone or TZ=Zone. Every error has a
// hint and is safe to print to a terminal.
func parseCron(line string) (*cronLine, error) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) })
	plain := strings.Join(fields, " ")
	if i := strings.IndexFunc(plain, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		return nil, fmt.Errorf("cron: %.80q has a character that no cron line has: try %q", line, "*/30 * * * *")
	}
	if len(plain) > maxLine {
		return nil, fmt.Errorf("cron: %.40q... is longer than %d characters: make it two jobs", plain, maxLine)
	}
	l := &cronLine{zone: time.UTC}
	if prefix, name, ok := strings.Cut(plain, "="); ok && (prefix == "CRON_TZ" || prefix == "TZ") {
		name, rest, _ := strings.Cut(name, " ")
		if rest == "" {
			return nil, fmt.Errorf("cron: %q is a zone without a line: try %q", plain, fields[0]+" */30 * * * *")
		}
		zone, err := loadZone(name)
		if err != nil {
			return nil, fmt.Errorf("cron: %w", err)
		}
		l.zone, plain = zone, rest
	}
	if strings.HasPrefix(plain, "@every") {
		return nil, fmt.Errorf("cron: %q: write an interval as every: %s", plain,
			suggestInterval(strings.TrimPrefix(plain, "@every "), "30m"))
	}
	if macro, ok := macros[plain]; ok {
		plain = macro
	}
	l.fields = strings.Fields(plain)
	if err := l.parse(plain); err != nil {
		return nil, err
	}
	return l, nil
}

// suggestInterval returns the given interval if every: accepts it, and example otherwise.
func suggestInterval(asked, example string) string {
	if d, err := time.ParseDuration(asked); err == nil && d >= MinEvery && d <= MaxEvery && d%time.Second == 0 {
		return asked
	}
	return example
}

// parse reads the five fields. robfig/cron reads them as bit sets and never sees the zone.
func (l *cronLine) parse(plain string) error {
	if n := len(l.fields); n != 5 {
		return fmt.Errorf("cron: %q has %d fields, not the five of minute, hour, day of month, month, day of week "+
			"(no seconds; a zone is written CRON_TZ=America/New_York before them): try %q", plain, n, "*/30 * * * *")
	}
	for _, f := range l.fields {
		if strings.Contains(","+f+",", ",,") {
			return fmt.Errorf("cron: %q has an empty place in %q: try %q", plain, f, "0,30 * * * *")
		}
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse("TZ=UTC " + plain)
	if err != nil {
		return fmt.Errorf("cron: %w: try %q (Sunday is 0)", err, "*/30 * * * *")
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return fmt.Errorf("cron: %q is not five fields: try %q", plain, "*/30 * * * *")
	}
	const star = 1 << 63 // robfig's mark of a field with a star
	l.dom, l.month, l.dow = spec.Dom&^star, spec.Month&^star, spec.Dow&^star
	for minute := range dayMinutes {
		if spec.Hour>>(minute/60)&1 == 1 && spec.Minute>>(minute%60)&1 == 1 {
			l.minutes = append(l.minutes, minute)
		}
	}
	starred := func(field string) bool { return field[0] == '*' || field[0] == '?' } // */2 too, as crontab(5) has it
	l.anyDay = !starred(l.fields[2]) && !starred(l.fields[4])
	l.everyHour = spec.Hour&^star == 1<<24-1
	if l.firstAfter(0) == 0 {
		return fmt.Errorf("cron: %q never fires: there is no such day in any year: "+
			"try %q for the last day that every month has", plain, "0 6 28 * *")
	}
	return nil
}

// firstAfter returns the first clock reading after w that the line names; 0 if there is none.
func (l *cronLine) firstAfter(w wall) wall {
	minutes := int64(w)/60 + 1
	day, from := minutes/dayMinutes, int(minutes%dayMinutes)
	for range searchDays {
		if i, _ := slices.BinarySearch(l.minutes, from); i < len(l.minutes) && l.namesDay(day) {
			return reading(day, l.minutes[i])
		}
		day, from = day+1, 0
	}
	return 0
}

// lastUpTo returns the last clock reading not later than w that the line names.
func (l *cronLine) lastUpTo(w wall) wall {
	minutes := int64(w) / 60
	day, upTo := minutes/dayMinutes, int(minutes%dayMinutes)
	for range searchDays {
		if i, _ := slices.BinarySearch(l.minutes, upTo+1); i > 0 && l.namesDay(day) {
			return reading(day, l.minutes[i-1])
		}
		day, upTo = day-1, dayMinutes
	}
	return 0
}

func reading(day int64, minute int) wall { return wall(day*daySeconds + int64(minute)*60) }

// namesDay reports whether the line names a day, given in days since 1970-01-01.
func (l *cronLine) namesDay(day int64) bool {
	at := time.Unix(day*daySeconds, 0).UTC()
	_, month, inMonth := at.Date()
	if l.month>>month&1 == 0 {
		return false
	}
	dom, dow := l.dom>>inMonth&1 == 1, l.dow>>at.Weekday()&1 == 1
	if l.anyDay {
		return dom || dow
	}
	return dom && dow
}
