package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Others are all who use a pool besides this store's jobs: people, posts and clients, other hosts with stores of their
// own, and unknown users who show only in the provider's refusals. Their takes of the last days are expected again.
// The ledger forgets after 26 hours, so a note in the store keeps their takes of today and of the eight days before,
// by the hour of the provider's day, in a few kilobytes. The note is in the store, since workers that share a store
// share a schedule, while each has its own quota.db.

// othersDays is the number of the provider's days that are remembered: today, the seven days back to the same weekday
// of last week, and the day before that.
const othersDays = 9

// OthersHistory has the amounts that others took of each pool on the provider's last days, the newest last.
type OthersHistory map[string][]OthersDay

// OthersDay is the amount that others took of a pool on one of the provider's days.
type OthersDay struct {
	Begins time.Time `json:"begins"`
	Hours  []int64   `json:"hours"` // taken through the ledger in each hour of the day
	Used   int64     `json:"used"`  // counted by the ledger for everybody
	// Stopped is the ledger's count when the provider refused for the rest of the day; nil if it did not. Others that
	// the ledger does not know took the rest of the limit before the end of hour StoppedIn.
	Stopped   *int64 `json:"stopped,omitempty"`
	StoppedIn int    `json:"stopped_in,omitempty"`
	Lifted    bool   `json:"lifted,omitempty"` // a refusal by the provider did not last: a later call was answered
	Ran       uint32 `json:"ran,omitempty"`    // bit n: a run looked at the schedule in hour n of the day
	Wasted    int64  `json:"wasted,omitempty"` // taken by this store's charts without a page to show for it
}

// A refusal from the day before may last up to shortNo into a day.
const shortNo = 15 * time.Minute

// dayOf returns the record of the provider's day that begins at that time. It deletes the records of later days, which
// a clock that was ahead has made.
func (h OthersHistory) dayOf(pool string, begins time.Time) *OthersDay {
	days := slices.DeleteFunc(h[pool], func(d OthersDay) bool { return d.Begins.After(begins) })
	if n := len(days); n == 0 || days[n-1].Begins.Before(begins) {
		days = append(days, OthersDay{Begins: begins})
	}
	h[pool] = days[max(0, len(days)-othersDays):]
	return &h[pool][len(h[pool])-1]
}

// note records a report's figures for the provider's day from begins to ends. drew is the amount that others have
// taken of each pool through the ledger since begins; wasted is the cost of this store's failed calls for charts.
func (h OthersHistory) note(r quota.Report, begins, ends time.Time, drew, wasted map[string]int64) {
	for _, p := range r.Pools {
		today := h.dayOf(p.Pool, begins)
		hour := int(r.At.Sub(today.Begins) / time.Hour)
		if hour > 24 {
			continue // a day of 25 hours: the ledger ends it one grace after midnight
		}
		today.Ran |= 1 << hour
		today.Wasted = wasted[p.Pool]
		for len(today.Hours) <= hour {
			today.Hours = append(today.Hours, 0)
		}
		today.Hours[hour] = max(0, today.Hours[hour]+drew[p.Pool]-sum(today.Hours))
		for _, w := range p.Windows {
			if w.Window.Day() {
				today.Used = w.Used
			}
		}
		stopped := p.StoppedAt
		switch days := h[p.Pool]; {
		case p.StoppedUntil.After(begins.Add(shortNo)) && p.StoppedUntil.Before(ends) && liftedLast(h[p.Pool]):
			if !today.Lifted { // a doubted refusal is expected to be lifted as the last one was
				today.Lifted, today.StoppedIn = true, hour
			}
		case p.StoppedUntil.After(begins.Add(shortNo)):
			if today.Stopped == nil { // the first refusal: later ones are probes, which the ledger counts
				today.Stopped, today.StoppedIn = &stopped, hour
			}
		case p.StoppedUntil.Equal(begins) && len(days) > 1 && days[len(days)-2].Stopped == nil:
			days[len(days)-2].Stopped, days[len(days)-2].StoppedIn = &stopped, len(days[len(days)-2].Hours)-1
		case p.StoppedUntil.IsZero():
			today.Lifted = today.Lifted || today.Stopped != nil
			today.Stopped = nil // the next call was answered
		}
	}
}

// beginWithEqualParts assumes that the other hosts took equal parts on the history's first day, which may be recorded
// only in part, or on the day before today if the history has no day before today.
func (h OthersHistory) beginWithEqualParts(t *quota.Tariff, today time.Time, hosts int64) {
	for _, pool := range t.Pools {
		for _, w := range pool.Windows {
			if !w.Day() || hosts < 2 {
				continue
			}
			days, first := h[pool.Name], OthersDay{Begins: today.Add(-day), Hours: make([]int64, 24)}
			if len(days) > 0 && days[0].Begins.Before(today) {
				first.Begins, days = days[0].Begins, days[1:]
			}
			most := t.Ceilings[quota.Scheduled].Of(w.Limit) * (hosts - 1) / hosts
			for hour := range int64(24) {
				first.Hours[hour] = most*(hour+1)/24 - most*hour/24
			}
			h[pool.Name] = append([]OthersDay{first}, days...)
		}
	}
}

// liftedLast reports whether the provider's last refusal was lifted: a doubted one is then expected to be lifted too.
func liftedLast(days []OthersDay) bool {
	for _, d := range slices.Backward(days) {
		if d.Lifted || d.Stopped != nil {
			return d.Stopped == nil
		}
	}
	return false
}

// Expect returns a report as if others had already taken their expected amounts: in windows of a day, the takes
// expected in the rest of the provider's day; in sliding windows, the takes still missing from a usual day. own is the
// amount that this store's jobs took of each pool in its widest window; nil: all amounts that were taken for schedules.
// trial is the amount that one slot needs to begin.
func (h OthersHistory) Expect(r quota.Report, t *quota.Tariff, own map[quota.Purpose]quota.Cost,
	trial quota.Cost) quota.Report {
	r.Spent = split(r.Spent, own, otherHosts)
	drew, share := drawnByOthers(r.Spent), t.Ceilings[quota.Scheduled]
	today, _ := dayOf(r, t)
	return withMoreUsed(r, func(pool string, w quota.Window) int64 {
		days := h[pool]
		usual := expectedHours(days, today)
		if w.Day() {
			gives := level(days, today, w.Limit)
			if begun, _ := providerDay(r.At, t.Zone); begun.After(today) && gives < w.Limit {
				return share.Of(w.Limit) // calls count for the new day already, although nothing is known yet about it
			}
			if !isCautious(days, today) {
				more := max(gives/8, 1)
				// After a single refusal, which may not come again, an eighth more is tried. Trying half of the rest
				// of the limit would ruin the day after a cut: if the provider gives 300 of 10,000 units, charts would
				// be 8.4 h old on that day, instead of 1.4 h.
				if !single(days) {
					more = min(more, trial[pool])
				}
				gives = min(gives+more, w.Limit)
			}
			return max(0, share.Of(w.Limit)-gives) + restOfDay(usual, days, today, r.At)
		}
		return max(0, sum(usual[:])-drew[pool])
	})
}

// withMoreUsed returns a report with more used in each window of a day or longer.
func withMoreUsed(r quota.Report, more func(pool string, w quota.Window) int64) quota.Report {
	r.Pools = slices.Clone(r.Pools)
	for i, p := range r.Pools {
		r.Pools[i].Windows = slices.Clone(p.Windows)
		for j, window := range p.Windows {
			if window.Window.Day() || window.Window.Length >= day {
				r.Pools[i].Windows[j].Used += more(p.Pool, window.Window)
			}
		}
	}
	return r
}

// restOfDay returns the others' expected takes through the ledger between now and the end of the day. Amounts that
// they took earlier than usual today are not expected again.
func restOfDay(usual [25]int64, days []OthersDay, today, now time.Time) int64 {
	hour := max(0, min(int(now.Sub(today)/time.Hour), 24))
	drew := int64(0)
	if n := len(days); n > 0 && days[n-1].Begins.Equal(today) {
		drew = sum(days[n-1].Hours)
	}
	part := float64(now.Sub(today)%time.Hour) / float64(time.Hour)
	rest := sum(usual[hour:]) - int64(part*float64(usual[hour]))
	return max(0, min(rest, sum(usual[:])-drew))
}

// ours are the purposes of this program's own jobs. A backfill leaves enough for the schedule, so it need not be
// expected.
var ours = []quota.Purpose{quota.Scheduled, quota.Refresh, quota.Backfill}

// drawnByOthers adds up, by pool, the takes for other purposes than ours.
func drawnByOthers(spent []quota.Spent) quota.Cost {
	return drawn(spent, func(p quota.Purpose) bool { return !slices.Contains(ours, p) })
}

// The purposes that Expect and withLess give to takes that brought this schedule no page.
const (
	otherHosts quota.Purpose = "other hosts"
	inVain     quota.Purpose = "in vain"
)

// drawnFor adds up, by pool, the takes for a purpose.
func drawnFor(spent []quota.Spent, purpose quota.Purpose) quota.Cost {
	return drawn(spent, func(p quota.Purpose) bool { return p == purpose })
}

func drawn(spent []quota.Spent, is func(quota.Purpose) bool) quota.Cost {
	drew := quota.Cost{}
	for _, s := range spent {
		if is(s.Who.Purpose) {
			drew[s.Pool] += s.Amount
		}
	}
	return drew
}

// split leaves each purpose of own at most its amount there, and gives the remainder the purpose rest.
func split(spent []quota.Spent, own map[quota.Purpose]quota.Cost, rest quota.Purpose) (out []quota.Spent) {
	for _, s := range spent {
		if left, ok := own[s.Who.Purpose]; ok {
			mine := min(s.Amount, left[s.Pool])
			left[s.Pool] -= mine
			out = append(out, quota.Spent{Pool: s.Pool, Who: quota.Who{Purpose: rest}, Amount: s.Amount - mine})
			s.Amount = mine
		}
		out = append(out, s)
	}
	return out
}

// String describes the others' recent takes, and how much of them is planned for; "" if that is little.
func (h OthersHistory) String(t *quota.Tariff, today time.Time) string {
	var parts []string
	for _, pool := range t.Pools {
		for _, w := range pool.Windows {
			if text := othersText(h[pool.Name], today, pool.Name, w.Limit); w.Day() && text != "" {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, "; ")
}

// othersText is String for one pool: "others took 210 of 300 units before 10:00Z on each of the last 3 days: planned
// for".
func othersText(days []OthersDay, today time.Time, pool string, limit int64) string {
	hours, more := expectedHours(days, today), raised(days, today, pool, limit)
	gives := level(days, today, limit)
	planned := sum(hours[:]) + limit - gives
	if planned == 0 || planned < limit/20 {
		return more
	}
	if more != "" {
		more = "; " + more
	}
	most, inARow, before := int64(0), 0, time.Time{}
	for _, d := range slices.Backward(days) {
		took, by := d.took(limit)
		if !d.Begins.Before(today) {
			continue
		}
		if took < max(planned/2, 1) {
			break
		}
		most, inARow, before = max(most, took), inARow+1, latest(before, today.Add(by))
	}
	if same := weekday(days, today); same != nil && inARow == 0 {
		took, by := same.took(limit)
		return fmt.Sprintf("others took %d of %d %s before %s on this day of last week: planned for",
			took, limit, pool, today.Add(by).UTC().Format("15:04Z")) + more
	}
	if inARow == 0 {
		return fmt.Sprintf("others are expected to take %d of %d %s, less than on earlier days of this week: planned for",
			planned, limit, pool) + more
	}
	text := fmt.Sprintf("others took %d of %d %s", most, limit, pool)
	if before.Sub(today) < 22*time.Hour {
		text += " before " + before.UTC().Format("15:04Z")
	}
	if inARow > 1 {
		text += fmt.Sprintf(" on each of the last %d days", inARow)
	} else {
		text += " on the last day"
	}
	if stops := stoppedAlike(days, today); len(stops) > 1 {
		text += fmt.Sprintf(" (if the provider's limit is %d now, edit %s: under pools in costs.yaml)",
			slices.Max(stops), pool)
	}
	if planned < most*9/10 {
		return text + fmt.Sprintf(": %d are planned for", planned) + more
	}
	return text + ": planned for" + more
}

// raised says that the provider gave more on the last day than costs.yaml has, or than when it last refused; "" if it
// did not.
func raised(days []OthersDay, today time.Time, pool string, limit int64) string {
	last := ago(days, today, 1)
	if last == nil || last.Stopped != nil {
		return ""
	}
	edit := fmt.Sprintf("if the limit was raised, edit %s: under pools in costs.yaml", pool)
	if last.Used > limit {
		return fmt.Sprintf("%d %s were counted on the last day without a refusal, above the limit of %d: %s",
			last.Used, pool, limit, edit)
	}
	for n := 2; n < othersDays; n++ {
		if d := ago(days, today, n); d != nil && d.Stopped != nil {
			if *d.Stopped < last.Used && *d.Stopped < limit {
				return fmt.Sprintf("%d %s were counted on the last day without a refusal, "+
					"above the %d at the last refusal: %s", last.Used, pool, *d.Stopped, edit)
			}
			return ""
		}
	}
	return ""
}

// took returns the others' known use of a limit on the day, and the time from the day's beginning to the end of the
// hour when they had reached nine tenths of that use.
func (d OthersDay) took(limit int64) (whole int64, by time.Duration) {
	var hours [25]int64
	copy(hours[:], d.Hours)
	if d.Stopped != nil {
		hours[max(0, min(d.StoppedIn, 24))] += max(0, limit-*d.Stopped)
	}
	whole = sum(hours[:])
	for took := int64(0); took*10 < whole*9; by += time.Hour {
		took += hours[by/time.Hour]
	}
	return whole, by
}

// dayOf returns the provider's day of a report. The ledger ends a day one grace after the next has begun.
func dayOf(r quota.Report, t *quota.Tariff) (begins, ends time.Time) {
	return providerDay(r.At.Add(-t.Grace), t.Zone)
}

func providerDay(now time.Time, zone *time.Location) (begins, ends time.Time) {
	for _, m := range quota.Midnights(now, zone) {
		if m.After(now) {
			return begins, m.UTC()
		}
		begins = m.UTC()
	}
	return begins, ends
}

func sum(hours []int64) (n int64) {
	for _, amount := range hours {
		n += amount
	}
	return n
}

// earlier returns the first of two times; b if a is zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || a.After(b) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
