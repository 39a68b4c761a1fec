package youtubesim

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
)

// channelsOf returns the channels of the whole catalogue, the most recently active first, and each one's number of
// videos.
func channelsOf(cat catalogue, at time.Time) (channels []*channel, videos map[string]int) {
	videos = map[string]int{}
	for _, v := range cat.videos(at) {
		if videos[v.channel.id] == 0 {
			channels = append(channels, v.channel)
		}
		videos[v.channel.id]++
	}
	return channels, videos
}

// listChannels is channels.list by id or by handle.
// (https://developers.google.com/youtube/v3/docs/channels/list)
func listChannels(cat catalogue, q *request) *answer {
	ids, bad := q.ids()
	handle := strings.TrimPrefix(q.get("forHandle"), "@")
	byName := q.get("forUsername") != "" // no channel has a user name since 2022
	switch {
	case bad != nil:
		return bad
	case len(ids) == 0 && handle == "" && !byName:
		return noFilter("id, forHandle, forUsername, mine, managedByMe")
	case len(ids) > 0 && (handle != "" || byName):
		return conflictingFilters("id, forHandle, forUsername")
	}
	channels, videos := channelsOf(cat, q.now)
	var found []*channel
	for _, c := range channels {
		if slices.Contains(ids, c.id) || (handle != "" && strings.EqualFold(c.handle, handle)) {
			found = append(found, c)
		}
	}
	var items []any
	for _, c := range found {
		items = append(items, q.channel(c, claims(q.lie, videos[c.id])))
	}
	if items == nil {
		a := q.listAnswer("channelListResponse", nil, object{"pageInfo": pageInfo(0, 5)})
		delete(a.body, "items") // an empty answer of this method has no items at all [seen]
		return a
	}
	return q.listAnswer("channelListResponse", items, object{"pageInfo": pageInfo(len(items), len(items))})
}

func (q *request) channel(c *channel, videos int) object {
	snippet := object{
		"title": c.title, "description": c.title, "customUrl": "@" + c.handle, "thumbnails": c.thumbnails(),
		"localized": object{"title": c.title, "description": c.title},
	}
	if !c.since.IsZero() {
		snippet["publishedAt"] = stamp(c.since)
	}
	parts := object{
		"snippet":        snippet,
		"contentDetails": object{"relatedPlaylists": object{"likes": "", "uploads": c.uploads()}},
		"statistics": object{
			"viewCount": strconv.FormatInt(c.subscribers*87, 10), "subscriberCount": strconv.FormatInt(c.subscribers, 10),
			"hiddenSubscriberCount": false, "videoCount": strconv.Itoa(videos),
		},
		"status": object{"privacyStatus": "public", "isLinked": true, "longUploadsStatus": "longUploadsUnspecified"},
	}
	return q.resource("channel", c.id, c.id, parts)
}

// maxPlaylist is the largest offset a playlist's page token may have.
const maxPlaylist = 20_000

// listPlaylistItems is playlistItems.list for the uploads of a channel, newest first.
// (https://developers.google.com/youtube/v3/docs/playlistItems/list)
func listPlaylistItems(cat catalogue, q *request) *answer {
	id := q.get("playlistId")
	if id == "" {
		return noFilter("id, playlistId")
	}
	var all []*video
	for _, v := range cat.videos(q.now) {
		if v.channel.uploads() == id && (q.get("videoId") == "" || q.get("videoId") == v.id) {
			all = append(all, v)
		}
	}
	if len(all) == 0 && q.get("videoId") == "" {
		return playlistNotFound()
	}
	p, bad := q.cut(len(all), maxPlaylist)
	if bad != nil {
		return bad
	}
	var items []any
	for i, v := range all[p.from:p.to] {
		snippet := object{
			"channelId": v.channel.id, "title": v.title, "description": v.description,
			"thumbnails": v.thumbnails(true), "channelTitle": v.channel.title, "playlistId": id, "position": p.from + i,
			"resourceId":             object{"kind": "youtube#video", "videoId": v.id},
			"videoOwnerChannelTitle": v.channel.title, "videoOwnerChannelId": v.channel.id,
		}
		details := object{"videoId": v.id}
		if !v.published.IsZero() {
			snippet["publishedAt"], details["videoPublishedAt"] = stamp(v.published), stamp(v.published)
		}
		itemID := base64.RawURLEncoding.EncodeToString([]byte(id + "." + v.id))
		items = append(items, q.resource("playlistItem", itemID, v.id, object{
			"snippet": snippet, "contentDetails": details, "status": object{"privacyStatus": "public"},
		}))
	}
	more := object{"pageInfo": pageInfo(len(all), q.maxResults())}
	p.tokens(more, len(all))
	return q.listAnswer("playlistItemListResponse", items, more)
}
