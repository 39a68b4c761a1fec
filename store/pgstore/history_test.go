//go:build unix

package pgstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
	"github.com/trendvidstream/ingest/store/storetest"
)

// A query that runs all day reads rows of slots in proportion to the series, however many slots they have had. The
// server counts the rows that it reads.
func TestLongReadsDoNotGrowWithHistory(t *testing.T) {
	const series, slots = 10, 5000
	url, at := place(t), time.Unix(1771070400, 0)
	now := func() time.Time { return at }
	s := open(t, url, store.Options{Upstream: upstream, Now: now})
	for i := range series {
		storetest.Chart(t, s, fmt.Sprintf("%c%c", 'A'+i/26, 'A'+i%26), at, storetest.Page(storetest.Titled("a", "Apfel")))
	}
	run(t, url, fmt.Sprintf(`INSERT INTO slots (series, due_at, kind, state, videos)
		SELECT id, newest - 1800 * n, 'chart', CASE WHEN id %% 5 = 0 OR n > 4900 THEN 'failed' ELSE 'done' END, 1 FROM series, generate_series(1, %d) AS n`, slots))
	for i := range series {
		storetest.AddDue(t, s, storetest.Due(fmt.Sprintf("%c%c", 'A'+i/26, 'A'+i%26), at.Add(time.Hour)))
	}
	run(t, url, `ANALYZE`)
	for name, ask := range map[string]struct {
		most int // rows
		do   func(context.Context, *store.Store) error
	}{
		"the last slots": {4 * series, func(ctx context.Context, s *store.Store) error {
			_, err := s.Latest(ctx, at)
			return err
		}},
		"what may be claimed": {4 * series, func(ctx context.Context, s *store.Store) error {
			_, err := s.Claimable(ctx, at.Add(time.Hour))
			return err
		}},
		"three slots": {2 * series, func(ctx context.Context, s *store.Store) error {
			_, err := s.ListSlots(ctx, store.SlotFilter{Limit: 3})
			return err
		}},
		"a chart": {20, func(ctx context.Context, s *store.Store) error {
			_, err := s.Chart(ctx, "AB", time.Time{}, false)
			return err
		}},
	} {
		before := rowsRead(t, url)
		reader, err := pgstore.Open(t.Context(), url, store.Options{ReadOnly: true, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if err := ask.do(t.Context(), reader); err != nil {
			t.Fatal(name, err)
		}
		if err := reader.Close(); err != nil { // then the server adds up the connection's reads
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		if read := rowsRead(t, url) - before; read > ask.most {
			t.Errorf("of %d slots %d rows are read for %s, want %d at most", series*slots, read, name, ask.most)
		} else {
			t.Logf("%d rows for %s", read, name)
		}
	}
}

// rowsRead returns how many rows of slots were read by connections that are closed.
func rowsRead(t *testing.T, url string) (n int) {
	t.Helper()
	query(t, url, `SELECT seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes AS i WHERE i.relid = t.relid)
		FROM pg_stat_user_tables AS t WHERE relname = 'slots' AND schemaname = current_schema()`, &n)
	return n
}
