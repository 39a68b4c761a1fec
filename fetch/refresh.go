package fetch

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	// least age of videos outside the charts that are counted, if counts have a pool of their own
	countAfter = 24 * time.Hour
	countAhead = 100 // calls whose ids are read at once

	// maxDoubted is how many videos in doubt one call asks for: few, so that it proves something.
	maxDoubted = 10
	// maxSuspect is how many suspect answers in a row end the look-ups of a refresh.
	maxSuspect = 2
)

// NameAfter is how long the names of categories stay valid: they hardly ever change.
const NameAfter = 7 * 24 * time.Hour

// refresh is the work of a refresh slot: it deletes data that is too old, refetches videos that soon will be, asks
// again for videos that look-ups left out, names the categories of charted regions, and counts videos that have left
// the charts. Counting is last, as quota may refuse only that every day.
type refresh struct {
	*Reconciler
	swept   bool     // old data was deleted
	deleted string   // the deleted data, in words; "": nothing
	toCount []string // ids to count next
	tally   absences
	suspect int    // suspect answers in a row
	waits   string // the work left for later days, in words; "": nothing
	lookUps int    // of old videos, that are left for today

	uncounted int // counts that a suspect answer lacked
}

// next deletes first, which needs no quota and is due even on a day without any.
func (r *refresh) next(ctx context.Context, slot ingest.Slot) (step, bool, error) {
	if !r.swept {
		if err := r.checkClock(ctx, nil, r.Now()); err != nil {
			return step{}, false, fmt.Errorf("nothing is deleted by a clock that cannot be checked: %w", err)
		}
		placements, videos, err := r.Sink.Sweep(ctx, r.Now())
		if err != nil {
			return step{}, false, fmt.Errorf("delete data older than %v: %w", ingest.KeepFor, err)
		}
		r.swept, r.deleted, r.lookUps = true, deletedText(placements, videos), math.MaxInt
		if r.RefreshCalls != nil {
			if r.lookUps, r.waits, err = r.RefreshCalls(ctx, r.Now(), slot.Charges); err != nil {
				return step{}, false, fmt.Errorf("plan how many videos are refreshed today: %w", err)
			}
		}
	}
	for _, next := range []func(context.Context, ingest.Slot) (step, bool, error){r.renewVideos,
		r.recheck, r.nameCategories, r.recountVideos} {
		if s, ok, err := next(ctx, slot); ok || err != nil {
			if slot.Tries > 1 { // its last try ended with a failed call
				s.retries = 0
			}
			return s, ok, err
		}
	}
	return step{}, false, nil
}

// renewVideos refetches videos that will soon be too old. The last call is filled up with some that have time.
func (r *refresh) renewVideos(ctx context.Context, _ ingest.Slot) (step, bool, error) {
	if r.suspect >= maxSuspect || r.lookUps <= 0 {
		return step{}, false, nil
	}
	early := time.Duration(0)
	if r.RefreshCalls != nil {
		early = ingest.RefreshEarly
	}
	ids, err := r.Library.VideosToRefresh(ctx, r.Now(), early, r.Upstream.Limits().IDsPerCall)
	if err != nil {
		return step{}, false, fmt.Errorf("find the videos to refresh: %w", err)
	}
	if len(ids) == 0 {
		return step{}, false, nil
	}
	r.lookUps--
	return r.lookUp(ingest.Asked{IDs: ids}), true, nil
}

// recheck asks for videos that look-ups left out, in the company of others that are there.
func (r *refresh) recheck(ctx context.Context, _ ingest.Slot) (step, bool, error) {
	if r.suspect >= maxSuspect {
		return step{}, false, nil
	}
	ids, err := r.Library.VideosInDoubt(ctx, r.Now().Add(-ingest.RecheckAfter), maxDoubted)
	if err != nil || len(ids) == 0 {
		return step{}, false, err
	}
	witnesses, err := r.Library.Witnesses(ctx, r.Upstream.Limits().IDsPerCall-len(ids))
	return r.lookUp(ingest.Asked{IDs: ids, Witnesses: witnesses}), err == nil, err
}

func (r *refresh) lookUp(asked ingest.Asked) step {
	s := stepOf(r.Upstream.Videos(asked.All()),
		func(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
			slot, a, err := r.Sink.SaveVideos(ctx, slot, asked, page)
			if err == nil {
				r.tally.add(a)
				if r.suspect++; !a.Suspect {
					r.suspect = 0
				}
			}
			return slot, err
		})
	s.asked = &asked
	return s
}

// recountVideos counts videos that were in no chart for a day.
func (r *refresh) recountVideos(ctx context.Context, _ ingest.Slot) (step, bool, error) {
	if r.Counter == nil || r.uncounted > 0 {
		return step{}, false, nil
	}
	perCall := r.Upstream.Limits().IDsPerCall
	if len(r.toCount) == 0 {
		var err error
		if r.toCount, err = r.Library.VideosToCount(ctx, r.Now().Add(-countAfter), countAhead*perCall); err != nil ||
			len(r.toCount) == 0 {
			return step{}, false, err
		}
	}
	ids := r.toCount[:min(perCall, len(r.toCount))]
	return stepOf(r.Counter.Counts(ids),
		func(ctx context.Context, slot ingest.Slot, counts []ingest.Counts) (ingest.Slot, error) {
			slot, err := r.Sink.SaveCounts(ctx, slot, ids, counts)
			if err == nil {
				r.toCount = r.toCount[len(ids):]
				if ingest.Suspect(len(ids), len(counts)) {
					r.uncounted = len(ids) - len(counts)
				}
			}
			return slot, err
		}), true, nil
}

// nameCategories asks for the names of a region's categories, once the region has had a chart.
func (r *refresh) nameCategories(ctx context.Context, slot ingest.Slot) (step, bool, error) {
	if r.Namer == nil {
		return step{}, false, nil
	}
	regions, err := r.Library.RegionsToName(ctx, slot.DueAt, slot.DueAt.Add(-NameAfter))
	if err != nil || len(regions) == 0 {
		return step{}, false, err
	}
	return stepOf(r.Namer.Categories(regions[0]),
		func(ctx context.Context, slot ingest.Slot, names []ingest.Category) (ingest.Slot, error) {
			return r.Sink.SaveNames(ctx, slot, regions[0], names)
		}), true, nil
}

func (r *refresh) doneReason() string {
	counts := ""
	if r.uncounted > 0 {
		counts = fmt.Sprintf("1 answer suspect: %s missing; the next refresh asks for them", counted(r.uncounted, "count"))
	}
	return joined(r.deleted, r.tally.String(), r.waits, counts)
}

// deletedText counts the deletions in words; "" if there were none.
func deletedText(placements, videos int) string {
	var what []string
	if placements > 0 {
		what = append(what, counted(placements, "placement"))
	}
	if videos > 0 {
		what = append(what, counted(videos, "video"))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("deleted %s older than %d days", strings.Join(what, " and "), int(ingest.KeepFor.Hours()/24))
}

// counted formats a number of things: "1 video", "2 videos".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
