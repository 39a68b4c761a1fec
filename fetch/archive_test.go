package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// raced says that the race detector is on, which makes everything ten times slower.
var raced bool

// archive is an upstream of the given number of videos, "v00000" the newest, one a minute back from start, all of them
// uploads of the channel "@all". It counts its answers.
type archive struct {
	mu       sync.Mutex
	videos   int
	gone     map[string]bool
	poison   map[string]fetch.CallVerdict // ids that make a call fail
	answered map[string]int               // by request
	calls    []string                     // the requested ids, answered or not
	before   func(call string) error      // asked before an answer; nil: none
	around   func(ctx context.Context) (func(), error)
	endless  bool // the first page of a search comes again and again, with a new token
}

func (a *archive) do(ctx context.Context, call string) error {
	a.mu.Lock()
	a.calls = append(a.calls, call)
	before, around := a.before, a.around
	a.mu.Unlock()
	if around != nil {
		leave, err := around(ctx)
		if err != nil {
			return err
		}
		defer leave()
	}
	if before != nil {
		if err := before(call); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answered == nil {
		a.answered = map[string]int{}
	}
	a.answered[call]++
	return nil
}

// asked returns how many calls begin with prefix.
func (a *archive) asked(prefix string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, c := range a.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// twice returns the ids that were answered more than once.
func (a *archive) twice() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for call, n := range a.answered {
		if n > 1 {
			out = append(out, call)
		}
	}
	return out
}

func published(i int) time.Time { return start.Add(-time.Duration(i+1) * time.Minute) }

func (a *archive) Chart(ingest.Region, string, string) fetch.Call[ingest.Page] {
	panic("no charts here")
}

func (a *archive) Limits() fetch.Limits { return new(upstream).Limits() }

func (a *archive) Videos(ids []string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(ctx context.Context) (ingest.Page, error) {
		call := "videos " + strings.Join(ids, " ")
		for _, id := range ids {
			if v := a.poison[id]; v != "" {
				_ = a.do(ctx, call)
				return ingest.Page{}, &fetch.Error{Verdict: v, Method: "videos.list", Err: errors.New("no good: " + id)}
			}
		}
		if err := a.do(ctx, call); err != nil {
			return ingest.Page{}, err
		}
		var page ingest.Page
		for _, id := range ids {
			if !a.gone[id] {
				page.Videos = append(page.Videos, ingest.Video{ID: id, Title: "video " + id, Channel: "All", ChannelID: "UCall"})
			}
		}
		return page, nil
	}}
}

// pageOf returns a page of up to 50 of the videos between from and to; the token is the number of the first.
func (a *archive) pageOf(from, to int, token string) (ingest.Found, error) {
	if token != "" {
		n, err := strconv.Atoi(token)
		if err != nil {
			return ingest.Found{}, &fetch.Error{Verdict: fetch.BadToken, Err: err}
		}
		from = n
	}
	var f ingest.Found
	for i := from; i < min(from+50, to); i++ {
		f.IDs = append(f.IDs, fmt.Sprintf("v%05d", i))
	}
	if from+50 < to {
		f.Next = strconv.Itoa(from + 50)
	}
	return f, nil
}

func (a *archive) Search(q ingest.Query, token string) fetch.Call[ingest.Found] {
	return fetch.Call[ingest.Found]{Method: "search.list", Region: q.Region, Do: func(ctx context.Context) (ingest.Found, error) {
		from, to := 0, a.videos
		for from < to && !q.Before.IsZero() && !published(from).Before(q.Before) {
			from++
		}
		for to > from && published(to-1).Before(q.After) {
			to--
		}
		if err := a.do(ctx, fmt.Sprintf("search %s %s %s", q.After.Format("15:04:05"), q.Before.Format("15:04:05"), token)); err != nil {
			return ingest.Found{}, err
		}
		if a.endless {
			page, err := a.pageOf(from, min(to, from+1), "")
			page.Next = token + "x"
			return page, err
		}
		return a.pageOf(from, min(to, from+500), token)
	}}
}

func (a *archive) Channel(ref string) fetch.Call[ingest.Channel] {
	return fetch.Call[ingest.Channel]{Method: "channels.list", Do: func(ctx context.Context) (ingest.Channel, error) {
		if err := a.do(ctx, "channel "+ref); err != nil {
			return ingest.Channel{}, err
		}
		if ref != "@all" {
			return ingest.Channel{}, &fetch.Error{Verdict: fetch.Rejected, Method: "channels.list", Err: errors.New("there is no channel " + ref)}
		}
		return ingest.Channel{ID: "UCall", Uploads: "UU/all"}, nil
	}}
}

func (a *archive) Uploads(list, token string) fetch.Call[ingest.Found] {
	return fetch.Call[ingest.Found]{Method: "playlistItems.list", Do: func(ctx context.Context) (ingest.Found, error) {
		if err := a.do(ctx, "uploads "+list+" "+token); err != nil {
			return ingest.Found{}, err
		}
		return a.pageOf(0, a.videos, token)
	}}
}

// dig is a bench with a real store, an archive of the given number of videos, and quota for a backfill of any size.
type dig struct {
	*bench
	archive *archive
	store   *store.Store
}

func newDig(t testing.TB, videos int) *dig {
	t.Helper()
	d := &dig{bench: newBench(t, 1_000_000), archive: &archive{videos: videos}}
	d.store = d.onStore(t)
	d.run.Upstream = d.archive
	d.governor.Tariff.Ceilings[quota.Backfill] = 1_000_000
	return d
}

// limit changes the limit of every pool.
func (d *dig) limit(n int64) {
	for p := range d.governor.Tariff.Pools {
		for w := range d.governor.Tariff.Pools[p].Windows {
			d.governor.Tariff.Pools[p].Windows[w].Limit = n
		}
	}
}

func (d *dig) plan(t testing.TB, kind ingest.BackfillKind, pieces ...ingest.Piece) *ingest.Backfill {
	t.Helper()
	b := ingest.Backfill{Kind: kind, Created: d.now}
	b, added, err := d.store.AddBackfill(t.Context(), b, func(yield func(ingest.Piece, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	})
	if err != nil || !added {
		t.Fatal(added, err)
	}
	return &b
}

// ids returns pieces of the archive's first videos, 50 each.
func (d *dig) ids(pieces int) []ingest.Piece {
	var out []ingest.Piece
	for i := range pieces {
		p := ingest.Piece{Key: fmt.Sprintf("k%03d", i)}
		for j := range 50 {
			p.IDs = append(p.IDs, fmt.Sprintf("v%05d", i*50+j))
		}
		out = append(out, p)
	}
	return out
}

func (d *dig) status(t testing.TB, b *ingest.Backfill) store.BackfillStatus {
	t.Helper()
	st, err := d.store.FindBackfill(t.Context(), b.ID)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// want checks how the backfill ended, as "done 2, failed 1; 150 videos".
func (d *dig) want(t testing.TB, b *ingest.Backfill, want string) {
	t.Helper()
	st := d.status(t, b)
	var states []string
	for state, n := range st.Pieces {
		states = append(states, fmt.Sprint(state, " ", n))
	}
	slices.Sort(states)
	if got := fmt.Sprintf("%s; %d videos", strings.Join(states, ", "), st.Videos); got != want {
		t.Errorf("the backfill is %q, want %q", got, want)
	}
}

// reasons returns the reasons of the backfill's pieces, one a line.
func (d *dig) reasons(t testing.TB, b *ingest.Backfill) string {
	t.Helper()
	slots, err := d.store.ListSlots(t.Context(), store.SlotFilter{Job: b.Job()})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range slots {
		out = append(out, s.Reason)
	}
	return strings.Join(out, "\n")
}
