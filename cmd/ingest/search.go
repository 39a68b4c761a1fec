package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// searchFlags are the flags of search, as they were given.
type searchFlags struct {
	region, category, order, after            string
	publishedSince, publishedUntil, seenSince string
	minViews                                  int64
	limit                                     int
	mark                                      bool
}

func (a *app) searchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search what was fetched; free",
		Long: `search looks through the titles, channels and tags of everything kept. It calls
nobody.

Words must all be there; "several words" in that order; word* begins so; -word
is absent; channel:word and tag:word look there only. Case, accents and width
do not count. Put -- before a query that begins with a dash.

T is a time: 24h or 7d ago, a day such as 2026-02-14, or RFC 3339. Orders are
relevance, views, freshness (the last found) and rise (views gained
between the last two sightings in one chart). --after takes the cursor that the
page before ended with. What was asked for is bold in titles on a terminal, and
in [brackets] with --mark; in JSON, highlight has its [start, end) in characters
of the title.`,
		Example: `  ingest search world cup
  ingest search '"official video" -live tag:music' --region BR
  ingest search trailer --order rise --seen-since 6h`,
		Args: orAsk(cobra.MinimumNArgs(1), "search for what? Give the words, such as world cup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := searchQuery(strings.Join(args, " "), f, a.clock.Now())
			if err != nil {
				return err
			}
			s, err := a.readStore(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			return search(cmd.Context(), a, s, q, f.mark)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.region, "region", "", "only videos charted in this `region`")
	flags.StringVar(&f.category, "category", "", "only this category `id`, such as 10 for music")
	flags.Int64Var(&f.minViews, "min-views", 0, "only videos with at least `N` views")
	flags.StringVar(&f.publishedSince, "published-since", "", "only videos published since `T`")
	flags.StringVar(&f.publishedUntil, "published-until", "", "only videos published before `T`")
	flags.StringVar(&f.seenSince, "seen-since", "", "only videos found since `T`")
	flags.StringVar(&f.order, "order", "relevance", "by relevance, views, freshness or rise")
	flags.IntVar(&f.limit, "limit", 20, "at most `N` videos")
	flags.StringVar(&f.after, "after", "", "the page behind this `cursor`")
	flags.BoolVar(&f.mark, "mark", false, "put what was asked for in [brackets]")
	return cmd
}

// orders are what --order takes.
var orders = map[string]store.Order{
	"relevance": store.ByRelevance, "views": store.ByViews, "freshness": store.ByFreshness, "rise": store.ByRise,
}

// searchQuery checks the flags. Times are counted back from now, or from the now of the first page.
func searchQuery(text string, f searchFlags, now time.Time) (q store.Query, err error) {
	q = store.Query{Text: text, Category: f.category, MinViews: f.minViews, Limit: f.limit, After: f.after}
	if f.limit < 1 || f.limit > 1000 {
		return q, usageError{fmt.Errorf("--limit %d is outside 1..1000", f.limit)}
	}
	if f.minViews < 0 {
		return q, usageError{fmt.Errorf("--min-views %d is below 0", f.minViews)}
	}
	order, ok := orders[f.order]
	if q.Order = order; !ok {
		return q, usageError{fmt.Errorf("--order %q: use relevance, views, freshness or rise", f.order)}
	}
	if q.Region, err = regionFlag(f.region); err != nil {
		return q, err
	}
	q.At = now.Truncate(time.Second)
	if f.after != "" {
		if q.At, err = store.CursorAt(f.after); err != nil {
			return q, usageError{fmt.Errorf("--after: %w", err)}
		}
	}
	for _, t := range []struct {
		flag, given string
		into        *time.Time
	}{
		{"published-since", f.publishedSince, &q.PublishedSince},
		{"published-until", f.publishedUntil, &q.PublishedUntil},
		{"seen-since", f.seenSince, &q.SeenSince},
	} {
		if *t.into, err = timeFlag(t.flag, t.given, q.At); err != nil {
			return q, err
		}
	}
	if since, until := q.PublishedSince, q.PublishedUntil; !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return q, usageError{fmt.Errorf("--published-since %s is not before --published-until %s: are they reversed?", f.publishedSince, f.publishedUntil)}
	}
	return q, nil
}

func search(ctx context.Context, a *app, s *store.Store, q store.Query, mark bool) error {
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
		return printSearch(&a.console, q, result, mark)
	case q.After != "":
		a.say("there is nothing more behind this cursor")
		return nil
	}
	return nothingFound(ctx, a, s, q, result)
}

// nothingFound says what was looked for, and which filter to drop.
func nothingFound(ctx context.Context, a *app, s *store.Store, q store.Query, r store.Result) error {
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
	without := withoutFilters(q)
	for _, w := range without {
		if found, err := s.Search(ctx, w.query); err != nil {
			return err
		} else if len(found.Items) > 0 {
			a.say("without %s there is something: drop it", w.flags)
			return nil
		}
	}
	if len(without) > 0 {
		a.say("nor is there anything without the filters")
	} else {
		a.say("try fewer words, or the beginning of one: begin*")
	}
	return nil
}

// lighter is a query without some of its filters.
type lighter struct {
	flags string
	query store.Query
}

// withoutFilters are the queries that lack one of the filters each, and then all of them; none where there is no filter.
func withoutFilters(q store.Query) (out []lighter) {
	q.Limit = 1
	drop := func(set bool, flag string, drop func(*store.Query)) {
		if set {
			without := q
			drop(&without)
			out = append(out, lighter{flag, without})
		}
	}
	drop(q.Region != "", "--region", func(q *store.Query) { q.Region = "" })
	drop(q.Category != "", "--category", func(q *store.Query) { q.Category = "" })
	drop(q.MinViews > 0, "--min-views", func(q *store.Query) { q.MinViews = 0 })
	drop(!q.PublishedSince.IsZero(), "--published-since", func(q *store.Query) { q.PublishedSince = time.Time{} })
	drop(!q.PublishedUntil.IsZero(), "--published-until", func(q *store.Query) { q.PublishedUntil = time.Time{} })
	drop(!q.SeenSince.IsZero(), "--seen-since", func(q *store.Query) { q.SeenSince = time.Time{} })
	if len(out) > 1 {
		out = append(out, lighter{"the filters", store.Query{Text: q.Text, Limit: 1}})
	}
	return out
}
