package store_test

import (
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// A status page asks each of these once (see internal/web), and the others' expected takes: so many statements are
// all that one page costs the store, however many series and slots there are.
func TestAStatusPageTakesFewStatements(t *testing.T) {
	s, clock := newStore(t)
	n, err := s.CountReads()
	if err != nil {
		t.Fatal(err)
	}
	now, ctx := clock.now(), t.Context()
	latest := func() error { _, err := s.Latest(ctx, now); return err }
	total := int64(0)
	for _, part := range []struct {
		name string
		read func() error
		most int64
	}{
		{"Latest", latest, 8},
		{"CallStats", func() error { _, err := s.CallStats(ctx); return err }, 1},
		{"ListSlots", func() error { _, err := s.ListSlots(ctx, store.SlotFilter{Since: now.Add(-day)}); return err }, 1},
		{"Kept", func() error { _, err := s.Kept(ctx); return err }, 1},
		{"Backfills", func() error { _, err := s.Backfills(ctx); return err }, 1},
		{"TopTitles", func() error { _, err := s.TopTitles(ctx, []string{"US", "DE"}); return err }, 1},
		{"Note", func() error { _, err := s.Note(ctx, "others"); return err }, 1},
		{"SpentSlots", func() error { _, err := s.SpentSlots(ctx, now.Add(-day)); return err }, 2},
		{"CountToRefresh", func() error { _, err := s.CountToRefresh(ctx, now, 100); return err }, 2},
		{"RegionsToName", func() error { _, err := s.RegionsToName(ctx, now, now); return err }, 1},
	} {
		before := n.Load()
		if err := part.read(); err != nil {
			t.Fatalf("%s: %v", part.name, err)
		}
		took := n.Load() - before
		if total += took; took == 0 || took > part.most {
			t.Errorf("%s takes %d statements, want 1 to %d", part.name, took, part.most)
		}
		t.Logf("%s: %d", part.name, took)
	}
	t.Logf("a status page: %d statements", total)
}
