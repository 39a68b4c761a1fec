package fetch

import (
	"context"

	"github.com/trendvidstream/ingest"
)

// Call is one request to an upstream, as a value: price it by its Method, take its cost, then do it.
type Call struct {
	Method string        // as costs.yaml names it: "videos.list"
	Region ingest.Region // for whom; "" where a call has no region

	// Do sends the request once and never retries. A returned error is an *Error wherever the
	// upstream's answer, or the lack of one, could be understood.
	Do func(ctx context.Context) (ingest.Page, error)
}

// Upstream turns wishes into calls. Making a call sends nothing and costs nothing.
type Upstream interface {
	// Chart is one page of a region's chart. category "" or "0" is the whole chart; token "" is
	// the first page.
	Chart(region ingest.Region, category, token string) Call
	// Videos is the present state of up to 50 videos. Those that are gone are absent from the page.
	Videos(ids []string) Call
}
