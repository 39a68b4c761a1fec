package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/documents"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) searchCommand() *cobra.Command {
	var f documents.SearchFlags
	var mark bool
	q := store.SearchQuery{Limit: store.DefaultLimit}
	cmd := command("search QUERY", "Search the fetched videos; costs no quota",
		orAsk(cobra.MinimumNArgs(1), "search for what? Give the words, such as world cup"),
		func(ctx context.Context, args []string) error {
			q.Text = strings.Join(args, " ")
			if id, why := youtube.ParseVideo(q.Text); why == "" {
				q.Text = id
			}
			if err := f.Complete(&q, a.clock.Now()); err != nil {
				return usageError{err}
			}
			return a.withStore(ctx,
				func(ctx context.Context, s *store.Store) error { return search(ctx, a, s, q, f.Order, mark) })
		})
	f.Add(cmd.Flags(), &q)
	documents.AddLengthFlags(cmd.Flags(), &q.Length)
	cmd.Flags().BoolVar(&mark, "mark", false, "put the query's words in [brackets]")
	return cmd
}

// search prints the results, each with the value that order sorts by and, with mark, the query's words in [brackets].
func search(ctx context.Context, a *app, s *store.Store, q store.SearchQuery, order string, mark bool) error {
	doc, result, err := a.reader(s).Search(ctx, q)
	if errors.Is(err, store.ErrCursor) {
		return usageError{fmt.Errorf("--after: %w", store.ErrCursor)}
	}
	switch {
	case err != nil:
		return asUsageError(err)
	case a.json:
		return a.printJSON(doc)
	case len(result.Items) > 0:
		doc.Print(a.stdout, order, mark)
		sayMore(&a.console, q, result)
		return nil
	case q.After != "":
		a.say("there is nothing more behind this cursor")
		return nil
	}
	return nothingFound(ctx, a, s, q, result)
}

// nothingFound names the query, and says whether there are results without the filters.
func nothingFound(ctx context.Context, a *app, s *store.Store, q store.SearchQuery, r store.Result) error {
	if r.Hint != "" {
		a.say("nothing found: %s", r.Hint)
		return nil
	}
	a.say("nothing found for %s", term.Fit(strings.TrimSpace(q.Text), 60))
	a.say("looked for %s in titles, channels, tags and stored descriptions", term.Clean(r.Interpreted))
	if q.Category != "" && !a.provider().limits.Category.MatchString(q.Category) {
		a.say("--category %s: ids of categories are numbers such as 10, on dailymotion words such as music",
			term.Fit(q.Category, 30))
	}
	if r.FreshAt.IsZero() {
		a.say("no chart was fetched yet: ingest run fetches the due slots")
		return nil
	}
	if !q.Filtered() {
		a.say("try fewer words, or the beginning of one: begin*")
		return nil
	}
	all, err := s.Search(ctx, store.SearchQuery{Text: q.Text, Limit: 1})
	if err == nil && len(all.Items) > 0 {
		a.say("without the filters there is something: drop one")
	} else if err == nil {
		a.say("and there is nothing without the filters either")
	}
	return err
}

// sayMore says how the query was understood, and where there is more.
func sayMore(out *console, q store.SearchQuery, r store.Result) {
	if r.Forgiven {
		out.say("few results as typed; searched for %s instead", term.Clean(r.Interpreted))
	}
	if r.Capped {
		out.say("many videos match: these are the best of the newest ones; add a word to narrow it down")
	}
	if age := q.At.Sub(r.FreshAt); age > 24*time.Hour && !r.FreshAt.IsZero() {
		out.say("nothing was fetched for %s: views and regions are from that time; ingest run fetches the due slots",
			term.Ago(age))
	}
	if r.Next != "" {
		out.say("more: --after %s", r.Next)
	}
}
