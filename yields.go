package ingest

import "time"

// Yields sums up the new videos that the units spent since a time have brought.
type Yields struct {
	Since, Until time.Time     // Since is the oldest chart's due time, if later
	Series       []SeriesYield // of charts, by job and key

	RefreshUnits int64 // spent by refreshes
	Unseen       int64 // videos fetched again but in no chart since
}

// SeriesYield counts the videos in a series' charts that were not in the chart before.
type SeriesYield struct {
	Series

	Charts int   // compared with the one before
	Units  int64 // spent by these charts
	Still  int   // those without a new video
	Same   int   // those with the same videos at the same ranks
	Pages  []PageYield
}

// PageYield is how often a page was fetched, and how often it brought no new video.
type PageYield struct{ Fetched, Nothing int }

// Compare adds a chart, fetched in the given number of pages, to its series' counts; both charts are ids by rank.
func (y *SeriesYield) Compare(before, chart []int64, pages int, units int64) {
	known, same := map[int64]bool{}, len(before) == len(chart)
	for i, id := range before {
		known[id] = true
		same = same && chart[i] == id
	}
	pages = max(pages, 1)
	fresh := make([]bool, pages) // by page; an upstream's pages have about the same size
	still := true
	for i, id := range chart {
		if !known[id] {
			fresh[i*pages/len(chart)], still = true, false
		}
	}
	for len(y.Pages) < pages {
		y.Pages = append(y.Pages, PageYield{})
	}
	for i, brought := range fresh {
		y.Pages[i].Fetched++
		if !brought {
			y.Pages[i].Nothing++
		}
	}
	y.Charts, y.Units = y.Charts+1, y.Units+units
	if still {
		y.Still++
	}
	if same {
		y.Same++
	}
}
