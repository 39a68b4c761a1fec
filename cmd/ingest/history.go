package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) historyCommand() *cobra.Command {
	var q store.HistoryQuery
	var since config.Since
	var format string
	cmd := &cobra.Command{
		Use:   "history VIDEO_ID",
		Short: "A video's ranks and views, chart by chart; costs no quota",
		Args:  orAsk(cobra.ExactArgs(1), "which video? Give one id; ingest search finds ids"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := a.format(format)
			if err != nil {
				return err
			}
			q.VideoID = args[0]
			if id, why := youtube.ParseVideo(q.VideoID); why == "" {
				q.VideoID = id
			}
			q.Since = since.At(a.clock.Now())
			return a.withStore(cmd.Context(), func(s *store.Store) error {
				h, err := s.History(cmd.Context(), q)
				if errors.Is(err, store.ErrNoVideo) {
					return fmt.Errorf("%w: charts are kept for 29 days; ingest search finds ids", err)
				}
				if err != nil {
					return err
				}
				if len(h.Sightings) == 0 && format == formatText {
					defer a.say("in none of the charts that are kept and asked for")
				}
				return printAs(&a.console, format, newHistoryDocument(h), h.Sightings, func(s store.Sighting) []term.Cell { return sightingCells(h.Video, s) })
			})
		},
	}
	cmd.Flags().Var(formatFlag(&format), "format", "text, json, csv or jsonl (JSON lines)")
	addHistoryFlags(cmd.Flags(), &q, &since)
	return cmd
}

// addHistoryFlags adds the flags of the query.
func addHistoryFlags(flags *pflag.FlagSet, q *store.HistoryQuery, since *config.Since) {
	flags.Var(config.RegionFlag(&q.Region), "region", "only in the charts of this `region`")
	flags.StringVar(&q.Job, "job", "", "only in the charts of the job of this `name`")
	flags.Var(config.SinceFlag(since), "since", "only since `T`: 24h or 7d ago, a day, or an RFC 3339 time")
	flags.BoolVar(&q.Partial, "partial", false, "also charts whose fetch was stopped half-way")
}

func newSightingDocument(s store.Sighting) report.SightingDocument {
	return report.SightingDocument{Region: s.Region, Job: s.Job, Slot: term.Second(s.Slot), Rank: s.Rank, Views: s.Views, Likes: s.Likes, Comments: s.Comments, ViewsGained: s.Gained}
}

func newHistoryDocument(h store.History) report.HistoryDocument {
	doc := report.HistoryDocument{VideoID: h.Video.ID, Title: h.Video.Title, Channel: h.Video.Channel, PublishedAt: term.TimeOrNull(h.Video.PublishedAt), Sightings: []report.SightingDocument{}}
	for _, s := range h.Sightings {
		doc.Sightings = append(doc.Sightings, newSightingDocument(s))
	}
	return doc
}

// sightingCells returns a row of an exported history.
func sightingCells(v ingest.Video, s store.Sighting) []term.Cell {
	return append([]term.Cell{{Name: "video_id", Value: v.ID}, {Name: "title", Value: v.Title}}, term.CellsOf(newSightingDocument(s))...)
}
