package fetch

import (
	"context"

	"github.com/trendvidstream/ingest"
)

// Call is one request to an upstream, as a value: price it by its Method, take its cost, then do it.
type Call[T any] struct {
	Method string        // as costs.yaml names it: "videos.list"
	Region ingest.Region // for whom; "" if the call has no region

	// Do sends the request once and never retries. A returned error is an *Error wherever the
	// upstream's answer, or the lack of one, could be understood.
	Do func(ctx context.Context) (T, error)
}

// Upstream makes calls. Making one sends nothing and costs nothing.
type Upstream interface {
	// Chart is one page of a region's chart. category "" or "0" is the whole chart; token "" is
	// the first page.
	Chart(region ingest.Region, category, token string) Call[ingest.Page]
	// Videos is the current state of up to Limits.IDsPerCall videos. Those that are gone are missing from the page.
	Videos(ids []string) Call[ingest.Page]
	Limits() Limits
}

// Abilities that only some upstreams have.
type (
	// Searcher finds videos by words.
	Searcher interface {
		// Search is one page of what q finds; token "" is the first.
		Search(q ingest.Query, token string) Call[ingest.Found]
	}

	// Archive lists all videos of a channel.
	Archive interface {
		// Channel finds a channel by its id or its handle, "@name". One that does not exist is an
		// *Error with Rejected.
		Channel(idOrHandle string) Call[ingest.Channel]
		// Uploads is one page of the videos of a channel, newest first.
		Uploads(uploads, token string) Call[ingest.Found]
	}

	// Namer names categories.
	Namer interface {
		Categories(region ingest.Region) Call[[]ingest.Category]
	}

	// Counter fetches only the counts of up to Limits.IDsPerCall videos, from a pool that other calls do not draw
	// from. Videos that are gone are missing.
	Counter interface {
		Counts(ids []string) Call[[]ingest.Counts]
	}
)
