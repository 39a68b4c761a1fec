package store_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// filled is a store with n invented videos, written behind its back, since nobody charts a million: each
// was charted once, in one of eight regions.
func filled(b *testing.B, n int) *store.Store {
	b.Helper()
	s, _ := newStore(b)
	at := noon
	for _, region := range realRegions {
		chart(b, s, region, at, page(titled("first "+region, "first")))
	}
	db := raw(b, s.Path())
	db.SetMaxOpenConns(1)
	videos := invented(min(n, 100_000)) // and again, under other ids
	for from := 0; from < n; from += len(videos) {
		if err := fill(b.Context(), db, videos[:min(len(videos), n-from)], from); err != nil {
			b.Fatal(err)
		}
	}
	store.RewriteCharted(b, s)
	return s
}

func fill(ctx context.Context, db *sql.DB, videos []ingest.Video, from int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for i, v := range videos {
		id := 100 + from + i
		for _, q := range []struct {
			text string
			args []any
		}{
			{`INSERT INTO video_facts (id, text_hash, video_id, channel, published_at, category, title)
			  VALUES (?1, ?1, ?2, 1, ?3, '10', ?4)`, []any{id, fmt.Sprint("v", id), noon.Unix(), v.Title}},
			{`INSERT INTO video_latest (id, fetched_at, seen_at, views) VALUES (?1, ?2, ?2, ?3)`, []any{id, noon.UnixMilli(), id % 100_000}},
			{`INSERT INTO video_text (rowid, title, channel, tags) VALUES (?, ?, ?, ?)`,
				[]any{id, text.Normalize(v.Title), text.Normalize(v.Channel), "some tags " + v.Tags[2]}},
			{`INSERT INTO placements (slot, rank, video, series, views) VALUES (?1, ?2, ?2, ?1, ?3)`, []any{1 + id%8, id, id % 100_000}},
		} {
			if _, err := tx.ExecContext(ctx, q.text, q.args...); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// SEARCH_ROWS says among how many videos, 20,000 if nothing does; with a million of them, filling the
// store takes minutes. "some" is in every video, "common" in every twentieth.
func BenchmarkSearchAmong(b *testing.B) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("SEARCH_ROWS"), "20000"))
	if err != nil {
		b.Fatal(err)
	}
	s := filled(b, n)
	for name, q := range map[string]store.SearchQuery{
		"common":             {Text: "common"},
		"common in a region": {Text: "common", Region: "DE"},
		"everywhere":         {Text: "some"},
		"everywhere, rise":   {Text: "some", Order: store.ByRise},
		"two words":          {Text: "common some"},
		"a filter of little": {Text: "some", MinViews: 99_990},
		"rare":               {Text: "word17000"},
		"rare and common":    {Text: "word17000 common"},
		"one letter":         {Text: "w*"},
		"two letters":        {Text: "wo*"},
		"many beginnings":    {Text: "word1*"},
		"without":            {Text: "some -common"},
	} {
		b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The same words in the same run, by FTS5 alone and by a search: its p50 is what ns/op is compared with. FTS5 neither
// forgives nor weighs what is watched, and shows nothing of what it finds.
func BenchmarkSearchBesideFTS5(b *testing.B) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("SEARCH_ROWS"), "20000"))
	if err != nil {
		b.Fatal(err)
	}
	s := filled(b, n)
	db := raw(b, s.Path())
	db.SetMaxOpenConns(1)
	for _, words := range []string{"common", "word17", "word17000", "word17 word18", "common word17", "some tags common word17", "some tags common word1 word2 word3 word4", "word1*"} {
		b.Run(words+"/search", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(b.Context(), store.SearchQuery{Text: words}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(words+"/FTS5", func(b *testing.B) {
			match := text.Parse(words).Match(false)
			for b.Loop() {
				if got := scalar[int](b, db, `SELECT count(*) FROM (SELECT rowid FROM video_text WHERE video_text MATCH ? ORDER BY rank LIMIT 20)`, match); got > 20 {
					b.Fatal(got)
				}
			}
		})
	}
}
