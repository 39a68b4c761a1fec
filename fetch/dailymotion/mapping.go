package dailymotion

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// videoFields lists exactly the fields that videoItem reads, except the description, which the config may ask for.
const videoFields = "id,title,owner.screenname,owner.id,channel,language," +
	"thumbnail_720_url,thumbnail_360_url," +
	"created_time,duration,mode,tags,views_total,likes_total"

// list is the part of an answer that is read.
type list[T any] struct {
	Page    *int         `json:"page"`
	HasMore bool         `json:"has_more"`
	List    wire.List[T] `json:"list"`
}

// videoItem is a video in a list. A field of a nested object has a dot in its name. A null field counts as absent; a
// number is then "".
type videoItem struct {
	ID          string      `json:"id"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	ScreenName  string      `json:"owner.screenname"`
	OwnerID     string      `json:"owner.id"`
	Channel     string      `json:"channel"` // Dailymotion's word for a category
	Language    string      `json:"language"`
	Thumbnail   string      `json:"thumbnail_720_url"`
	Smaller     string      `json:"thumbnail_360_url"`
	CreatedTime wire.Number `json:"created_time"`
	Duration    wire.Number `json:"duration"`
	Mode        string      `json:"mode"`
	Tags        wire.Texts  `json:"tags"`
	ViewsTotal  wire.Number `json:"views_total"`
	LikesTotal  wire.Number `json:"likes_total"`
}

type idItem struct {
	ID string `json:"id"`
}

// mapVideos reads a whole answer for the page with a number. An empty list is a page. Fields that differ from the
// API's documentation are left out, and so are items without an id.
func mapVideos(body []byte, number int) (page ingest.Page, err error) {
	page.Videos, page.Next, page.Malformed, err = readList(body, number,
		func(item *videoItem, malformed *ingest.Malformed) (v ingest.Video, ok bool) {
			if ok = isID(item.ID); ok {
				v = mapVideo(item, malformed)
			}
			return v, ok
		})
	return page, err
}

// mapFound reads an answer with ids only, by the same rules.
func mapFound(body []byte, number int) (found ingest.Found, err error) {
	found.IDs, found.Next, found.Malformed, err = readList(body, number,
		func(item *idItem, _ *ingest.Malformed) (string, bool) { return item.ID, isID(item.ID) })
	return found, err
}

// readList returns the items converted by read, and the token of the next page: there is one if Dailymotion says there
// is more, this page has items, and the next one is within the 1,000 results. It refuses an answer for another page.
func readList[T, V any](body []byte, number int,
	read func(*T, *ingest.Malformed) (V, bool)) (kept []V, next string, malformed ingest.Malformed, err error) {
	var l list[T]
	if err := json.Unmarshal(body, &l); err != nil {
		return nil, "", nil, fmt.Errorf("%w: %w", wire.ErrNotAList, err)
	}
	if l.Page != nil && *l.Page != number {
		return nil, "", nil, fmt.Errorf("it is page %d, not page %d", *l.Page, number)
	}
	items, malformed, err := l.List.Items(pageSize)
	if err == nil {
		kept, err = wire.Keep(items, &malformed, read)
	}
	if l.HasMore && len(items) > 0 && number < lastPage {
		next = strconv.Itoa(number + 1)
	}
	return kept, next, malformed, err
}

func mapVideo(it *videoItem, malformed *ingest.Malformed) ingest.Video {
	v := ingest.Video{
		ID:        it.ID,
		Title:     wire.Title(it.Title),
		Channel:   it.ScreenName,
		ChannelID: it.OwnerID,
		Category:  it.Channel,
		Language:  it.Language,
		Thumbnail: wire.FirstHTTPS(it.Thumbnail, it.Smaller),
		Live:      it.Mode == "live",
		Tags:      it.Tags.List,

		Description: it.Description,

		PublishedAt: parseDate(it.CreatedTime, malformed),
		Views:       wire.Count("views_total", it.ViewsTotal, malformed),
		Likes:       wire.Count("likes_total", it.LikesTotal, malformed),
	}
	if it.Tags.Malformed {
		malformed.Count("tags")
	}
	if d := parseDuration(it.Duration, malformed); !v.Live {
		v.Duration = d
	}
	return v
}

// isID reports whether s can be an id and so part of a list of ids. The provider shows ids of small letters and
// digits, "x26ezrb", and does not define them.
func isID(s string) bool {
	return s != "" && len(s) <= 64 &&
		strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// parseDate reads a number of seconds since 1970, up to the year 9999; null is no date.
func parseDate(n wire.Number, malformed *ingest.Malformed) time.Time {
	if n == "" {
		return time.Time{}
	}
	s, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || s < 0 || s >= 253402300800 {
		malformed.Count("created_time")
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

// parseDuration reads seconds and drops a fraction; null is 0.
func parseDuration(n wire.Number, malformed *ingest.Malformed) time.Duration {
	if n == "" {
		return 0
	}
	s, err := strconv.ParseFloat(string(n), 64)
	if err == nil && s >= 0 && s <= math.MaxInt32 { // "NaN" is not
		return time.Duration(s) * time.Second
	}
	malformed.Count("duration")
	return 0
}
