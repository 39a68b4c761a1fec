package budget

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// The others' use on the last days predicts their use today.

// ago returns the day that began so many of the provider's days before today; nil if it is not remembered.
func ago(days []OthersDay, today time.Time, n int) *OthersDay {
	for i, d := range days {
		if off := today.AddDate(0, 0, -n).Sub(d.Begins); off.Abs() <= time.Hour { // days have 23 to 25 hours
			return &days[i]
		}
	}
	return nil
}

// weekday returns the same weekday a week ago if others keep to their weekdays: yesterday was like the day a week
// before it, in the others' takes through the ledger and in the provider's refusals. nil: they do not, or that is not
// known. Three days in a row that ended since were a time of their own.
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
// that weekday, if they keep to it; else their takes on the newest day, or half of the day before if that is more,
// and so on. A take after a day without any may have been a single event: half of it. today is left out.
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
	drew, until := 0.0, int64(0) // rounded from the start of the day, so that the hours add up to the total
	for i := range hours {
		drew += shape[i]
		before := until
		until = int64(float64(total)*drew/max(weights, 1) + 0.5)
		hours[i] = until - before
	}
	return hours
}

// lastHours is the hour of a day when its last slots begin: a refusal then ends a plan that was right.
const lastHours = 22

// cautiousDays is how many days pass without a trial after two refused ones.
const cautiousDays = 2

// isCautious reports whether the day that begins at a time gets no more calls than the provider is expected to answer:
// it has refused on that day, or it refused such a trial on one of the last days and another one a few days before.
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

// level returns how much of a day's limit the provider is expected to leave to the ledger: the amount that it last
// gave before it refused, and an eighth more after each day without a refusal on which more was tried. If the ledger
// counted more on a later day, others took less, and half of their takes then are expected, or none if the refusal was
// the only one. If others keep to their weekdays, their takes on the same weekday a week ago are expected. by is the
// refusal that less than the limit depends on.
func level(days []OthersDay, today time.Time, limit int64) (left int64, by *OthersDay) {
	left, proven := limit, limit
	once := single(days)
	for i, d := range days {
		switch {
		case d.Stopped != nil:
			left, by = min(*d.Stopped, limit), &days[i]
			proven = left
		case d.Used > proven:
			if left = max(d.Used, (left+limit)/2); once && d.Used > proven+proven/16 {
				left = limit
			}
			proven = left
		case left < limit && d.Begins.Before(today) && !isCautious(days, d.Begins):
			left = min(left+max(left/8, 1), limit)
		}
	}
	same, newest := weekday(days, today), ago(days, today, 0)
	if same == nil || newest != nil && newest.Stopped != nil {
		return left, by
	}
	switch refused := ago(days, today, 1).Stopped != nil; {
	case same.Stopped != nil && !refused:
		left, by = min(left, *same.Stopped), same
	case same.Stopped == nil && refused:
		left = max(left, (same.Used+limit)/2)
	}
	return left, by
}

// single reports whether the provider refused on one of the days only, and not on the first.
func single(days []OthersDay) bool {
	refused := 0
	for _, d := range days {
		if d.Stopped != nil {
			refused++
		}
	}
	return refused == 1 && days[0].Stopped == nil
}

// sureUntil returns the hour of the day when the provider may refuse although its level is planned for: the hour of the
// refusal that the plan depends on, unless that ended a day's last slots and no more is tried in them now, or the
// hour of
// yesterday's refusal that was lifted. Our charts may have taken more by then than others leave today. Zero: there is
// none.
func (h OthersHistory) sureUntil(t *quota.Tariff, today time.Time) (first time.Time) {
	for _, pool := range t.Pools {
		for _, w := range pool.Windows {
			left, by := level(h[pool.Name], today, w.Limit)
			if left == w.Limit || by != nil && by.StoppedIn >= lastHours && isCautious(h[pool.Name], today) {
				by = nil
			}
			last, now := ago(h[pool.Name], today, 1), ago(h[pool.Name], today, 0)
			if by == nil && last != nil && last.Lifted && (now == nil || !now.Lifted) {
				by = last
			}
			if w.Day() && by != nil {
				first = earlier(first, today.Add(time.Duration(by.StoppedIn)*time.Hour))
			}
		}
	}
	return first
}

// stoppedAlike returns the counts at which the provider refused on the last days, as far as they are within a tenth of
// the last one: it may give less than costs.yaml says.
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
