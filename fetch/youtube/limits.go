package youtube

import "github.com/trendvidstream/ingest/fetch"

// What YouTube's answers hold at most, by developers.google.com/youtube/v3/docs and what was seen.
const (
	// pageSize is results on one page; a shorter page is not always the last one.
	pageSize = 50
	// maxIDsPerCall is ids that one call asks for (videos/list, videos/batchGetStats).
	maxIDsPerCall = 50
	// chartSize is videos of a chart [seen].
	chartSize = 200
	// maxFound is results that a search lists, whatever it found (search/list, channelId). Totals are not to
	// be trusted.
	maxFound = 500
	// maxUploads is videos that a list of uploads shows [seen].
	maxUploads = 20_000
)

// Limits implements fetch.Upstream.
func (*Client) Limits() fetch.Limits {
	return fetch.Limits{
		IDsPerCall: maxIDsPerCall, PerPage: pageSize,
		ChartPages: chartSize / pageSize, SearchPages: maxFound / pageSize, Uploads: maxUploads,
	}
}
