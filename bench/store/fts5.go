package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// plain is FTS5 as its documentation shows it: the 20 best of all matches by bm25. It reads no video.
const plain = `SELECT rowid FROM video_text WHERE video_text MATCH ?1 ORDER BY rank LIMIT 20`

// goalFTS5 is the longest that a search may take beside plain FTS5, in milliseconds, and as a part of FTS5's time.
const goalFTS5, goalOfFTS5 = 10, 1

// besideFTS5 asks the store and plain FTS5 for the same words, in each shape that has nothing but words.
func (b *bench) besideFTS5(ctx context.Context) error {
	s, err := b.filled(ctx, b.fts5Rows)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: s.Path()}).String()+"?mode=ro&_pragma=cache_size(-16000)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	b.real = nil
	size, c := thousands(b.fts5Rows)+" generated", wordlistOf(newGenerator().take(min(b.fts5Rows, 50_000)))
	b.report.Section("Beside FTS5", "The same words by `SELECT rowid ... WHERE video_text MATCH ? ORDER BY rank LIMIT 20` in the same store of "+size+
		" videos, in turns: p50 of the processor's time. FTS5 gives numbers of videos. A search takes the last word for a beginning too, forgives what "+
		"finds little, weighs how much a video is watched, and reads what it shows.")
	var rows [][]string
	for _, k := range shapes {
		theirs, everywhere, inRegion, err := k.beside(ctx, db, s, c, b.searches)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		p50 := func(l latencies) float64 { return report.Quantile(l.cpu, 0.5) }
		ours := max(p50(everywhere), p50(inRegion))
		row := []string{k.name, ms(p50(everywhere)), ms(p50(inRegion)), "", ""}
		b.report.Goal(k.name+", "+size+": p50", fmt.Sprintf("<= %d ms", goalFTS5), ms(ours)+" ms", ours <= goalFTS5)
		if k.peer() && len(theirs.cpu) > 0 {
			ratio := ours / p50(theirs)
			row[3], row[4] = ms(p50(theirs)), report.Ratio(ratio)
			b.report.Goal(k.name+", "+size+", beside plain FTS5: p50", "<= 1.00 x", report.Ratio(ratio), ratio <= goalOfFTS5)
		}
		rows = append(rows, row)
		b.say("%v", row)
	}
	b.report.Table([]string{"ms", "ours", "ours in a region", "plain FTS5", "the slower of ours / FTS5"}, rows)
	return nil
}

// beside asks n times in that shape, in turns: plain FTS5 if it can be asked so, the store everywhere, and in a region.
func (k shape) beside(ctx context.Context, db *sql.DB, s *ours, c wordlist, n int) (theirs, everywhere, inRegion latencies, err error) {
	rng := rand.New(rand.NewPCG(1, uint64(len(k.name)))) //nolint:gosec // the same queries every time
	for i := range n + n/10 {
		q := k.ask(c, rng)
		q.Limit = 20
		there := q
		there.Region = eight[i%len(eight)]
		for _, turn := range []struct {
			took *latencies
			skip bool
			do   func() error
		}{
			{&theirs, q.Filtered() || q.Order != store.ByRelevance, func() error { return drainRows(ctx, db, plain, text.Parse(q.Text).Match(false)) }},
			{&everywhere, false, func() error { return s.find(ctx, q) }},
			{&inRegion, false, func() error { return s.find(ctx, there) }},
		} {
			if turn.skip {
				continue
			}
			took, err := clocked(turn.do)
			if err != nil {
				return theirs, everywhere, inRegion, err
			}
			if i >= n/10 { // the first ones warm the caches
				turn.took.add(took)
			}
		}
	}
	return theirs, everywhere, inRegion, nil
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
