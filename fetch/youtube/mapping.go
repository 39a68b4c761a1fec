package youtube

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// videoFields lists exactly the fields that mapPage reads, and describedFields those with the description
// (developers.google.com/youtube/v3/getting-started#fields).
const (
	videoFields     = fieldsBefore + fieldsAfter
	describedFields = fieldsBefore + "description," + fieldsAfter
	fieldsBefore    = "nextPageToken,items(id,snippet(publishedAt,channelId,title,"
	fieldsAfter     = "channelTitle,tags,categoryId,liveBroadcastContent," +
		"defaultLanguage,defaultAudioLanguage," +
		"thumbnails(uhd/url,qhd/url,fhd/url,maxres/url,standard/url,high/url,medium/url,default/url))," +
		"contentDetails/duration,statistics(viewCount,likeCount,commentCount))"
)

// videoItem is the part of a video that we store.
type videoItem struct {
	Kind    string `json:"kind"` // not asked for
	ID      string `json:"id"`
	Snippet struct {
		PublishedAt          string     `json:"publishedAt"`
		ChannelID            string     `json:"channelId"`
		Title                string     `json:"title"`
		Description          string     `json:"description"`
		ChannelTitle         string     `json:"channelTitle"`
		Tags                 wire.Texts `json:"tags"`
		CategoryID           string     `json:"categoryId"`
		LiveBroadcastContent string     `json:"liveBroadcastContent"`
		DefaultLanguage      string     `json:"defaultLanguage"`
		DefaultAudioLanguage string     `json:"defaultAudioLanguage"`
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

// mapPage reads a whole answer of videos.list, without items that have no id or are of another kind. An item without a
// snippet has empty fields.
func mapPage(body []byte) (page ingest.Page, err error) {
	l, items, malformed, err := readList[videoItem](body, pageSize, "")
	page = ingest.Page{Next: l.Next, Malformed: malformed}
	if err == nil {
		page.Videos, err = wire.Keep(items, &page.Malformed,
			func(it *videoItem, malformed *ingest.Malformed) (ingest.Video, bool) {
				return mapVideo(it, malformed), anID.MatchString(it.ID) && (it.Kind == "" || it.Kind == "youtube#video")
			})
	}
	return page, err
}

func mapVideo(it *videoItem, malformed *ingest.Malformed) ingest.Video {
	s, t := &it.Snippet, &it.Snippet.Thumbnails
	v := ingest.Video{
		ID:        it.ID,
		Title:     wire.Title(s.Title),
		Channel:   s.ChannelTitle,
		ChannelID: s.ChannelID,
		Category:  s.CategoryID,
		Language:  cmp.Or(s.DefaultLanguage, s.DefaultAudioLanguage), // the former is for title and description
		Thumbnail: wire.FirstHTTPS(t.UHD.URL, t.QHD.URL, t.FHD.URL, t.Maxres.URL, t.Standard.URL,
			t.High.URL, t.Medium.URL, t.Default.URL),
		Live: s.LiveBroadcastContent == "live" || s.LiveBroadcastContent == "upcoming",
		Tags: s.Tags.List,

		Description: s.Description,
	}
	if s.Tags.Malformed {
		malformed.Count("snippet.tags")
	}
	if s.PublishedAt != "" {
		if at, err := time.Parse(time.RFC3339, s.PublishedAt); err == nil {
			v.PublishedAt = at.UTC()
		} else {
			malformed.Count("snippet.publishedAt")
		}
	}
	// A live broadcast has no duration (see ingest.Video), even if YouTube gives an upcoming premiere one. "P0D" means
	// a stream that is still running.
	if text := it.ContentDetails.Duration; text != "" {
		d, err := parseDuration(text)
		if err != nil {
			malformed.Count("contentDetails.duration")
		}
		if v.Live = v.Live || text == "P0D"; !v.Live {
			v.Duration = d
		}
	}
	v.Views, v.Likes, v.Comments = it.Statistics.counts(malformed)
	return v
}

// iso8601 matches a duration, with a number for each of durationUnits. Years and months have no fixed length.
var iso8601 = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,]\d+)?S)?)?$`)

var durationUnits = [...]time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}

// parseDuration reads an ISO 8601 duration of weeks to seconds and drops fractions of a second. YouTube writes
// "PT15M51S", "P1DT2H" and, for a video that has not ended yet, "P0D". An overflow is refused.
func parseDuration(s string) (total time.Duration, _ error) {
	numbers := iso8601.FindStringSubmatch(s)
	ok := numbers != nil && s != "P" && !strings.HasSuffix(s, "T")
	for i, unit := range durationUnits {
		if !ok || numbers[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(numbers[i+1], 10, 64)
		ok = err == nil && n <= int64((math.MaxInt64-total)/unit)
		total += time.Duration(n) * unit
	}
	if !ok {
		return 0, fmt.Errorf("duration %.40q is not ISO 8601, or too long", s)
	}
	return total, nil
}
