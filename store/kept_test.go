package store_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// A connection's kept videos must not outlive a write of any process: after each kind of write, the store that
// has searched before answers as one that was just opened.
func TestASearchSeesEachWriteOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	clock := &handClock{t: noon}
	reader, writer := open(t, dir, clock), open(t, dir, clock)
	video := func(id, title string, views int64) ingest.Video { return withViews(titled(id, title), views) }
	hidden := video("c", "Lion three", 1)
	hidden.Views = nil
	writes := []struct {
		name string
		do   func()
	}{
		{"videos", func() {
			chart(t, writer, "US", clock.now(), page(video("a", "Lion one", 1000), video("b", "Lion two", 2000), video("d", "Lion of the north", 20)))
		}},
		{"counts", func() { chart(t, writer, "US", clock.now(), page(video("a", "Lion one", 9_000_000), hidden)) }},
		{"a title", func() { chart(t, writer, "US", clock.now(), page(video("a", "Tiger one", 9_000_000))) }},
		{"a channel's name", func() {
			v := video("b", "Lion two", 2000)
			v.Channel = "Lion"
			chart(t, writer, "US", clock.now(), page(v))
		}},
		{"another region", func() { chart(t, writer, "DE", clock.now(), page(video("b", "Lion two", 2000))) }},
		{"deletion", func() {
			clock.move(40 * day)
			if _, _, err := writer.Sweep(t.Context(), clock.now()); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, w := range writes {
		w.do()
		clock.move(minutes(10))
		fresh := open(t, dir, clock)
		for _, q := range []store.SearchQuery{
			{Text: "lion"}, {Text: "lion", Region: "DE"}, {Text: "lion", Region: "US"}, {Text: "lio"}, {Text: "lion two"}, {Text: "tiger"}, {Text: "lion", Order: store.ByViews},
		} {
			for range 2 { // the second reads no video again
				got, err := reader.Search(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				want, err := fresh.Search(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("after a write of %s, %+v:\ngot  %+v\nwant %+v", w.name, q, got, want)
				}
			}
		}
	}
}

// A caller may change its result: the next one gets the stored values.
func TestResultsAreTheCallersOwn(t *testing.T) {
	s, _ := newStore(t)
	v := titled("a", "Lion")
	v.Tags = []string{"one", "two"}
	chart(t, s, "US", noon, page(v))
	for range 2 {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: "lion"})
		if err != nil || len(r.Items) != 1 || !slices.Equal(r.Items[0].Video.Tags, v.Tags) || !slices.Equal(r.Items[0].Regions, []ingest.Region{"US"}) {
			t.Fatalf("got %+v, %v", r, err)
		}
		r.Items[0].Video.Tags[0], r.Items[0].Regions[0] = "changed", "XX"
	}
}

// With room for five videos, every search has the same answer as with room for all.
func TestKeepingFewVideosChangesNoAnswer(t *testing.T) {
	s, _ := newStore(t)
	var videos []ingest.Video
	for i := range 40 {
		videos = append(videos, withViews(titled(fmt.Sprint("v", i), fmt.Sprintf("Lion %d of %d", i, i%7)), int64(i*i)))
	}
	chart(t, s, "US", noon, page(videos...))
	queries := []store.SearchQuery{{Text: "lion"}, {Text: "lion", Region: "US", Limit: 7}, {Text: "3"}, {Text: "lion 5"}, {Text: "li", Order: store.ByViews}}
	want := make([]store.Result, len(queries))
	for round := range 3 {
		for i, q := range queries {
			got, err := s.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				want[i] = got
			} else if !reflect.DeepEqual(got, want[i]) {
				t.Errorf("round %d, %+v:\ngot  %+v\nwant %+v", round, q, got, want[i])
			}
		}
		store.SetKept(t, 5)
	}
}

// The same search again reads none of its videos again.
func TestARepeatedSearchTakesFewStatements(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Lion one"), titled("b", "Lion two"), titled("c", "Lion three"), titled("d", "Lion four")))
	n, err := s.CountReads()
	if err != nil {
		t.Fatal(err)
	}
	var took [2]int64
	for i := range took {
		before := n.Load()
		if got := search(t, s, store.SearchQuery{Text: "lion"}); len(got) != 4 {
			t.Fatalf("found %v, want 4 of them", got)
		}
		took[i] = n.Load() - before
	}
	// The version, the two readings of the word and when the store was last fresh; at first also the texts, the rows, the newest ids, and so on.
	if took[0] > 9 || took[1] > 4 {
		t.Errorf("the first search takes %d statements, the same again %d; want at most 9 and 4", took[0], took[1])
	}
}

// One walk over the index answers a query both as typed and with an open end, if each match has the whole word in its
// title or channel. A match with a longer word, or with the word in its tags, needs both walks.
func TestOneWalkReadsTheLastWordBothWays(t *testing.T) {
	s, _ := newStore(t)
	tagged := titled("d", "Birds")
	tagged.Tags = []string{"gardening"}
	chart(t, s, "US", noon, page(titled("a", "Red catalogue one"), titled("b", "Red catalogue two"), titled("c", "Green catalogues"),
		titled("e", "Lion gardening"), titled("f", "Tiger king"), tagged))
	n, err := s.CountReads()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		text, interpreted string
		found             []string
	}{
		{"red catalogue", `"red" and "catalogue"`, []string{"a", "b"}},
		{"catalogue", `"catalogue"...`, []string{"a", "b", "c"}},
		{"green catalogue", `"green" and "catalogue"...`, []string{"c"}},
		{"gardening", `"gardening"`, []string{"d", "e"}},
		{"lion gardening", `"lion" and "gardening"`, []string{"e"}},
		{"tiger kin", `"tiger" and "kin"...`, []string{"f"}},
	} {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: q.text})
		got := []string{}
		for _, h := range r.Items {
			got = append(got, h.Video.ID)
		}
		slices.Sort(got)
		if err != nil || r.Interpreted != q.interpreted || !slices.Equal(got, q.found) {
			t.Errorf("%q: got %v as %s (%v), want %v as %s", q.text, got, r.Interpreted, err, q.found, q.interpreted)
		}
	}
	for query, want := range map[string]int64{"lion gardening": 3, "tiger kin": 4} { // two statements, and each walk
		before := n.Load()
		search(t, s, store.SearchQuery{Text: query})
		if got := n.Load() - before; got != want {
			t.Errorf("the second search for %q takes %d statements, want %d", query, got, want)
		}
	}
}

// Waking a goroutine takes as long as most statements of a search; database/sql starts one to watch a context for its end.
func TestASearchStartsNoGoroutine(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Lion one"), titled("b", "Lion two")))
	started := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	const searches = 50
	var before uint64
	for i := range searches + 1 {
		search(t, s, store.SearchQuery{Text: "lion one"})
		if metrics.Read(started); i == 0 {
			before = started[0].Value.Uint64()
		}
	}
	if got := started[0].Value.Uint64() - before; got >= searches {
		t.Errorf("%d searches with a context that may end start %d goroutines, want fewer than one each", searches, got)
	}
}

// SQLite plans a statement anew whenever its bound limit may have changed. The store's connections prevent that: the same
// statement takes less than four fifths of the time.
func TestABoundLimitIsPlannedOnce(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Lion one")))
	const query = `SELECT facts.title FROM video_text CROSS JOIN videos AS facts ON facts.id = video_text.rowid LEFT JOIN channels ON channels.id = facts.channel WHERE video_text MATCH ?1 ORDER BY video_text.rowid DESC LIMIT ?2`
	args := []driver.NamedValue{{Ordinal: 1, Value: `"lion"`}, {Ordinal: 2, Value: int64(5)}}
	err := s.PreparedTwice(context.WithoutCancel(t.Context()), query, func(kept, plain func(...driver.NamedValue) error) error {
		var took [2]time.Duration
		for round := range 200 {
			for i, run := range []func(...driver.NamedValue) error{kept, plain} {
				began := cpuTime(t)
				if err := run(args...); err != nil {
					return err
				}
				if round >= 10 {
					took[i] += cpuTime(t) - began
				}
			}
		}
		t.Logf("kept %v, plain %v", took[0], took[1])
		if 5*took[0] > 4*took[1] {
			t.Errorf("a statement with a bound limit takes %v as the store runs it, %v as it is", took[0], took[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
