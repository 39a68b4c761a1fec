package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/trendvidstream/ingest/bench/report"
)

// document is a video as bleve gets it.
type document struct {
	Title, Channel string
	Tags           []string
	Region         string
}

// bleves is bleve in its plain use: its standard analyzer, the region a keyword, a batch per chart.
type bleves struct {
	slotless

	index bleve.Index
}

func openBleve(dir string) (*bleves, error) {
	region := bleve.NewTextFieldMapping()
	region.Analyzer, region.IncludeInAll = keyword.Name, false
	videos := bleve.NewDocumentMapping()
	videos.AddFieldMappingsAt("Region", region)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = videos
	index, err := bleve.New(filepath.Join(dir, "bleve"), m)
	return &bleves{index: index}, err
}

func (b *bleves) Close() error { return b.index.Close() }

func (b *bleves) save(_ context.Context, c chart) error {
	batch := b.index.NewBatch()
	for _, v := range c.videos {
		if err := batch.Index(v.ID, document{v.Title, v.Channel, v.Tags, string(c.region)}); err != nil {
			return err
		}
	}
	return b.index.Batch(batch)
}

// find asks for all words in a region, the best 20.
func (b *bleves) find(ctx context.Context, k kind, i int) error {
	words := strings.Fields(k.texts[i/len(eight)%len(k.texts)])
	region := bleve.NewTermQuery(string(eight[i%len(eight)]))
	region.SetField("Region")
	all := []query.Query{region}
	for _, w := range words {
		if begin, ok := strings.CutSuffix(w, "*"); ok {
			all = append(all, bleve.NewPrefixQuery(begin))
		} else {
			all = append(all, bleve.NewMatchQuery(w))
		}
	}
	r := bleve.NewSearchRequestOptions(bleve.NewConjunctionQuery(all...), 20, 0, false)
	_, err := b.index.SearchInContext(ctx, r)
	return err
}

// besideBleve loads the same generated charts into both and searches them in turns.
func (b *bench) besideBleve(ctx context.Context) error {
	charts := newGenerator().charts(b.rows / 50)
	return b.inDir(func(dir string) (err error) {
		mine, err := openOurs(ctx, dir)
		if err != nil {
			return err
		}
		defer func() { _ = mine.Close() }()
		theirs, err := openBleve(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, theirs.Close()) }()
		ours, err := load(ctx, mine, charts, nil)
		if err != nil {
			return err
		}
		bleve, err := load(ctx, theirs, charts, nil)
		if err != nil {
			return err
		}
		b.report.Say("Beside bleve, of %s generated videos, each chart one batch of it; ours with all that it keeps besides the words. Medians in turns.", thousands(b.rows/50))
		rows := [][]string{
			{"first pass, ms", ms(ours.First), ms(bleve.First)},
			{"on disk, bytes a video", weight(filepath.Dir(mine.Path()), "ingest.db", b.rows/50), weight(filepath.Join(dir, "bleve"), "", b.rows/50)},
		}
		for _, k := range kinds[:4] {
			var took [2][]float64
			for i := range b.searches / 4 {
				for j, find := range []func() error{func() error { return find(ctx, mine, k, i) }, func() error { return theirs.find(ctx, k, i) }} {
					t, err := timed(find)
					if err != nil {
						return err
					}
					took[j] = append(took[j], t)
				}
			}
			rows = append(rows, []string{k.name + ", ms", ms(report.Median(took[0])), ms(report.Median(took[1]))})
		}
		b.report.Table([]string{"", "ours", "bleve"}, rows)
		return nil
	})
}

// weight is the bytes of the files below dir whose names begin so, by the video.
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
