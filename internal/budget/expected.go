package budget

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Others' use in recent days predicts their use today.

// ago returns the day that began n of the provider's days before today; nil if it is not remembered.
func ago(days []OthersDay, today time.Time, n int) *OthersDay {
	for i, d := range days {
		if off := today.AddDate(0, 0, -n).Sub(d.Begins); off.Abs() <= time.Hour { // days have 23 to 25 hours
			return &days[i]
		}
	}
	return nil
}

// weekday returns the same weekday a week ago if others keep to their weekdays: yesterday their takes through the
// ledger and the provider's refusals were like a week earlier. nil: they do not, or that is not known. Takes on three
// days in a row that have ended since were an exception.
func weekday(days []OthersDay, today time.Time) *OthersDay {
	yesterday, before := ago(days, today, 1), ago(days, today, 8)
	if yesterday == nil || before == nil || (yesterday.Stopped == nil) != (before.Stopped == nil) {
		return nil
	}
	if a, b := sum(yesterday.Hours), sum(before.Hours); min(a, b)*2 < max(a, b) {
		return nil
	}
	free := func(d *OthersDay) bool { return d == nil || d.Stopped == nil && sum(d.Hours) == 0 }
	if free(yesterday) && !free(ago(days, today, 7)) && !free(ago(days, today, 6)) && !free(ago(days, today, 5)) {
		return nil
	}
	return ago(days, today, 7)
}

// expectedHours returns the others' expected takes of a pool through the ledger in each hour of a day: their takes on
// that weekday, if they keep to weekdays; else on the newest day before today, or half of the takes a day earlier if
// that is more, and so on. Takes after a day without any count half: they may be a single event.
func expectedHours(days []OthersDay, today time.Time) (hours [25]int64) {
	total, weight, weights := int64(0), 1.0, 0.0
	var shape [25]float64 // the weighted sum of the days
	if same := weekday(days, today); same != nil {
		days = []OthersDay{*same}
	} else if one, before := ago(days, today, 1), ago(days, today, 2); one != nil && before != nil &&
		sum(one.Hours) > 0 && sum(before.Hours) == 0 {
		weight = 0.5
	}
	for _, d := range slices.Backward(days) {
		if !d.Begins.Before(today) {
			continue
		}
		total = max(total, int64(weight*float64(sum(d.Hours))))
		for i, n := range d.Hours {
			shape[i] += weight * float64(n)
			weights += weight * float64(n)
		}
		weight /= 2
	}
	drew, until := 0.0, int64(0) // rounded cumulatively, so that the hours add up to the total
	for i := range hours {
		drew += shape[i]
		before := until
		until = int64(float64(total)*drew/max(weights, 1) + 0.5)
		hours[i] = until - before
	}
	return hours
}

// lastHours is the hour of a day when its last slots begin: a plan with a trial of an eighth that was refused only then
// was right.
const lastHours = 21

// cautiousDays is the number of days without a trial after two refused ones.
const cautiousDays = 2

// isCautious reports whether a day gets no trial, that is, no more calls than the provider is expected to answer: it
// refused on that day, or it refused a trial on one of the last days and another one a few days before.
func isCautious(days []OthersDay, begins time.Time) bool {
	inVain := func(n int) bool {
		d := ago(days, begins, n)
		return d != nil && d.Stopped != nil && d.StoppedIn >= lastHours
	}
	if d := ago(days, begins, 0); d != nil && d.Stopped != nil {
		return true
	}
	for n := 1; n <= cautiousDays; n++ {
		if inVain(n) {
			return slices.ContainsFunc([]int{n + 1, n + 2, n + 3}, inVain)
		}
	}
	return false
}

// level returns the part of a day's limit that the provider is expected to leave to the ledger: the amount that it
// gave before its last refusal, plus an eighth after each day that had a trial and no refusal. If the ledger counted
// more on a later day, others took less: half of their earlier takes are expected, or none if there was only one
// refusal. If others come at irregular hours, the least of the remembered counts is expected, and a day that counted
// more only shows that much. If others keep to their weekdays, their takes on the same weekday a week ago are expected.
func level(days []OthersDay, today time.Time, limit int64) int64 {
	left, proven, least := limit, limit, limit
	once := single(days)
	for i, d := range days {
		switch {
		case d.Stopped != nil:
			left, least = min(*d.Stopped, limit), min(*d.Stopped, least)
			proven = left
		case d.Used > proven:
			left = max(d.Used, (left+limit)/2)
			if isIrregular(days[:i]) {
				left = min(d.Used, limit)
			} else if once && d.Used > proven+proven/16 {
				left = limit
			}
			proven = left
		case left < limit && d.Begins.Before(today) && !isCautious(days, d.Begins):
			left = min(left+max(left/8, 1), limit)
		}
	}
	if isIrregular(days) {
		left = min(left, least)
	}
	same, newest := weekday(days, today), ago(days, today, 0)
	if same == nil || newest != nil && newest.Stopped != nil {
		return left
	}
	switch refused := ago(days, today, 1).Stopped != nil; {
	case same.Stopped != nil && !refused:
		left = min(left, *same.Stopped)
	case same.Stopped == nil && refused:
		left = max(left, (same.Used+limit)/2)
	}
	return left
}

// single reports whether the provider refused on exactly one of the days, not the first.
func single(days []OthersDay) bool {
	return refusals(days) == 1 && days[0].Stopped == nil
}

// refusals returns on how many of the days the provider refused.
func refusals(days []OthersDay) (n int) {
	for _, d := range days {
		if d.Stopped != nil {
			n++
		}
	}
	return n
}

// sureUntil returns the time when the provider may begin to refuse today although the plan keeps to the level: the
// earliest time of its refusal on a remembered day or, if today's charts are faster, the time when they reach that
// day's count. By then others may have taken as much. Zero: one refusal at most is remembered, and others are not
// expected again.
func (h OthersHistory) sureUntil(t *quota.Tariff, today time.Time) (first time.Time) {
	for _, pool := range t.Pools {
		days := h[pool.Name]
		for _, w := range pool.Windows {
			left := level(days, today, w.Limit)
			again := w.Day() && (left < w.Limit || refusals(days) > 1)
			for _, d := range days {
				if again && d.Stopped != nil && d.Begins.Before(today) {
					reached := today.Add(time.Duration(float64(day) * float64(*d.Stopped) / float64(max(left, 1))))
					first = earlier(first, earlier(d.again(today), reached.Truncate(time.Hour)))
				}
			}
		}
		last, now := ago(days, today, 1), ago(days, today, 0)
		if last != nil && last.Lifted && (now == nil || !now.Lifted) {
			first = earlier(first, last.again(today))
		}
	}
	return first
}

// again returns the earlier time of a day's refusal on another day, of the times by UTC's and the provider's clock.
func (d OthersDay) again(today time.Time) time.Time {
	hour := time.Duration(d.StoppedIn) * time.Hour
	return earlier(today.Add(hour), d.Begins.Add(today.Sub(d.Begins).Round(day)+hour))
}

// isIrregular reports whether others come at different hours: the provider refused on one day no later than on
// another, although the ledger had counted less, by more than a sixteenth of the other day's count.
func isIrregular(days []OthersDay) bool {
	for _, a := range days {
		for _, b := range days {
			if a.Stopped != nil && b.Stopped != nil && a.StoppedIn <= b.StoppedIn && *b.Stopped-*a.Stopped > *b.Stopped/16 {
				return true
			}
		}
	}
	return false
}

// stoppedAlike returns the counts at which the provider refused on the last days in a row, if within a tenth of
// the last: the provider may give less than costs.yaml says.
func stoppedAlike(days []OthersDay, today time.Time) (stops []int64) {
	for _, d := range slices.Backward(days) {
		switch {
		case !d.Begins.Before(today):
		case d.Stopped == nil || len(stops) > 0 && (*d.Stopped-stops[0])*10 > stops[0] ||
			len(stops) > 0 && (stops[0]-*d.Stopped)*10 > stops[0]:
			return stops
		default:
			stops = append(stops, *d.Stopped)
		}
	}
	return stops
}
