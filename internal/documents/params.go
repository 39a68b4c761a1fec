package documents

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// The parameters of the API and the pages: a URL has the flags of the commands.

// Documents returns the documents of the API and the pages.
func (r Reader) Documents() *report.Documents {
	return &report.Documents{Search: r.search, Chart: r.chart, Video: r.video, Kept: r.Store.KeptCharts,
		Courses: r.courses, Regions: r.Regions, Slots: r.slots}
}

// SearchFlags holds the flags of a search that are not fields of the query.
type SearchFlags struct {
	Order                                     string
	publishedSince, publishedUntil, seenSince config.Since
}

// Add adds the flags of the query.
func (f *SearchFlags) Add(flags *pflag.FlagSet, q *store.SearchQuery) {
	f.Order = "relevance"
	flags.Var(config.RegionFlag(&q.Region), "region", "only videos charted in this `region`")
	flags.StringVar(&q.Category, "category", "", "only this category `id`, such as 10 for music")
	flags.Var(config.Count(&q.MinViews, 0, 0), "min-views", "only videos with at least `N` views")
	flags.Var(config.SinceFlag(&f.publishedSince), "published-since", "only videos published since `T`")
	flags.Var(config.SinceFlag(&f.publishedUntil), "published-until", "only videos published before `T`")
	flags.Var(config.SinceFlag(&f.seenSince), "seen-since", "only videos found since `T`")
	flags.Var(config.Choice(&f.Order, "relevance", "views", "freshness", "rise"), "order",
		"by relevance, views, freshness or rise")
	flags.Var(config.Count(&q.Limit, 1, 1000), "limit", "at most `N` videos")
	flags.StringVar(&q.After, "after", "", "the page behind this `cursor`")
}

// AddLengthFlags adds the flags of a range of lengths. A URL has one parameter for both.
func AddLengthFlags(flags *pflag.FlagSet, l *ingest.Length) {
	flags.Var(config.SpanFlag(&l.Min, "", time.Second), "min-length", "only videos of at least this `length`, such as 3m")
	flags.Var(config.SpanFlag(&l.Max, "", time.Second), "max-length", "only videos of at most this `length`")
}

// orders maps the values of --order.
var orders = map[string]store.Order{
	"relevance": store.ByRelevance, "views": store.ByViews, "freshness": store.ByFreshness, "rise": store.ByRise,
}

// Complete fills in the query from the flags. Times are relative to now, or on later pages to the now of the first.
func (f SearchFlags) Complete(q *store.SearchQuery, now time.Time) (err error) {
	q.Order, q.At = orders[f.Order], now.Truncate(time.Second)
	if q.After != "" {
		if q.At, err = store.CursorAt(q.After); err != nil {
			return fmt.Errorf("--after: %w", err)
		}
	}
	q.PublishedSince, q.PublishedUntil, q.SeenSince = f.publishedSince.At(q.At),
		f.publishedUntil.At(q.At), f.seenSince.At(q.At)
	if since, until := q.PublishedSince, q.PublishedUntil; !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return fmt.Errorf("--published-since %s is not before --published-until %s: are they reversed?",
			f.publishedSince, f.publishedUntil)
	}
	return inOrder(q.Length)
}

// inOrder refuses a range that holds nothing.
func inOrder(l ingest.Length) error {
	if l.Max > 0 && l.Min > l.Max {
		return fmt.Errorf("--min-length %v is above --max-length %v: are they reversed?", l.Min, l.Max)
	}
	return nil
}

func (r Reader) search(ctx context.Context, params url.Values) (report.SearchDocument, error) {
	f, q := SearchFlags{}, store.SearchQuery{Limit: store.DefaultLimit, Text: params.Get("q")}
	err := setFlags(params, "q", func(flags *pflag.FlagSet) {
		f.Add(flags, &q)
		flags.Var(config.ParsedFlag("range", &q.Length, ingest.ParseLength), "length", "")
		flags.BoolVar(&q.Tally, "counts", false, "")
	})
	if err == nil {
		err = f.Complete(&q, r.Now())
	}
	if err != nil {
		return report.SearchDocument{}, badRequest(err)
	}
	doc, _, err := r.Search(ctx, q)
	return doc, asClientError(err)
}

// AddChartFlags adds the flags that choose a chart.
func AddChartFlags(flags *pflag.FlagSet, q *ChartQuery, at, compare *config.Since) {
	flags.Var(config.SinceFlag(at), "at", "the chart that stood at `T`, up to 29 days ago")
	flags.Var(config.SinceFlag(compare), "compare", "the changes since the chart that stood at `T`")
	flags.Var(config.Count(&q.Limit, 1, 0), "limit", "at most the first `N` videos; a screen shows 20 without it")
	flags.StringVar(&q.Job, "job", "", "of the chart job of this `name`")
	flags.BoolVar(&q.Partial, "partial", false, "also a chart whose fetch was stopped half-way")
}

// Complete fills in the times of the query, and refuses future times. A length of time to compare over counts back
// from At or now or, if that is in the time of the same chart, from that chart's slot.
func (q *ChartQuery) Complete(now time.Time, at, compare config.Since) (err error) {
	if q.At, err = at.Past(now); err == nil {
		_, err = compare.Past(now)
	}
	if err == nil {
		err = inOrder(q.Filter.Length)
	}
	if err != nil || compare.IsZero() {
		return err
	}
	q.Compare = func(slot time.Time) time.Time {
		from := now
		if !q.At.IsZero() {
			from = q.At
		}
		if then := compare.At(from); then.Before(slot) {
			return then
		}
		return compare.At(slot)
	}
	return nil
}

func (r Reader) chart(ctx context.Context, region string, params url.Values) (report.MovesDocument, error) {
	var at, compare config.Since
	var q ChartQuery
	code, err := regions.Parse(region)
	if err == nil {
		err = setFlags(params, "", func(flags *pflag.FlagSet) {
			AddChartFlags(flags, &q, &at, &compare)
			flags.BoolVar(&q.Also, "also", false, "")
			flags.BoolVar(&q.Course, "course", false, "")
			flags.Var(config.Choice(&q.Filter.Change, "new", "risen", "fallen", "same", "gone"), "change", "")
			flags.StringVar(&q.Filter.Category, "category", "", "")
			flags.Var(config.ParsedFlag("range", &q.Filter.Length, ingest.ParseLength), "length", "")
		})
	}
	if err == nil {
		err = q.Complete(r.Now(), at, compare)
	}
	if err == nil && q.Filter.Change != "" && q.Compare == nil {
		err = errors.New("change: since when? Give compare too")
	}
	if err != nil {
		return report.MovesDocument{}, badRequest(err)
	}
	q.Region = code
	doc, err := r.Chart(ctx, q)
	return doc, asClientError(err)
}

// AddHistoryFlags adds the flags of the query.
func AddHistoryFlags(flags *pflag.FlagSet, q *store.HistoryQuery, since *config.Since) {
	flags.Var(config.RegionFlag(&q.Region), "region", "only in the charts of this `region`")
	flags.StringVar(&q.Job, "job", "", "only in the charts of the job of this `name`")
	flags.Var(config.SinceFlag(since), "since", "only since `T`: 24h or 7d ago, a day, or an RFC 3339 time")
	flags.BoolVar(&q.Partial, "partial", false, "also charts whose fetch was stopped half-way")
}

func (r Reader) video(ctx context.Context, id string, params url.Values) (report.HistoryDocument, error) {
	var since config.Since
	q := store.HistoryQuery{VideoID: id}
	if err := setFlags(params, "", func(flags *pflag.FlagSet) { AddHistoryFlags(flags, &q, &since) }); err != nil {
		return report.HistoryDocument{}, badRequest(err)
	}
	q.Since = since.At(r.Now())
	doc, err := r.Video(ctx, q)
	return doc, asClientError(err)
}

// AddSlotFlags adds the flags that choose slots.
func AddSlotFlags(flags *pflag.FlagSet, outcome *ingest.State, region *ingest.Region, since *config.Since) {
	flags.Var(config.SinceFlag(since), "since", "only since `T`: 24h or 7d ago, a day, or an RFC 3339 time")
	flags.Var(config.Choice(outcome, ingest.Due, ingest.Claimed, ingest.Done, ingest.Stopped,
		ingest.Failed, ingest.Skipped, ingest.Missed),
		"outcome", "only this `state`: done, stopped, failed, missed, ...")
	flags.Var(config.RegionFlag(region), "region", "only this `region`")
}

func (r Reader) slots(ctx context.Context, params url.Values) ([]report.SlotDocument, error) {
	var f store.SlotFilter
	var region ingest.Region
	var since config.Since
	if err := setFlags(params,
		"", func(flags *pflag.FlagSet) { AddSlotFlags(flags, &f.State, &region, &since) }); err != nil {
		return nil, badRequest(err)
	}
	now := r.Now()
	if f.Key, f.Since = string(region), now.Add(-24*time.Hour); !since.IsZero() {
		f.Since = since.At(now)
	}
	slots, err := r.Store.ListSlots(ctx, f)
	return report.NewSlotsDocument(slots, nil).Slots, asClientError(err)
}

// setFlags sets the flags defined by add from the parameters of a URL, which have '_' where flags have '-'.
func setFlags(params url.Values, but string, add func(*pflag.FlagSet)) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(flags)
	for name, values := range params {
		if name == but {
			continue
		}
		f := flags.Lookup(strings.ReplaceAll(name, "_", "-"))
		if f == nil || strings.Contains(name, "-") {
			return fmt.Errorf("there is no parameter %q: /v1/openapi.json lists them", name)
		}
		if err := f.Value.Set(values[0]); err != nil {
			if _, ok := errors.AsType[config.FlagError](err); !ok {
				err = fmt.Errorf(" %q: use true or false", values[0])
			}
			return fmt.Errorf("%s%w", name, err)
		}
	}
	return nil
}

var flagName = regexp.MustCompile(`--[a-z-]+`)

// badRequest returns an error that the client can correct.
func badRequest(err error) error { return inParameters(report.ErrBadRequest, err) }

// inParameters returns an error of a kind. It turns the --a-flag of a command line's message into a_flag.
func inParameters(kind, err error) error {
	text := flagName.ReplaceAllStringFunc(err.Error(),
		func(flag string) string { return strings.ReplaceAll(flag[2:], "-", "_") })
	return fmt.Errorf("%w: %s", kind, strings.TrimPrefix(text, kind.Error()+": "))
}

// asClientError marks the errors of the store that the client caused.
func asClientError(err error) error {
	switch {
	case errors.Is(err, store.ErrCursor):
		return badRequest(fmt.Errorf("--after: %w", store.ErrCursor))
	case errors.Is(err, report.ErrBadRequest), errors.Is(err, ErrDerived):
		return badRequest(err)
	case errors.Is(err, store.ErrNoVideo):
		return inParameters(report.ErrNotFound, fmt.Errorf("%w: videos that no chart has held for 29 days are deleted", err))
	case errors.Is(err, store.ErrNoChart):
		return inParameters(report.ErrNotFound, err)
	}
	return err
}
