package fetch

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/trendvidstream/ingest"
)

// counting is the work of a slot of a watch list: it looks up the videos of the list that are not stored, and then
// fetches the counts of all. The slot's token is the number of counted videos of the list.
type counting struct {
	lookup
	job ingest.Job
	ids []string
}

func newCounting(r *Reconciler, job ingest.Job) *counting {
	return &counting{lookup: lookup{Reconciler: r, since: r.Now().Add(-ingest.KeepFor), loaded: true,
		goesOn: true}, job: job}
}

func (c *counting) next(ctx context.Context, slot ingest.Slot) (step, bool, error) {
	if c.ids == nil {
		if err := c.list(ctx, slot); err != nil {
			return step{}, false, err
		}
	}
	if slot.Token == "" {
		if s, ok, err := c.lookup.next(ctx, slot); ok || err != nil {
			return s, ok, err
		}
	}
	from, err := strconv.Atoi(slot.Token)
	if err != nil || from < 0 {
		from = 0
	}
	if from >= len(c.ids) {
		return step{}, false, nil
	}
	to := min(from+c.Upstream.Limits().IDsPerCall, len(c.ids))
	return stepOf(c.Upstream.(Counter).Counts(c.ids[from:to]),
		func(ctx context.Context, slot ingest.Slot, counts []ingest.Counts) (ingest.Slot, error) {
			if slot.Token = strconv.Itoa(to); to == len(c.ids) {
				slot.State, slot.Token, slot.Reason = ingest.Done, "", c.doneReason()
			}
			return c.Sink.SaveCounts(ctx, slot, c.ids[from:to], counts)
		}), true, nil
}

// list reads the list, and queues its ids that are not stored.
func (c *counting) list(ctx context.Context, slot ingest.Slot) error {
	c.ids = slices.Clone(c.job.Videos)
	if c.job.Charted > 0 {
		charted, err := c.Library.VideosCharted(ctx, c.Now().Add(-c.job.Charted))
		if err != nil {
			return fmt.Errorf("find charted videos: %w", err)
		}
		known := make(map[string]bool, len(c.ids))
		for _, id := range c.ids {
			known[id] = true
		}
		for _, id := range charted {
			if !known[id] {
				c.ids = append(c.ids, id)
			}
		}
	}
	if slot.Token != "" || len(c.job.Videos) == 0 {
		return nil
	}
	_, err := c.Sink.Enqueue(ctx, slot, c.job.Videos, c.since)
	return err
}
