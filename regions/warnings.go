package regions

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Warnings returns the pitfalls of a job's cron line, one sentence each, without the job's name; none for an interval.
// A zone is judged by the year after now.
func (s JobSchedule) Warnings(now time.Time) []string {
	if s.cron == nil {
		return nil
	}
	var out []string
	for i, f := range cronFields {
		for part := range strings.SplitSeq(s.cron.fields[i], ",") {
			if w := f.stepWarning(part); w != "" {
				out = append(out, w)
			}
		}
	}
	out = append(out, s.cron.dayWarnings()...)
	return append(out, s.cron.zoneWarnings(now)...)
}

// cronField describes one field of a cron line.
type cronField struct {
	name     string
	min, max int           // its values
	unit     time.Duration // length of a step; 0 if it varies, as for months
	cycle    string        // its steps restart with each of these
}

var cronFields = []cronField{
	{"minute", 0, 59, time.Minute, "hour"},
	{"hour", 0, 23, time.Hour, "day"},
	{"day of month", 1, 31, 24 * time.Hour, "month"},
	{"month", 1, 12, 0, "year"},
	{"day of week", 0, 6, 24 * time.Hour, "week"},
}

// stepWarning warns of steps over a whole field, */n or m/n: they restart with every hour, day, month or year, so that
// a step that does not divide the field leaves a different gap at the end.
func (f cronField) stepWarning(part string) string {
	from, stepText, stepped := strings.Cut(part, "/")
	step, err := strconv.Atoi(stepText)
	if !stepped || err != nil || step <= 1 || strings.Contains(from, "-") {
		return ""
	}
	first := f.min
	if from != "*" && from != "?" {
		if first, err = strconv.Atoi(from); err != nil {
			return "" // a month by its name
		}
	}
	size := f.max - f.min + 1
	last := first + (f.max-first)/step*step
	gap := first + size - last
	switch {
	case first == last:
		return fmt.Sprintf("%s %s is only ever %d, since steps restart each %s: it fires once each %s%s",
			f.name, part, first, f.cycle, f.cycle, f.evenStepsHint(step))
	case f.name == "day of month":
		return fmt.Sprintf("%s %s restarts on day %d of each month: the step from the end "+
			"of a month is shorter or longer than %d days%s", f.name, part, first, step, f.evenStepsHint(step))
	case gap != step:
		return fmt.Sprintf("%s %s restarts each %s: the step from %d to %d is %d, not %d%s", f.name,
			part, f.cycle, last, first, gap, step, f.evenStepsHint(step))
	}
	return ""
}

// evenStepsHint suggests an interval of even steps, if there is one.
func (f cronField) evenStepsHint(step int) string {
	every := time.Duration(step) * f.unit
	if f.unit == 0 || step > int(MaxEvery/f.unit) {
		return ""
	}
	text := strconv.Itoa(int(every/time.Hour)) + "h"
	if f.unit == time.Minute {
		text = strconv.Itoa(step) + "m"
	}
	return "; for even steps set every: " + text + " and no cron:"
}

// dayWarnings warns of days that some months lack, and of days of month combined with days of week.
func (l *cronLine) dayWarnings() []string {
	var out []string
	dom := l.fields[2]
	if l.anyDay {
		out = append(out, fmt.Sprintf("day of month %s and day of week %s are both set: "+
			"cron fires on days that match either, not both", dom, l.fields[4]))
	}
	if strings.ContainsAny(dom, "*?/") || bits.OnesCount64(l.dom) == 31 {
		return out // every day, or every few days
	}
	for day := 29; day <= 31; day++ {
		if l.dom>>day&1 == 0 {
			continue
		}
		var without []string
		for m := time.January; m <= time.December; m++ {
			// The last day of a month in 2025, which is not a leap year.
			if l.month>>m&1 == 1 && time.Date(2025, m+1, 0, 0, 0, 0, 0, time.UTC).Day() < day {
				without = append(without, m.String())
			}
		}
		if i := slices.Index(without, "February"); i >= 0 && day == 29 {
			without[i] = "February, except in leap years"
		}
		if len(without) > 0 {
			out = append(out, fmt.Sprintf("there is no day %d in %s: nothing fires for that day",
				day, strings.Join(without, ", ")))
		}
	}
	return out
}

// zoneWarnings warns of a zone whose clocks change within a year.
func (l *cronLine) zoneWarnings(now time.Time) []string {
	before, _, change := offsetSpan(l.zone, now.Unix())
	for change < now.Add(366*24*time.Hour).Unix() {
		after, _, end := offsetSpan(l.zone, change)
		if after == before { // only its name changes
			change = end
			continue
		}
		what := "the times in UTC move with them; a skipped local time fires right after the gap, " +
			"a repeated one fires only the first time"
		if l.everyHour {
			what = "it fires whenever they show such a time, also in an hour that comes twice"
		}
		return []string{fmt.Sprintf("%s is local time, whose clocks next change at %s, from UTC%s to UTC%s: %s",
			l.zone, time.Unix(change, 0).UTC().Format(time.DateTime+"Z"), offsetText(before), offsetText(after), what)}
	}
	return nil
}

// offsetText formats an offset from UTC, as in -03:30.
func offsetText(seconds int64) string {
	return time.Unix(0, 0).In(time.FixedZone("", int(seconds))).Format("-07:00")
}
