package youtubesim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// A lie is a way for the upstream to give less than it has, or claim more. It concerns the channel @crowd.
const (
	lieRepeat    = "repeat"    // lists begin again after 200 results, under new tokens, and do not end
	lieEmpty     = "empty"     // every other page of a list is empty
	lieTotals    = "totals"    // the channel claims twice as many videos
	lieDeletions = "deletions" // the newest tenth is deleted after six lists and look-ups
	lieGone      = "gone"      // every tenth video is listed but cannot be looked up
	liePrivate   = "private"   // the same, but the channel does not count them
	lieBurst     = "burst"     // three quarters were published in one second
)

// Lies names all lies, for a help text.
func Lies() []string {
	return []string{lieRepeat, lieEmpty, lieTotals, lieDeletions, lieGone, liePrivate, lieBurst}
}

// crowd is a catalogue of only the channel @crowd, besides the charts of another catalogue. Its videos were published a
// minute apart before 2026-02-01; a search for "crowd" finds them.
type crowd struct {
	catalogue
	all  []*video // newest first
	byID map[string]int

	mu       sync.Mutex
	lie      string
	answered int // lists and look-ups, since the lie began
}

func newCrowd(charts catalogue, seed uint64, videos int, lie string) *crowd {
	c := &crowd{catalogue: charts, byID: map[string]int{}, lie: lie}
	uploader := &channel{id: channelID(standin.Hash(seed, standin.HashText("crowd"))), title: "Crowd",
		handle: "crowd", subscribers: 1000}
	at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for i := range videos {
		key := standin.Hash(seed, standin.HashText("crowd"), uint64(i))
		if burst := i > videos/8 && i <= videos*7/8; lie != lieBurst || !burst {
			at = at.Add(-time.Minute)
		}
		v := &video{
			id: idText(key), channel: uploader, title: fmt.Sprintf("crowd %d", i), language: "en",
			audio: "en", category: "22", published: at,
			duration: time.Minute, live: "none", definition: "hd", grows: true, final: finalCounts(&dice{key: key}),
		}
		v.index()
		c.byID[v.id] = i
		c.all = append(c.all, v)
	}
	return c
}

// begin makes a lie the present one; "" ends the last one.
func (c *crowd) begin(lie string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lie, c.answered = lie, 0
}

// lieFor returns the present lie, and counts the call if it is a list or a look-up.
func (c *crowd) lieFor(method string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains([]string{"playlistItems.list", "search.list", "videos.list"}, method) {
		c.answered++
	}
	return c.lie
}

// deleted returns how many of the newest videos have been deleted.
func (c *crowd) deleted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lie != lieDeletions || c.answered <= 6 {
		return 0
	}
	return len(c.all) / 10
}

// hidden reports whether the i-th video can be listed but not looked up.
func (c *crowd) hidden(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return i%10 == 9 && (c.lie == lieGone || c.lie == liePrivate)
}

func (c *crowd) videos(time.Time) []*video { return c.all[c.deleted():] }

func (c *crowd) video(id string, at time.Time) *video {
	i, ok := c.byID[id]
	switch {
	case !ok:
		return c.catalogue.video(id, at)
	case i < c.deleted() || c.hidden(i):
		return nil
	}
	return c.all[i]
}

// claims returns how many videos a channel claims to have if it has n.
func claims(lie string, n int) int {
	switch lie {
	case lieTotals:
		return 2 * n
	case liePrivate:
		return n - n/10
	}
	return n
}

// cutLying returns the page at an offset of a list of n, changed by the lie; ok is false if the lie is not about pages.
func cutLying(lie string, n, offset, size int) (_ page, ok bool) {
	const cycle = 200
	switch {
	case lie == lieRepeat:
		from := offset % cycle
		return page{from: min(from, n), to: min(n, from+size), next: offset + size}, true
	case lie == lieEmpty && size > 0 && offset/size%2 == 1:
		return page{from: n, to: n, next: offset + size}, true
	case lie == lieEmpty && size > 0:
		p := page{from: min(n, offset/2), to: min(n, offset/2+size)}
		if p.to < n {
			p.next = offset + size
		}
		return p, true
	}
	return page{}, false
}
