package main

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/trendvidstream/ingest/store"
)

// document is a video in the form that bleve stores and returns.
type document struct {
	Title, Channel, ChannelID, Category, Language, Thumbnail string
	Tags, Regions                                            []string
	Views, Likes, Comments, Duration, Published, Seen        float64
}

// bleves is bleve in its plain use: its standard analyzer, the regions keywords, all fields stored.
type bleves struct {
	index  bleve.Index
	videos map[string]*document
}

func openBleve(dir string) (*bleves, error) {
	regions := bleve.NewTextFieldMapping()
	regions.Analyzer, regions.IncludeInAll = keyword.Name, false
	videos := bleve.NewDocumentMapping()
	videos.AddFieldMappingsAt("Regions", regions)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = videos
	index, err := bleve.New(filepath.Join(dir, "bleve"), m)
	return &bleves{index, map[string]*document{}}, err
}

func (b *bleves) Close() error { return b.index.Close() }

// note records a chart's videos as they are now.
func (b *bleves) note(c chart) {
	number := func(n *int64) float64 {
		if n == nil {
			return -1
		}
		return float64(*n)
	}
	for _, v := range c.videos {
		d := &document{
			v.Title, v.Channel, v.ChannelID, v.Category, v.Language, v.Thumbnail, v.Tags, []string{string(c.region)},
			number(v.Views), number(v.Likes), number(v.Comments), v.Duration.Seconds(), float64(v.PublishedAt.Unix()), float64(c.at.Unix()),
		}
		if before := b.videos[v.ID]; before != nil {
			d.Regions = append(d.Regions, before.Regions...)
			slices.Sort(d.Regions)
			d.Regions = slices.Compact(d.Regions)
		}
		b.videos[v.ID] = d
	}
}

// write indexes all noted videos, a thousand at a time.
func (b *bleves) write() error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(b.videos)), 1000) {
		batch := b.index.NewBatch()
		for _, id := range ids {
			if err := batch.Index(id, b.videos[id]); err != nil {
				return err
			}
		}
		if err := b.index.Batch(batch); err != nil {
			return err
		}
	}
	return nil
}

// peer reports whether bleve supports the shape.
func (k shape) peer() bool { return !strings.HasSuffix(k.name, "by rise") && k.name != "a typo" }

// find searches for all words in a region, with the same filters.
func (b *bleves) find(ctx context.Context, q store.SearchQuery) error {
	region := bleve.NewTermQuery(string(q.Region))
	region.SetField("Regions")
	all := []query.Query{region}
	if phrase, ok := strings.CutPrefix(q.Text, `"`); ok {
		all = append(all, bleve.NewMatchPhraseQuery(strings.Trim(phrase, `"`)))
	} else {
		for _, w := range strings.Fields(q.Text) {
			if begin, ok := strings.CutSuffix(w, "*"); ok {
				all = append(all, bleve.NewPrefixQuery(begin))
			} else {
				all = append(all, bleve.NewMatchQuery(w))
			}
		}
	}
	if q.MinViews > 0 {
		from := float64(q.MinViews)
		views := bleve.NewNumericRangeQuery(&from, nil)
		views.SetField("Views")
		all = append(all, views)
	}
	if q.Category != "" {
		category := bleve.NewMatchQuery(q.Category)
		category.SetField("Category")
		all = append(all, category)
	}
	r := bleve.NewSearchRequestOptions(bleve.NewConjunctionQuery(all...), q.Limit, 0, false)
	r.Fields = []string{"*"}
	switch q.Order {
	case store.ByViews:
		r.SortBy([]string{"-Views", "_id"})
	case store.ByFreshness:
		r.SortBy([]string{"-Seen", "-Published", "_id"})
	}
	_, err := b.index.SearchInContext(ctx, r)
	return err
}

// weight returns the bytes per video of the files below dir whose names begin with name.
func weight(dir, name string, videos int) string {
	var sum int64
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), name) {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return fmt.Sprintf("%d", sum/int64(videos))
}
