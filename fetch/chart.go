package fetch

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// absentFor is how long a chart that the upstream does not have is not asked for again.
const absentFor = 24 * time.Hour

// chart is the work of a chart slot: a region's pages, in order.
type chart struct {
	upstream Upstream
	sink     Sink
	category string
	pages    int // at most
}

func (*chart) purpose() quota.Purpose { return quota.Scheduled }

// next asks for the page at the slot's token. A chart has always a first page, so that it ends in
// save, never here.
func (c *chart) next(_ context.Context, slot ingest.Slot) (step, bool, error) {
	return stepOf(c.upstream.Chart(slot.Region(), c.category, slot.Token), c.save), true, nil
}

func (c *chart) save(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot.Token = page.Next
	if page.Next == "" || slot.Pages >= c.pages {
		slot.State, slot.Token, slot.Reason = ingest.Done, "", ""
	}
	return c.sink.SavePage(ctx, slot, page)
}

func (*chart) end() string { return "" }

// knownAbsent says why a slot need not be passed: the upstream had no such chart when it was last asked,
// less than absentFor ago. A memory that cannot be read keeps nobody from asking.
func (r *Reconciler) knownAbsent(ctx context.Context, job ingest.Job, slot ingest.Slot) (why string) {
	if job.Kind != ingest.KindChart {
		return ""
	}
	until, err := r.Library.NoChartUntil(ctx, slot.Region(), job.Category)
	if err != nil || !until.After(r.Now()) || until.After(r.Now().Add(absentFor)) {
		return ""
	}
	return fmt.Sprintf("%s had no such chart when it was last asked: asked again from %s", slot.Key, until.UTC().Format(time.RFC3339))
}

// skipAbsent ends the slot of a chart that does not exist, and remembers that for its region and category.
func (p *pass) skipAbsent(ctx context.Context, cause error) (ingest.Slot, error) {
	saving, cancel := outlive(ctx, writeWithin)
	defer cancel()
	if err := p.Sink.SaveNoChart(saving, p.slot.Region(), p.Jobs[p.slot.Job].Category, p.Now().Add(absentFor)); err != nil {
		return p.release(ctx, fmt.Errorf("remember that %s has no such chart: %w", p.slot.Key, err))
	}
	return p.finish(ctx, p.slot, ingest.Skipped, cause.Error(), nil)
}
