package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// plain is FTS5 as in its documentation: the 20 best of all matches by bm25. It reads no video.
const plain = `SELECT rowid FROM video_text WHERE video_text MATCH ?1 ORDER BY rank LIMIT 20`

// plainShown is plain with the fields that a search shows of a video, as its user would ask for them.
const plainShown = `
SELECT video_id, videos.title, channels.title, channel_id, category, language, thumbnail, published_at, duration_s, live,
	tags, views, likes, comments, seen_at, (SELECT group_concat(key, ' ') FROM series WHERE backfill IS NULL AND key <> ''
		AND EXISTS (SELECT 1 FROM placements WHERE video = videos.id AND series = series.id))
FROM (SELECT rowid AS id, rank FROM video_text WHERE video_text MATCH ?1 ORDER BY rank LIMIT 20) AS found
	JOIN videos USING (id) LEFT JOIN channels ON channels.id = videos.channel ORDER BY found.rank`

// goalFTS5 is the longest that a search may take, in milliseconds, and goalOfFTS5 as a multiple of plain FTS5's time.
const goalFTS5, goalOfFTS5 = 10, 1

// goalSlowest is the longest that all but one in a hundred searches among the real rows may take, in milliseconds.
const goalSlowest = 20

// besideFor bounds the time of a shape, and besideLeast how many searches of it there are at least.
const (
	besideFor   = 30 * time.Second
	besideLeast = 20
)

// realDays is how many of the newest recorded days the store of real rows has: about as many as a store keeps.
const realDays = 28

// ofFewVideos are the goals for shapes that match so few videos that bm25 has little to do: on real rows, and on
// generated ones. A search reads the titles, channels and views of its matches, plain FTS5 reads nothing.
var ofFewVideos = map[string]struct{ onReal, onGenerated float64 }{
	"a word of a title":    {1.5, 2},
	"two words of a title": {1.5, 2},
}

// besideFTS5 searches a store of the newest recorded charts and one of generated rows, and plain FTS5 for the same
// words, in each shape that has only words.
func (b *bench) besideFTS5(ctx context.Context) error {
	b.report.Section("Beside FTS5", fmt.Sprintf("%d searches of each shape, fewer if they take more than %v: the", b.searches, besideFor)+" same words by `SELECT rowid ... WHERE video_text MATCH ? ORDER BY rank LIMIT 20` in the same store"+
		", in turns: p50 of the processor's time. FTS5 gives numbers of videos. A search takes the last word for a beginning too, forgives words that "+
		"find nothing, weighs how much a video is watched, and reads the shown videos; so FTS5 is also asked with a join that reads the fields "+
		"shown of its 20 videos (the columns with their rows). Each store was tidied once a day, as `ingest serve` does; the "+
		"process has searched before, and nothing was saved between two searches. Where FTS5 finds nothing it is asked again as its user would have to, for "+
		"the last word as a beginning, and then for any of the words: the goal holds an answer against an answer. p99 is the search's own, everywhere. The last two columns say for how many "+
		"queries that was, and how many the search forgave.")
	if len(b.real) > 0 {
		if err := b.besideFTS5OnReal(ctx); err != nil {
			return err
		}
	}
	s, err := b.filled(ctx, b.fts5Rows)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if err := s.Tidy(ctx); err != nil {
		return err
	}
	return b.besideFTS5In(ctx, s, thousands(b.fts5Rows)+" generated", false, wordlistOf(newGenerator().take(min(b.fts5Rows, 50_000))))
}

func (b *bench) besideFTS5OnReal(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.dir, "real")
	if err != nil {
		return err
	}
	s, err := openOurs(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	since := b.real[len(b.real)-1].at.AddDate(0, 0, -realDays)
	var videos []ingest.Video
	tidied := since
	for _, c := range b.real {
		if !c.at.After(since) {
			continue
		}
		if c.at.Sub(tidied) >= 24*time.Hour {
			if err := s.Tidy(ctx); err != nil {
				return err
			}
			tidied = c.at
		}
		if err := s.keep(ctx, c); err != nil {
			return err
		}
		videos = append(videos, c.videos...)
	}
	words := wordlistOf(videos)
	b.real, videos = nil, nil
	runtime.GC() // otherwise collecting these charts would count as searching
	return b.besideFTS5In(ctx, s, fmt.Sprintf("%d real days", realDays), true, words)
}

// besideFTS5In searches one store.
func (b *bench) besideFTS5In(ctx context.Context, s *ours, size string, real bool, c wordlist) error {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: s.Path()}).String()+"?mode=ro&_pragma=cache_size(-16000)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	var rows [][]string
	var floors []string
	for _, k := range shapes {
		l, err := k.beside(ctx, db, s, c, b.searches)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		p50 := func(l latencies) float64 { return report.Quantile(l.cpu, 0.5) }
		percent := func(n int) string { return fmt.Sprintf("%d %%", 100*n/len(l.everywhere.cpu)) }
		ours := max(p50(l.everywhere), p50(l.inRegion))
		p99 := report.Quantile(slices.Concat(l.everywhere.cpu, l.inRegion.cpu), 0.99)
		row := []string{k.name, ms(p50(l.everywhere)), ms(p50(l.inRegion)), ms(p99), "", "", "", "", "", "", "", percent(l.forgiven)}
		if real {
			b.report.Goal(k.name+", "+size+": p99", fmt.Sprintf("<= %d ms", goalSlowest), ms(p99)+" ms", p99 <= goalSlowest)
		}
		b.report.Goal(k.name+", "+size+": p50", fmt.Sprintf("<= %d ms", goalFTS5), ms(ours)+" ms", ours <= goalFTS5)
		if len(l.typed.cpu) > 0 {
			ratio, goal := ours/p50(l.answered), float64(goalOfFTS5)
			shown := ours / p50(l.shown)
			if few, ok := ofFewVideos[k.name]; ok {
				if goal = few.onGenerated; real {
					goal = few.onReal
				}
				floors = append(floors, fmt.Sprintf("%s of the time of its numbers alone for %s (a search in a region, whose rows have just been read, takes %s of that time in all)",
					report.Ratio(p50(l.shown)/p50(l.answered)-1), k.name, report.Ratio(p50(l.inRegion)/p50(l.answered))))
				b.report.Goal(k.name+", "+size+", beside plain FTS5 with its rows: p50", fmt.Sprintf("<= %.2f x", goal), report.Ratio(shown), shown <= goal)
			}
			copy(row[4:], []string{ms(p50(l.typed)), report.Ratio(ours / p50(l.typed)), ms(p50(l.answered)), report.Ratio(ratio),
				ms(p50(l.shown)), report.Ratio(shown), percent(l.again)})
			b.report.Goal(k.name+", "+size+", beside plain FTS5 until it finds something: p50", fmt.Sprintf("<= %.2f x", goal), report.Ratio(ratio), ratio <= goal)
		}
		rows = append(rows, row)
		b.say("%s: %v", size, row)
	}
	b.report.Say("In %s FTS5 reads the rows of its hits, which a search has to read as well unless it has shown them before, in %s.", size,
		strings.Join(floors, ", and in "))
	b.report.Table([]string{"ms", "ours", "ours in a region", "p99", "plain FTS5, asked once", "the slower of ours / that", "plain FTS5 until it finds something",
		"the slower of ours / that", "that with its rows", "the slower of ours / that", "FTS5 asked again", "forgiven by ours"}, rows)
	return nil
}

// besides are the times of a shape: FTS5 asked once, until it found something, and with the rows of that; the store
// everywhere and in a region.
type besides struct {
	typed, answered, shown, everywhere, inRegion latencies
	again, forgiven                              int // for how many queries FTS5 was asked again, and how many the store forgave
}

// beside searches n times in that shape, in turns.
func (k shape) beside(ctx context.Context, db *sql.DB, s *ours, c wordlist, n int) (l besides, err error) {
	rng := rand.New(rand.NewPCG(1, uint64(len(k.name)))) //nolint:gosec // the same queries every time
	start := time.Now()
	for i := range n + n/10 {
		if time.Since(start) > besideFor && i >= besideLeast {
			break
		}
		if i == n/10 { // the first ones warmed the caches
			l = besides{}
		}
		q := k.ask(c, rng)
		q.Limit = 20
		there := q
		there.Region = eight[i%len(eight)]
		if !q.Filtered() && q.Order == store.ByRelevance {
			if err := l.askPlain(ctx, db, text.Parse(q.Text)); err != nil {
				return l, err
			}
		}
		var found store.Result
		took, err := clocked(func() (err error) { found, err = s.Search(ctx, q); return err })
		if err != nil {
			return l, err
		}
		l.everywhere.add(took)
		if found.Forgiven {
			l.forgiven++
		}
		if took, err = clocked(func() error { return s.find(ctx, there) }); err != nil {
			return l, err
		}
		l.inRegion.add(took)
	}
	return l, nil
}

// askPlain searches FTS5 for the words and, if nothing is found, with the last as a prefix, and then for any of them.
func (l *besides) askPlain(ctx context.Context, db *sql.DB, q text.Query) error {
	var anyOf []string
	for _, one := range q.Open().Each() {
		anyOf = append(anyOf, one.Match(false))
	}
	before := latencies{[]float64{0}, []float64{0}} // of the questions that found nothing
	exprs := []string{q.Match(false), q.Open().Match(false), strings.Join(anyOf, " OR ")}
	for i, expr := range exprs {
		found := 0
		took, err := clocked(func() (err error) { found, err = drainRows(ctx, db, plain, expr); return err })
		if err != nil {
			return err
		}
		switch i {
		case 0:
			l.typed.add(took)
		case 1:
			l.again++
		}
		if found == 0 && i < len(exprs)-1 {
			before = before.and(took)
			continue
		}
		// This connection's cache has the words by now, which is to FTS5's advantage.
		shown, err := clocked(func() error { _, err := drainRows(ctx, db, plainShown, expr); return err })
		if err != nil {
			return err
		}
		l.answered.add(before.and(took))
		l.shown.add(before.and(shown))
		return nil
	}
	return nil
}

func drainRows(ctx context.Context, db *sql.DB, query string, args ...any) (n int, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}
