package main

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/regions"
)

// realCharts are snapshots of the first page of real charts, one per day, shared with our tests.
const realCharts = "../../shared/data/trending"

// halfUnits is the daily limit of units that leaves the schedule half of its cost: 768 of 1,536.
const halfUnits = 809

// entry is a video's stay among the first fifty of a region, measured from the start of a world.
type entry struct{ enters, leaves time.Duration }

// stays reads a region's entries. Daily snapshots do not say when in the day a video came or went: any moment between
// two snapshots is equally likely. Videos in the first snapshot do not count as new.
func stays(region string, random *rand.Rand) ([]entry, error) {
	file, err := os.Open(filepath.Join(realCharts, region+".csv.gz"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(unzipped).ReadAll()
	if err != nil {
		return nil, err
	}
	var days []map[string]bool // by snapshot
	at := ""
	for _, row := range rows[1:] { // snapshot_date, rank, video_id, ...
		if row[0] != at {
			at, days = row[0], append(days, map[string]bool{})
		}
		days[len(days)-1][row[2]] = true
	}
	between := func(day int) time.Duration {
		return time.Duration((float64(day-1) + random.Float64()) * float64(24*time.Hour))
	}
	var all []entry
	for day := 1; day < len(days); day++ {
		for _, video := range slices.Sorted(maps.Keys(days[day])) {
			if days[day-1][video] {
				continue
			}
			gone := day + 1
			for gone < len(days) && days[gone][video] {
				gone++
			}
			all = append(all, entry{between(day), between(gone)})
		}
	}
	return all, nil
}

// firstSeen returns when a worker that completed charts at these times, over that many days, first had the entry; ok is
// false if it never did. The days of the charts are repeated over the days of the world.
func (e entry) firstSeen(times []int64, days int) (at time.Duration, ok bool) {
	world := time.Duration(days) * 24 * time.Hour
	for lap := e.enters / world * world; lap < e.leaves; lap += world {
		first := start.Add(e.enters - lap).Unix()
		if i, _ := slices.BinarySearch(times, first); i < len(times) {
			at = lap + time.Unix(times[i], 0).Sub(start)
			return at, at < e.leaves
		}
	}
	return 0, false
}

// staysOf reads the entries of all regions. Equal seeds place the entries at the same moments.
func staysOf(regions []ingest.Region, seed uint64) (map[string][]entry, error) {
	random, found := rand.New(rand.NewPCG(seed, 0)), map[string][]entry{} //nolint:gosec // a simulation
	for _, r := range regions {
		all, err := stays(string(r), random)
		if err != nil {
			return nil, fmt.Errorf("read the charts of %s: %w", r, err)
		}
		found[string(r)] = all
	}
	return found, nil
}

// entries writes the report's part on which entries to real charts a worker finds with half of the units.
func entries(r *report.Report, full, half *simulated, days int, seed uint64) error {
	if full == nil || half == nil {
		return nil
	}
	found, err := staysOf(regions.Default(), seed)
	if errors.Is(err, fs.ErrNotExist) {
		r.Say("The finds of half the units on real charts were not measured: there is no %s here.", realCharts)
		return nil
	}
	if err != nil {
		return err
	}
	var rows [][]string
	known, soon, least := 0, 0, 1.0
	sum, roots := 0.0, 0.0
	for _, code := range regions.Default() {
		region, all := string(code), found[string(code)]
		had, late := 0, 0
		var last time.Duration
		for _, e := range all {
			last = max(last, e.enters)
			first, ok := e.firstSeen(full.Done[region], days)
			if !ok {
				continue
			}
			had++
			if again, ok := e.firstSeen(half.Done[region], days); !ok || again-first > time.Hour {
				late++
			}
		}
		rate := float64(len(all)) / last.Hours() * 24
		sum, roots = sum+rate, roots+math.Sqrt(rate)
		known, soon, least = known+had, soon+had-late, min(least, float64(had-late)/float64(had))
		rows = append(rows, []string{region, fmt.Sprint(len(all)), fmt.Sprintf("%.1f", rate), fmt.Sprint(had), fmt.Sprintf("%.2f %%", 100*float64(had-late)/float64(had))})
	}
	r.Goal("real charts at half the units, paced: new entries of the top 50 seen within an hour of the full schedule, the worst region", "at least 95 %", fmt.Sprintf("%.2f %%", 100*least), least >= 0.95)
	r.Section("Real charts at half the units", fmt.Sprintf("The first pages of real charts, a snapshot a day over 81 days (%s), and the times at which our worker completed charts under "+
		"10,000 units and under %d; the schedule may use half of its own cost. The snapshots do not say when in a day a video came or went: any moment between two of them is taken to be as likely "+
		"as another, and videos that came and went between two are not known. All regions are paced alike.", realCharts[len("../"):], halfUnits))
	r.Table([]string{"region", "new entries", "a day", "seen by the full schedule", "of these within an hour more by half of it"}, rows)
	r.Say("In all, %.2f %%. Shared by how fast each region's chart moves (as the square root of it, which is best for the mean delay) instead of alike, the same units would shorten the mean "+
		"delay of an entry by %.1f %%, were every rate known beforehand.",
		100*float64(soon)/float64(known), 100*(1-roots*roots/(sum*float64(len(rows)))))
	return nil
}
