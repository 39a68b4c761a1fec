package youtube

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// videoFields lists exactly the fields that mapPage reads
// (developers.google.com/youtube/v3/getting-started#fields).
const videoFields = "nextPageToken,items(id," +
	"snippet(publishedAt,channelId,title,channelTitle,tags,categoryId,liveBroadcastContent," +
	"defaultLanguage,defaultAudioLanguage," +
	"thumbnails(uhd/url,qhd/url,fhd/url,maxres/url,standard/url,high/url,medium/url,default/url))," +
	"contentDetails/duration,statistics(viewCount,likeCount,commentCount))"

// videoItem is the part of a video that we store.
type videoItem struct {
	ID      string `json:"id"`
	Snippet struct {
		PublishedAt          string `json:"publishedAt"`
		ChannelID            string `json:"channelId"`
		Title                string `json:"title"`
		ChannelTitle         string `json:"channelTitle"`
		Tags                 tags   `json:"tags"`
		CategoryID           string `json:"categoryId"`
		LiveBroadcastContent string `json:"liveBroadcastContent"`
		DefaultLanguage      string `json:"defaultLanguage"`
		DefaultAudioLanguage string `json:"defaultAudioLanguage"`
		Thumbnails           struct {
			UHD, QHD, FHD, Maxres, Standard, High, Medium, Default struct {
				URL string `json:"url"`
			}
		} `json:"thumbnails"`
	} `json:"snippet"`
	ContentDetails struct {
		Duration string `json:"duration"`
	} `json:"contentDetails"`
	Statistics statistics `json:"statistics"`
}

// mapPage reads a whole answer of videos.list. An item without an id is left out; one without a snippet is kept, with
// empty fields. Duplicates are kept.
func mapPage(body []byte) (ingest.Page, error) {
	items, next, odd, err := readList[videoItem](body, pageSize, "")
	if err != nil {
		return ingest.Page{}, err
	}
	page := ingest.Page{Videos: make([]ingest.Video, 0, len(items)), Next: next, Odd: odd}
	for _, item := range items {
		if item.ID != "" {
			page.Videos = append(page.Videos, mapVideo(item, &page.Odd))
		}
	}
	if len(items) > 0 && len(page.Videos) == 0 {
		return ingest.Page{}, errNoIDs
	}
	page.Odd.LeftOut(len(items) - len(page.Videos))
	return page, nil
}

func mapVideo(it *videoItem, odd *ingest.Odd) ingest.Video {
	s := &it.Snippet
	v := ingest.Video{
		ID:        it.ID,
		Title:     wire.Title(s.Title),
		Channel:   s.ChannelTitle,
		ChannelID: s.ChannelID,
		Category:  s.CategoryID,
		Language:  cmp.Or(s.DefaultLanguage, s.DefaultAudioLanguage), // the former is that of title and description
		Thumbnail: thumbnail(it),
		Live:      s.LiveBroadcastContent == "live" || s.LiveBroadcastContent == "upcoming",
		Tags:      s.Tags.list,
	}
	if s.Tags.odd {
		odd.Count("snippet.tags")
	}
	if s.PublishedAt != "" {
		if at, err := time.Parse(time.RFC3339, s.PublishedAt); err == nil {
			v.PublishedAt = at.UTC()
		} else {
			odd.Count("snippet.publishedAt")
		}
	}
	mapDuration(&v, it.ContentDetails.Duration, odd)
	v.Views, v.Likes, v.Comments = it.Statistics.counts(odd)
	return v
}

// mapDuration sets Duration and Live. A live broadcast has no duration, as ingest.Video says, even if an upcoming
// premiere is given one. YouTube writes "P0D" as the duration of a stream that is still running.
func mapDuration(v *ingest.Video, text string, odd *ingest.Odd) {
	if text == "" {
		return
	}
	d, err := parseDuration(text)
	if err != nil {
		odd.Count("contentDetails.duration")
		return
	}
	if text == "P0D" {
		v.Live = true
	}
	if !v.Live {
		v.Duration = d
	}
}

// thumbnail returns the largest that is served over https. The sizes of 1080 lines and more came with the discovery
// document of 2026.
func thumbnail(it *videoItem) string {
	t := &it.Snippet.Thumbnails
	return wire.FirstHTTPS(t.UHD.URL, t.QHD.URL, t.FHD.URL, t.Maxres.URL, t.Standard.URL, t.High.URL, t.Medium.URL, t.Default.URL)
}

// maxTags bounds the JSON of one video's tags, in bytes. YouTube's own limit is 500 characters
// (developers.google.com/youtube/v3/docs/videos#snippet.tags[]); a list of nothing but commas would make us
// allocate many times its size.
const maxTags = 64 << 10

type tags struct {
	list []string
	odd  bool // there were some, and they are left out
}

// UnmarshalJSON implements json.Unmarshaler. It never fails: encoding/json would not read the rest of the video.
func (t *tags) UnmarshalJSON(b []byte) error {
	if len(b) > maxTags || json.Unmarshal(b, &t.list) != nil {
		*t = tags{odd: true}
	}
	return nil
}
