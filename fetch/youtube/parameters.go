package youtube

import (
	"slices"
	"strings"
)

// Takes reports whether the route of a GET, such as /youtube/v3/videos, has a parameter of this name, in exactly these
// letters. Only alt, fields and prettyPrint of the parameters that every API of Google's has: others replace the key,
// the user, the method or the header of a request ($httpMethod, $httpHeaders), or the form of errors ($.xgafv). A
// route that the provider's description lacks has the parameters of all others.
func (c *Client) Takes(path, parameter string) bool {
	if slices.Contains([]string{"alt", "fields", "prettyPrint"}, parameter) {
		return true
	}
	if listed, known := parameters[strings.TrimPrefix(path, "/youtube/v3/")]; known {
		return slices.Contains(strings.Fields(listed), parameter)
	}
	for _, listed := range parameters {
		if slices.Contains(strings.Fields(listed), parameter) {
			return true
		}
	}
	return false
}

// the parameters of each GET stand in the provider's description, which comes with its Go module: youtube-api.json.
var parameters = map[string]string{
	"activities":      "channelId home maxResults mine pageToken part publishedAfter publishedBefore regionCode",
	"captions":        "id onBehalfOf onBehalfOfContentOwner part videoId",
	"captions/{id}":   "id onBehalfOf onBehalfOfContentOwner tfmt tlang",
	"channelSections": "channelId hl id mine onBehalfOfContentOwner part",
	"channels": "categoryId forHandle forUsername hl id managedByMe maxResults mine mySubscribers " +
		"onBehalfOfContentOwner pageToken part",
	"commentThreads": "allThreadsRelatedToChannelId channelId id maxResults moderationStatus order pageToken part " +
		"searchTerms textFormat videoId",
	"comments":      "id maxResults pageToken parentId part textFormat",
	"i18nLanguages": "hl part",
	"i18nRegions":   "hl part",
	"liveBroadcasts": "broadcastStatus broadcastType id maxResults mine onBehalfOfContentOwner " +
		"onBehalfOfContentOwnerChannel pageToken part",
	"liveChat/messages":        "hl liveChatId maxResults pageToken part profileImageSize",
	"liveChat/messages/stream": "hl liveChatId maxResults pageToken part profileImageSize",
	"liveChat/moderators":      "liveChatId maxResults pageToken part",
	"liveStreams":              "id maxResults mine onBehalfOfContentOwner onBehalfOfContentOwnerChannel pageToken part",
	"members":                  "filterByMemberChannelId hasAccessToLevel maxResults mode pageToken part",
	"membershipsLevels":        "part",
	"playlistImages":           "maxResults onBehalfOfContentOwner onBehalfOfContentOwnerChannel pageToken parent part",
	"playlistItems":            "id maxResults onBehalfOfContentOwner pageToken part playlistId videoId",
	"playlists": "channelId hl id maxResults mine onBehalfOfContentOwner onBehalfOfContentOwnerChannel pageToken " +
		"part",
	"search": "channelId channelType eventType forContentOwner forDeveloper forMine location locationRadius " +
		"maxResults onBehalfOfContentOwner order pageToken part publishedAfter publishedBefore q " +
		"regionCode relevanceLanguage safeSearch topicId type videoCaption videoCategoryId " +
		"videoDefinition videoDimension videoDuration videoEmbeddable videoLicense " +
		"videoPaidProductPlacement videoSyndicated videoType",
	"subscriptions": "channelId forChannelId id maxResults mine myRecentSubscribers mySubscribers " +
		"onBehalfOfContentOwner onBehalfOfContentOwnerChannel order pageToken part",
	"superChatEvents":         "hl maxResults pageToken part",
	"thirdPartyLinks":         "externalChannelId linkingToken part type",
	"videoAbuseReportReasons": "hl part",
	"videoCategories":         "hl id part regionCode",
	"videoTrainability":       "id",
	"videos": "chart hl id locale maxHeight maxResults maxWidth myRating onBehalfOfContentOwner pageToken part " +
		"regionCode videoCategoryId",
	"videos/getRating":     "id onBehalfOfContentOwner",
	"videos:batchGetStats": "id onBehalfOfContentOwner part",
}
