package youtube

import (
	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// MapPage and ParseDuration are exported to be measured and tested without a server.
var (
	MapPage       = mapPage
	ParseDuration = parseDuration
)

// Understand returns what a call makes of an answer that is there already; call is a name of everyCall.
func Understand(c *Client, call string, status int, body []byte) (any, error) {
	a := wire.Answer{Status: status, Body: body, Sent: true}
	switch call {
	case "counts":
		return result(readAnswer(question{method: videosBatchGetStats}, a, c.clean, mapCounts))
	case "search":
		return result(readAnswer(question{method: searchList}, a, c.clean, func(b []byte) (ingest.Found, error) {
			return mapFound(b, (*searchHit).video)
		}))
	case "channel", "handle":
		who := map[string]string{"channel": "UC1", "handle": "@name"}[call]
		return result(readAnswer(question{method: channelsList}, a, c.clean, func(b []byte) (ingest.Channel, error) { return mapChannel(b, who) }))
	case "uploads":
		return result(readAnswer(question{method: playlistItemsList}, a, c.clean, func(b []byte) (ingest.Found, error) {
			return mapFound(b, (*upload).video)
		}))
	case "categories":
		return result(readAnswer(question{method: videoCategoriesList}, a, c.clean, mapCategories))
	}
	return result(readAnswer(question{method: videosList, chart: call == "chart"}, a, c.clean, mapPage))
}

func result[T any](v T, err error) (any, error) { return v, err }
