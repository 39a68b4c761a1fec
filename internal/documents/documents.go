// Package documents reads the store into the documents that the commands, the API and the pages show, so that all of
// them say the same.
package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// ErrDerived is returned for figures that derived_metrics: off hides.
var ErrDerived = errors.New("derived_metrics: off in the config hides rank changes and gained views")

// Reader reads report's documents from a store. Commands, API and pages share it, and so agree with each other.
type Reader struct {
	Store  *store.Store
	Jobs   []ingest.Job
	Now    func() time.Time
	Watch  string            // the URL of a video's page, up to its id
	Named  map[string]string // names of categories whose names were not fetched yet
	Hidden bool              // derived metrics are hidden: how ranks moved, and how many views were gained
}

// ChartQuery selects a chart and its columns.
type ChartQuery struct {
	store.ChartQuery

	Compare func(slot time.Time) time.Time // the time of the chart to compare with; nil: compare with none
	Limit   int                            // at most this many videos, and as many that have left; 0: all
	Also    bool                           // list the other charts that each video is in
	Course  bool                           // add each video's course
	Filter  report.ChartFilter             // before Limit
}

// Chart reads a chart. If the query names no job, it is the chart of ChartJob or, if that job has no chart, of any
// job, even one that is no longer configured.
func (r Reader) Chart(ctx context.Context, q ChartQuery) (report.MovesDocument, error) {
	if q.Compare != nil && r.Hidden {
		return report.MovesDocument{}, ErrDerived
	}
	given := q.Job != ""
	if !given {
		q.Job = ChartJob(r.Jobs, q.Region)
	}
	if q.Compare == nil && q.Filter == (report.ChartFilter{}) {
		q.ChartQuery.Limit = q.Limit
	}
	c, err := r.Store.FindChart(ctx, q.ChartQuery)
	if errors.Is(err, store.ErrNoChart) && !given {
		q.Job = ""
		c, err = r.Store.FindChart(ctx, q.ChartQuery)
	}
	if err != nil {
		return report.MovesDocument{}, err
	}
	doc := report.MovesDocument{ChartDocument: r.newChart(c)}
	if q.Compare != nil {
		if doc, err = r.compare(ctx, c, q); err != nil {
			return doc, err
		}
	}
	if doc = doc.Only(q.Filter).First(q.Limit); q.Also {
		err = r.addElsewhere(ctx, &doc, q.At)
	}
	if q.Course && err == nil {
		err = r.addCourses(ctx, &doc)
	}
	return doc, err
}

// compare says how a chart differs from an older one.
func (r Reader) compare(ctx context.Context, c store.Chart, q ChartQuery) (report.MovesDocument, error) {
	older, err := r.Store.FindChart(ctx,
		store.ChartQuery{Region: c.Region, Job: c.Job, At: q.Compare(c.Slot), Partial: q.Partial})
	if err != nil {
		return report.MovesDocument{}, fmt.Errorf("--compare: %w", err)
	}
	if !older.Slot.Before(c.Slot) {
		return report.MovesDocument{}, fmt.Errorf("%w: at both times the chart was the one of slot %s: "+
			"give --compare an earlier time", report.ErrBadRequest, term.Stamp(c.Slot))
	}
	var items []report.MoveItem
	for _, m := range store.Compare(older, c) {
		item := report.MoveItem{ChartItem: r.newChartItem(c, m.Placement), Change: string(m.Change), ViewsGained: m.Gained}
		if m.Was > 0 {
			item.WasRank = &m.Was
		}
		items = append(items, item)
	}
	return report.NewMovesDocument(r.newChart(c), older.Slot, items), nil
}

// addElsewhere adds, to each video, its places in other charts.
func (r Reader) addElsewhere(ctx context.Context, doc *report.MovesDocument, at time.Time) error {
	ids := term.Texts(doc.ChartDocument.Items, func(v report.ChartItem) string { return v.VideoID })
	places, err := r.Store.Elsewhere(ctx, doc.Job, doc.Region, at, ids)
	doc.Each(func(item *report.ChartItem) {
		for _, p := range places[item.VideoID] {
			item.Also = append(item.Also, report.PlaceDocument(p))
		}
	})
	return err
}

func (r Reader) addCourses(ctx context.Context, doc *report.MovesDocument) error {
	var ids []string
	doc.Each(func(v *report.ChartItem) { ids = append(ids, v.VideoID) })
	courses, err := r.courses(ctx, doc.Region, doc.Job, doc.Slot, ids)
	doc.Each(func(v *report.ChartItem) { v.CourseDocument = courses[v.VideoID] })
	return err
}

func (r Reader) courses(ctx context.Context, region ingest.Region, job string, at time.Time,
	videos []string) (map[string]report.CourseDocument, error) {
	courses := map[string]report.CourseDocument{}
	stored, err := r.Store.Courses(ctx, region, job, at, videos)
	for id, c := range stored {
		courses[id] = report.CourseDocument{Since: term.TimeOrNull(c.Since), Peak: c.Peak, Ranks: c.Ranks}
	}
	return courses, err
}

// ChartJob returns the job named chart, else the first that charts the region; "" if there is none.
func ChartJob(jobs []ingest.Job, region ingest.Region) string {
	name := ""
	for _, job := range jobs {
		if job.Kind != ingest.KindChart || !slices.Contains(job.Regions, region) {
			continue
		}
		if job.Name == "chart" {
			return job.Name
		}
		name = cmp.Or(name, job.Name)
	}
	return name
}

// nameOf returns the name of a category, as stored or else built in; "" if there is none.
func (r Reader) nameOf(category, stored string) string { return cmp.Or(stored, r.Named[category]) }

// newVideo returns the document of a video; stored is the name that the store has for its category.
func (r Reader) newVideo(v ingest.Video, stored string) report.VideoDocument {
	return report.VideoDocument{
		VideoID: v.ID, Title: v.Title, Channel: v.Channel, ChannelID: v.ChannelID, Category: v.Category,
		Named:       r.nameOf(v.Category, stored),
		PublishedAt: term.TimeOrNull(v.PublishedAt), DurationS: int64(v.Duration / time.Second),
		Live: v.Live, Tags: append([]string{}, v.Tags...),
		URL: r.Watch + url.QueryEscape(v.ID), Thumbnail: v.Thumbnail, Views: v.Views, Likes: v.Likes, Comments: v.Comments,
	}
}

func (r Reader) newChart(c store.Chart) report.ChartDocument {
	doc := report.ChartDocument{
		Region: c.Region, Job: c.Job, Slot: term.Second(c.Slot), FetchedAt: term.TimeOrNull(c.FetchedAt), Partial: c.Partial,
		ShortSince: term.TimeOrNull(c.ShortSince), ShortVideos: c.ShortVideos,
		Earlier: term.TimeOrNull(c.Earlier), Later: term.TimeOrNull(c.Later), DayBefore: term.TimeOrNull(c.DayBefore),
		Items: []report.ChartItem{},
	}
	for _, p := range c.Items {
		doc.Items = append(doc.Items, r.newChartItem(c, p))
	}
	return doc
}

func (r Reader) newChartItem(c store.Chart, p ingest.Placement) report.ChartItem {
	return report.ChartItem{Rank: p.Rank, VideoDocument: r.newVideo(p.Video, c.Categories[p.Video.Category])}
}

// Video reads a video's path through the charts.
func (r Reader) Video(ctx context.Context, q store.HistoryQuery) (report.HistoryDocument, error) {
	h, err := r.Store.History(ctx, q)
	doc := report.HistoryDocument{VideoDocument: r.newVideo(h.Video, h.Category), Description: h.Video.Description,
		Sightings: []report.SightingDocument{}}
	for _, s := range h.Sightings {
		sighting := report.SightingDocument{Region: s.Region, Job: s.Job, Slot: term.Second(s.Slot),
			Rank: s.Rank, Views: s.Views, Likes: s.Likes, Comments: s.Comments}
		if !r.Hidden {
			sighting.ViewsGained = s.Gained
		}
		doc.Sightings = append(doc.Sightings, sighting)
	}
	return doc, err
}

// Search searches the store. It also returns the result that the document was made from.
func (r Reader) Search(ctx context.Context, q store.SearchQuery) (report.SearchDocument, store.Result, error) {
	if q.Order == store.ByRise && r.Hidden {
		return report.SearchDocument{}, store.Result{}, fmt.Errorf("--order rise: %w", ErrDerived)
	}
	found, err := r.Store.Search(ctx, q)
	doc := report.SearchDocument{Query: q.Text, Interpreted: found.Interpreted, Forgiven: found.Forgiven,
		Hint: found.Hint, Capped: found.Capped, Items: []report.SearchItem{}}
	if found.Next != "" {
		doc.Next = &found.Next
	}
	for _, h := range found.Items {
		doc.Items = append(doc.Items, report.SearchItem{
			VideoDocument: r.newVideo(h.Video, found.Categories[h.Video.Category]),
			Highlight:     append([]text.Span{}, h.Highlight...), SeenAt: term.TimeOrNull(h.SeenAt), ViewsGained: h.Gained,
			Regions: append([]ingest.Region{}, h.Regions...), Score: h.Score,
		})
	}
	if found.Counts != nil {
		doc.Counts = r.newCounts(*found.Counts, found.Categories)
	}
	return doc, found, err
}

// newCounts lists the regions in the order of the jobs, and the categories by their counts.
func (r Reader) newCounts(c store.Counts, names map[string]string) *report.CountsDocument {
	doc := &report.CountsDocument{Matches: c.Matches, AtLeast: c.AtLeast}
	listed := []ingest.Region{""}
	for _, job := range r.Jobs {
		listed = append(listed, job.Regions...)
	}
	listed = append(listed, slices.Sorted(maps.Keys(c.Regions))...)
	for i, region := range listed {
		if !slices.Contains(listed[:i], region) {
			doc.Regions = append(doc.Regions,
				report.CountDocument{Value: string(region), Name: regions.Name(region), Videos: c.Regions[region]})
		}
	}
	for category, n := range c.Categories {
		doc.Categories = append(doc.Categories,
			report.CountDocument{Value: category, Name: r.nameOf(category, names[category]), Videos: n})
	}
	slices.SortFunc(doc.Categories, func(a, b report.CountDocument) int {
		return cmp.Or(cmp.Compare(b.Videos, a.Videos), cmp.Compare(a.Value, b.Value))
	})
	doc.Published = []report.CountDocument{{Videos: c.Published[0]}}
	for _, d := range store.Recent {
		doc.Published = append(doc.Published,
			report.CountDocument{Value: fmt.Sprintf("%dh", d/time.Hour), Videos: c.Published[d]})
	}
	doc.Views = []report.CountDocument{{Videos: c.Views[0]},
		{Value: fmt.Sprint(store.Popular), Videos: c.Views[store.Popular]}}
	doc.Lengths = []report.CountDocument{{Videos: c.Lengths[ingest.Length{}]}}
	for _, l := range ingest.Lengths {
		doc.Lengths = append(doc.Lengths, report.CountDocument{Value: l.String(), Videos: c.Lengths[l]})
	}
	return doc
}

// Regions lists the regions that jobs chart, with the newest chart of each job.
func (r Reader) Regions(ctx context.Context) (report.RegionsDocument, error) {
	doc := report.RegionsDocument{Regions: []report.RegionDocument{}}
	latest, err := r.Store.Latest(ctx, r.Now())
	if err != nil {
		return doc, err
	}
	names, err := r.Store.CategoryNames(ctx)
	for _, job := range r.Jobs {
		if job.Kind != ingest.KindChart {
			continue
		}
		for _, region := range job.Regions {
			at := slices.IndexFunc(doc.Regions, func(d report.RegionDocument) bool { return d.Region == region })
			if at < 0 {
				at, doc.Regions = len(doc.Regions),
					append(doc.Regions, report.RegionDocument{Region: region, Name: regions.Name(region)})
			}
			done := latest.Whole(ingest.Series{Job: job.Name, Key: string(region)})
			line := report.ChartJobDocument{Job: job.Name, Slot: term.TimeOrNull(done.DueAt),
				FetchedAt: term.TimeOrNull(done.FetchedAt)}
			if job.Category != "0" {
				line.Category, line.Named = job.Category, r.nameOf(job.Category, names[job.Category])
			}
			doc.Regions[at].Jobs = append(doc.Regions[at].Jobs, line)
		}
	}
	return doc, err
}
