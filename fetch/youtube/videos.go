package youtube

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"google.golang.org/api/googleapi"
	youtubev3 "google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// ErrIDs is the error of a call for no ids, or for too many.
var ErrIDs = fmt.Errorf("a call asks for 1 to %d ids", maxIDsPerCall)

var errNoRegion = errors.New("it needs a region")

// The methods' names in costs.yaml.
const (
	videosList          = "videos.list"
	videosBatchGetStats = "videos.batchGetStats"
	videoCategoriesList = "videoCategories.list"
)

// countFields lists the fields that mapCounts reads.
const countFields = "kind,items(id,statistics(viewCount,likeCount,commentCount))"

// Chart implements fetch.Upstream: one page of chart=mostPopular.
func (c *Client) Chart(region ingest.Region, category, token string) fetch.Call[ingest.Page] {
	q := wire.Question{Method: videosList, Region: region, Wrong: checkRegion(region)}
	return newCall(c, q, func(ctx context.Context) requester[*youtubev3.VideoListResponse] {
		call := c.listVideos(ctx).Chart("mostPopular").RegionCode(string(region)).MaxResults(pageSize)
		if isOneCategory(category) {
			call.VideoCategoryId(category)
		}
		if token != "" {
			call.PageToken(token)
		}
		return call
	}, func(body []byte) (ingest.Page, error) {
		page, err := mapPage(body)
		return page, cmp.Or(err, checkNextToken(token, page.Next))
	})
}

// Videos implements fetch.Upstream. For no ids, or too many, Do fails with ErrIDs and sends nothing.
func (c *Client) Videos(ids []string) fetch.Call[ingest.Page] {
	return newCall(c, wire.Question{Method: videosList, Wrong: checkIDs(ids)},
		func(ctx context.Context) requester[*youtubev3.VideoListResponse] {
			return c.listVideos(ctx).Id(ids...)
		}, mapPage)
}

func (c *Client) listVideos(ctx context.Context) *youtubev3.VideosListCall {
	fields := googleapi.Field(videoFields)
	if c.descriptions {
		fields = describedFields
	}
	return c.service.Videos.List([]string{"snippet", "contentDetails", "statistics"}).Fields(fields).Context(ctx)
}

// Counts implements fetch.Counter by videos.batchGetStats, which exists since 2026-06-03
// (developers.google.com/youtube/v3/revision_history). It refuses ids as Videos does.
func (c *Client) Counts(ids []string) fetch.Call[[]ingest.Counts] {
	q := wire.Question{Method: videosBatchGetStats, Wrong: checkIDs(ids)}
	return newCall(c, q, func(ctx context.Context) requester[*youtubev3.BatchGetStatsResponse] {
		return c.service.Videos.BatchGetStats().Part("id", "statistics").Id(ids...).Fields(countFields).Context(ctx)
	}, mapCounts)
}

func checkIDs(ids []string) error {
	if len(ids) == 0 || len(ids) > maxIDsPerCall {
		return fmt.Errorf("%w, not %d", ErrIDs, len(ids))
	}
	return nil
}

func checkRegion(region ingest.Region) error {
	if region == "" {
		return errNoRegion
	}
	return nil
}

// isOneCategory reports whether a category is a single one rather than all of them.
func isOneCategory(category string) bool { return category != "" && category != "0" }

type countedItem struct {
	ID         string     `json:"id"`
	Statistics statistics `json:"statistics"`
}

// mapCounts reads a whole answer of videos.batchGetStats, without items that have no id. If all requested videos are
// gone, the answer may have no list.
func mapCounts(body []byte) ([]ingest.Counts, error) {
	_, items, malformed, err := readList[countedItem](body, maxIDsPerCall, "youtube#batchGetStatsResponse")
	if err != nil {
		return nil, err
	}
	all, err := wire.Keep(items, &malformed,
		func(item *countedItem, malformed *ingest.Malformed) (c ingest.Counts, ok bool) {
			c.ID = item.ID
			c.Views, c.Likes, c.Comments = item.Statistics.counts(malformed)
			return c, anID.MatchString(c.ID)
		})
	if len(all) > 0 {
		all[0].Malformed = malformed
	}
	return all, err
}

// CategoryNames are YouTube's names of the categories of charts and videos, unchanged for years; fetched names from
// Categories take precedence.
var CategoryNames = map[string]string{
	"1": "Film & Animation", "2": "Autos & Vehicles", "10": "Music", "15": "Pets & Animals",
	"17": "Sports", "18": "Short Movies",
	"19": "Travel & Events", "20": "Gaming", "21": "Videoblogging", "22": "People & Blogs",
	"23": "Comedy", "24": "Entertainment",
	"25": "News & Politics", "26": "Howto & Style", "27": "Education", "28": "Science & Technology",
	"29": "Nonprofits & Activism",
	"30": "Movies", "42": "Shorts", "43": "Shows", "44": "Trailers",
}

// Categories implements fetch.Namer. Names are in English, YouTube's default.
func (c *Client) Categories(region ingest.Region) fetch.Call[[]ingest.Category] {
	q := wire.Question{Method: videoCategoriesList, Region: region, Wrong: checkRegion(region)}
	return newCall(c, q, func(ctx context.Context) requester[*youtubev3.VideoCategoryListResponse] {
		return c.service.VideoCategories.List([]string{"snippet"}).RegionCode(string(region)).
			Fields("items(id,snippet/title)").Context(ctx)
	}, mapCategories)
}

// mapCategories reads a whole answer of videoCategories.list, without items that lack an id or a name.
func mapCategories(body []byte) ([]ingest.Category, error) {
	_, items, malformed, err := readList[struct {
		ID      string `json:"id"`
		Snippet struct {
			Title string `json:"title"`
		} `json:"snippet"`
	}](body, tableSize, "")
	if err != nil {
		return nil, err
	}
	var all []ingest.Category
	for _, item := range items {
		if item.ID != "" && item.Snippet.Title != "" {
			all = append(all, ingest.Category{ID: item.ID, Name: item.Snippet.Title})
		}
	}
	if len(malformed) > 0 && len(all) == 0 {
		return nil, wire.ErrNoIDs
	}
	return all, nil
}
