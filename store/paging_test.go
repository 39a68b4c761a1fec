package store_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

var allOrders = []store.Order{store.ByRelevance, store.ByViews, store.ByFreshness, store.ByRise}

// mixed are videos that all have the word "common" and differ in each order's key.
func mixed(n int) []ingest.Video {
	rng := rand.New(rand.NewPCG(3, 4))
	var videos []ingest.Video
	for i := range n {
		v := titled(fmt.Sprintf("v%03d", i), "common "+strings.Repeat("word ", rng.IntN(4)))
		v.PublishedAt = noon.Add(-minutes(rng.IntN(5)))
		if v.Views = count(int64(rng.IntN(6))); *v.Views == 0 {
			v.Views = nil
		}
		videos = append(videos, v)
	}
	return videos
}

// pages reads a search to its end.
func pages(t *testing.T, s *store.Store, q store.SearchQuery, between func()) []string {
	t.Helper()
	var ids []string
	for range 100 {
		r, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Items {
			ids = append(ids, h.Video.ID)
		}
		if r.Next == "" {
			return ids
		}
		if len(r.Items) != q.Limit {
			t.Fatalf("a page of %d with a next one, want %d", len(r.Items), q.Limit)
		}
		q.After = r.Next
		between()
	}
	t.Fatal("paging: got no last page, want one")
	return nil
}

func TestThePagesTogetherAreTheWholeResult(t *testing.T) {
	store.SetMaxScored(t, 25) // the rest follows by views
	s, clock := newStore(t)
	videos := mixed(60)
	chart(t, s, "US", noon, page(videos...))
	for i := range videos {
		if videos[i].Views != nil {
			videos[i] = withViews(videos[i], *videos[i].Views+int64(i%7))
		}
	}
	chart(t, s, "DE", clock.move(minutes(1)), page(videos[:20]...))
	chart(t, s, "US", clock.move(minutes(1)), page(videos[30:]...))
	for _, order := range allOrders {
		whole := search(t, s, store.SearchQuery{Text: "common", Order: order, Limit: 100})
		got := pages(t, s, store.SearchQuery{Text: "common", Order: order, Limit: 7}, func() {})
		if len(whole) != 60 || !slices.Equal(got, whole) {
			t.Errorf("%q:\n pages %v\n whole %v", order, got, whole)
		}
	}
}

func TestPagesStandWhileNewVideosComeIn(t *testing.T) {
	alone(t)
	store.SetMaxScored(t, 15)
	for _, order := range allOrders {
		s, clock := newStore(t)
		videos := mixed(40)
		chart(t, s, "US", noon, page(videos...))
		whole := search(t, s, store.SearchQuery{Text: "common", Order: order, Limit: 100})
		n := 0
		got := pages(t, s, store.SearchQuery{Text: "common", Order: order, Limit: 7}, func() {
			n++
			newcomer := withViews(titled(fmt.Sprint("new", n), "common"), 1e9)
			chart(t, s, "GB", clock.move(minutes(1)), page(newcomer)) // at once leading a chart
		})
		if !slices.Equal(got, whole) {
			t.Errorf("%q:\n pages %v\n before %v", order, got, whole)
		}
	}
}

func TestPagesStandWhileChartsMove(t *testing.T) {
	alone(t)
	store.SetMaxScored(t, 15)
	for _, order := range allOrders {
		s, clock := newStore(t)
		videos := mixed(40)
		chart(t, s, "US", noon, page(videos...))
		chart(t, s, "US", clock.move(minutes(1)), page(videos...))
		whole := search(t, s, store.SearchQuery{Text: "common", Order: order, Limit: 100})
		got := pages(t, s, store.SearchQuery{Text: "common", Order: order, Limit: 7}, func() {
			slices.Reverse(videos) // others lead, and rise
			for i := range videos {
				videos[i] = withViews(videos[i], int64(1000*i))
			}
			chart(t, s, "US", clock.move(minutes(1)), page(videos...))
		})
		if !slices.Equal(got, whole) {
			t.Errorf("%q:\n pages %v\n before %v", order, got, whole)
		}
	}
}

func TestACursorOfNothingOrOfAnotherQueryIsRefused(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(mixed(30)...))
	q := store.SearchQuery{Text: "common", Region: "US", Limit: 5, At: noon.Add(minutes(3))}
	r, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := store.CursorAt(r.Next); err != nil || !at.Equal(q.At) {
		t.Errorf("the cursor was counted from %v, %v", at, err)
	}
	other := map[string]func(*store.SearchQuery){
		"text":     func(q *store.SearchQuery) { q.Text = "word" },
		"region":   func(q *store.SearchQuery) { q.Region = "" },
		"category": func(q *store.SearchQuery) { q.Category = "10" },
		"views":    func(q *store.SearchQuery) { q.MinViews = 1 },
		"order":    func(q *store.SearchQuery) { q.Order = store.ByViews },
		"since":    func(q *store.SearchQuery) { q.SeenSince = noon },
		"until":    func(q *store.SearchQuery) { q.PublishedUntil = noon },
		"capitals": func(q *store.SearchQuery) { q.Text = "Common" }, // which counts for the score
		"not":      func(q *store.SearchQuery) { q.Text = "common -word" },
		"empty":    func(q *store.SearchQuery) { q.After = "AA" },
		"text 2":   func(q *store.SearchQuery) { q.After = "not a cursor!" },
		"long":     func(q *store.SearchQuery) { q.After = strings.Repeat("A", 10_000) },
	}
	raw, _ := base64.RawURLEncoding.DecodeString(r.Next)
	for i := range raw {
		flipped := slices.Clone(raw)
		flipped[i] ^= 0x10
		other[fmt.Sprint("byte ", i)] = func(q *store.SearchQuery) { q.After = base64.RawURLEncoding.EncodeToString(flipped) }
		other[fmt.Sprint("first ", i)] = func(q *store.SearchQuery) { q.After = base64.RawURLEncoding.EncodeToString(raw[:i]) + "" }
	}
	for name, change := range other {
		wrong := q
		wrong.After = r.Next
		change(&wrong)
		if wrong.After == "" {
			continue
		}
		if _, err := s.Search(t.Context(), wrong); !errors.Is(err, store.ErrCursor) {
			t.Errorf("%s: %v, want ErrCursor", name, err)
		}
	}
	same := q
	same.After, same.Text, same.Limit = r.Next, "  common ", 50 // the same words, another length of page
	if got := search(t, s, same); len(got) != 25 {
		t.Errorf("%d videos on the rest, want 25", len(got))
	}
}

// If names alone give enough candidates, the other videos are searched only for their page.
func TestTaggedVideosAreSearchedAfterNamedOnes(t *testing.T) {
	store.SetMaxScored(t, 10)
	s, _ := newStore(t)
	var videos []ingest.Video
	for i := range 12 {
		videos = append(videos, titled(fmt.Sprintf("named%02d", i), fmt.Sprint("Lion ", i)))
	}
	for i := range 15 {
		v := withViews(titled(fmt.Sprintf("tagged%02d", i), "Other word"), 1e9)
		v.Tags = []string{"lion"}
		videos = append(videos, v)
	}
	videos[20].Category = "99"
	chart(t, s, "US", noon, page(videos...))
	for _, tt := range []struct {
		q    store.SearchQuery
		want int
	}{{store.SearchQuery{Text: "lion"}, 27}, {store.SearchQuery{Text: "lion", Region: "US"}, 27}, {store.SearchQuery{Text: "lio*", MinViews: 1}, 27}, {store.SearchQuery{Text: "lion", Category: "99"}, 1}} {
		q := tt.q
		q.Limit = 50
		whole := search(t, s, q)
		if at := slices.IndexFunc(whole, func(id string) bool { return strings.HasPrefix(id, "tagged") }); at < min(10, tt.want-1) {
			t.Errorf("%+v: the first that is only tagged so is at %d", q, at)
		}
		q.Limit = 5
		if got := pages(t, s, q, func() {}); len(got) != tt.want || !slices.Equal(got, whole) {
			t.Errorf("%+v: want %d\n pages %v\n whole %v", q, tt.want, got, whole)
		}
		for most, capped := range map[int]bool{26: true, 27: false} {
			store.SetMaxMatches(t, most)
			if r, err := s.Search(t.Context(), q); err != nil || r.Capped != capped {
				t.Errorf("%+v: %v, capped %v: 27 match, of which %d are looked at, want %v", q, err, r.Capped, most, capped)
			}
		}
	}
}

// TestPagesStandWhileARegionChartsKnownVideos: its charts hold it then, but did not when the first page was read.
func TestPagesStandWhileARegionChartsKnownVideos(t *testing.T) {
	store.SetMaxScored(t, 4)
	s, clock := newStore(t)
	var here, elsewhere []ingest.Video
	for i := range 10 {
		here = append(here, withViews(titled(fmt.Sprint("here", i), "common"), int64(i)))
	}
	for i := range 30 {
		elsewhere = append(elsewhere, withViews(titled(fmt.Sprint("elsewhere", i), "common"), 1e6))
	}
	chart(t, s, "DE", noon, page(elsewhere...))
	chart(t, s, "US", noon, page(here...))
	q := store.SearchQuery{Text: "common", Region: "US", Limit: 3}
	whole := search(t, s, store.SearchQuery{Text: "common", Region: "US", Limit: 100})
	got := pages(t, s, q, func() { chart(t, s, "US", clock.move(minutes(1)), page(elsewhere...)) })
	if len(whole) != 10 || !slices.Equal(got, whole) {
		t.Errorf("\n pages %v\n whole %v", got, whole)
	}
}
