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

// Understand returns a call's result for a given answer; call is a name of everyCall.
func Understand(c *Client, call string, status int, body []byte) (any, error) {
	a := wire.Answer{Status: status, Body: body, Sent: true}
	switch call {
	case "counts":
		return result(read(c, videosBatchGetStats, call, a, mapCounts))
	case "search":
		return result(read(c, searchList, call, a, func(b []byte) (ingest.Found, error) {
			return mapFound(b, "", (*searchHit).video)
		}))
	case "channel", "handle":
		who := map[string]string{"channel": "UC1", "handle": "@name"}[call]
		return result(read(c, channelsList, call, a, func(b []byte) (ingest.Channel, error) { return mapChannel(b, who) }))
	case "uploads":
		return result(read(c, playlistItemsList, call, a, func(b []byte) (ingest.Found, error) {
			return mapFound(b, "", (*upload).video)
		}))
	case "categories":
		return result(read(c, videoCategoriesList, call, a, mapCategories))
	}
	return result(read(c, videosList, call, a, mapPage))
}

func read[T any](c *Client, method, call string, a wire.Answer, read func([]byte) (T, error)) (T, error) {
	q := wire.Question{Method: method}
	if call == "chart" {
		q.Region = "US"
	}
	return wire.Read(c.Client, q, a, read)
}

func result[T any](v T, err error) (any, error) { return v, err }
