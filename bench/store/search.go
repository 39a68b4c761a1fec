package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/store"
)

// goalReal is how long a search among the recorded charts may take, in ms. Among many videos it is compared with FTS5:
// see besideFTS5.
const goalReal = 15

// searching searches a store of generated rows, and one of the recorded charts compared with bleve.
func (b *bench) searching(ctx context.Context) error {
	large, err := b.filled(ctx, b.rows)
	if err != nil {
		return err
	}
	defer func() { _ = large.Close() }()
	size := thousands(b.rows) + " generated"
	generated := wordlistOf(newGenerator().take(min(b.rows, 50_000)))
	dir, err := os.MkdirTemp(b.dir, "recorded")
	if err != nil {
		return err
	}
	charts, err := b.fillReal(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = charts.close() }()
	b.real = nil // otherwise garbage collection of these charts would count as searching
	runtime.GC()
	b.report.Section("Searches", fmt.Sprintf("In one region after the other, 20 results, %d searches of each shape, for words that titles have; one process that has searched "+
		"before. wall is the clock's time, cpu the time of all threads of the process. bleve has the real rows, and returns the same fields; it has no order by rise. "+
		"Generated titles are in five scripts, and Chinese; every chart has a quarter of the one before.", b.searches))
	header := []string{"ms", size + ": wall p50", "p99", "cpu p50", "p99"}
	rows := make([][]string, len(shapes))
	for i, k := range shapes {
		took, err := k.asked(ctx, large, generated, b.searches)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		rows[i] = append([]string{k.name}, took.cells()...)
		b.say("%s: %v", k.name, rows[i][1:])
	}
	if charts.mine != nil {
		header = append(header, "real rows: wall p50", "p99", "cpu p50", "p99", "bleve: wall p50", "p99", "cpu p50", "p99")
		if err := b.searchingReal(ctx, charts, rows); err != nil {
			return err
		}
	}
	b.report.Table(header, rows)
	small, err := b.filled(ctx, b.rows/10)
	if err != nil {
		return err
	}
	defer func() { _ = small.Close() }()
	return b.whileWriting(ctx, small, thousands(b.rows/10))
}

// reach compares p50 and p99 with their goal: in processor time, since other programs may be running too.
func (b *bench) reach(what string, l latencies) {
	for _, quantile := range []float64{0.5, 0.99} {
		got := report.Quantile(l.cpu, quantile)
		b.report.Goal(fmt.Sprintf("%s: p%.0f", what, 100*quantile), fmt.Sprintf("<= %d ms", goalReal), ms(got)+" ms", got <= goalReal)
	}
}

// searched are the recorded charts in a store and in bleve; empty if there are none.
type searched struct {
	mine   *ours
	theirs *bleves
	words  wordlist
	videos int
}

func (r *searched) close() error {
	if r.mine == nil {
		return nil
	}
	return errors.Join(r.mine.Close(), r.theirs.Close())
}

func (b *bench) fillReal(ctx context.Context, dir string) (r *searched, err error) {
	r = &searched{}
	if len(b.real) == 0 {
		return r, nil
	}
	theirs, err := openBleve(dir)
	if err != nil {
		return r, err
	}
	if r.mine, err = openOurs(ctx, dir); err != nil {
		return r, errors.Join(err, theirs.Close())
	}
	r.theirs = theirs
	var videos []ingest.Video
	for _, c := range b.real {
		if err := r.mine.keep(ctx, c); err != nil {
			return r, errors.Join(err, r.close())
		}
		theirs.note(c)
		videos = append(videos, c.videos...)
	}
	r.words, r.videos = wordlistOf(videos), len(theirs.videos)
	if err := theirs.write(); err != nil {
		return r, errors.Join(err, r.close())
	}
	theirs.videos = nil
	return r, nil
}

// searchingReal searches the recorded charts, and appends to the rows.
func (b *bench) searchingReal(ctx context.Context, r *searched, rows [][]string) error {
	for i, k := range shapes {
		ours, err := k.asked(ctx, r.mine, r.words, b.searches)
		if err != nil {
			return fmt.Errorf("%s, real rows: %w", k.name, err)
		}
		var peer latencies
		if k.peer() {
			if peer, err = k.asked(ctx, r.theirs, r.words, b.searches); err != nil {
				return fmt.Errorf("%s, bleve: %w", k.name, err)
			}
		}
		b.reach(k.name+", real rows", ours)
		rows[i] = slices.Concat(rows[i], ours.cells(), peer.cells())
	}
	dir := filepath.Dir(r.mine.Path())
	b.report.Say("Of %s videos of the recorded charts bleve's index has %s bytes each, our whole store %s.", thousands(r.videos),
		weight(filepath.Join(dir, "bleve"), "", r.videos), weight(dir, "ingest.db", r.videos))
	return nil
}

// find is one search.
func (s *ours) find(ctx context.Context, q store.SearchQuery) error {
	_, err := s.Search(ctx, q)
	return err
}

// commonly searches for the word, or the two, that every 20th generated title has, in one region after the other.
func commonly(ctx context.Context, s *ours, words string, i int) error {
	return s.find(ctx, store.SearchQuery{Text: words, Region: eight[i%len(eight)], Limit: 20})
}

const perChart = 4000 // in each chart of a filled store

// filled returns a store with n generated videos. It is filled with large pages, since small ones would take an hour.
func (b *bench) filled(ctx context.Context, n int) (*ours, error) {
	parent := b.dir
	if b.keep != "" {
		parent = b.keep
	}
	dir := filepath.Join(parent, "generated-"+strconv.Itoa(n))
	if _, err := os.Stat(dir); err == nil {
		b.say("searching %s with its kept values", dir)
		return openOurs(ctx, dir)
	}
	s, err := openOurs(ctx, dir)
	if err != nil {
		return nil, err
	}
	s.perPage = perChart
	start, g := time.Now(), newGenerator()
	before := map[ingest.Region][]ingest.Video{} // a quarter of a chart stays in the next, with other views
	for i := 0; g.n < n; i++ {
		c := chart{eight[i%len(eight)], began.Add(time.Duration(i/len(eight)) * every), g.take(min(s.perPage, n-g.n))}
		fresh := c.videos
		c.videos = slices.Concat(fresh, before[c.region])
		before[c.region] = nil
		for _, v := range fresh[:len(fresh)/4] {
			views := *v.Views * 5 / 4
			v.Views = &views
			before[c.region] = append(before[c.region], v)
		}
		if err := s.keep(ctx, c); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	b.say("filled %s in %v", dir, time.Since(start).Round(time.Second))
	return s, nil
}

// timed returns how long do takes, in milliseconds.
func timed(do func() error) (float64, error) {
	start := time.Now()
	err := do()
	return float64(time.Since(start)) / 1e6, err
}

// whileWriting searches in turns of a second, with and without a writer that saves new charts.
func (b *bench) whileWriting(ctx context.Context, base *ours, size string) error {
	s, err := b.copyOf(ctx, base)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	g := newGenerator()
	g.n = 100_000_000 // none of the existing videos
	at := began.AddDate(0, 2, 0)
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
			t, err = timed(func() error { return commonly(ctx, s, commonWord, len(took)) })
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
	line := func(name string, took []float64) []string {
		return []string{name, ms(report.Quantile(took, 0.5)), ms(report.Quantile(took, 0.99)), ms(report.Quantile(took, 1)), strconv.Itoa(len(took))}
	}
	slower := report.Quantile(beside, 0.99) / report.Quantile(alone, 0.99)
	b.report.Say("While a writer saves charts of 200 new videos as fast as it can (%s videos; in turns of a second):", size)
	b.report.Table([]string{"a common word", "p50 ms", "p99 ms", "longest ms", "searches"}, [][]string{
		line("alone", alone), line(fmt.Sprintf("beside %d charts", saved), beside),
	})
	b.report.Goal("a common word while a writer runs: p99", "<= 2.5 x alone", report.Ratio(slower), slower <= 2.5)
	return nil
}

// copyOf returns a copy, so that a store that may be kept does not change.
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

// thousands formats a number: 1,000,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
