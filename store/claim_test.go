package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// crowd returns 250 regions x 40 jobs, with one slot of each due at a time.
func crowd(at time.Time) []ingest.Slot {
	var slots []ingest.Slot
	for i := range 10_000 {
		slot := due(fmt.Sprint("R", i%250), at)
		slot.Job = fmt.Sprint("job", i/250)
		slots = append(slots, slot)
	}
	return slots
}

// However many slots wait, the one to claim is found by scanning an index in order.
func TestAClaimSortsAndScansNothing(t *testing.T) {
	s, _ := newStore(t)
	addDue(t, s, crowd(noon)[:100]...)
	got := queryPlan(t, s, store.Claimable, noon.Unix(), noon.UnixMilli())
	for _, bad := range []string{"TEMP B-TREE", "SCAN slots", "SCAN other", "AUTOMATIC"} {
		if strings.Contains(got, bad) {
			t.Errorf("the plan has %s:\n%s", bad, got)
		}
	}
	for _, good := range []string{"SCAN series USING INDEX series_open", "SEARCH slots USING INDEX", "SEARCH other USING"} {
		if !strings.Contains(got, good) {
			t.Errorf("the plan lacks %s:\n%s", good, got)
		}
	}
	got = queryPlan(t, s, store.ClaimableOf, noon.Unix(), noon.UnixMilli(), `[["job0", "R1"]]`)
	if strings.Contains(got, "SCAN s") || !strings.Contains(got, "SEARCH series USING INDEX sqlite_autoindex_series_1 (job=? AND key=?)") {
		t.Errorf("one series is found by reading all:\n%s", got)
	}
}

// queryPlan returns SQLite's plan of a query.
func queryPlan(t *testing.T, s *store.Store, query string, args ...any) string {
	t.Helper()
	db := raw(t, s.Path())
	rows, err := db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}

// A series row agrees with its slots, after any history.
func TestSeriesAgreeWithTheirSlots(t *testing.T) {
	s, clock := newStore(t)
	db := raw(t, s.Path())
	states := []ingest.State{ingest.Done, ingest.Stopped, ingest.Failed, ingest.Skipped, ingest.Due}
	for i := range 80 {
		at := clock.move(time.Minute)
		region := realRegions[i*5%8]
		switch slot := due(region, at); i % 4 {
		case 0:
			slot.State, slot.Reason = ingest.Missed, "nothing ran"
			addDue(t, s, slot, due(region, at.Add(time.Second)))
		case 1:
			addDue(t, s, slot, due(region, at.Add(-time.Hour)))
		case 2:
			addDue(t, s, slot)
			if err := s.Retire(t.Context(), map[ingest.Series]string{{Job: "chart", Key: realRegions[i%8]}: "gone"}); err != nil {
				t.Fatal(err)
			}
		}
		if slot, ok, err := s.Claim(t.Context(), by("a", at)); err != nil {
			t.Fatal(err)
		} else if ok && i%7 > 0 {
			finish(t, s, slot, states[i%5], "because")
		}
		const wrong = `
			SELECT count(*) FROM series WHERE newest <> (SELECT max(due_at) FROM slots WHERE series = series.id)
			OR open IS NOT NULL AND NOT EXISTS (SELECT 1 FROM slots WHERE series = series.id AND due_at = open AND state IN ('due', 'claimed', 'stopped'))
			OR EXISTS (SELECT 1 FROM slots WHERE series = series.id AND state = 'due' AND due_at IS NOT open)
			OR fresh_at IS NOT (SELECT max(coalesce(fetched_at, fresh_at)) FROM slots WHERE series = series.id AND state = 'done')`
		if n := scalar[int](t, db, wrong); n > 0 {
			t.Fatalf("after step %d: %d series do not say what their slots say", i, n)
		}
	}
}
