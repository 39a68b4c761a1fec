package youtubesim

import (
	"fmt"
)

const (
	listFields  = "kind,etag,eventId,visitorId,"
	pagedFields = listFields + "nextPageToken,prevPageToken,pageInfo(totalResults,resultsPerPage),tokenPagination,"
	thumbFields = "thumbnails(default(url,width,height),medium(url,width,height),high(url,width,height)," +
		"standard(url,width,height),maxres(url,width,height)," +
		"fhd(url,width,height),qhd(url,width,height),uhd(url,width,height))"
)

// methods returns the methods that a chart watcher needs, with the parameters of the discovery document of 2026-11.
// videos.list takes maxResults from 1, every other method from 0.
func methods() []method {
	hl, owner, size := param{}, param{}, param{kind: number, min: 0, max: 50}
	return []method{videosMethod(), searchMethod(), {
		name: "videos.batchGetStats", path: "videos:batchGetStats", answer: batchGetStats,
		shape: shape("kind,etag,items(kind,etag,id,snippet(publishTime),contentDetails(duration)," +
			"statistics(viewCount,likeCount,commentCount))"),
		params: map[string]param{"part": {kind: list}, "id": {kind: list}, "onBehalfOfContentOwner": owner},
		parts:  []string{"id", "contentDetails", "snippet", "statistics"},
	}, {
		name: "channels.list", path: "channels", answer: listChannels, shape: channelShape(),
		params: map[string]param{
			"part": {kind: list}, "id": {kind: list}, "forHandle": {}, "forUsername": {}, "hl": hl, "maxResults": size,
			"pageToken": {}, "categoryId": {kind: absent}, "managedByMe": {kind: absent}, "mine": {kind: absent},
			"mySubscribers": {kind: absent}, "onBehalfOfContentOwner": owner,
		},
		parts: []string{
			"auditDetails", "brandingSettings", "contentDetails", "contentOwnerDetails", "id", "localizations", "snippet",
			"statistics", "status", "topicDetails",
		},
	}, {
		name: "playlistItems.list", path: "playlistItems", answer: listPlaylistItems,
		shape: shape(pagedFields +
			"items(kind,etag,id,snippet(publishedAt,channelId,title,description,channelTitle,playlistId," +
			"position,resourceId(kind,videoId),videoOwnerChannelTitle,videoOwnerChannelId," + thumbFields + ")," +
			"contentDetails(videoId,videoPublishedAt,note,startAt,endAt),status(privacyStatus))"),
		params: map[string]param{
			"part": {kind: list}, "playlistId": {}, "videoId": {}, "id": {kind: absent}, "maxResults": size, "pageToken": {},
			"onBehalfOfContentOwner": owner,
		},
		parts: []string{"contentDetails", "id", "snippet", "status"},
	}, {
		name: "videoCategories.list", path: "videoCategories", answer: listCategories,
		shape:  shape(pagedFields + "items(kind,etag,id,snippet(title,assignable,channelId))"),
		params: map[string]param{"part": {kind: list}, "id": {kind: list}, "regionCode": {}, "hl": hl},
		parts:  []string{"id", "snippet"},
	}, {
		name: "i18nRegions.list", path: "i18nRegions", answer: listRegions,
		shape:  shape(listFields + "items(kind,etag,id,snippet(gl,name))"),
		params: map[string]param{"part": {kind: list}, "hl": hl},
		parts:  []string{"id", "snippet"},
	}}
}

func videosMethod() method {
	return method{
		name: "videos.list", path: "videos", answer: listVideos, shape: videoShape(),
		params: map[string]param{
			"part": {kind: list}, "id": {kind: list}, "chart": {kind: enum, values: []string{"mostPopular"}},
			"hl": {}, "locale": {}, "maxHeight": {kind: number, min: 72, max: 8192},
			"maxWidth":   {kind: number, min: 72, max: 8192},
			"maxResults": {kind: number, min: 1, max: 50}, "myRating": {kind: absent},
			"onBehalfOfContentOwner": {}, "pageToken": {},
			"regionCode": {}, "videoCategoryId": {},
		},
		parts: []string{
			"contentDetails", "fileDetails", "id", "liveStreamingDetails", "localizations", "paidProductPlacementDetails",
			"player", "processingDetails", "recordingDetails", "snippet", "statistics", "status", "suggestions", "topicDetails",
		},
	}
}

func searchMethod() method {
	m := method{
		name: "search.list", path: "search", answer: search,
		shape: shape(pagedFields +
			"regionCode,items(kind,etag,id(kind,videoId,channelId,playlistId),snippet(publishedAt,channelId," +
			"title,description,channelTitle,liveBroadcastContent," + thumbFields + "))"),
		params: map[string]param{
			"part": {kind: list}, "type": {kind: list}, "q": {}, "channelId": {}, "regionCode": {}, "videoCategoryId": {},
			"maxResults": {kind: number, min: 0, max: 50}, "pageToken": {}, "publishedAfter": {kind: instant},
			"publishedBefore": {kind: instant},
			"order": {kind: enum,
				values: []string{"date", "rating", "viewCount", "relevance", "title", "videoCount"}},
			"safeSearch":        {kind: enum, values: []string{"none", "moderate", "strict"}},
			"relevanceLanguage": {}, "onBehalfOfContentOwner": {},
		},
		parts: []string{"id", "snippet"},
	}
	for _, p := range []string{
		"channelType", "eventType", "forContentOwner", "forDeveloper", "forMine", "location",
		"locationRadius", "topicId", "videoCaption",
		"videoDefinition", "videoDimension", "videoDuration", "videoEmbeddable", "videoLicense", "videoPaidProductPlacement",
		"videoSyndicated", "videoType",
	} {
		m.params[p] = param{kind: absent}
	}
	return m
}

func videoShape() tree {
	return shape(pagedFields +
		"items(kind,etag,id,snippet(publishedAt,channelId,title,description,channelTitle,tags,categoryId," +
		"liveBroadcastContent,defaultLanguage,defaultAudioLanguage,localized(title,description)," + thumbFields + ")," +
		"contentDetails(duration,dimension,definition,caption,licensedContent,projection,contentRating,hasCustomThumbnail)," +
		"statistics(viewCount,likeCount,dislikeCount,favoriteCount,commentCount)," +
		"status(uploadStatus,privacyStatus,license,embeddable,publicStatsViewable,madeForKids,publishAt," +
		"containsSyntheticMedia)," +
		"liveStreamingDetails(actualStartTime,actualEndTime,scheduledStartTime,scheduledEndTime," +
		"concurrentViewers,activeLiveChatId)," +
		"player(embedHtml,embedHeight,embedWidth),topicDetails,localizations,recordingDetails,paidProductPlacementDetails)")
}

func channelShape() tree {
	return shape(pagedFields +
		"items(kind,etag,id,snippet(title,description,customUrl,publishedAt,country,defaultLanguage," +
		"localized(title,description)," + thumbFields + "),contentDetails(relatedPlaylists(likes,uploads,favorites))," +
		"statistics(viewCount,subscriberCount,hiddenSubscriberCount,videoCount,commentCount)," +
		"status(privacyStatus,isLinked,longUploadsStatus,madeForKids,isChannelMonetizationEnabled)," +
		"brandingSettings,topicDetails,localizations)")
}

// shape reads one of the masks above.
func shape(fields string) tree {
	t, err := parseMask(fields, nil)
	if err != nil {
		panic(fmt.Sprintf("youtubesim: shape: %v", err)) // a constant of this file
	}
	return *t
}
