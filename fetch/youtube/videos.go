package youtube

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"google.golang.org/api/googleapi"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// ErrIDs is the error of a call for no ids, or for too many.
var ErrIDs = fmt.Errorf("a call asks for 1 to %d ids", maxIDsPerCall)

var errNoRegion = errors.New("it needs a region")

// The methods' names in costs.yaml.
const (
	videosList          = "videos.list"
	videosBatchGetStats = "videos.batchGetStats"
)

// countFields lists the fields that mapCounts reads.
const countFields = "kind,items(id,statistics(viewCount,likeCount,commentCount))"

// Chart implements fetch.Upstream: one page of chart=mostPopular.
func (c *Client) Chart(region ingest.Region, category, token string) fetch.Call[ingest.Page] {
	q := question{method: videosList, region: region, chart: true}
	if region == "" {
		q.wrong = errNoRegion
	}
	return newCall(c, q, func(ctx context.Context) error {
		call := c.service.Videos.List([]string{"snippet", "contentDetails", "statistics"}).
			Chart("mostPopular").RegionCode(string(region)).MaxResults(pageSize).
			Fields(googleapi.Field(videoFields)).Context(ctx)
		if isOneCategory(category) {
			call.VideoCategoryId(category)
		}
		if token != "" {
			call.PageToken(token)
		}
		return errorOnly(call.Do())
	}, func(body []byte) (ingest.Page, error) {
		page, err := mapPage(body)
		return page, cmp.Or(err, checkNextToken(token, page.Next))
	})
}

// Videos implements fetch.Upstream. With no ids, or too many, Do fails with ErrIDs and
// sends nothing.
func (c *Client) Videos(ids []string) fetch.Call[ingest.Page] {
	return newCall(c, question{method: videosList, wrong: checkIDs(ids)}, func(ctx context.Context) error {
		return errorOnly(c.service.Videos.List([]string{"snippet", "contentDetails", "statistics"}).
			Id(ids...).Fields(googleapi.Field(videoFields)).Context(ctx).Do())
	}, mapPage)
}

// Counts implements fetch.Counter by videos.batchGetStats, which exists since 2026-06-03
// (developers.google.com/youtube/v3/revision_history). It refuses ids as Videos does.
func (c *Client) Counts(ids []string) fetch.Call[[]ingest.Counts] {
	return newCall(c, question{method: videosBatchGetStats, wrong: checkIDs(ids)}, func(ctx context.Context) error {
		return errorOnly(c.service.Videos.BatchGetStats().Part("id", "statistics").
			Id(ids...).Fields(countFields).Context(ctx).Do())
	}, mapCounts)
}

func checkIDs(ids []string) error {
	if len(ids) == 0 || len(ids) > maxIDsPerCall {
		return fmt.Errorf("%w, not %d", ErrIDs, len(ids))
	}
	return nil
}

// isOneCategory reports whether a category is a single one rather than all of them.
func isOneCategory(category string) bool { return category != "" && category != "0" }

// mapCounts reads a whole answer of videos.batchGetStats. An item without an id is left out. If all videos asked for
// are gone, the answer may have no list.
func mapCounts(body []byte) ([]ingest.Counts, error) {
	items, _, odd, err := readList[struct {
		ID         string     `json:"id"`
		Statistics statistics `json:"statistics"`
	}](body, maxIDsPerCall, "youtube#batchGetStatsResponse")
	if err != nil {
		return nil, err
	}
	var all []ingest.Counts
	for _, item := range items {
		if item.ID != "" {
			c := ingest.Counts{ID: item.ID}
			c.Views, c.Likes, c.Comments = item.Statistics.counts(&odd)
			all = append(all, c)
		}
	}
	if len(items) > 0 && len(all) == 0 {
		return nil, errNoIDs
	}
	if odd.LeftOut(len(items) - len(all)); len(all) > 0 {
		all[0].Odd = odd
	}
	return all, nil
}
