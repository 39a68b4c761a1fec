package storetest

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// noon is when the tests begin.
var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

// handClock stands still until a test moves it.
type handClock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *handClock) move(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	return c.t
}

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

// Open opens the store of the upstream 127.0.0.1 that belongs to a directory, and makes it the first time. It closes
// with the test.
type Open func(t testing.TB, dir string, now func() time.Time) *store.Store

func newStore(t testing.TB, open Open) (*store.Store, *handClock) {
	t.Helper()
	clock := &handClock{t: noon}
	return open(t, t.TempDir(), clock.now), clock
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func withViews(v ingest.Video, n int64) ingest.Video {
	v.Views = Count(n)
	return v
}

func shown(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
