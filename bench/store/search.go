package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/store"
)

// kind is a kind of search, and the words that are asked for in turn.
type kind struct {
	name  string
	texts []string
	goal  [2]time.Duration // for p99, in the store of a tenth of the rows and in the large one
}

// kinds are what is searched for. The prefixes are four letters long, of words that begin about as many
// titles and tags as the common word is in.
var kinds = []kind{
	{"a common word", []string{commonWord}, [2]time.Duration{20 * time.Millisecond, 45 * time.Millisecond}},
	{"two words", []string{commonWord + " " + secondWord}, [2]time.Duration{25 * time.Millisecond, 90 * time.Millisecond}},
	{"four letters of a word", prefixes(4, 20), [2]time.Duration{60 * time.Millisecond, 250 * time.Millisecond}},
	{"two letters of a word", prefixes(2, 20), [2]time.Duration{}},
	{"one letter of a word", prefixes(1, 5), [2]time.Duration{}},
	{"six letters of a word", prefixes(6, 20), [2]time.Duration{}},
	{"two frequent words", []string{word(0) + " " + word(1), word(2) + " " + word(3)}, [2]time.Duration{}},
	{"a rare word", []string{word(50_000), word(60_000), word(70_000)}, [2]time.Duration{}},
}

// prefixes are the beginnings of the most frequent words that are longer.
func prefixes(letters, n int) []string {
	var out []string
	for i := uint64(0); len(out) < n; i++ {
		if w := word(i); len(w) > letters {
			out = append(out, w[:letters]+"*")
		}
	}
	return out
}

// latencies are in milliseconds.
type latencies struct{ p50, p99, longest float64 }

// searching fills a store with the generated rows, and one with a tenth of them, and searches both in turns.
func (b *bench) searching(ctx context.Context) error {
	sizes := [2]int{b.rows / 10, b.rows}
	var stores [2]*ours
	for i, n := range sizes {
		s, err := b.filled(ctx, n)
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		stores[i] = s
	}
	b.report.Section("Searches", fmt.Sprintf("In a region that charted an eighth of the videos, 20 results, %d searches of each kind, "+
		"both stores in turns, one process that has searched before. Every 20th title has the common word, half of these the second of the two. "+
		"Beside it bm25 over all matches, with the same filter and the same index.", b.searches))
	var rows [][]string
	for _, k := range kinds {
		var got [2]latencies
		if err := b.turns(ctx, stores, k, &got); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		line := []string{k.name}
		for i, l := range got {
			line = append(line, ms(l.p50), ms(l.p99), ms(l.longest))
			if want := k.goal[i]; want > 0 {
				b.report.Goal(fmt.Sprintf("%s, %s videos: p99", k.name, thousands(sizes[i])), fmt.Sprintf("<= %d ms", want.Milliseconds()),
					ms(l.p99)+" ms", l.p99 <= float64(want.Milliseconds()))
			}
		}
		rows = append(rows, append(line, report.Ratio(got[1].p50/got[0].p50)))
		if k.name == kinds[0].name {
			growth := got[1].p50 / got[0].p50
			b.report.Goal(fmt.Sprintf("%s: p50 from %s to %s videos", k.name, thousands(sizes[0]), thousands(sizes[1])), "<= 3 x", report.Ratio(growth), growth <= 3)
		}
	}
	small, large := thousands(sizes[0]), thousands(sizes[1])
	b.report.Table([]string{"", small + ": p50 ms", "p99 ms", "longest ms", large + ": p50 ms", "p99 ms", "longest ms", "p50 grows"}, rows)
	if err := b.uncapped(ctx, stores[1], large); err != nil {
		return err
	}
	if err := b.whileWriting(ctx, stores[0], small); err != nil {
		return err
	}
	return b.besideBleve(ctx)
}

// filled is a store with n generated videos. It is filled with large pages, since a store of small ones
// would take an hour.
func (b *bench) filled(ctx context.Context, n int) (*ours, error) {
	parent := b.dir
	if b.keep != "" {
		parent = b.keep
	}
	dir := filepath.Join(parent, "generated-"+strconv.Itoa(n))
	if _, err := os.Stat(dir); err == nil {
		b.say("searching %s as it was kept", dir)
		return openOurs(ctx, dir)
	}
	s, err := openOurs(ctx, dir)
	if err != nil {
		return nil, err
	}
	s.perPage = 4000
	start, g := time.Now(), newGenerator()
	for i := 0; g.n < n; i++ {
		c := chart{eight[i%len(eight)], began.Add(time.Duration(i/len(eight)) * every), g.take(min(s.perPage, n-g.n))}
		if err := s.keep(ctx, c); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	b.say("filled %s in %v", dir, time.Since(start).Round(time.Second))
	return s, nil
}

// turns searches the stores in turn.
func (b *bench) turns(ctx context.Context, stores [2]*ours, k kind, got *[2]latencies) error {
	var took [2][]float64
	for i := range b.searches + 20 {
		for j, s := range stores {
			t, err := timed(func() error { return find(ctx, s, k, i) })
			if err != nil {
				return err
			}
			if i >= 20 { // it is warm
				took[j] = append(took[j], t)
			}
		}
	}
	for j := range took {
		got[j] = summary(took[j])
	}
	return nil
}

// find is the i-th search of its kind.
func find(ctx context.Context, s *ours, k kind, i int) error {
	_, err := s.Search(ctx, store.Query{Text: k.texts[i/len(eight)%len(k.texts)], Region: eight[i%len(eight)], Limit: 20})
	return err
}

func summary(ms []float64) latencies {
	return latencies{report.Quantile(ms, 0.5), report.Quantile(ms, 0.99), report.Quantile(ms, 1)}
}

// timed is how long do takes, in milliseconds.
func timed(do func() error) (float64, error) {
	start := time.Now()
	err := do()
	return float64(time.Since(start)) / 1e6, err
}

// uncapped asks SQLite for the best 20 of all matches.
const uncapped = `
SELECT videos.video_id, videos.title, bm25(video_text, 10, 4, 1) AS score
FROM video_text CROSS JOIN videos ON videos.id = video_text.rowid
WHERE video_text MATCH ?1
  AND EXISTS (SELECT 1 FROM placements WHERE video = videos.id AND series IN (SELECT id FROM series WHERE key = ?2))
ORDER BY score LIMIT 20`

func (b *bench) uncapped(ctx context.Context, s *ours, size string) error {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: s.Path()}).String()+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var rows [][]string
	for _, k := range kinds[:2] {
		match := map[string]string{commonWord: `"` + commonWord + `"`}[k.texts[0]]
		if match == "" {
			match = `"` + commonWord + `" AND "` + secondWord + `"`
		}
		var mine, theirs, ratios []float64
		for i := range 4 + b.repeats {
			m, err := timed(func() error { return find(ctx, s, k, i) })
			if err != nil {
				return err
			}
			t, err := timed(func() error { return drainRows(ctx, db, uncapped, match, eight[i%len(eight)]) })
			if err != nil {
				return err
			}
			if i > 0 {
				mine, theirs, ratios = append(mine, m), append(theirs, t), append(ratios, t/m)
			}
		}
		faster := report.Median(ratios)
		rows = append(rows, []string{k.name, ms(report.Median(mine)), ms(report.Median(theirs)), report.Ratio(faster)})
		b.report.Goal(k.name+", "+size+" videos, beside uncapped bm25", ">= 10 x faster", report.Ratio(faster)+" faster", faster >= 10)
	}
	b.report.Say("Of %s videos, in turns; medians.", size)
	b.report.Table([]string{"", "ours, ms", "uncapped bm25, ms", "faster"}, rows)
	return nil
}

func drainRows(ctx context.Context, db *sql.DB, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
	}
	return rows.Err()
}

// whileWriting searches in turns of a second, with and without a writer that saves new charts.
func (b *bench) whileWriting(ctx context.Context, of *ours, size string) error {
	s, err := b.copyOf(ctx, of)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	g := newGenerator()
	g.n = 100_000_000 // others than those that are there
	k, at := kinds[0], began.AddDate(0, 2, 0)
	var alone, beside []float64
	saved := 0
	for i := range 2 * (2 + b.repeats) {
		writing := i%2 == 1
		stop, done := make(chan struct{}), sync.WaitGroup{}
		var failed error
		if writing {
			done.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					at = at.Add(time.Minute)
					if failed = s.keep(ctx, chart{eight[saved%len(eight)], at, g.take(200)}); failed != nil {
						return
					}
					saved++
				}
			})
		}
		var took []float64
		var err error
		for start := time.Now(); time.Since(start) < time.Second && err == nil; {
			var t float64
			t, err = timed(func() error { return find(ctx, s, k, len(took)) })
			took = append(took, t)
		}
		close(stop)
		done.Wait()
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		if writing {
			beside = append(beside, took...)
		} else {
			alone = append(alone, took...)
		}
	}
	a, w := summary(alone), summary(beside)
	slower := w.p99 / a.p99
	b.report.Say("While a writer saves charts of 200 new videos as fast as it can (%s videos; in turns of a second):", size)
	b.report.Table([]string{"a common word", "p50 ms", "p99 ms", "longest ms", "searches"}, [][]string{
		{"alone", ms(a.p50), ms(a.p99), ms(a.longest), strconv.Itoa(len(alone))},
		{fmt.Sprintf("beside %d charts", saved), ms(w.p50), ms(w.p99), ms(w.longest), strconv.Itoa(len(beside))},
	})
	b.report.Goal(k.name+" while a writer runs: p99", "<= 2.5 x alone", report.Ratio(slower), slower <= 2.5)
	return nil
}

// copyOf leaves the store alone, which may be kept.
func (b *bench) copyOf(ctx context.Context, s *ours) (*ours, error) {
	dir, err := os.MkdirTemp(b.dir, "copy")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: s.Path()}).String()+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, filepath.Join(dir, filepath.Base(s.Path()))); err != nil {
		return nil, err
	}
	return openOurs(ctx, dir)
}

func ms(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// thousands writes 1,000,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
