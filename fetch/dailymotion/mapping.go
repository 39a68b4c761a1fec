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

// videoFields asks for what videoItem reads, and nothing else.
const videoFields = "id,title,owner.screenname,owner.id,channel,language," +
	"thumbnail_720_url,thumbnail_360_url," +
	"created_time,duration,mode,tags,views_total,likes_total"

// list is the part of an answer that is read. The array holds one item more than a page may have: it
// shows that there are more, and what a hostile list can make us allocate ends with it. List is nil
// without one.
type list[T any] struct {
	Page    *int              `json:"page"`
	HasMore bool              `json:"has_more"`
	List    *[pageSize + 1]*T `json:"list"`
}

// videoItem is a video of it. A field of an object within has a dot in its name. Every field may be
// null, which leaves it as if it were absent; a number is then "".
type videoItem struct {
	ID          string      `json:"id"`
	Title       string      `json:"title"`
	ScreenName  string      `json:"owner.screenname"`
	OwnerID     string      `json:"owner.id"`
	Channel     string      `json:"channel"` // Dailymotion's word for a category
	Language    string      `json:"language"`
	Thumbnail   string      `json:"thumbnail_720_url"`
	Smaller     string      `json:"thumbnail_360_url"`
	CreatedTime json.Number `json:"created_time"`
	Duration    json.Number `json:"duration"`
	Mode        string      `json:"mode"`
	Tags        texts       `json:"tags"`
	ViewsTotal  json.Number `json:"views_total"`
	LikesTotal  json.Number `json:"likes_total"`
}

type idItem struct {
	ID string `json:"id"`
}

var (
	errNotAList = errors.New("it is not a list of videos")
	errTexts    = fmt.Errorf("a list of texts is longer than %d KiB", maxTexts>>10)
	errTooMany  = fmt.Errorf("it lists more than %d videos", pageSize)
)

// mapVideos reads a whole answer to a question for a page, by its number. An empty list is a page;
// anything without a list, of another page, with more than was asked for, or with a field that is not
// what the API documents is an error for all of it, so that nothing half-understood is stored. An item
// without an id is left out. What is given twice stays twice.
func mapVideos(body []byte, number int) (ingest.Page, error) {
	l, next, err := readList[videoItem](body, number)
	if err != nil {
		return ingest.Page{}, err
	}
	page := ingest.Page{Videos: make([]ingest.Video, 0, pageSize), Next: next}
	for _, item := range l {
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

// mapFound reads an answer that holds ids only, by the same rules.
func mapFound(body []byte, number int) (ingest.Found, error) {
	l, next, err := readList[idItem](body, number)
	if err != nil {
		return ingest.Found{}, err
	}
	found := ingest.Found{Next: next}
	for _, item := range l {
		if item == nil || item.ID == "" {
			continue
		}
		if !isID(item.ID) {
			return ingest.Found{}, fmt.Errorf("%.40q is not an id", item.ID)
		}
		found.IDs = append(found.IDs, item.ID)
	}
	return found, nil
}

// readList reads the list of an answer, and the token of the page behind it: there is one while
// Dailymotion says so, this page brought anything, and the next lies within the 1,000 results.
func readList[T any](body []byte, number int) (items []*T, next string, err error) {
	var l list[T]
	if err := wire.Decode(body, &l); err != nil {
		return nil, "", fmt.Errorf("%w: %w", errNotAList, err)
	}
	switch {
	case l.List == nil:
		return nil, "", errNotAList
	case l.List[pageSize] != nil:
		return nil, "", errTooMany
	case l.Page != nil && *l.Page != number:
		return nil, "", fmt.Errorf("it is page %d, not page %d", *l.Page, number)
	}
	if l.HasMore && l.List[0] != nil && number < lastPage {
		next = strconv.Itoa(number + 1)
	}
	return l.List[:pageSize], next, nil
}

// maxTexts bounds the JSON of one list of texts, in bytes: a list of nothing but commas would make us
// allocate many times its size. The provider names no limit for tags; a page of 100 is far below.
const maxTexts = 64 << 10

func mapVideo(it *videoItem) (ingest.Video, error) {
	v := ingest.Video{
		ID:        it.ID,
		Title:     it.Title,
		Channel:   it.ScreenName,
		ChannelID: it.OwnerID,
		Category:  it.Channel,
		Language:  it.Language,
		Thumbnail: wire.FirstHTTPS(it.Thumbnail, it.Smaller),
		Live:      it.Mode == "live",
		Tags:      it.Tags,
	}
	if !isID(v.ID) {
		return v, errors.New("that is not an id")
	}
	var err error
	if v.PublishedAt, err = date(it.CreatedTime); err != nil {
		return v, err
	}
	d, err := duration(it.Duration)
	if err != nil {
		return v, err
	}
	if !v.Live {
		v.Duration = d
	}
	if v.Views, err = wire.Count("views_total", it.ViewsTotal); err != nil {
		return v, err
	}
	v.Likes, err = wire.Count("likes_total", it.LikesTotal)
	return v, err
}

// isID reports whether s can be an id: anything else would be read differently in a list of ids. The
// provider shows ids of small letters and digits, "x26ezrb", and says no more about them.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// date reads a number of seconds since 1970, up to the year 9999; null is no date.
func date(n json.Number) (time.Time, error) {
	if n == "" {
		return time.Time{}, nil
	}
	s, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || s < 0 || s >= 253402300800 {
		return time.Time{}, fmt.Errorf("created_time %.40q is not a date", n.String())
	}
	return time.Unix(s, 0).UTC(), nil
}

// duration reads seconds, of which a fraction is dropped; null is none.
func duration(n json.Number) (time.Duration, error) {
	if n == "" {
		return 0, nil
	}
	s, err := n.Float64()
	if err != nil || s < 0 || s > math.MaxInt32 {
		return 0, fmt.Errorf("duration %.40q is not a number of seconds", n.String())
	}
	return time.Duration(s) * time.Second, nil
}

// texts is an array that may hold numbers among its strings: they are kept as they were written. A
// null or an empty string in it is nothing.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	if len(b) > maxTexts {
		return errTexts
	}
	if err := json.Unmarshal(b, (*[]string)(t)); err != nil {
		var numbered []text
		if err := json.Unmarshal(b, &numbered); err != nil {
			return err
		}
		*t = (*t)[:0]
		for _, s := range numbered {
			*t = append(*t, string(s))
		}
	}
	*t = slices.DeleteFunc(*t, func(s string) bool { return s == "" })
	if len(*t) == 0 {
		*t = nil
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
