package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/documents"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) historyCommand() *cobra.Command {
	var q store.HistoryQuery
	var since config.Since
	var format string
	cmd := command("history VIDEO_ID or QUERY", "A video's ranks and views, chart by chart; costs no quota",
		orAsk(cobra.MinimumNArgs(1), "which video? Give one id, or words of its title"),
		func(ctx context.Context, args []string) error {
			format, err := a.format(format)
			if err != nil {
				return err
			}
			q.VideoID = strings.Join(args, " ")
			if id, why := youtube.ParseVideo(q.VideoID); why == "" {
				q.VideoID = id
			}
			q.Since = since.At(a.clock.Now())
			return a.withStore(ctx, func(ctx context.Context, s *store.Store) error {
				h, err := a.reader(s).Video(ctx, q)
				if errors.Is(err, store.ErrNoVideo) {
					h, err = a.historyOf(ctx, s, q, strings.Join(args, " "))
				}
				if errors.Is(err, store.ErrNoVideo) {
					return fmt.Errorf("%w: charts are kept for 29 days; ingest search finds ids", err)
				}
				if err != nil {
					return err
				}
				if len(h.Sightings) == 0 && format == formatText {
					defer a.say("in none of the stored charts that match")
				}
				return printAs(&a.console, format, h, h.Sightings, h.SightingCells)
			})
		})
	cmd.Flags().Var(formatFlag(&format), "format", "text, json, csv or jsonl (JSON lines)")
	documents.AddHistoryFlags(cmd.Flags(), &q, &since)
	return cmd
}

// historyOf returns the history of the video that a search finds first.
func (a *app) historyOf(ctx context.Context, s *store.Store, q store.HistoryQuery,
	words string) (report.HistoryDocument, error) {
	found, err := s.Search(ctx, store.SearchQuery{Text: words, Region: q.Region, At: a.clock.Now(), Limit: 1})
	if err != nil {
		return report.HistoryDocument{}, err
	}
	if len(found.Items) == 0 {
		return report.HistoryDocument{}, store.ErrNoVideo
	}
	q.VideoID = found.Items[0].Video.ID
	a.say("ingest: no video has this id; the first that a search finds is %s", q.VideoID)
	return a.reader(s).Video(ctx, q)
}
