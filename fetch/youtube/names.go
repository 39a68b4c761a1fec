package youtube

import (
	"context"
	"fmt"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// The methods' names in costs.yaml.
const (
	videoCategoriesList = "videoCategories.list"
	i18nRegionsList     = "i18nRegions.list"
)

// Categories implements fetch.Namer. Names are in English, YouTube's default.
func (c *Client) Categories(region ingest.Region) fetch.Call[[]ingest.Category] {
	q := question{method: videoCategoriesList, region: region}
	if region == "" {
		q.wrong = errNoRegion
	}
	return ask(c, q, func(ctx context.Context) error {
		return sent(c.service.VideoCategories.List([]string{"snippet"}).
			RegionCode(string(region)).Fields("items(id,snippet/title)").Context(ctx).Do())
	}, mapCategories)
}

// Regions is the regions in which YouTube has a front of its own, in its order. One that is not here may
// still have a chart.
func (c *Client) Regions() fetch.Call[[]ingest.Region] {
	return ask(c, question{method: i18nRegionsList}, func(ctx context.Context) error {
		return sent(c.service.I18nRegions.List([]string{"snippet"}).Fields("items/snippet/gl").Context(ctx).Do())
	}, mapRegions)
}

// mapCategories reads a whole answer of videoCategories.list. An item without an id or a name is left out.
func mapCategories(body []byte) ([]ingest.Category, error) {
	items, _, err := readList[struct {
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
		if item != nil && item.ID != "" && item.Snippet.Title != "" {
			all = append(all, ingest.Category{ID: item.ID, Name: item.Snippet.Title})
		}
	}
	return all, nil
}

// mapRegions reads a whole answer of i18nRegions.list. A code that is not two capitals is an error.
func mapRegions(body []byte) ([]ingest.Region, error) {
	items, _, err := readList[struct {
		Snippet struct {
			GL string `json:"gl"`
		} `json:"snippet"`
	}](body, tableSize, "")
	if err != nil {
		return nil, err
	}
	var all []ingest.Region
	for _, item := range items {
		if item == nil {
			continue
		}
		gl := item.Snippet.GL
		if len(gl) != 2 || !isCapital(gl[0]) || !isCapital(gl[1]) {
			return nil, fmt.Errorf("region %.40q is not two capital letters", gl)
		}
		all = append(all, ingest.Region(gl))
	}
	return all, nil
}

func isCapital(b byte) bool { return 'A' <= b && b <= 'Z' }
