package store_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// A query that runs all day reads slots in proportion to the series or to its result, however many slots there were:
// the plan of no query scans the slots, or all series with their pieces, or sorts more than a result.
func TestNoPlanReadsTheWholeHistory(t *testing.T) {
	s, _ := newStore(t)
	at := noon.Unix()
	for name, c := range map[string]struct {
		query string
		args  []any
		wants []string
	}{
		"a chart": {store.FindChart, []any{"US", at, false, ""}, []string{
			"SEARCH series USING INDEX series_schedule (key=?", "SEARCH s USING INDEX sqlite_autoindex_slots_1 (series=? AND due_at<?)"}},
		"the last slots": {store.LatestSlots, []any{at}, []string{
			"SCAN known USING INDEX series_schedule", "SEARCH d USING INDEX sqlite_autoindex_slots_1 (series=? AND due_at<?)", "SEARCH e USING INDEX sqlite_autoindex_slots_1 (series=? AND due_at<?)"}},
		"the newest slots": {store.NewestSlots + ` WHERE kind <> 'backfill' ORDER BY due_at DESC, job, key LIMIT 3`, nil, []string{
			"SCAN slots USING INDEX slots_due", "LAST 2 TERMS OF ORDER BY"}},
		"what pieces spent": {store.SpentPieces, []any{at}, []string{
			"SEARCH series USING INDEX series_backfill (backfill>?)", "SEARCH slots USING INDEX sqlite_autoindex_slots_1 (series=?)"}},
		"what backfills lack": {store.LackingSlots, []any{at}, []string{
			"SEARCH slots USING INTEGER PRIMARY KEY", "SCAN pieces USING INDEX pieces_lacking"}},
	} {
		plan := queryPlan(t, s, c.query, c.args...)
		for _, want := range c.wants {
			if !strings.Contains(plan, want) {
				t.Errorf("%s: the plan lacks %q:\n%s", name, want, plan)
			}
		}
		if strings.Contains(plan, "SCAN slots\n") || strings.Contains(plan, "SCAN series\n") {
			t.Errorf("%s: the plan reads a whole table:\n%s", name, plan)
		}
	}
}
