package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
)

// kindFlags holds the flags of the kinds as given.
type kindFlags struct {
	region           ingest.Region
	from, to         time.Time
	slice, olderThan time.Duration
	orderBy          string
	order            ingest.Order
	again, ask       bool
}

// checkRange checks --from and --to: both or neither, in order, not in the future.
func (f kindFlags) checkRange(now time.Time) error {
	if f.from.IsZero() != f.to.IsZero() {
		return usageError{errors.New("--from and --to: give both, or neither for everything until now")}
	}
	for i, t := range []time.Time{f.from, f.to} {
		if t.After(now) {
			return usageError{fmt.Errorf("--%s %s is in the future: it is %s now", []string{"from", "to"}[i], term.Day(t), term.Stamp(now))}
		}
	}
	switch {
	case f.from.IsZero():
	case !f.from.Before(f.to):
		return usageError{fmt.Errorf("--from %s is not before --to %s: are they reversed?", term.Day(f.from), term.Day(f.to))}
	case f.from.Before(youtube.FirstVideo):
		return usageError{fmt.Errorf("--from %s is before the first video, of %s", term.Day(f.from), term.Day(youtube.FirstVideo))}
	}
	return nil
}

// kindCommands returns one command per kind below "ingest backfill VERB"; each passes the request to do.
func (a *app) kindCommands(verb string, do func(context.Context, backfillRequest) error) []*cobra.Command {
	f := &kindFlags{order: ingest.Newest, orderBy: "date"}
	commands := []*cobra.Command{
		{
			Use: "uploads CHANNEL...", Short: "All videos of channels: ids, @handles or URLs",
			Args:    orAsk(cobra.MinimumNArgs(1), "which channels? Give their ids, @handles or the URLs of their pages"),
			Example: "  ingest backfill " + verb + " uploads @GoogleDevelopers UC_x5XG1OV2P6uZZ5FSM9Ttw",
		},
		{
			Use: "search QUERY", Short: "What a search finds, slice of time by slice of time",
			Args:    orAsk(cobra.MinimumNArgs(1), "search for what? Give the words, such as 'world cup'"),
			Example: "  ingest backfill " + verb + " search 'world cup' --from 2026-06-01 --to 2026-07-01",
		},
		{
			Use: "videos FILE", Short: "Videos by their ids, one a line; - is standard input",
			Args:    orAsk(cobra.ExactArgs(1), "which videos? Give one file with an id a line, or - for standard input"),
			Example: "  ingest backfill " + verb + " videos ids.txt",
		},
		{
			Use: "refresh", Short: "Every kept video last fetched longer ago than --older-than", Args: noArgs,
			Example: "  ingest backfill " + verb + " refresh --older-than 7d",
		},
	}
	reads := []func(kindFlags, []string) (backfillRequest, error){requestUploads, a.requestSearch, a.requestVideos, a.requestRefresh}
	for i, cmd := range commands {
		read := reads[i]
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			r, err := read(*f, args)
			if err != nil {
				return err
			}
			r.again, r.ask, r.spec.Order = f.again, f.ask, f.order
			return do(cmd.Context(), r)
		}
		cmd.Flags().BoolVar(&f.again, "again", false, "plan it again, though the same was done before")
		cmd.Flags().Var(orderFlag(&f.order), "order", "which part of the time range a search fetches first: the `newest` or the oldest")
	}
	commands[0].Flags().BoolVar(&f.ask, "ask", false, "ask how many videos each channel has, a call each")
	search, most := commands[1].Flags(), providers["youtube"].calls.Limits()
	search.Var(config.RegionFlag(&f.region), "region", "only videos that may be watched in this `region`")
	search.Var(config.InstantFlag(&f.from), "from", "only videos published since this `day` or RFC 3339 time")
	search.Var(config.InstantFlag(&f.to), "to", "only videos published before this `day` or time; with --from, or neither")
	search.Var(config.Choice(&f.orderBy, "date", "relevance"), "order-by", fmt.Sprintf("which %d of a slice's results come: by `date` or relevance", most.SearchPages*most.PerPage))
	search.Var(config.SpanFlag(&f.slice, "7d", time.Minute), "slice", "how much `time` one search covers at most, such as 24h")
	commands[3].Flags().Var(config.SpanFlag(&f.olderThan, "", time.Hour), "older-than", "`D`, such as 24h or 7d")
	return commands
}

func orderFlag(into *ingest.Order) *config.FlagValue {
	return config.Choice(into, ingest.Newest, ingest.Oldest)
}
