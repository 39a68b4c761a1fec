package youtube

import (
	"context"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// videoCategoriesList is the method's name in costs.yaml.
const videoCategoriesList = "videoCategories.list"

// Categories implements fetch.Namer. Names are in English, YouTube's default.
func (c *Client) Categories(region ingest.Region) fetch.Call[[]ingest.Category] {
	q := question{method: videoCategoriesList, region: region}
	if region == "" {
		q.wrong = errNoRegion
	}
	return newCall(c, q, func(ctx context.Context) error {
		return errorOnly(c.service.VideoCategories.List([]string{"snippet"}).
			RegionCode(string(region)).Fields("items(id,snippet/title)").Context(ctx).Do())
	}, mapCategories)
}

// mapCategories reads a whole answer of videoCategories.list. An item without an id or a name is left out.
func mapCategories(body []byte) ([]ingest.Category, error) {
	items, _, odd, err := readList[struct {
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
	if len(odd) > 0 && len(all) == 0 {
		return nil, errNoIDs
	}
	return all, nil
}
