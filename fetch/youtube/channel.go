package youtube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	youtubev3 "google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// The methods' names in costs.yaml.
const (
	channelsList      = "channels.list"
	playlistItemsList = "playlistItems.list"
)

// channelFields lists the fields that mapChannel reads. An answer without channels has no list: only its kind shows
// that it is an answer.
const channelFields = "kind,items(id,snippet/title,contentDetails/relatedPlaylists/uploads,statistics/videoCount)"

// uploadFields lists the fields of a playlist that mapFound reads. An item names its video twice.
const uploadFields = "nextPageToken,pageInfo/totalResults,items(contentDetails/videoId,snippet/resourceId/videoId)"

var (
	errNoChannel       = errors.New("it needs a channel: an id, UC..., or a handle, @name")
	errNoUploads       = errors.New("the channel has no list of uploads")
	errOtherChannel    = errors.New("it is about another channel")
	errSeveralChannels = errors.New("it gives several channels for one handle")
)

// Channel implements fetch.Archive.
func (c *Client) Channel(idOrHandle string) fetch.Call[ingest.Channel] {
	q := wire.Question{Method: channelsList}
	if strings.Trim(idOrHandle, "@ ") == "" {
		q.Wrong = errNoChannel
	}
	return newCall(c, q, func(ctx context.Context) requester[*youtubev3.ChannelListResponse] {
		call := c.service.Channels.List([]string{"snippet", "contentDetails", "statistics"}).
			Fields(channelFields).Context(ctx)
		if isHandle(idOrHandle) {
			return call.ForHandle(idOrHandle)
		}
		return call.Id(idOrHandle)
	}, func(body []byte) (ingest.Channel, error) { return mapChannel(body, idOrHandle) })
}

func isHandle(s string) bool { return strings.HasPrefix(s, "@") }

// Uploads implements fetch.Archive: one page of a playlist.
func (c *Client) Uploads(uploads, token string) fetch.Call[ingest.Found] {
	q := wire.Question{Method: playlistItemsList}
	if uploads == "" {
		q.Wrong = errNoUploads
	}
	return newCall(c, q, func(ctx context.Context) requester[*youtubev3.PlaylistItemListResponse] {
		call := c.service.PlaylistItems.List([]string{"snippet", "contentDetails"}).
			PlaylistId(uploads).MaxResults(pageSize).Fields(uploadFields).Context(ctx)
		if token != "" {
			call.PageToken(token)
		}
		return call
	}, func(body []byte) (ingest.Found, error) { return mapFound(body, token, (*upload).video) })
}

// upload is a playlist's item, as far as it names its video.
type upload struct {
	ContentDetails struct {
		VideoID string `json:"videoId"`
	} `json:"contentDetails"`
	Snippet struct {
		ResourceID struct {
			VideoID string `json:"videoId"`
		} `json:"resourceId"`
	} `json:"snippet"`
}

func (u *upload) video() (id, published string) {
	return cmp.Or(u.ContentDetails.VideoID, u.Snippet.ResourceID.VideoID), ""
}

// channelItem is the part of a channel that we keep.
type channelItem struct {
	ID      string `json:"id"`
	Snippet struct {
		Title string `json:"title"`
	} `json:"snippet"`
	ContentDetails struct {
		RelatedPlaylists struct {
			Uploads string `json:"uploads"`
		} `json:"relatedPlaylists"`
	} `json:"contentDetails"`
	Statistics struct {
		VideoCount wire.Number `json:"videoCount"`
	} `json:"statistics"`
}

// mapChannel finds the requested channel in a whole answer of channels.list; wire.ErrAbsent if the answer lists none.
func mapChannel(body []byte, idOrHandle string) (ingest.Channel, error) {
	_, items, malformed, err := readList[channelItem](body, pageSize, "youtube#channelListResponse")
	if err == nil && len(malformed) > 0 { // the answer is about one channel only
		err = fmt.Errorf("%w: %v", wire.ErrNotAList, malformed)
	}
	if err != nil {
		return ingest.Channel{}, err
	}
	var found *channelItem
	others := 0
	for _, item := range items {
		switch {
		case item.ID == "":
		case !isHandle(idOrHandle) && item.ID != idOrHandle:
			others++
		case found != nil && item.ID != found.ID:
			return ingest.Channel{}, errSeveralChannels
		default:
			found = item
		}
	}
	switch {
	case found == nil && others > 0:
		return ingest.Channel{}, errOtherChannel
	case found == nil:
		return ingest.Channel{}, fmt.Errorf("%w: channel %.60q", wire.ErrAbsent, idOrHandle)
	}
	ch := ingest.Channel{ID: found.ID, Title: found.Snippet.Title, Uploads: found.ContentDetails.RelatedPlaylists.Uploads}
	ch.Videos = wire.Count("statistics.videoCount", found.Statistics.VideoCount, &malformed) // nil too if it is malformed
	return ch, nil
}
