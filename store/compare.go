package store

import "github.com/trendvidstream/ingest"

// Change is what happened to a video between two charts.
type Change string

// The changes. One vocabulary in JSON, CSV and on the screen.
const (
	New    Change = "new"    // it was not in the older chart
	Risen  Change = "risen"  // its rank is nearer to 1
	Fallen Change = "fallen" // its rank is further from 1
	Same   Change = "same"
	Gone   Change = "gone" // it is not in the newer chart
)

// Move is a video and its change.
type Move struct {
	// Placement is that of the newer chart, or of the older one if the video is gone.
	ingest.Placement
	Change Change
	Was    int    // its rank in the older chart; 0 if it is new
	Gained *int64 // views since then; nil unless both charts have a count
}

// Compare returns the moves from an older chart to a newer one: the newer chart in rank order, then what is gone, in
// the order of its former ranks.
func Compare(older, newer Chart) []Move {
	was := map[string]ingest.Placement{}
	for _, p := range older.Items {
		was[p.Video.ID] = p
	}
	var moves []Move
	for _, p := range newer.Items {
		before, known := was[p.Video.ID]
		m := Move{Placement: p, Change: New, Was: before.Rank}
		if known {
			delete(was, p.Video.ID)
			m.Gained = gained(before.Video.Views, p.Video.Views)
			m.Change = direction(before.Rank, p.Rank)
		}
		moves = append(moves, m)
	}
	for _, p := range older.Items {
		if _, gone := was[p.Video.ID]; gone {
			moves = append(moves, Move{Placement: p, Change: Gone, Was: p.Rank})
		}
	}
	return moves
}

func direction(was, is int) Change {
	switch {
	case is < was:
		return Risen
	case is > was:
		return Fallen
	}
	return Same
}

// gained returns how much a count grew, nil unless both are known. It may shrink: upstreams correct themselves.
func gained(was, is *int64) *int64 {
	if was == nil || is == nil {
		return nil
	}
	n := *is - *was
	return &n
}
