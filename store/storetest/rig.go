// Package storetest provides helpers that the tests of stores share. Its own tests are the suite that every store
// passes: slots and their fences, pages, charts, history, retention, backfills, searches, copies.
package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// noon is when the tests begin.
var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

// Due returns a due slot of the job "chart".
func Due(region string, at time.Time) ingest.Slot {
	return ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: region, DueAt: at},
		Kind: ingest.KindChart, State: ingest.Due}
}

// AddDue adds slots.
func AddDue(t testing.TB, s *store.Store, slots ...ingest.Slot) {
	t.Helper()
	if err := s.AddDue(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
}

// Claim must find a slot.
func Claim(t testing.TB, s *store.Store, c ingest.Claim) ingest.Slot {
	t.Helper()
	slot, ok, err := s.Claim(t.Context(), c)
	if err != nil || !ok {
		t.Fatalf("claim = %v, %v; want a slot", ok, err)
	}
	return slot
}

// ClaimNone must find none.
func ClaimNone(t testing.TB, s *store.Store, c ingest.Claim) {
	t.Helper()
	slot, ok, err := s.Claim(t.Context(), c)
	if err != nil || ok {
		t.Fatalf("claim = %+v, %v, %v; want none", slot, ok, err)
	}
}

// By returns a claim for five minutes of whatever is open.
func By(owner string, now time.Time) ingest.Claim {
	return ingest.Claim{Owner: owner, Now: now, Lease: 5 * time.Minute}
}

// Chart adds, claims and saves a whole chart of one or more pages.
func Chart(t testing.TB, s *store.Store, region string, at time.Time, pages ...ingest.Page) ingest.Slot {
	t.Helper()
	AddDue(t, s, Due(region, at))
	c := By("test", at)
	c.Series = map[ingest.Series]bool{{Job: "chart", Key: region}: true}
	slot := Claim(t, s, c)
	for i, p := range pages {
		slot.Pages, slot.Units, slot.FetchedAt = i+1, slot.Units+1, at
		if i == len(pages)-1 {
			slot.State = ingest.Done
		}
		var err error
		if slot, err = s.SavePage(t.Context(), slot, p); err != nil {
			t.Fatal(err)
		}
	}
	return slot
}

// Count returns a count that is known.
func Count(n int64) *int64 { return &n }

// Titled returns a video with a title and otherwise invented details.
func Titled(id, title string) ingest.Video {
	return ingest.Video{
		ID: id, Title: title, Channel: "Kanal", ChannelID: "UCkanal", Category: "10", Language: "de",
		Thumbnail: "https://i.example/" + id, PublishedAt: noon.Add(-time.Hour), Duration: 3 * time.Minute,
		Views: Count(100), Likes: Count(10), Comments: Count(1),
	}
}

// Page returns a page of these videos.
func Page(videos ...ingest.Video) ingest.Page { return ingest.Page{Videos: videos} }

// Search returns the ids that a search finds, in their order.
func Search(t testing.TB, s *store.Store, q store.SearchQuery) []string {
	t.Helper()
	r, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, h := range r.Items {
		ids = append(ids, h.Video.ID)
	}
	return ids
}

// Beginners returns videos with many words of one prefix in their titles, channels and tags.
func Beginners() []ingest.Video {
	var videos []ingest.Video
	for i := range 40 {
		v := Titled(fmt.Sprintf("v%02d", i), fmt.Sprintf("the word%02d stands", i))
		if i%2 == 0 {
			v.Title = fmt.Sprintf("the other%02d stands", i)
			v.Tags = []string{"x", fmt.Sprintf("tagged word%02d", i)}
		}
		if i%10 == 0 {
			v.Tags, v.Channel, v.ChannelID = nil, fmt.Sprintf("Wordy%02d", i), fmt.Sprintf("UC%02d", i)
		}
		videos = append(videos, v)
	}
	return videos
}

// Unlucky says that so few successes would occur in less than one sample of a million if the true share were the
// wanted one. A run compares some five hundred samples: one in a thousand would fail every third run for nothing.
func Unlucky(met, asked int, want float64) bool {
	if want >= 1 {
		return met < asked
	}
	chance := 0.0
	for k := range met + 1 {
		chance += math.Exp(logFactorial(asked) - logFactorial(k) - logFactorial(asked-k) +
			float64(k)*math.Log(want) + float64(asked-k)*math.Log(1-want))
	}
	return chance < 1e-6
}

func logFactorial(n int) float64 {
	log, _ := math.Lgamma(float64(n + 1))
	return log
}

// Ranks returns a region's newest placements, as "1 id".
func Ranks(t *testing.T, s *store.Store, region ingest.Region) string {
	t.Helper()
	c, err := s.Chart(t.Context(), region, time.Time{}, true)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range c.Items {
		out = append(out, fmt.Sprint(p.Rank, " ", p.Video.ID))
	}
	return strings.Join(out, ", ")
}

// states returns the slots' states, newest first, as "US 12:00 due".
func states(t *testing.T, s *store.Store, f store.SlotFilter) []string {
	t.Helper()
	slots, err := s.ListSlots(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, slot := range slots {
		out = append(out, fmt.Sprintf("%s %s %s", slot.Key, slot.DueAt.Format("15:04"), slot.State))
	}
	return out
}

// WantStates compares the slots' states, newest first.
func WantStates(t *testing.T, s *store.Store, want ...string) {
	t.Helper()
	if got := states(t, s, store.SlotFilter{}); !slices.Equal(got, want) {
		t.Errorf("slots are\n%q, want\n%q", got, want)
	}
}

// Finish ends a slot.
func Finish(t testing.TB, s *store.Store, slot ingest.Slot, state ingest.State, reason string) {
	t.Helper()
	slot.State, slot.Reason = state, reason
	if err := s.Finish(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
}

const day = 24 * time.Hour

// RefreshSlot returns a claimed slot of a refresh.
func RefreshSlot(t *testing.T, s *store.Store, at time.Time) ingest.Slot {
	t.Helper()
	slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: at}, Kind: ingest.KindRefresh, State: ingest.Due}
	AddDue(t, s, slot)
	c := By("test", at)
	c.Series = map[ingest.Series]bool{{Job: "refresh"}: true}
	return Claim(t, s, c)
}

// Stale returns up to n ids of videos to refresh.
func Stale(t *testing.T, s *store.Store, now time.Time, n int) []string {
	t.Helper()
	ids, err := s.VideosToRefresh(t.Context(), now, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	if count, err := s.CountToRefresh(t.Context(), now, n); err != nil || count[0] != len(ids) {
		t.Errorf("counted %v of %d videos to refresh: %v", count, len(ids), err)
	}
	return ids
}
