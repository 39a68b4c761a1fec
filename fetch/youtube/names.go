package youtube

import (
	"context"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// videoCategoriesList is the method's name in costs.yaml.
const videoCategoriesList = "videoCategories.list"

// CategoryNames are YouTube's own names of the categories that charts and videos have. They have stood for years; what
// Categories fetches goes before them.
var CategoryNames = map[string]string{
	"1": "Film & Animation", "2": "Autos & Vehicles", "10": "Music", "15": "Pets & Animals", "17": "Sports", "18": "Short Movies",
	"19": "Travel & Events", "20": "Gaming", "21": "Videoblogging", "22": "People & Blogs", "23": "Comedy", "24": "Entertainment",
	"25": "News & Politics", "26": "Howto & Style", "27": "Education", "28": "Science & Technology", "29": "Nonprofits & Activism",
	"30": "Movies", "42": "Shorts", "43": "Shows", "44": "Trailers",
}

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
