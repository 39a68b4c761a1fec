package fetch

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// idsPerCall is how many videos one call brings: videos.list takes at most 50 ids for its one unit.
// https://developers.google.com/youtube/v3/docs/videos/list
const idsPerCall = 50

// refresh is the work of a refresh slot: what is about to be too old is fetched again, what is too
// old is deleted. The provider wants stored data refreshed or deleted within ingest.KeepFor.
type refresh struct {
	upstream Upstream
	library  Library
	now      func() time.Time
	asked    []string
	swept    string // what was deleted, in words; "" before that
}

func (*refresh) purpose() quota.Purpose { return quota.Refresh }

// next deletes first, once: that needs no quota, and is due even on a day that has none left.
func (r *refresh) next(ctx context.Context, _ ingest.Slot) (step, bool, error) {
	if r.swept == "" {
		placements, videos, err := r.library.Sweep(ctx, r.now())
		if err != nil {
			return step{}, false, fmt.Errorf("delete what is older than %v: %w", ingest.KeepFor, err)
		}
		r.swept = fmt.Sprintf("deleted %d placements and %d videos older than 30 days", placements, videos)
	}
	ids, err := r.library.Stale(ctx, r.now(), idsPerCall)
	if err != nil {
		return step{}, false, fmt.Errorf("find the videos to refresh: %w", err)
	}
	r.asked = ids
	if len(ids) == 0 {
		return step{}, false, nil
	}
	return stepOf(r.upstream.Videos(ids), r.save), true, nil
}

func (r *refresh) save(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot.Token = "" // the next ids are found anew
	return r.library.SaveVideos(ctx, slot, r.asked, page)
}

func (r *refresh) end() string { return r.swept }
