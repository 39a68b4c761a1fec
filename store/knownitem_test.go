package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// recorded is a store with some days of the recorded charts, and what was charted in each region.
type recorded struct {
	store    *store.Store
	byRegion map[string][]ingest.Video // once each, as the store has it, by id
	shown    map[[2]string][]store.Hit // what a region and a query have found
}

// raced says that the race detector is on: what is only large is made smaller.
var raced bool

// allCharts are the recorded charts: by region and day, in rank order.
func allCharts(t testing.TB) map[string]map[string][]ingest.Video {
	t.Helper()
	charts := map[string]map[string][]ingest.Video{}
	for _, region := range realRegions {
		charts[region] = realCharts(t, region)
	}
	return charts
}

// record charts the days of the window.
func record(t testing.TB, w window) recorded {
	t.Helper()
	return w.record(t, allCharts(t))
}

// record charts those of the charts that are of its days.
func (w window) record(t testing.TB, charts map[string]map[string][]ingest.Video) recorded {
	t.Helper()
	last, err := time.Parse(time.DateOnly, w.last)
	if err != nil {
		t.Fatal(err)
	}
	r := recorded{open(t, t.TempDir(), &handClock{t: last}), map[string][]ingest.Video{}, map[[2]string][]store.Hit{}}
	now, charted := map[string]ingest.Video{}, map[string]map[string]bool{}
	for _, region := range realRegions {
		charted[region] = map[string]bool{}
	}
	for at := last.AddDate(0, 0, 1-w.days); !at.After(last); at = at.AddDate(0, 0, 1) {
		for _, region := range realRegions {
			videos := charts[region][at.Format(time.DateOnly)]
			if len(videos) > 0 {
				chart(t, r.store, region, at, page(videos...))
			}
			for _, v := range videos {
				now[v.ID], charted[region][v.ID] = v, true
			}
		}
	}
	for _, region := range realRegions {
		for _, id := range slices.Sorted(maps.Keys(charted[region])) {
			r.byRegion[region] = append(r.byRegion[region], now[id])
		}
	}
	return r
}

// twoLongest is what somebody types who remembers the two longest distinct words of a title; "" for a
// title that has none.
func twoLongest(title string, cut func(string) []string) string {
	var words, seen []string
	for _, w := range cut(title) {
		if folded := text.Normalize(w); folded != "" && !slices.Contains(seen, folded) {
			words, seen = append(words, w), append(seen, folded)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return utf8.RuneCountInString(b) - utf8.RuneCountInString(a) })
	return strings.Join(words[:min(2, len(words))], " ")
}

// cuts are the ways in which a title's words are typed.
var cuts = []struct {
	name string
	cut  func(title string) []string
}{
	{"as written", strings.Fields},
	{"bare", bareWords},
	{"small", func(title string) []string { return bareWords(strings.ToLower(title)) }},
}

// bareWords are the words without what stands around them: "(Official" is Official.
func bareWords(title string) []string {
	return strings.FieldsFunc(title, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) })
}

// finds reports whether the video, or one of the same title, is among the first five of its region.
func (r recorded) finds(t testing.TB, region, query string, v ingest.Video) bool {
	t.Helper()
	shown, ok := r.shown[[2]string{region, query}]
	if !ok {
		got, err := r.store.Search(t.Context(), store.Query{Text: query, Region: ingest.Region(region), Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		shown = got.Items
		r.shown[[2]string{region, query}] = shown
	}
	return slices.ContainsFunc(shown, func(h store.Hit) bool {
		return h.Video.ID == v.ID || text.Normalize(h.Video.Title) == text.Normalize(v.Title)
	})
}

// window is some days of the recorded charts.
type window struct {
	last string
	days int
}

// readWindow reads 2026-02-14/10, the ten days up to that one.
func readWindow(t testing.TB, text string) window {
	t.Helper()
	last, days, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(days)
	if err != nil {
		t.Fatalf("KNOWN_ITEM_WINDOWS: %q is not of the form 2026-02-14/10", text)
	}
	return window{last, n}
}

// Two words are often not enough: of 79 titles whose longest words are "avengers" and "doomsday" five are
// shown, and of the month to 2026-01-10 no search can find more than 91.1 % of the videos in the US so, in
// small letters. Ours finds 90.8 %, and of most other windows 97 to 100 %, where 98 to 100 % could be found.
// So a region is judged by 50 queries of each of three windows, with the words as they are written, bare, and
// in small letters.
func TestTwoWordsOfATitleFindItsVideo(t *testing.T) { twoWordsFind(t, 30, "2026-02-14/10") }

func TestLongTwoWordsOfATitleFindItsVideo(t *testing.T) {
	twoWordsFind(t, 50, "2026-01-31/10 2026-02-14/10 2026-02-28/30")
}

func twoWordsFind(t *testing.T, each int, windows string) {
	t.Helper()
	seeds := strings.Fields(cmp.Or(os.Getenv("KNOWN_ITEM_SEEDS"), "1"))
	found, asked := map[string]int{}, map[string]int{}
	missed := map[string][]string{}
	samples, below := 0, 0
	charts := allCharts(t)
	if raced {
		windows, each = "2026-02-14/3", 10 // the detector makes SQLite tenfold slower, and finds nothing in the rest
	}
	t.Logf("KNOWN_ITEM_SEEDS=%q, %d queries a region and window", seeds, each)
	for _, text := range strings.Fields(cmp.Or(os.Getenv("KNOWN_ITEM_WINDOWS"), windows)) {
		w := readWindow(t, text)
		r := w.record(t, charts)
		for _, seed := range seeds {
			for _, c := range cuts {
				var line strings.Builder
				for _, region := range realRegions {
					of := seed + " " + region
					n, misses := r.knownItems(t, region, seed, each, c.cut)
					asked[of], found[of] = asked[of]+n, found[of]+n-len(misses)
					missed[of] = append(missed[of], misses...)
					fmt.Fprintf(&line, " %s %d/%d", region, n-len(misses), n)
					if samples++; len(misses)*20 > n {
						below++
					}
				}
				t.Logf("%d days to %s, seed %s, words %-10s:%s", w.days, w.last, seed, c.name, line.String())
			}
		}
	}
	t.Logf("%d of %d samples of a region below 95 %%", below, samples)
	for _, of := range slices.Sorted(maps.Keys(asked)) {
		n := asked[of]
		t.Logf("seed %s: %d of %d, %.1f %%", of, found[of], n, 100*float64(found[of])/float64(n))
		if found[of]*100 < n*95 && !raced { // ten queries are too few to say
			t.Errorf("seed %s: fewer than 95 %%; missed: %q", of, missed[of])
		}
	}
}

// knownItems asks for so many videos of a region, drawn by the seed, and returns how many it asked for
// and what was not found.
func (r recorded) knownItems(t testing.TB, region, seed string, want int, words func(string) []string) (asked int, missed []string) {
	t.Helper()
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range rand.New(rand.NewPCG(n, 0)).Perm(len(r.byRegion[region])) {
		v := r.byRegion[region][i]
		query := twoLongest(v.Title, words)
		if query == "" || asked == want {
			continue
		}
		if asked++; !r.finds(t, region, query, v) {
			missed = append(missed, fmt.Sprintf("%s -> %s", query, v.Title))
		}
	}
	return asked, missed
}
