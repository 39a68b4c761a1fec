package youtube

import "strings"

// Takes reports whether a route of the YouTube Data API has a parameter of this name, in exactly these letters. Of those
// that every API of Google's has, only alt, fields and prettyPrint: others replace the key, the user, the method or the
// header of a request ($httpMethod, $httpHeaders), or what an error looks like ($.xgafv).
func (c *Client) Takes(parameter string) bool {
	return parameter != "" && strings.Contains(parameters, " "+parameter+" ") && !strings.Contains(parameter, " ")
}

// parameters are those of the provider's description, which comes with its Go module: youtube-api.json.
const parameters = ` allThreadsRelatedToChannelId alt autoLevels banAuthor broadcastStatus broadcastType categoryId channelId` +
	` channelType chart eventType externalChannelId fields filterByMemberChannelId forChannelId forContentOwner forDeveloper` +
	` forHandle forMine forUsername hasAccessToLevel hl home id linkingToken liveChatId locale location locationRadius` +
	` managedByMe maxHeight maxResults maxWidth mine mode moderationStatus myRating myRecentSubscribers mySubscribers` +
	` notifySubscribers onBehalfOf onBehalfOfContentOwner onBehalfOfContentOwnerChannel order pageToken parent parentId part` +
	` playlistId prettyPrint profileImageSize publishedAfter publishedBefore q rating regionCode relevanceLanguage safeSearch` +
	` searchTerms stabilize status streamId sync textFormat tfmt tlang topicId type videoCaption videoCategoryId` +
	` videoDefinition videoDimension videoDuration videoEmbeddable videoId videoLicense videoPaidProductPlacement` +
	` videoSyndicated videoType `
