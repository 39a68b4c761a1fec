package doctor

import (
	"fmt"

	"github.com/trendvidstream/ingest/internal/term"
)

// volume is what a directory lies on.
type volume struct {
	free, size int64  // bytes, for this user
	network    string // name of a network file system, "" for a disk
}

// Below littleSpace, or littleShare of the disk, a warning is due; below noSpace nothing can be relied on to be
// written.
const (
	littleSpace = 1 << 30
	littleShare = 5 // percent
	noSpace     = 50 << 20
)

func (v volume) judgeSpace() Finding {
	share := 100 * float64(v.free) / float64(max(v.size, 1))
	text := fmt.Sprintf("%s free of %s (%.0f %%)", term.Bytes(v.free), term.Bytes(v.size), share)
	switch {
	case v.free < noSpace:
		return fail(Other, text, "free some space: what cannot be written down is not spent, so nothing is fetched")
	case v.free < littleSpace || share < littleShare:
		return warn(text, "free some space before it is full")
	}
	return fine("%s", text)
}

func (v volume) judgeKind() Finding {
	if v.network != "" {
		return warn("the data directory is on "+v.network+", where SQLite's locks may not hold",
			"move it to a disk of this machine; hosts share quota by --ledger redis://..., not by a directory")
	}
	return fine("a disk of this machine")
}
