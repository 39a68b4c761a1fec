package main

import (
	"context"
	"fmt"

	"github.com/trendvidstream/ingest/bench/report"
)

// spread is how many takes and slots are made to be measured.
const spread = 20_000

// sizes measures the size of a row in PostgreSQL with its indexes: of the store in the database, and of the ledger.
func sizes(ctx context.Context, s server, database string, r *report.Report) error {
	all, closing, err := ledgers(ctx, s, 1)
	defer closing()
	if err != nil {
		return err
	}
	take := taking(all, func(int) string { return "sizes" })
	for range spread {
		if err := take(ctx, 0); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, row := range []struct{ what, database, before, relations, counted string }{
		{"a video, searchable", database, "", "ingest.video_facts, ingest.video_latest, ingest.video_text, ingest.video_words, ingest.channels, ingest.video_blocks", "ingest.video_facts"},
		{"a place in a chart", database, "", "ingest.placements", "ingest.placements"},
		{"a slot that is done", database, slotsToMeasure, "ingest.slots", "ingest.slots"},
		{"a take", "postgres", "", "ingest_quota.entries", "ingest_quota.entries"},
	} {
		if _, err := s.QueryIn(ctx, row.database, row.before); err != nil {
			return fmt.Errorf("%s: %w", row.what, err)
		}
		found, err := s.QueryIn(ctx, row.database, fmt.Sprintf(
			`SELECT (SELECT count(*) FROM %s), (SELECT sum(pg_total_relation_size(name::regclass)) / (SELECT count(*) FROM %s) FROM regexp_split_to_table('%s', ', ') AS name)::bigint`,
			row.counted, row.counted, row.relations))
		if err != nil {
			return fmt.Errorf("%s: %w", row.what, err)
		}
		rows = append(rows, append([]string{row.what}, found[0]...))
	}
	r.Section("Sizes in PostgreSQL", "Bytes of each row with its indexes (`pg_total_relation_size`), as they are after the copy and a VACUUM. Videos have six words in a title and eight tags.")
	r.Table([]string{"", "rows", "bytes each"}, rows)
	return nil
}

// slotsToMeasure adds a chart's slots as a pass leaves them.
var slotsToMeasure = fmt.Sprintf(`
	INSERT INTO ingest.slots (series, due_at, kind, state, owner, attempt, pages, videos, units, charges, fetched_at)
	SELECT (SELECT min(id) FROM ingest.series), -n, 'chart', 'done', 'a-host/12345/abcdef0123456789', 1, 4, 200, 4, '{"units":4}', 1771070400000
	FROM generate_series(1, %d) AS n`, spread)
