package store

import (
	"context"
	"strconv"
	"testing"
)

// Claimable is the query that finds the slot to claim, and ClaimableOf the same for a few series.
const (
	Claimable   = claimable
	ClaimableOf = claimableOf
)

// FindChart, LatestSlots and NewestSlots are queries of FindChart, Latest and ListSlots.
var FindChart, LatestSlots, NewestSlots = findChart, latestSlots, newestSlots

// ReadTags reads a video's stored tags.
var ReadTags = readTags

// SpentPieces is the query for the pieces of SpentSlots.
var SpentPieces = spentPieces

// LackingSlots is the query of pieces that lack something.
const LackingSlots = selectSlots + ` WHERE ` + lackingPieces + ` ORDER BY due_at DESC, job, key`

// Uncounted is the query that finds the videos to count.
const Uncounted = uncounted

// OlderVideos is the query that continues from a day and row of last fetch to later days.
const OlderVideos = olderVideos

// ClaimablePieces is the query that finds the piece to claim.
const ClaimablePieces = claimablePieces + ` ORDER BY place`

// LimitPages fills the writer's disk: the file may grow by at most n pages.
func (s *Store) LimitPages(t testing.TB, n int) {
	t.Helper()
	var have int
	if err := s.write.QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&have); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.ExecContext(t.Context(), `PRAGMA max_page_count = `+strconv.Itoa(have+n)); err != nil {
		t.Fatal(err)
	}
}

// SetSteps appends steps to the migrations, each with a version of its own.
func SetSteps(t testing.TB, more ...string) {
	before := tables.Steps
	tables.Steps = append(before[:len(before):len(before)], more...)
	t.Cleanup(func() { tables.Steps = before })
}

// CopiedColumns returns all columns that CopyInto copies, with their tables.
func CopiedColumns() (all []string) {
	for _, t := range copyTables {
		for _, column := range t.columns {
			all = append(all, t.name+"."+column)
		}
	}
	return all
}

// CheckOpen is Check of a store that is in use.
func (s *Store) CheckOpen(ctx context.Context) (found []string, err error) {
	found, _, err = s.check(ctx)
	return found, err
}

// SchemaVersion is the version of the tables that this program reads and writes.
func SchemaVersion() int { return tables.Version() }
