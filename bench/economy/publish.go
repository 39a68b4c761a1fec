package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
)

const (
	file    = "ECONOMY.md"
	picture = "economy.svg"
)

// simulated is a worker's performance in a world.
type simulated struct {
	world
	contender
	result
}

func (s simulated) String() string { return fmt.Sprintf("%s/%s/%s", s.world, s.trouble.name, s.name) }

var header = []string{"world", "trouble", "worker", "charts", "mean age", "oldest", "worst/best region", "units", "refused", "wasted", "orphan pages", "probes a day"}

// cells returns the figures of one line of the table.
func (s simulated) cells(days int) []string {
	hours := func(d time.Duration) string { return fmt.Sprintf("%.2f h", d.Hours()) }
	return []string{fmt.Sprint(s.Charts), hours(s.Mean), hours(s.Oldest), fmt.Sprintf("%.2f", s.Worst), fmt.Sprint(s.Units),
		fmt.Sprint(s.Refused), fmt.Sprint(s.Wasted), fmt.Sprint(s.Orphans), fmt.Sprintf("%.1f", float64(s.Probes)/float64(days))}
}

// publish writes the table and the picture.
func publish(runs []simulated, days int, seed uint64) error {
	r := &report.Report{Title: "Results of workers with a quota", About: "`make economy` makes this file: the parts of this program as `run` puts them together, started every five minutes with a ledger and a store in files, and " +
		"cron scripts that fetch every half hour and count nothing, with and without retries; eight regions, four pages of one unit each. Under the default table, split-2026-06, searches have a pool of their own and a backfill takes less from the charts. The upstream is the stand-in, which counts " +
		"for itself; the world has the clock."}
	r.Machine(fmt.Sprintf("costs by table %s, where searches draw from the pool of the charts, seed %d, %d days from %s, which include a day of 25 hours", table, seed, days, start.Format(time.DateOnly)))
	if left := leftOut(runs); left != "" {
		r.Say("This run leaves out these workers, by world, trouble and name: %s.", left)
	}
	goals(r, runs, days)
	if err := entries(r, find(runs, 10_000, clean, "ours"), find(runs, halfUnits, clean, "ours"), days, seed); err != nil {
		return err
	}
	r.Section("Figures", "Age is how old a region's newest whole chart is, over all regions and all time. Refused are calls that the upstream refused for quota, without those in "+
		"which it lied. Wasted are units that it charged for errors, for broken answers, and for orphan pages, which are in no whole chart. In 2,200 units a backfill takes the units that the "+
		"schedule leaves; the scripts' backfill is a page of a search, 100 units, every half hour. Where charts would be more than half a day apart, "+
		"ours have fewer pages: two of four in 40 units. \"Without\" leaves that part out. A worker is there where that may matter. "+
		"Of 5 % faults three in five are charged by the upstream.")
	var rows [][]string
	for _, s := range runs {
		what := s.trouble.name
		if s.Seeds > 1 {
			what += fmt.Sprintf(", the worst of %d", s.Seeds)
		}
		rows = append(rows, append([]string{s.world.String(), what, s.name}, s.cells(days)...))
	}
	r.Table(header, rows)
	saidAndTrue(r, runs)
	r.Say("![Mean age of eight charts under 300 units a day](%s)", picture)
	if err := r.Write(file); err != nil {
		return err
	}
	return draw(runs, picture)
}

// leftOut names the workers of the whole table that were not simulated.
func leftOut(runs []simulated) string {
	var names []string
	for _, s := range all(regexp.MustCompile("")) {
		if !slices.ContainsFunc(runs, func(run simulated) bool { return run.String() == s.String() }) {
			names = append(names, s.String())
		}
	}
	return strings.Join(names, "; ")
}

// find returns a worker's performance in a world, nil if it was not measured.
func find(runs []simulated, units int64, t trouble, name string) *simulated {
	for i, s := range runs {
		if s.units == units && s.plain() && s.trouble.name == t.name && s.name == name {
			return &runs[i]
		}
	}
	return nil
}

// goals judges our worker by this run's figures.
func goals(r *report.Report, runs []simulated, days int) {
	goal := func(s *simulated, what, want string, got func() (string, bool)) {
		if s != nil {
			text, ok := got()
			r.Goal(what, want, text, ok)
		}
	}
	starved := find(runs, 300, clean, "ours")
	goal(starved, "300 units: mean age", "at most 1.5 h", func() (string, bool) {
		return fmt.Sprintf("%.2f h", starved.Mean.Hours()), starved.Mean <= 90*time.Minute
	})
	goal(starved, "300 units: oldest", "at most 5 h", func() (string, bool) {
		return fmt.Sprintf("%.2f h", starved.Oldest.Hours()), starved.Oldest <= 5*time.Hour
	})
	goal(starved, "300 units: worst region", "at least 0.95 of the best", func() (string, bool) { return fmt.Sprintf("%.2f", starved.Worst), starved.Worst >= 0.95 })
	goal(starved, "300 units: refused by the upstream", "0", func() (string, bool) { return fmt.Sprint(starved.Refused), starved.Refused == 0 })
	least := find(runs, 40, clean, "ours")
	goal(least, "40 units: mean age", "at most 7 h", func() (string, bool) {
		return fmt.Sprintf("%.2f h, with %.1f pages a chart", least.Mean.Hours(), float64(least.Units-least.Wasted)/float64(least.Charts)), least.Mean <= 7*time.Hour
	})
	goal(least, "40 units: orphan pages", "0", func() (string, bool) { return fmt.Sprint(least.Orphans), least.Orphans == 0 })
	rich, cron := find(runs, 10_000, clean, "ours"), find(runs, 10_000, clean, "naive cron")
	if cron != nil {
		goal(rich, "10,000 units: mean age", "at most 1.05 of the cron script's age", func() (string, bool) {
			part := float64(rich.Mean) / float64(cron.Mean)
			return fmt.Sprintf("%.3f", part), part <= 1.05
		})
	}
	goal(rich, "10,000 units: wasted", "0", func() (string, bool) { return fmt.Sprint(rich.Wasted), rich.Wasted == 0 })
	goalsInTrouble(r, runs, days)
	goalsBesideOthers(r, runs)
	refused, orphans, lived := int64(0), int64(0), 0
	for _, s := range runs {
		if s.name == "ours" && s.trouble.takes == nil {
			refused, orphans, lived = refused+s.Refused, orphans+s.Orphans, lived+1
		}
	}
	r.Goal(fmt.Sprintf("all %d worlds without others at the provider: refused by the upstream, and orphan pages", lived), "0 and 0", fmt.Sprintf("%d and %d", refused, orphans), refused+orphans == 0)
	for _, t := range []trouble{yearAhead, hoursAhead} {
		if s := find(runs, 300, t, "ours"); s != nil && starved != nil {
			r.Goal("300 units, "+t.name+": charts lost", "at most 1", fmt.Sprint(starved.Charts-s.Charts), starved.Charts-s.Charts <= 1)
		}
	}
}

// goalsInTrouble adds the goals of worlds with faults, or uneven ones.
func goalsInTrouble(r *report.Report, runs []simulated, days int) {
	for _, units := range sizes {
		if s := find(runs, units, faulty, "ours"); s != nil {
			part := 100 * float64(s.Wasted) / float64(s.Units)
			r.Goal(fmt.Sprintf("%d units, 5 %% faults: wasted", units), "at most 4 %", fmt.Sprintf("%.2f %%", part), part <= 4)
		}
	}
	for _, units := range sizes {
		truth, lied := find(runs, units, clean, "ours"), find(runs, units, lying, "ours")
		if truth == nil || lied == nil {
			continue
		}
		part, probes := 100*float64(lied.Charts)/float64(truth.Charts), float64(lied.Probes)/float64(days)
		r.Goal(fmt.Sprintf("%d units, false quotaExceeded: charts", units), "at least 95 % of the clean world's charts", fmt.Sprintf("%.1f %%", part), part >= 95)
		r.Goal(fmt.Sprintf("%d units, false quotaExceeded: probes a day", units), "at most 14", fmt.Sprintf("%.1f", probes), probes <= 14)
	}
	if s := find(runs, 300, mixed, "ours"); s != nil {
		// Seven regions with four charts a day cost 112 of 285 units; the rest pays for one region every 33 minutes.
		asked := 7 * 4 * days
		r.Goal("300 units, "+mixed.name+": whole charts of the seven", "at least 95 % of their slots", fmt.Sprintf("%d of %d", s.Rare, asked), s.Rare*100 >= asked*95)
		r.Goal("300 units, "+mixed.name+": mean age of the one", "at most 21 min, 1.25 x the best constant interval's age", fmt.Sprintf("%.1f min", s.Mean.Minutes()), s.Mean <= 21*time.Minute)
	}
	if truth, lied := find(runs, 600, clean, "ours"), find(runs, 600, lyingDaily, "ours"); truth != nil && lied != nil {
		r.Goal("600 units, "+lyingDaily.name+": charts", "at least 90 % of the clean world's charts", fmt.Sprintf("%.1f %%", 100*float64(lied.Charts)/float64(truth.Charts)), lied.Charts*10 >= truth.Charts*9)
	}
	if s := find(runs, 300, asleep, "ours"); s != nil {
		awake := 24*time.Hour - asleep.sleeps
		best := awake*time.Duration(len(s.regions)*s.pages)/285/2 + asleep.sleeps/time.Hour*asleep.sleeps/2/24
		part := float64(s.Mean) / float64(best)
		r.Goal("300 units, "+asleep.name+": mean age", "at most 1.25 x the best constant interval's age while awake", fmt.Sprintf("%.2f x %.2f h", part, best.Hours()), part <= 1.25)
	}
	if s := find(runs, 300, away, "ours"); s != nil {
		r.Goal("300 units, "+away.name+": units spent meanwhile", "at most 3 % of a day's units", fmt.Sprint(s.Away), s.Away*100 <= 3*s.units)
		r.Goal("300 units, "+away.name+": until all regions have a chart again", "at most a round, 2.75 h", fmt.Sprintf("%.2f h", s.Back.Hours()), s.Back <= 165*time.Minute)
	}
	if calm, beside := lasting(runs, 1_900, 0), lasting(runs, 1_900, 900); calm != nil && beside != nil {
		more := beside.Late - calm.Late
		r.Goal("1900 units: the 99th percentile of how late a chart is, beside a backfill of 900 units", "less than 1 min more than without", fmt.Sprintf("%.1f and %.1f min", beside.Late.Minutes(), calm.Late.Minutes()), more < time.Minute)
	}
	for _, s := range runs {
		if s.name == "ours" && s.trouble.ahead == 0 && s.trouble.lies == 0 && s.trouble.name != lying.name {
			r.Goal(s.world.String()+", "+s.trouble.name+": days with a refresh", "all but one", fmt.Sprintf("%d of %d", s.Refreshes, days), s.Refreshes >= days-1)
		}
	}
}

// lasting returns our worker's performance beside a backfill of that many calls; nil if it was not measured.
func lasting(runs []simulated, units int64, lookups int) *simulated {
	for i, s := range runs {
		if s.name == "ours" && s.units == units && s.lookups == lookups {
			return &runs[i]
		}
	}
	return nil
}

// plain reports whether the world has eight regions, one host and cron, with one backfill at most.
func (w world) plain() bool {
	return w.hosts < 2 && w.backlogs < 2 && w.lookups == 0 && w.tick == 0 && len(w.regions) <= 8
}

// best returns the mean age of the charts if each came at the best constant interval for the units that others leave
// each day, without the day of a surprise.
func (s simulated) best() time.Duration {
	sum := time.Duration(0)
	round, days := float64(len(s.names())*s.pages), 0
	for day, left := range s.Left {
		if s.Surprise[day] {
			continue
		}
		days++
		each := time.Duration(float64(24*time.Hour) * round / float64(max(left, 1)))
		sum += max(each, s.every) / 2
	}
	return sum / time.Duration(max(days, 1))
}

// goalsBesideOthers adds the goals of worlds where others use the same quota, or we have more jobs or hosts.
func goalsBesideOthers(r *report.Report, runs []simulated) {
	for _, s := range runs {
		if s.name != "ours" || s.also != nil || s.trouble.takes == nil && s.plain() {
			continue
		}
		name, most := fmt.Sprintf("%s, %s", s.world, s.trouble.name), 1.25
		if s.trouble.random {
			most = 1.5
		}
		part, since := float64(s.Lasting)/float64(s.best()), ""
		if slices.Contains(s.Surprise, true) {
			since = ", without the first day on which others take it"
		}
		r.Goal(name+": mean age"+since, fmt.Sprintf("at most %.2f x the best constant interval's age", most), fmt.Sprintf("%.2f x %.2f h", part, s.best().Hours()), part <= most)
		r.Goal(name+": worst region", "at least 0.90 of the best", fmt.Sprintf("%.2f", s.Worst), s.Worst >= 0.9)
		refused, probed := int64(0), int64(0)
		for day, n := range s.Days {
			if s.Surprise[day] || day == 0 {
				probed = max(probed, n)
			} else {
				refused = max(refused, n)
			}
		}
		r.Goal(name+": refused on a day, at most"+since, "1", fmt.Sprintf("%d; on that day %d", refused, probed), refused <= 1)
	}
}

// saidAndTrue writes the worker's hourly predictions, and how often they were true.
func saidAndTrue(r *report.Report, runs []simulated) {
	r.Section("Said and true", "Every 65 minutes, unless its machine sleeps, our worker prints, as its commands do, when the next chart and the next slot of each series come, the headline, when units come back while "+
		"nothing is left, the interval, and whether everything fits until midnight (if not, its alert rings). A time is true if it is within 10 % or 15 minutes of the actual time; \"lasts\" if no run is stopped until "+
		"midnight (a stop counts if no chart comes for a turn, nor in the next run), or until the provider may refuse again, by the hour in the sentence, which promises nothing of the time after it and is not counted then; a slot after that hour, or after a doubted refusal, if it comes then or later, as its line says; the interval if the round under way takes that long, without the charts that the sentence calls overdue (the hours of a machine's sleep are not known before its third night: the row of the same worker told of them is the bound), "+
		"or as much of it as the day that the same sentence names has left, or the turns due before that refusal's hour, and before the hours without runs that the sentence names (where runs are rare, from the last slot's time to the next run); \"fits\" if all charts of the schedule come, and \"does not fit\" if they do not; of a refusal that is doubted, the time when units come back is when one call asks again; exit code 75 if the run was refused, or if no chart came for two turns.")
	share := func(s said) string {
		if s.All == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f %% of %d", 100*float64(s.True)/float64(s.All), s.All)
	}
	each := func(t tally) (cells []string) {
		for _, mouth := range mouths {
			cells = append(cells, share(t[mouth]))
		}
		return cells
	}
	var rows [][]string
	all, right := 0, 0
	for _, s := range runs {
		if s.name == toldOfNights {
			rows = append(rows, append([]string{s.world.String(), s.trouble.name + ", told of the nights before"}, each(s.Said)...))
		}
		if s.name != "ours" {
			continue
		}
		rows = append(rows, append([]string{s.world.String(), s.trouble.name}, each(s.Said)...))
		for _, counts := range s.Said {
			all, right = all+counts.All, right+counts.True
		}
		if mouth, least := s.Said.worst(); mouth != "" {
			r.Goal(s.world.String()+", "+s.trouble.name+": predictions of the worst mouth", "true in 95 % of samples",
				fmt.Sprintf("%.1f %%, %s", least, mouth), least >= 95)
		}
		if mouth, least, known := s.Surprised.worstOfKnown(); mouth != "" {
			rows = append(rows, append([]string{s.world.String(), s.trouble.name + ", on the first day"}, each(s.Surprised)...))
			r.Goal(s.world.String()+", "+s.trouble.name+": the same on the first day on which others take it", fmt.Sprintf("true in %d %% of samples, or in all that could be known", firstDay),
				fmt.Sprintf("%.1f %% of %.1f %%, %s", least, known, mouth), least >= min(firstDay, known))
		}
	}
	r.Table(append([]string{"world", "trouble"}, mouths...), rows)
	r.Say("Three things cannot be foreseen. Nothing tells of others before they come for the first time, or for the first time on another " +
		"weekday after a free day: until the provider refuses, our worker knows the same as in a world without others, where its predictions come true. The predictions of that time that the refusal makes false could not be known, which bounds the share of true ones; a mouth with fewer than twenty samples " +
		"there has no goal. Nothing tells of the nights of a machine that sleeps before it has slept three times. After that refusal the ledger knows only our own " +
		"count at that moment: the next day shows how much others leave beside a slower pace. The headline names the hour of the earliest refusal meanwhile, and each slot after it comes then or later.")
	if all > 0 {
		r.Goal("predictions", "true in 95 % of samples", fmt.Sprintf("%.1f %%", 100*float64(right)/float64(all)), right*100 >= all*95)
	}
}
