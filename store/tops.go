package store

import (
	"context"
	"errors"

	"github.com/trendvidstream/ingest"
)

// TopTitles returns the title of the first video in the newest chart of each region that has one.
func (s *Store) TopTitles(ctx context.Context, regions []string) (map[string]string, error) {
	tops := map[string]string{}
	for _, region := range regions {
		c, err := s.FindChart(ctx, ChartQuery{Region: ingest.Region(region), Limit: 1})
		if err != nil && !errors.Is(err, ErrNoChart) {
			return tops, err
		}
		if len(c.Items) > 0 {
			tops[region] = c.Items[0].Video.Title
		}
	}
	return tops, nil
}
