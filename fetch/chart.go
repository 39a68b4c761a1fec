package fetch

import (
	"context"
	"log/slog"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	// absentFor is how long to wait before asking again for a chart that the upstream does not have.
	absentFor = 24 * time.Hour
	// confirmAfter is how long to wait before asking again for a chart that was there before: an answer may be wrong for
	// minutes. An hourly slot is not too early for it.
	confirmAfter = 55 * time.Minute
	// resumeWithin is the greatest age of a chart's page token; an older one belongs to another chart.
	resumeWithin = 10 * time.Minute
)

// Spare returns the number of calls, beyond its pages, that a paced chart needs quota for before it begins. A retry
// costs as much as a page, and one at the end of a budget would leave a chart that is paid for but incomplete.
func Spare(pages int) int {
	if pages == 1 {
		return 0 // there is nothing to lose
	}
	return pages
}

// chart is the work of a chart slot: a region's pages, in order.
type chart struct {
	*Reconciler
	category string
	pages    int  // at most
	whole    bool // begun only if it can be finished
}

// next asks for the page at the slot's token. A chart ends in save, as it always has a first page.
func (c *chart) next(_ context.Context, slot ingest.Slot) (step, bool, error) {
	s := stepOf(c.Upstream.Chart(slot.Region(), c.category, slot.Token), c.save)
	if c.whole {
		s.wholePages = c.pages
	}
	s.restart = func(_ context.Context, slot ingest.Slot, _ int64) (ingest.Slot, error) {
		slot.Token, slot.Pages = "", 0 // the first page clears the saved pages
		return slot, nil
	}
	return s, true, nil
}

func (c *chart) save(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot.Token = page.Next
	if page.Next == "" || slot.Pages >= c.pages {
		slot.State, slot.Token = ingest.Done, ""
	}
	slot, err := c.Sink.SavePage(ctx, slot, page)
	if err == nil && slot.State == ingest.Done {
		c.forgetAbsence(ctx, slot)
	}
	return slot, err
}

// forgetAbsence forgets that the upstream did not have the chart, now that it has.
func (c *chart) forgetAbsence(ctx context.Context, slot ingest.Slot) {
	until, err := c.Library.NoChartUntil(ctx, slot.Region(), c.category)
	if err == nil && !until.IsZero() {
		err = c.Sink.SaveNoChart(ctx, slot.Region(), c.category, time.Time{})
	}
	if err != nil {
		c.Log.WarnContext(ctx, "it is still noted that the upstream had no such chart", slotAttr(slot),
			slog.Any("error", err))
	}
}

func (*chart) doneReason() string { return "" }
