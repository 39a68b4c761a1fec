package dailymotion

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// videoFields lists exactly the fields that videoItem reads.
const videoFields = "id,title,owner.screenname,owner.id,channel,language," +
	"thumbnail_720_url,thumbnail_360_url," +
	"created_time,duration,mode,tags,views_total,likes_total"

// list is the part of an answer that is read. The array has one item more than a page may have, which shows that there
// are more and bounds what a hostile list can make us allocate. List is nil without one.
type list[T any] struct {
	Page    *int              `json:"page"`
	HasMore bool              `json:"has_more"`
	List    *[pageSize + 1]*T `json:"list"`
}

// videoItem is a video in a list. A field of a nested object has a dot in its name. Any field may be null, which
// leaves it as if it were absent; a number is then "".
type videoItem struct {
	ID          string      `json:"id"`
	Title       string      `json:"title"`
	ScreenName  string      `json:"owner.screenname"`
	OwnerID     string      `json:"owner.id"`
	Channel     string      `json:"channel"` // Dailymotion's word for a category
	Language    string      `json:"language"`
	Thumbnail   string      `json:"thumbnail_720_url"`
	Smaller     string      `json:"thumbnail_360_url"`
	CreatedTime wire.Number `json:"created_time"`
	Duration    wire.Number `json:"duration"`
	Mode        string      `json:"mode"`
	Tags        texts       `json:"tags"`
	ViewsTotal  wire.Number `json:"views_total"`
	LikesTotal  wire.Number `json:"likes_total"`
}

type idItem struct {
	ID string `json:"id"`
}

var (
	errNotAList = errors.New("it is not a list of videos")
	errNoIDs    = errors.New("nothing that it lists has an id")
	errTooMany  = fmt.Errorf("it lists more than %d videos", pageSize)
)

// mapVideos reads a whole answer for the page of that number. An empty list is a page. An answer without a list, of
// another page, or with more than was asked for is refused as a whole. A field that is not as the API documents it is
// left out, and so is an item without an id. Duplicates are kept.
func mapVideos(body []byte, number int) (ingest.Page, error) {
	l, next, odd, err := readList[videoItem](body, number)
	if err != nil {
		return ingest.Page{}, err
	}
	page := ingest.Page{Videos: make([]ingest.Video, 0, pageSize), Next: next, Odd: odd}
	for _, item := range l {
		if isID(item.ID) {
			page.Videos = append(page.Videos, mapVideo(item, &page.Odd))
		}
	}
	if len(l) > 0 && len(page.Videos) == 0 {
		return ingest.Page{}, errNoIDs
	}
	page.Odd.LeftOut(len(l) - len(page.Videos))
	return page, nil
}

// mapFound reads an answer of ids only, by the same rules.
func mapFound(body []byte, number int) (ingest.Found, error) {
	l, next, odd, err := readList[idItem](body, number)
	if err != nil {
		return ingest.Found{}, err
	}
	found := ingest.Found{Next: next, Odd: odd}
	for _, item := range l {
		if isID(item.ID) {
			found.IDs = append(found.IDs, item.ID)
		}
	}
	if len(l) > 0 && len(found.IDs) == 0 {
		return ingest.Found{}, errNoIDs
	}
	found.Odd.LeftOut(len(l) - len(found.IDs))
	return found, nil
}

// readList returns the items of an answer without nulls, the token of the next page, and what was odd and left out.
// There is a token if Dailymotion says there is more, this page has items, and the next one lies within the 1,000
// results.
func readList[T any](body []byte, number int) (items []*T, next string, odd ingest.Odd, err error) {
	var l list[T]
	if err := wire.Decode(body, &l); err != nil {
		var raw list[json.RawMessage]
		if json.Unmarshal(body, &raw) != nil || raw.List == nil {
			return nil, "", nil, fmt.Errorf("%w: %w", errNotAList, err)
		}
		l = list[T]{Page: raw.Page, HasMore: raw.HasMore, List: new([pageSize + 1]*T)}
		odd = wire.Items(raw.List[:], l.List[:])
	}
	switch {
	case l.List == nil:
		return nil, "", nil, errNotAList
	case l.List[pageSize] != nil:
		return nil, "", nil, errTooMany
	case l.Page != nil && *l.Page != number:
		return nil, "", nil, fmt.Errorf("it is page %d, not page %d", *l.Page, number)
	}
	items = slices.DeleteFunc(l.List[:pageSize], func(item *T) bool { return item == nil })
	if l.HasMore && len(items) > 0 && number < lastPage {
		next = strconv.Itoa(number + 1)
	}
	return items, next, odd, nil
}

// maxTexts bounds the JSON of one list of texts, in bytes: a list of nothing but commas would make us allocate many
// times its size. The provider names no limit for tags; those of a page of 100 are far below.
const maxTexts = 64 << 10

func mapVideo(it *videoItem, odd *ingest.Odd) ingest.Video {
	v := ingest.Video{
		ID:        it.ID,
		Title:     wire.Title(it.Title),
		Channel:   it.ScreenName,
		ChannelID: it.OwnerID,
		Category:  it.Channel,
		Language:  it.Language,
		Thumbnail: wire.FirstHTTPS(it.Thumbnail, it.Smaller),
		Live:      it.Mode == "live",
		Tags:      it.Tags.list,

		PublishedAt: parseDate(it.CreatedTime, odd),
		Views:       wire.Count("views_total", it.ViewsTotal, odd),
		Likes:       wire.Count("likes_total", it.LikesTotal, odd),
	}
	if it.Tags.odd {
		odd.Count("tags")
	}
	if d := parseDuration(it.Duration, odd); !v.Live {
		v.Duration = d
	}
	return v
}

// isID reports whether s can be an id: anything else would be read differently in a list of ids. The
// provider shows ids of small letters and digits, "x26ezrb", and says no more about them.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// parseDate reads a number of seconds since 1970, up to the year 9999; null is no date.
func parseDate(n wire.Number, odd *ingest.Odd) time.Time {
	if n == "" {
		return time.Time{}
	}
	s, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || s < 0 || s >= 253402300800 {
		odd.Count("created_time")
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

// parseDuration reads seconds and drops a fraction; null is 0.
func parseDuration(n wire.Number, odd *ingest.Odd) time.Duration {
	if n == "" {
		return 0
	}
	s, err := strconv.ParseFloat(string(n), 64)
	if err == nil && s >= 0 && s <= math.MaxInt32 { // "NaN" is not
		return time.Duration(s) * time.Second
	}
	odd.Count("duration")
	return 0
}

// texts is an array of strings and numbers; a number is kept as it was written. Nulls and empty strings are left out.
type texts struct {
	list []string
	odd  bool // there were some, and they are left out
}

// UnmarshalJSON implements json.Unmarshaler. It never fails: encoding/json would not read the rest of the video.
func (t *texts) UnmarshalJSON(b []byte) error {
	if len(b) > maxTexts {
		t.odd = true
		return nil
	}
	if json.Unmarshal(b, &t.list) != nil {
		var numbered []text
		t.odd = json.Unmarshal(b, &numbered) != nil
		t.list = nil
		for _, s := range numbered {
			t.list = append(t.list, string(s))
		}
	}
	t.list = slices.DeleteFunc(t.list, func(s string) bool { return s == "" })
	if len(t.list) == 0 || t.odd {
		t.list = nil
	}
	return nil
}

// text is a string or a number.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (s *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	var n json.Number
	err := json.Unmarshal(b, &n)
	*s = text(n)
	return err
}
