// Command economy measures the results of workers with a quota: the parts of this program and naive cron scripts, in
// worlds of different size and trouble, over simulated weeks with a clock change. The stand-in counts and judges, by
// the world's clock.
//
//	go run ./economy [-write | -draw] [-days 14] [-seed 1] [-only REGEXP] [-resume FILE] [-random N]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// table is the cost table of all worlds: one where a backfill and the schedule use the same pool.
const table = "classic"

// traced prints details that explain a run's figures.
var traced bool

// start is midnight at the provider, a week before its day of 25 hours.
var start = time.Date(2026, 10, 25, 7, 0, 0, 0, time.UTC)

// worker fetches charts in a world from one time to another.
type worker func(ctx context.Context, w world, seed uint64, from, to time.Time) (result, error)

type contender struct {
	name string
	work worker
	in   func(world) bool // whether it may differ from ours, or works at all, in a world
}

// scripts selects the worlds for cron scripts, which ignore the clock and have no budget.
func scripts(w world) bool {
	t := w.trouble
	switch {
	case t.ahead != 0, t.lies != 0, t.sleeps+t.away != 0, t.edits != nil, w.also != nil, w.tick+t.slow != 0:
		return false
	case slices.Contains([]string{weekly.name, weekend.name, event.name, cutToTen.name}, t.name):
		return false
	case w.units == 1_700, w.units == halfUnits, w.units == 600, w.units == 1_900:
		return false
	}
	return w.hosts+w.backlogs < 2 && len(w.regions) == 8
}

// toldOfNights is our worker with the knowledge that it gets in three nights: the bound of its predictions before.
const toldOfNights = "ours told of the nights before"

var contenders = []contender{
	{"ours", worstOf(ours(options{})), func(world) bool { return true }},
	{"ours without pacing", ours(options{noPacing: true}), func(w world) bool {
		usual := w.trouble.name == clean.name || w.trouble.name == faulty.name || w.trouble.name == lying.name
		return usual && (w.units < halfUnits && w.trouble.takes == nil && w.hosts < 2 && w.tick == 0 && len(w.regions) <= 8 && w.lookups == 0 || w.backfill && w.backlogs == 1)
	}},
	{"ours without doubt", ours(options{noDoubt: true}), func(w world) bool { return w.trouble.name == lying.name }},
	{"ours with whole pages", ours(options{wholePages: true}), func(w world) bool { return w.units == 40 && w.trouble.name == clean.name }},
	{"ours without the 24h window", ours(options{dayAlone: true}), func(w world) bool {
		return w.trouble.name == clean.name && (w.units == 300 || w.backfill) && w.hosts+w.backlogs < 2 && w.tick == 0 && len(w.regions) == 8
	}},
	{toldOfNights, ours(options{knowsSleep: true}), func(w world) bool { return w.trouble.name == asleep.name }},
	{"naive cron", naive(0), scripts},
	{"naive cron, 3 retries", naive(3), scripts},
}

// sizes are the worlds' units per day.
var sizes = []int64{10_000, 2_200, 300, 40}

func worlds() (all []world) {
	usual := func(units int64, t trouble) world {
		backlogs := 0
		if units == 2_200 {
			backlogs = 1
		}
		return world{units: units, backfill: units == 2_200, backlogs: backlogs, trouble: t, regions: regions.Default(), every: 30 * time.Minute, pages: 4}
	}
	for _, units := range sizes {
		for _, t := range []trouble{clean, faulty, lying} {
			all = append(all, usual(units, t))
		}
	}
	uneven := world{units: 300, trouble: mixed, regions: regions.Default()[:1], every: 10 * time.Minute, pages: 4, also: []ingest.Job{
		{Name: "rare", Kind: ingest.KindChart, Regions: regions.Default()[1:], Every: 6 * time.Hour, Pages: 4},
	}}
	all = append(all, usual(300, yearAhead), usual(300, hoursAhead), usual(halfUnits, clean), usual(600, clean), usual(600, lyingDaily), uneven)
	all = append(all, usual(10_000, cut), usual(300, hourly), usual(300, erratic), usual(300, uncharged), usual(300, sluggish))
	hosts, wide, two, served := usual(300, clean), usual(300, clean), usual(2_200, clean), usual(300, clean)
	hosts.hosts, two.backlogs, served.tick = 3, 2, 30*time.Second
	calm, beside := usual(1_900, clean), usual(1_900, clean)
	beside.lookups = 900
	beside1700 := usual(1_700, clean)
	beside1700.backfill, beside1700.backlogs = true, 1
	rarely, hourlyRuns := usual(300, clean), usual(300, clean)
	rarely.tick, hourlyRuns.tick = 17*time.Minute, time.Hour
	all = append(all, usual(300, weekly), usual(300, weekend), usual(300, event), usual(10_000, cutToTen), usual(300, asleep), usual(300, away), usual(300, edited), usual(300, raised), beside1700, rarely, hourlyRuns)
	for i := range 12 {
		wide.regions = append(slices.Clone(wide.regions), ingest.Region("X"+string(rune('A'+i))))
	}
	return append(all, hosts, wide, two, served, calm, beside)
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := flag.NewFlagSet("economy", flag.ContinueOnError)
	f.SetOutput(stderr)
	days := f.Int("days", 14, "how many `DAYS` to simulate")
	seed := f.Uint64("seed", 1, "`SEED` of the worlds")
	write := f.Bool("write", false, "write "+file+" and "+picture)
	picturing := f.Bool("draw", false, "simulate the picture's worlds, and write "+picture+" alone")
	resume := f.String("resume", "", "keep each result in `FILE`, and do not simulate its results again delete it when the program has changed")
	only := f.String("only", "", "`REGEXP` of the world, its trouble and the worker, as in '300 units/clean/ours$'")
	f.BoolVar(&traced, "trace", false, "print untrue predictions, and each call that was refused")
	random := f.Int("random", 0, "instead of the table, let ours live in `N` random worlds, and say which promises it breaks there")
	if f.Parse(args) != nil {
		return 2
	}
	if *random > 0 {
		if err := inRandomWorlds(ctx, stdout, *random, *days, *seed); err != nil {
			fmt.Fprintln(stderr, "economy:", err)
			return 1
		}
		return 0
	}
	if *picturing {
		*only = pictured
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(stderr, "economy:", err)
		return 2
	}
	book := &results{file: *resume, Seed: *seed, Days: *days}
	err = book.load()
	var runs []simulated
	if err == nil {
		runs, err = simulate(ctx, all(pattern), func(s simulated) {
			if traced {
				fmt.Fprintf(stdout, "%.2f x the best constant interval's age\n", float64(s.Lasting)/float64(s.best()))
			}
			fmt.Fprintf(stdout, "%s: %s%s%s\n", s, strings.Join(s.cells(*days), " | "), s.Said, s.Surprised)
		}, func(ctx context.Context, s simulated) (result, error) {
			return book.of(s, func() (result, error) { return s.work(ctx, s.world, *seed, start, start.AddDate(0, 0, *days)) })
		})
	}
	switch {
	case err == nil && *picturing:
		err = draw(runs, picture)
	case err == nil && *write:
		err = publish(runs, *days, *seed)
	}
	if err != nil {
		fmt.Fprintln(stderr, "economy:", err)
		return 1
	}
	return 0
}

// simulate lets the workers work, one on each processor, and reports each in order. It returns those before the first
// that failed; the others are stopped then.
func simulate(ctx context.Context, all []simulated, report func(simulated), work func(context.Context, simulated) (result, error)) (runs []simulated, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	processors := runtime.GOMAXPROCS(0)
	if traced { // their output would be mixed
		processors = 1
	}
	type end struct {
		result
		err error
	}
	ends, free := make([]chan end, len(all)), make(chan struct{}, processors)
	for i := range all {
		ends[i] = make(chan end, 1)
	}
	go func() {
		for i, s := range all {
			free <- struct{}{}
			go func() {
				r, err := work(ctx, s)
				ends[i] <- end{r, err}
				<-free
			}()
		}
	}()
	for i, s := range all {
		e := <-ends[i]
		if s.result = e.result; err == nil && e.err == nil {
			report(s)
			runs = append(runs, s)
		} else if err == nil {
			err = e.err
			stop()
		}
	}
	return runs, err
}

// all returns the workers in all worlds that match the pattern.
func all(pattern *regexp.Regexp) (all []simulated) {
	for _, w := range worlds() {
		for _, c := range contenders {
			s := simulated{world: w, contender: c}
			if pattern.MatchString(s.String()) && c.in(w) {
				all = append(all, s)
			}
		}
	}
	return all
}

// tariffOf returns the shipped cost table with that many units a day; dayAlone: without a sliding window in addition.
func tariffOf(units int64, dayAlone bool) (*quota.Tariff, error) {
	t, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", table)
	if err != nil {
		return nil, err
	}
	t.FreeBursts = true // as in the stand-in
	for i, p := range t.Pools {
		for j := range p.Windows {
			if p.Name == "units" {
				t.Pools[i].Windows[j].Limit = units
			}
		}
		if dayAlone {
			t.Pools[i].Windows = slices.DeleteFunc(t.Pools[i].Windows, func(w quota.Window) bool { return !w.Day() })
		}
	}
	return t, nil
}
