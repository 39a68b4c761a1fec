package youtube

import (
	"cmp"
	"context"
	"errors"
	"time"

	youtubev3 "google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// searchList is the method's name in costs.yaml.
const searchList = "search.list"

// searchFields lists the fields of a search that mapFound reads.
const searchFields = "nextPageToken,pageInfo/totalResults,items(id/videoId,snippet/publishedAt)"

var errNoTime = errors.New("the time range is empty: After is not before Before")

// Search implements fetch.Searcher: one page of search.list, videos only. YouTube gives at most 500
// results for a query. Results that are not videos are left out.
func (c *Client) Search(q ingest.Query, token string) fetch.Call[ingest.Found] {
	question := wire.Question{Method: searchList, Region: q.Region}
	if !q.After.IsZero() && !q.Before.IsZero() && !q.After.Before(q.Before) {
		question.Wrong = errNoTime
	}
	return newCall(c, question, func(ctx context.Context) requester[*youtubev3.SearchListResponse] {
		return c.searchCall(q, token).Context(ctx)
	}, func(body []byte) (ingest.Found, error) { return mapFound(body, token, (*searchHit).video) })
}

func (c *Client) searchCall(q ingest.Query, token string) *youtubev3.SearchListCall {
	call := c.service.Search.List([]string{"snippet"}).Type("video").MaxResults(pageSize).
		Fields(searchFields).Order("relevance")
	if q.NewestFirst {
		call.Order("date")
	}
	for _, p := range []struct {
		value string
		set   func(string) *youtubev3.SearchListCall
	}{
		{q.Text, call.Q}, {string(q.Region), call.RegionCode}, {q.Channel, call.ChannelId}, {token, call.PageToken},
		{publishedAfter(q.After), call.PublishedAfter}, {publishedBefore(q.Before), call.PublishedBefore},
	} {
		if p.value != "" {
			p.set(p.value)
		}
	}
	if isOneCategory(q.Category) {
		call.VideoCategoryId(q.Category)
	}
	return call
}

// publishedAfter and publishedBefore are in whole seconds, like YouTube's own times; a fraction of a second makes the
// range wider, never narrower. Sources disagree whether YouTube includes the ends (the discovery document: "before
// this date"; developers.google.com/youtube/v3/docs/search/list: "before or at"), so a video of exactly Before's
// second may be included.
func publishedAfter(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func publishedBefore(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return publishedAfter(t.Add(time.Second - time.Nanosecond))
}

// searchHit is the part of a search result that names its video; a channel or a playlist has none.
type searchHit struct {
	ID struct {
		VideoID string `json:"videoId"`
	} `json:"id"`
	Snippet struct {
		PublishedAt string `json:"publishedAt"`
	} `json:"snippet"`
}

func (h *searchHit) video() (id, published string) { return h.ID.VideoID, h.Snippet.PublishedAt }

// mapFound reads a whole answer that lists videos by ids, for the page at token. Items without one are left out;
// duplicates are kept.
func mapFound[T any](body []byte, token string, video func(*T) (id, published string)) (ingest.Found, error) {
	l, items, malformed, err := readList[T](body, pageSize, "")
	if err = cmp.Or(err, checkNextToken(token, l.Next)); err != nil {
		return ingest.Found{}, err
	}
	found, known := ingest.Found{Next: l.Next, Malformed: malformed}, true
	if total := wire.Count("", l.PageInfo.TotalResults, new(ingest.Malformed)); total != nil {
		found.Total = int(min(*total, mostTotal))
	}
	for _, item := range items {
		id, published := video(item)
		if !anID.MatchString(id) {
			if id != "" {
				found.Malformed.Count("id")
			}
			continue
		}
		found.IDs = append(found.IDs, id)
		at, err := time.Parse(time.RFC3339, published)
		if known = known && err == nil; at.After(found.Newest) {
			found.Newest = at
		}
	}
	if !known {
		found.Newest = time.Time{}
	}
	if len(found.Malformed) > 0 && len(found.IDs) == 0 {
		return ingest.Found{}, wire.ErrNoIDs
	}
	return found, nil
}
