package storetest

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// A run whose lease has ended counts as dead: its claim no longer holds the piece.
func testAPieceOfADeadRunCountsAsDue(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	b := AddBackfill(t, s, Plan("x"), Numbered(4))
	Claim(t, s, PiecesOf(b, "dead", clock.now()))
	Claim(t, s, PiecesOf(b, "alive", clock.move(2*time.Minute)))
	last := Claim(t, s, PiecesOf(b, "alive", clock.move(time.Minute)))
	for _, c := range []struct {
		after     time.Duration
		due, held int
		until     time.Time
	}{
		{0, 1, 3, last.Lease},
		{2*time.Minute - time.Millisecond, 1, 3, last.Lease},
		{time.Millisecond, 2, 2, last.Lease},
		{2 * time.Minute, 3, 1, last.Lease},
		{time.Minute, 4, 0, time.Time{}},
	} {
		clock.move(c.after)
		st := Status(t, s, b.ID)
		if st.Pieces[ingest.Due] != c.due || st.Pieces[ingest.Claimed] != c.held ||
			!st.LeasedUntil.Equal(c.until) || st.Open() != 4 {
			t.Errorf("at %s: %v until %s, want %d due and %d claimed until %s", clock.now(), st.Pieces,
				st.LeasedUntil, c.due, c.held, c.until)
		}
	}
}
