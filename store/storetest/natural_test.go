package storetest

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// Recorded is a store with some days of the recorded charts, and each region's charts.
type Recorded struct {
	Store    *store.Store
	byRegion map[string][]ingest.Video // once each, as the store has it, by id
	usedBy   map[[2]string]int         // how many videos of a channel have a word in their titles
}

// Record charts the given number of recorded days, up to the last. Without ../shared the test is skipped.
func Record(t testing.TB, open Open, last string, days int) Recorded {
	t.Helper()
	until, err := time.Parse(time.DateOnly, last)
	if err != nil {
		t.Fatal(err)
	}
	charts, charted := map[string]map[string][]ingest.Video{}, map[string]map[string]bool{}
	for _, region := range RealRegions {
		charts[region], charted[region] = RealCharts(t, region), map[string]bool{}
	}
	r := Recorded{open(t, t.TempDir(), (&handClock{t: until}).now), map[string][]ingest.Video{}, map[[2]string]int{}}
	now, nameOf := map[string]ingest.Video{}, map[string]string{}
	for at := until.AddDate(0, 0, 1-days); !at.After(until); at = at.AddDate(0, 0, 1) {
		for _, region := range RealRegions {
			videos := charts[region][at.Format(time.DateOnly)]
			if len(videos) > 0 {
				Chart(t, r.Store, region, at, Page(videos...))
			}
			for _, v := range videos {
				now[v.ID], nameOf[v.ChannelID], charted[region][v.ID] = v, v.Channel, true
			}
		}
	}
	for _, region := range RealRegions {
		for _, id := range slices.Sorted(maps.Keys(charted[region])) {
			v := now[id]
			v.Channel = nameOf[v.ChannelID] // another video of the channel may have brought a newer name
			r.byRegion[region] = append(r.byRegion[region], v)
		}
	}
	for _, v := range now {
		for _, word := range slices.Compact(slices.Sorted(strings.FieldsSeq(text.Normalize(v.Title)))) {
			r.usedBy[[2]string{v.ChannelID, word}]++
		}
	}
	return r
}

// natural are queries without a particular video in mind: artists, games, clubs, kinds of video.
var natural = map[string][]string{
	"US": {"minecraft", "fortnite", "official trailer", "nfl highlights", "nba", "taylor swift", "news", "gta"},
	"GB": {"official video", "premier league", "arsenal", "liverpool", "highlights", "roblox", "mrbeast"},
	"DE": {"bayern", "minecraft", "offizielles video", "bundesliga", "trailer deutsch", "rap", "nachrichten"},
	"FR": {"psg", "clip officiel", "bande annonce", "minecraft", "france", "rap"},
	"IN": {"official trailer", "full video song", "punjabi", "telugu", "bhojpuri", "cricket highlights", "live"},
	"BR": {"flamengo", "ao vivo", "clipe oficial", "gols", "minecraft", "funk", "sertanejo"},
	"AU": {"cricket", "official trailer", "afl", "big bash", "roblox", "music video"},
	"CA": {"nhl", "hockey highlights", "official trailer", "raptors", "minecraft", "drake"},
}

// among returns the videos with every word of the query in title, channel or tags, the most watched first.
func among(videos []ingest.Video, query string, meets func(have, want string) bool) []ingest.Video {
	var found []ingest.Video
	for _, v := range videos {
		have := strings.Fields(text.Normalize(v.Title + "\n" + v.Channel + "\n" + strings.Join(v.Tags, "\n")))
		lacks := func(want string) bool {
			return !slices.ContainsFunc(have, func(h string) bool { return meets(h, want) })
		}
		if !slices.ContainsFunc(strings.Fields(text.Normalize(query)), lacks) {
			found = append(found, v)
		}
	}
	slices.SortStableFunc(found, func(a, b ingest.Video) int { return int(min(max(viewsOf(b)-viewsOf(a), -1), 1)) })
	return found
}

func viewsOf(v ingest.Video) int64 {
	if v.Views == nil {
		return -1
	}
	return *v.Views
}

func same(have, want string) bool { return have == want }

// orderByViews compares searches in the order of views with a scan of all videos.
func (r Recorded) orderByViews(t *testing.T, queries int) {
	byWord, views := map[string]map[string]bool{}, map[string]int64{}
	for _, region := range RealRegions {
		for _, v := range r.byRegion[region] {
			views[v.ID] = viewsOf(v)
			for word := range strings.FieldsSeq(text.Normalize(v.Title + "\n" + v.Channel + "\n" + strings.Join(v.Tags, "\n"))) {
				if byWord[word] == nil {
					byWord[word] = map[string]bool{}
				}
				byWord[word][v.ID] = true
			}
		}
	}
	words := slices.DeleteFunc(slices.Sorted(maps.Keys(byWord)), func(w string) bool {
		return len(w) < 3 || strings.ContainsFunc(w, func(r rune) bool { return r > unicode.MaxASCII })
	})
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range queries {
		word := words[rng.IntN(len(words))]
		query, want := word, maps.Clone(byWord[word])
		switch i % 3 {
		case 1:
			query = word[:1+rng.IntN(3)]
			for w, ids := range byWord {
				if strings.HasPrefix(w, query) {
					maps.Copy(want, ids)
				}
			}
			query += "*"
		case 2:
			other := []string{"official", "the", "2026", "video"}[rng.IntN(4)]
			query += " " + other
			maps.DeleteFunc(want, func(id string, _ bool) bool { return !byWord[other][id] })
		}
		var top []int64
		for id := range want {
			top = append(top, views[id])
		}
		slices.SortFunc(top, func(a, b int64) int { return cmp.Compare(b, a) })
		got, err := r.Store.Search(t.Context(), store.SearchQuery{Text: query, Order: store.ByViews})
		if err != nil {
			t.Fatal(err)
		}
		var shown []int64
		for _, h := range got.Items {
			shown = append(shown, viewsOf(h.Video))
		}
		if top = top[:min(20, len(top))]; len(top) > 0 && !slices.Equal(shown, top) {
			t.Errorf("seed %d, %q: views %v\nwant %v", seed, query, shown, top)
		}
	}
}

// naturalQueries measures the mean percentile of the views of the first ten results, among all matching videos. A
// random order has 0.5. The ten most watched videos have the maximum, which is lower if fewer videos match.
func (r Recorded) naturalQueries(t *testing.T) {
	var shares, most, overlaps, queries float64
	for _, region := range RealRegions {
		for _, query := range natural[region] {
			all := among(r.byRegion[region], query, same)
			if len(all) < 20 {
				t.Logf("%s %-20s only %d match: not counted", region, query, len(all))
				continue
			}
			got, err := r.Store.Search(t.Context(), store.SearchQuery{Text: query, Region: ingest.Region(region), Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var share, overlap float64
			titles := map[string]int{}
			for _, h := range got.Items {
				less := slices.IndexFunc(all, func(v ingest.Video) bool { return viewsOf(v) <= viewsOf(h.Video) })
				if less >= 0 {
					share += 1 - float64(less)/float64(len(all)-1)
				}
				if slices.ContainsFunc(all[:10], func(v ingest.Video) bool { return v.ID == h.Video.ID }) {
					overlap++
				}
				if titles[text.Normalize(h.Video.Title)]++; titles[text.Normalize(h.Video.Title)] == 3 {
					t.Errorf("%s %s: %q three times", region, query, h.Video.Title)
				}
			}
			share /= float64(max(len(got.Items), 1))
			t.Logf("%s %-20s %4d match; the first ten: views percentile %.2f, %2.0f of the ten most viewed",
				region, query, len(all), share, overlap)
			shares, overlaps, queries = shares+share, overlaps+overlap, queries+1
			most += 1 - 4.5/float64(len(all)-1)
		}
	}
	t.Logf("%.0f queries: mean views percentile %.3f, best %.3f (want 0.78 of it), %.2f of the ten most viewed (want 4)",
		queries, shares/queries, most/queries, overlaps/queries)
	if queries == 0 || shares < 0.78*most || overlaps/queries < 4 {
		t.Errorf("%.0f queries: got %.3f of the best views percentile and %.2f of the ten most viewed, want 0.78 and 4",
			queries, shares/most, overlaps/queries)
	}
}
