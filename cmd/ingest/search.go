package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// searchFlags holds the flags of search that are not fields of the query.
type searchFlags struct {
	order                                     string
	publishedSince, publishedUntil, seenSince config.Since
	mark                                      bool
}

func (a *app) searchCommand() *cobra.Command {
	f, q := searchFlags{order: "relevance"}, store.SearchQuery{Limit: 20}
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search what was fetched; costs no quota",
		Args:  orAsk(cobra.MinimumNArgs(1), "search for what? Give the words, such as world cup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			if id, why := youtube.ParseVideo(q.Text); why == "" {
				q.Text = id
			}
			if err := f.complete(&q, a.clock.Now()); err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(s *store.Store) error { return search(cmd.Context(), a, s, q, f) })
		},
	}
	f.add(cmd.Flags(), &q)
	cmd.Flags().BoolVar(&f.mark, "mark", false, "put what was asked for in [brackets]")
	return cmd
}

// add adds the flags of the query.
func (f *searchFlags) add(flags *pflag.FlagSet, q *store.SearchQuery) {
	flags.Var(config.RegionFlag(&q.Region), "region", "only videos charted in this `region`")
	flags.StringVar(&q.Category, "category", "", "only this category `id`, such as 10 for music")
	flags.Var(config.Count(&q.MinViews, 0, 0), "min-views", "only videos with at least `N` views")
	flags.Var(config.SinceFlag(&f.publishedSince), "published-since", "only videos published since `T`")
	flags.Var(config.SinceFlag(&f.publishedUntil), "published-until", "only videos published before `T`")
	flags.Var(config.SinceFlag(&f.seenSince), "seen-since", "only videos found since `T`")
	flags.Var(config.Choice(&f.order, "relevance", "views", "freshness", "rise"), "order", "by relevance, views, freshness or rise")
	flags.Var(config.Count(&q.Limit, 1, 1000), "limit", "at most `N` videos")
	flags.StringVar(&q.After, "after", "", "the page behind this `cursor`")
}

// orders maps the values of --order.
var orders = map[string]store.Order{
	"relevance": store.ByRelevance, "views": store.ByViews, "freshness": store.ByFreshness, "rise": store.ByRise,
}

// complete fills in the query from the flags. Times are relative to now, or on later pages to the now of the first.
func (f searchFlags) complete(q *store.SearchQuery, now time.Time) (err error) {
	q.Order, q.At = orders[f.order], now.Truncate(time.Second)
	if q.After != "" {
		if q.At, err = store.CursorAt(q.After); err != nil {
			return usageError{fmt.Errorf("--after: %w", err)}
		}
	}
	q.PublishedSince, q.PublishedUntil, q.SeenSince = f.publishedSince.At(q.At), f.publishedUntil.At(q.At), f.seenSince.At(q.At)
	if since, until := q.PublishedSince, q.PublishedUntil; !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return usageError{fmt.Errorf("--published-since %s is not before --published-until %s: are they reversed?", f.publishedSince, f.publishedUntil)}
	}
	return nil
}

func search(ctx context.Context, a *app, s *store.Store, q store.SearchQuery, f searchFlags) error {
	result, err := s.Search(ctx, q)
	if errors.Is(err, store.ErrCursor) {
		return usageError{fmt.Errorf("--after: %w", store.ErrCursor)}
	}
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(newSearchDocument(q, result))
	case len(result.Items) > 0:
		return printSearch(&a.console, q, result, f)
	case q.After != "":
		a.say("there is nothing more behind this cursor")
		return nil
	}
	return nothingFound(ctx, a, s, q, result)
}

// nothingFound says what was searched for, and whether the filters leave it out.
func nothingFound(ctx context.Context, a *app, s *store.Store, q store.SearchQuery, r store.Result) error {
	if text := term.Fit(strings.TrimSpace(q.Text), 60); text == "" {
		a.say("nothing found")
	} else {
		a.say("nothing found for %s", text)
	}
	if r.Hint != "" {
		a.say("%s", r.Hint)
		return nil
	}
	a.say("looked for %s in titles, channels and tags", term.Clean(r.Looked))
	if q.Category != "" && !a.provider().limits.Category.MatchString(q.Category) {
		a.say("--category %s: ids of categories are numbers such as 10, on dailymotion words such as music", term.Fit(q.Category, 30))
	}
	if !q.Filtered() {
		a.say("try fewer words, or the beginning of one: begin*")
		return nil
	}
	all, err := s.Search(ctx, store.SearchQuery{Text: q.Text, Limit: 1})
	if err == nil && len(all.Items) > 0 {
		a.say("without the filters there is something: drop one")
	} else if err == nil {
		a.say("nor is there anything without the filters")
	}
	return err
}

// printSearch prints a page of results.
func printSearch(out *console, q store.SearchQuery, r store.Result, f searchFlags) error {
	if err := newSearchDocument(q, r).Print(out.stdout, f.order, f.mark); err != nil {
		return err
	}
	if r.Forgiven {
		out.say("few results as typed; searched for %s instead", term.Clean(r.Looked))
	}
	if r.Capped {
		out.say("many videos match: these are the best of the newest ones; add a word to narrow it down")
	}
	if age := q.At.Sub(r.FreshAt); age > 24*time.Hour && !r.FreshAt.IsZero() {
		out.say("nothing was fetched for %s: views and regions are as they were then; ingest run fetches what is due", term.Ago(age))
	}
	if r.Next != "" {
		out.say("more: --after %s", r.Next)
	}
	return nil
}

func newSearchDocument(q store.SearchQuery, r store.Result) report.SearchDocument {
	doc := report.SearchDocument{Query: q.Text, Looked: r.Looked, Capped: r.Capped, Items: []report.SearchItem{}}
	if r.Next != "" {
		doc.Next = &r.Next
	}
	for _, h := range r.Items {
		v := h.Video
		doc.Items = append(doc.Items, report.SearchItem{
			VideoID: v.ID, Title: v.Title, Highlight: append([]text.Span{}, h.Highlight...), Channel: v.Channel, ChannelID: v.ChannelID, Category: v.Category,
			PublishedAt: term.TimeOrNull(v.PublishedAt), SeenAt: term.TimeOrNull(h.SeenAt), Views: v.Views, ViewsGained: h.Gained,
			Regions: append([]ingest.Region{}, h.Regions...), Score: h.Score,
		})
	}
	return doc
}
