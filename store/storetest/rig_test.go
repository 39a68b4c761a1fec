package storetest

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

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
