package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) searchCommand() *cobra.Command {
	var region string
	var limit int
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search what was fetched; free",
		Long: `search looks through the titles, channels and tags of everything kept. It calls
nobody.

Words must all be there; "several words" in that order; word* begins so; -word
is absent; channel:word and tag:word look there only. Put -- before a query
that begins with a dash.`,
		Example: "  ingest search world cup\n  ingest search '\"official video\" -live tag:music' --region BR",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkClock(cmd.Context()); err != nil {
				return err
			}
			if limit < 1 || limit > 1000 {
				return usageError{fmt.Errorf("--limit %d is outside 1..1000", limit)}
			}
			q := store.Query{Text: strings.Join(args, " "), Limit: limit}
			if region != "" {
				r, err := regions.Parse(region)
				if err != nil {
					return usageError{fmt.Errorf("--region: %w", err)}
				}
				q.Region = r
			}
			s, err := a.store(cmd.Context(), "")
			if err != nil {
				return noStore(a.cfg.data, err)
			}
			defer func() { _ = s.Close() }()
			result, err := s.Search(cmd.Context(), q)
			if err != nil {
				return err
			}
			return a.printSearch(q, result)
		},
	}
	cmd.Flags().StringVar(&region, "region", "", "only videos charted in this `region`")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N` videos")
	return cmd
}

// noStore explains a store that is not there yet.
func noStore(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return codeError{exitError, fmt.Errorf("nothing was fetched into %s yet: try ingest run, or give another --data", dir)}
	}
	return err
}

type searchDocument struct {
	Query  string       `json:"query"`
	Capped bool         `json:"capped"`
	Items  []searchItem `json:"items"`
}

type searchItem struct {
	VideoID     string          `json:"video_id"`
	Title       string          `json:"title"`
	Channel     string          `json:"channel"`
	ChannelID   string          `json:"channel_id"`
	PublishedAt string          `json:"published_at"`
	Views       *int64          `json:"views"`
	Regions     []ingest.Region `json:"regions"`
	Score       float64         `json:"score"`
}

func (a *app) printSearch(q store.Query, r store.Result) error {
	if a.flags.json {
		doc := searchDocument{Query: q.Text, Capped: r.Capped, Items: []searchItem{}}
		for _, i := range r.Items {
			item := searchItem{VideoID: i.Video.ID, Title: i.Video.Title, Channel: i.Video.Channel, ChannelID: i.Video.ChannelID,
				PublishedAt: rfc3339(i.Video.PublishedAt), Views: i.Video.Views, Regions: i.Regions, Score: i.Score}
			if item.Regions == nil {
				item.Regions = []ingest.Region{}
			}
			doc.Items = append(doc.Items, item)
		}
		return a.printJSON(doc)
	}
	if len(r.Items) == 0 {
		a.say("nothing found for %s", clean(q.Text))
		if r.Hint != "" {
			a.say("%s", clean(r.Hint))
		}
		return nil
	}
	for _, i := range r.Items {
		if err := printVideo(a.stdout, "", i.Video, i.Regions); err != nil {
			return err
		}
	}
	if r.Capped {
		a.say("many videos match: these are the best of the newest ones; add a word to narrow it down")
	}
	return nil
}

// printVideo is one video in 80 columns: id, title, channel, regions.
func printVideo(w io.Writer, rank string, v ingest.Video, in []ingest.Region) error {
	const most = 3 // regions that are named; the others are counted
	var codes []string
	for i, r := range in {
		if i == most {
			codes = append(codes, fmt.Sprintf("+%d", len(in)-most))
			break
		}
		codes = append(codes, string(r))
	}
	tail := strings.Join(codes, " ")
	if rank != "" {
		rank = fmt.Sprintf("%3s ", rank)
		tail = fmt.Sprintf("%13s", viewsText(v.Views))
	}
	line := rank + pad(v.ID, 12) + pad(v.Title, 34) + " " + pad(v.Channel, 14) + " " + tail
	_, err := fmt.Fprintln(w, strings.TrimRight(line, " "))
	return err
}

func viewsText(n *int64) string {
	if n == nil {
		return "-"
	}
	return thousands(*n)
}
