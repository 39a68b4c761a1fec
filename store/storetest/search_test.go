package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// library returns a store with videos in several scripts, each watched less than the one before.
func library(t *testing.T, open Open) (*store.Store, *handClock) {
	t.Helper()
	s, clock := newStore(t, open)
	var videos []ingest.Video
	for i, title := range []string{
		"Mühle im Wald", "The Spider-Man Trailer", "東京都の天気", "हिन्दी गाने", "Wald und Wiese, der ganze Film",
		"Страна чудес", "مدينة القاهرة", "Waldbrand",
	} {
		v := withViews(Titled(fmt.Sprintf("video%d", i), title), int64(1000-i))
		v.ChannelID, v.Channel, v.Tags = fmt.Sprint("UC", i%3), []string{"Müller TV", "Kino", "News"}[i%3],
			[]string{"tag" + fmt.Sprint(i), "alle tage"}
		v.Category, v.PublishedAt = fmt.Sprint(10+i%2), noon.Add(-time.Duration(i)*time.Hour)
		v.Duration = time.Duration(i) * time.Minute // the first is live
		videos = append(videos, v)
	}
	Chart(t, s, "US", noon, Page(videos...))
	return s, clock
}

func testSearchMeansWhatIsTyped(t *testing.T, open Open) {
	s, _ := library(t, open)
	for _, c := range []struct{ query, want string }{
		{"wald", "video0 video4 video7"}, // the last word is a beginning too, and comes last
		{"muhle", "video0"}, {"MÜHLE", "video0"},
		{"spider-man", "video1"}, {"spiderman", "video1"}, {`"man trailer"`, "video1"}, {`"trailer man"`, ""},
		{"東京", "video2"}, {"天気", "video2"}, {"京", "video2"}, {"हिन्दी", "video3"},
		{"القاهره", "video6"}, {"страна", "video5"},
		{"wald -wiese", "video0"}, {"wald*", "video0 video4 video7"}, {`"wald"`, "video0 video4"},
		{"channel:kino", "video1 video4 video7"}, {"channel:wald", ""}, {`tag:"tag3"`, "video3"},
		{"tag:alle -wald", "video1 video2 video3 video5 video6 video7"},
		{"müller", "video0 video3 video6"}, {`"alle tage" wald`, "video0 video4 video7"}, {`"tage müller"`, ""},
		{"walt", "video0 video4"}, // forgiven
		{"video3", "video3"}, {"https://youtu.be/video5", "video5"},
		{"wald' OR '1", ""}, {"\x00", ""}, {`a\b:*'`, ""},
	} {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: c.query})
		if err != nil {
			t.Fatalf("%q: %v", c.query, err)
		}
		var ids []string
		for _, h := range r.Items {
			ids = append(ids, h.Video.ID)
		}
		if slices.Sort(ids); strings.Join(ids, " ") != c.want {
			t.Errorf("%q found %q, want %q (looked for %s)", c.query, ids, c.want, r.Interpreted)
		}
	}
}

func testFiltersAndOrders(t *testing.T, open Open) {
	s, _ := library(t, open)
	Chart(t, s, "DE", noon.Add(time.Minute),
		Page(withViews(Titled("video4", "Wald und Wiese, der ganze Film"), 5000), Titled("video9", "Wald neu")))
	Chart(t, s, "DE", noon.Add(2*time.Minute), Page(withViews(Titled("video4", "Wald und Wiese, der ganze Film"), 9000)))
	for _, c := range []struct {
		q    store.SearchQuery
		want string
	}{
		{store.SearchQuery{Order: store.ByViews}, "video4 video0 video7 video9"},
		{store.SearchQuery{Order: store.ByFreshness}, "video4 video9 video0 video7"},
		{store.SearchQuery{Order: store.ByRise, Limit: 1}, "video4"},
		{store.SearchQuery{Order: store.ByViews, Region: "DE"}, "video4 video9"},
		{store.SearchQuery{Order: store.ByViews, Region: "FR"}, ""},
		{store.SearchQuery{Order: store.ByViews, MinViews: 994}, "video4 video0"},
		{store.SearchQuery{Order: store.ByViews, Category: "11"}, "video7"},
		// video0 is live
		{store.SearchQuery{Order: store.ByViews, Length: ingest.Length{Max: 7 * time.Minute}, Region: "US"}, "video4 video7"},
		{store.SearchQuery{Order: store.ByViews, Length: ingest.Length{Max: 7*time.Minute - time.Second}}, "video4 video9"},
		{store.SearchQuery{Order: store.ByViews, Length: ingest.Length{Min: 7 * time.Minute}}, "video7"},
		{store.SearchQuery{Order: store.ByViews, SeenSince: noon.Add(time.Minute)}, "video4 video9"},
		{store.SearchQuery{Order: store.ByViews, PublishedSince: noon.Add(-time.Hour)}, "video4 video0 video9"},
		{store.SearchQuery{Order: store.ByViews, PublishedUntil: noon.Add(-time.Hour)}, "video7"},
	} {
		c.q.Text = "wald*"
		if got := strings.Join(Search(t, s, c.q), " "); got != c.want {
			t.Errorf("%+v found %q, want %q", c.q, got, c.want)
		}
	}
}

func testPagesOfAResultTogetherAreTheWhole(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	var videos []ingest.Video
	for i := range 400 {
		videos = append(videos, withViews(Titled(fmt.Sprintf("video%03d", i), fmt.Sprint("common ", i%7)), int64(i*i)))
	}
	for at := range slices.Chunk(videos, 50) {
		Chart(t, s, "US", clock.move(time.Minute), Page(at...))
	}
	for _, order := range []store.Order{store.ByRelevance, store.ByViews, store.ByFreshness, store.ByRise} {
		q, met := store.SearchQuery{Text: "common", Order: order, Limit: 90}, map[string]bool{}
		for pages := 0; pages == 0 || q.After != ""; pages++ {
			r, err := s.Search(t.Context(), q)
			if err != nil || pages > 5 {
				t.Fatalf("%s, page %d: %v, want at most 5", order, pages, err)
			}
			for _, h := range r.Items {
				if met[h.Video.ID] {
					t.Errorf("%s: %s comes twice", order, h.Video.ID)
				}
				met[h.Video.ID] = true
			}
			if q.After = r.Next; pages == 0 { // later arrivals change no later page
				Chart(t, s, "US", clock.move(time.Minute),
					Page(withViews(Titled("video001", "common 1"), 1e6), Titled("new"+string(order), "common new")))
			}
		}
		for _, v := range videos {
			if !met[v.ID] {
				t.Errorf("%s: %s is on no page", order, v.ID)
			}
		}
	}
}

// A title that changes is found under its new name alone, and so is a channel with a new name.
func testTheIndexFollowsNames(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	Chart(t, s, "US", noon, Page(Titled("a", "alpha"), Titled("b", "beta")))
	renamed := Titled("a", "gamma")
	renamed.Channel = "Sender"
	Chart(t, s, "US", clock.move(time.Minute), Page(renamed))
	for query, want := range map[string]string{"alpha": "", "gamma": "a", `"kanal"`: "", "sender": "a b", "gamm": "a"} {
		found := Search(t, s, store.SearchQuery{Text: query})
		if slices.Sort(found); strings.Join(found, " ") != want {
			t.Errorf("%q found %q, want %q", query, found, want)
		}
	}
}
