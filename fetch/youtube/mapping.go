package youtube

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// videoFields asks for what videoList reads, and nothing else
// (developers.google.com/youtube/v3/getting-started#fields).
const videoFields = "nextPageToken,items(id," +
	"snippet(publishedAt,channelId,title,channelTitle,tags,categoryId,liveBroadcastContent," +
	"defaultLanguage,defaultAudioLanguage," +
	"thumbnails(maxres/url,standard/url,high/url,medium/url,default/url))," +
	"contentDetails/duration,statistics(viewCount,likeCount,commentCount))"

// videoList is the part of a videoListResponse that we store. The array holds one item more than a
// page may have: it shows that there are more, and what a hostile list can make us allocate ends
// with it. Items is nil without a list.
type videoList struct {
	Items         *[pageSize + 1]*videoItem `json:"items"`
	NextPageToken string                    `json:"nextPageToken"`
}

// videoItem is one of its videos. Counts are JSON strings of digits; a nil one was not in the answer.
type videoItem struct {
	ID      string `json:"id"`
	Snippet struct {
		PublishedAt          string   `json:"publishedAt"`
		ChannelID            string   `json:"channelId"`
		Title                string   `json:"title"`
		ChannelTitle         string   `json:"channelTitle"`
		Tags                 []string `json:"tags"`
		CategoryID           string   `json:"categoryId"`
		LiveBroadcastContent string   `json:"liveBroadcastContent"`
		DefaultLanguage      string   `json:"defaultLanguage"`
		DefaultAudioLanguage string   `json:"defaultAudioLanguage"`
		Thumbnails           struct {
			Maxres, Standard, High, Medium, Default struct {
				URL string `json:"url"`
			}
		} `json:"thumbnails"`
	} `json:"snippet"`
	ContentDetails struct {
		Duration string `json:"duration"`
	} `json:"contentDetails"`
	Statistics struct {
		ViewCount    *json.Number `json:"viewCount"`
		LikeCount    *json.Number `json:"likeCount"`
		CommentCount *json.Number `json:"commentCount"`
	} `json:"statistics"`
}

var (
	errNotAList = errors.New("it is not a list of videos")
	errTooMany  = fmt.Errorf("it lists more than %d videos", pageSize)
)

// mapPage reads a whole answer of videos.list. A list with no items is a page; anything without a
// list, with more than was asked for, or with a field that is not what the API documents is an error
// for the whole page, so that nothing half-understood is stored. An item without an id is left out; one without a snippet is
// kept, with empty fields. What is given twice stays twice.
func mapPage(body []byte) (ingest.Page, error) {
	var list videoList
	if err := json.Unmarshal(body, &list); err != nil {
		return ingest.Page{}, fmt.Errorf("%w: %w", errNotAList, err)
	}
	if list.Items == nil {
		return ingest.Page{}, errNotAList
	}
	if list.Items[pageSize] != nil {
		return ingest.Page{}, errTooMany
	}
	page := ingest.Page{Videos: make([]ingest.Video, 0, pageSize), Next: list.NextPageToken}
	for _, item := range list.Items {
		if item == nil || item.ID == "" {
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
		Title:     s.Title,
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
	if v.Views, err = count("viewCount", it.Statistics.ViewCount); err != nil {
		return v, err
	}
	if v.Likes, err = count("likeCount", it.Statistics.LikeCount); err != nil {
		return v, err
	}
	v.Comments, err = count("commentCount", it.Statistics.CommentCount)
	return v, err
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

// count is nil for a count that is withheld. YouTube's are uint64; one beyond int64 is refused.
func count(field string, n *json.Number) (*int64, error) {
	if n == nil {
		return nil, nil
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || i < 0 {
		return nil, fmt.Errorf("%s %.40q is not a count", field, n.String())
	}
	return &i, nil
}

// thumbnail is the largest that is asked for and served over https. Sizes that YouTube has since
// added (fhd, qhd, uhd) are larger than anything here shows.
func thumbnail(it *videoItem) string {
	t := &it.Snippet.Thumbnails
	for _, url := range [...]string{t.Maxres.URL, t.Standard.URL, t.High.URL, t.Medium.URL, t.Default.URL} {
		if strings.HasPrefix(url, "https://") {
			return url
		}
	}
	return ""
}
