package youtube

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// videoFields asks for what mapPage reads, and nothing else
// (developers.google.com/youtube/v3/getting-started#fields).
const videoFields = "nextPageToken,items(id," +
	"snippet(publishedAt,channelId,title,channelTitle,tags,categoryId,liveBroadcastContent," +
	"defaultLanguage,defaultAudioLanguage," +
	"thumbnails(uhd/url,qhd/url,fhd/url,maxres/url,standard/url,high/url,medium/url,default/url))," +
	"contentDetails/duration,statistics(viewCount,likeCount,commentCount))"

var errTags = fmt.Errorf("the tags of a video are longer than %d KiB", maxTags>>10)

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

// mapPage reads a whole answer of videos.list. An item without an id is left out; one without a snippet
// is kept, with empty fields. What is given twice stays twice.
func mapPage(body []byte) (ingest.Page, error) {
	items, next, err := readList[videoItem](body, pageSize, "")
	if err != nil {
		return ingest.Page{}, err
	}
	page := ingest.Page{Videos: make([]ingest.Video, 0, len(items)), Next: next}
	for _, item := range items {
		if item.ID == "" {
			continue
		}
		v, err := mapVideo(item)
		if err != nil {
			return ingest.Page{}, fmt.Errorf("video %.40q: %w", item.ID, err)
		}
		page.Videos = append(page.Videos, v)
	}
	return page, nil
}

func mapVideo(it *videoItem) (ingest.Video, error) {
	s := &it.Snippet
	v := ingest.Video{
		ID:        it.ID,
		Title:     cut(s.Title, maxTitle),
		Channel:   s.ChannelTitle,
		ChannelID: s.ChannelID,
		Category:  s.CategoryID,
		Language:  s.DefaultLanguage, // of title and description
		Thumbnail: thumbnail(it),
		Live:      s.LiveBroadcastContent == "live" || s.LiveBroadcastContent == "upcoming",
		Tags:      s.Tags,
	}
	if v.Language == "" {
		v.Language = s.DefaultAudioLanguage
	}
	var err error
	if s.PublishedAt != "" {
		if v.PublishedAt, err = time.Parse(time.RFC3339, s.PublishedAt); err != nil {
			return v, fmt.Errorf("publishedAt %.40q is not RFC 3339", s.PublishedAt)
		}
		v.PublishedAt = v.PublishedAt.UTC()
	}
	if err := mapDuration(&v, it.ContentDetails.Duration); err != nil {
		return v, err
	}
	v.Views, v.Likes, v.Comments, err = it.Statistics.counts()
	return v, err
}

// maxTitle bounds a title, in characters. YouTube's own limit is 100
// (developers.google.com/youtube/v3/docs/videos#snippet.title).
const maxTitle = 1000

// cut is the first n characters of a text.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// mapDuration sets what ingest.Video says of a live broadcast: no duration, even where an upcoming
// premiere is given one. "P0D" is how YouTube writes the duration of what is still running.
func mapDuration(v *ingest.Video, text string) error {
	if text == "" {
		return nil
	}
	d, err := parseDuration(text)
	if err != nil {
		return err
	}
	if text == "P0D" {
		v.Live = true
	}
	if !v.Live {
		v.Duration = d
	}
	return nil
}

// thumbnail is the largest that is served over https. The sizes of 1080 lines and more came with the
// discovery document of 2026.
func thumbnail(it *videoItem) string {
	t := &it.Snippet.Thumbnails
	return wire.FirstHTTPS(t.UHD.URL, t.QHD.URL, t.FHD.URL, t.Maxres.URL, t.Standard.URL, t.High.URL, t.Medium.URL, t.Default.URL)
}

// maxTags bounds the JSON of one video's tags, in bytes. YouTube's own limit is 500 characters
// (developers.google.com/youtube/v3/docs/videos#snippet.tags[]); a list of nothing but commas would make us
// allocate many times its size.
const maxTags = 64 << 10

type tags []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *tags) UnmarshalJSON(b []byte) error {
	if len(b) > maxTags {
		return errTags
	}
	return json.Unmarshal(b, (*[]string)(t))
}
