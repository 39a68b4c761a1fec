package main

import (
	"context"

	"github.com/spf13/cobra"
)

// kindCommands are one command per kind below "ingest backfill VERB", which hands what was requested to do.
func (a *app) kindCommands(verb string, do func(context.Context, backfillRequest) error) []*cobra.Command {
	f := &kindFlags{}
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
			Use: "refresh", Short: "Every kept video last fetched longer ago than --older-than", Args: cobra.NoArgs,
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
			r.again, r.ask = f.again, f.ask
			if r.spec.Order, err = parseOrder(f.order); err != nil {
				return err
			}
			return do(cmd.Context(), r)
		}
		cmd.Flags().BoolVar(&f.again, "again", false, "plan it again, though the same was done before")
		cmd.Flags().StringVar(&f.order, "order", "newest", "`order` of a search's slices: newest or oldest first")
	}
	commands[0].Flags().BoolVar(&f.ask, "ask", false, "ask how many videos each channel has, a call each")
	search := commands[1].Flags()
	search.StringVar(&f.region, "region", "", "only videos that may be watched in this `region`")
	search.StringVar(&f.from, "from", "", "only videos published since this `day` or RFC 3339 time")
	search.StringVar(&f.to, "to", "", "only videos published before this `day` or time; with --from, or neither")
	search.StringVar(&f.orderBy, "order-by", "date", "which 500 of a slice's results come: by `date` or relevance")
	search.StringVar(&f.slice, "slice", "7d", "how much `time` one search covers at most, such as 24h")
	commands[3].Flags().StringVar(&f.olderThan, "older-than", "", "`D`, such as 24h or 7d")
	return commands
}
