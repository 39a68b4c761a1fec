package fetch

import (
	"context"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

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
func (c *chart) next(_ context.Context, slot ingest.Slot) (Call, bool, error) {
	return c.upstream.Chart(slot.Region(), c.category, slot.Token), true, nil
}

func (c *chart) save(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	if page.Next == "" || slot.Pages >= c.pages {
		slot.State, slot.Token, slot.Reason = ingest.Done, "", ""
	}
	return c.sink.SavePage(ctx, slot, page)
}

func (*chart) end() string { return "" }
