package store_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashDir) != "" {
		saveForEver(os.Getenv(crashDir))
		return
	}
	goleak.VerifyTestMain(m)
}

// The suite that every store passes provides the helpers of these tests as well.
var (
	due         = storetest.Due
	addDue      = storetest.AddDue
	claim       = storetest.Claim
	claimNone   = storetest.ClaimNone
	by          = storetest.By
	chart       = storetest.Chart
	count       = storetest.Count
	titled      = storetest.Titled
	page        = storetest.Page
	search      = storetest.Search
	wantStates  = storetest.WantStates
	finish      = storetest.Finish
	queuedIDs   = storetest.QueuedIDs
	ranks       = storetest.Ranks
	saveFound   = storetest.SaveFound
	enqueue     = storetest.Enqueue
	hunt        = storetest.Hunt
	plan        = storetest.Plan
	numbered    = storetest.Numbered
	of          = storetest.Of
	addBackfill = storetest.AddBackfill
	piecesOf    = storetest.PiecesOf
	status      = storetest.Status
	refreshSlot = storetest.RefreshSlot
	stale       = storetest.Stale
	alone       = storetest.Alone
	raced       = storetest.Raced
	realRegions = storetest.RealRegions
	realCharts  = storetest.RealCharts
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

const (
	upstream = "127.0.0.1"
	day      = 24 * time.Hour
)

// open opens the store of a directory; it closes with its test.
func open(t testing.TB, dir string, clock *handClock) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: upstream, Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newStore(t testing.TB) (*store.Store, *handClock) {
	t.Helper()
	clock := &handClock{t: noon}
	return open(t, t.TempDir(), clock), clock
}

// raw opens the store's file behind its back.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()+"?_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// dataVersion reports whether any connection has written to the store since the last call: SQLite counts it for each
// connection.
func dataVersion(t *testing.T, s *store.Store) (changed func() bool) {
	t.Helper()
	db := raw(t, s.Path())
	db.SetMaxOpenConns(1)
	version := func() int { return scalar[int](t, db, `PRAGMA data_version`) }
	last := version()
	return func() bool {
		before := last
		last = version()
		return last != before
	}
}

func scalar[T any](t testing.TB, db *sql.DB, query string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

const crashDir = "STORE_TEST_CRASH_DIR"

// saveForEver runs in another process: it claims slots and saves pages until it is killed.
func saveForEver(dir string) {
	ctx := context.Background()
	s, err := store.Open(ctx, dir, store.Options{Upstream: upstream})
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		at := noon.Add(time.Duration(i) * time.Second)
		if err := s.AddDue(ctx, []ingest.Slot{due("US", at)}); err != nil {
			panic(err)
		}
		slot, ok, err := s.Claim(ctx, by("child", at))
		if err != nil || !ok {
			panic(err)
		}
		for p := range 4 {
			var videos []ingest.Video
			for v := range 50 {
				id := strconv.Itoa(i%3*100+p*50+v) + "-crash"
				videos = append(videos, titled(id, "crash "+id))
			}
			slot.Pages = p + 1
			if p == 3 {
				slot.State = ingest.Done
			}
			if slot, err = s.SavePage(ctx, slot, page(videos...)); err != nil {
				panic(err)
			}
			_, _ = os.Stdout.WriteString("saved " + strconv.FormatInt(at.Unix(), 10) + " " + strconv.Itoa(slot.Videos) + "\n")
		}
	}
}

// cancelled returns a context that has ended.
func cancelled(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}
