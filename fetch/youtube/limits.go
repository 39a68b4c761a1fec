package youtube

import "github.com/trendvidstream/ingest/fetch"

// The most that YouTube's answers hold, by developers.google.com/youtube/v3/docs and by recorded answers.
const (
	// pageSize is the number of results on one page; a shorter page is not always the last one.
	pageSize = 50
	// maxIDsPerCall is the number of ids that one call asks for (videos/list, videos/batchGetStats).
	maxIDsPerCall = 50
	// chartSize is the number of videos in a chart [seen].
	chartSize = 200
	// maxFound is the number of results that a search lists, however many it found (search/list, channelId). Totals
	// are not to be trusted.
	maxFound = 500
	// maxUploads is the number of videos that a list of uploads shows [seen].
	maxUploads = 20_000
)

// Limits implements fetch.Upstream.
func (*Client) Limits() fetch.Limits {
	return fetch.Limits{
		IDsPerCall: maxIDsPerCall, PerPage: pageSize,
		ChartPages: chartSize / pageSize, SearchPages: maxFound / pageSize, Uploads: maxUploads,
	}
}
