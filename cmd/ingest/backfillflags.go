package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/term"
)

// kindFlags are the flags of the kinds, as they were given.
type kindFlags struct {
	region, from, to, orderBy string
	slice, olderThan          string
	order                     string
	again, ask                bool
}

// between reads --from and --to: both or neither, not reversed, not in the future.
func between(from, to string, now time.Time) (after, before time.Time, err error) {
	if (from == "") != (to == "") {
		return after, before, usageError{errors.New("--from and --to: give both, or neither for everything until now")}
	}
	if from == "" {
		return after, before, nil
	}
	for _, t := range []struct {
		flag, given string
		into        *time.Time
	}{{"from", from, &after}, {"to", to, &before}} {
		if *t.into, err = instantFlag(t.flag, t.given); err != nil {
			return after, before, err
		}
		if t.into.After(now) {
			return after, before, usageError{fmt.Errorf("--%s %s is in the future: it is %s now", t.flag, t.given, term.Stamp(now))}
		}
	}
	switch {
	case !after.Before(before):
		return after, before, usageError{fmt.Errorf("--from %s is not before --to %s: are they reversed?", from, to)}
	case after.Before(youtube.FirstVideo):
		return after, before, usageError{fmt.Errorf("--from %s is before the first video, of %s", from, youtube.FirstVideo.Format(time.DateOnly))}
	}
	return after, before, nil
}

// instantFlag reads a time that means the same tomorrow, so that the same flags find the same plan.
func instantFlag(flag, s string) (time.Time, error) {
	t, err := parseInstant(s)
	if err != nil {
		return t, usageError{fmt.Errorf("--%s %q: use a day such as 2026-11-01, which begins at 00:00 UTC, or an RFC 3339 time such as 2026-11-01T09:00:00Z", flag, s)}
	}
	return t.Truncate(time.Second), nil
}

// spanFlag reads a length of time of whole seconds, in hours, minutes or days.
func spanFlag(flag, s string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if d, err = time.ParseDuration(days + "h"); err == nil {
			d *= 24
		}
	}
	const longest = 30 * 365 * 24 * time.Hour
	if err != nil || d < least || d > longest || d%time.Second != 0 {
		return 0, usageError{fmt.Errorf("--%s %q: use a length of time such as 24h or 7d, from %v on", flag, s, least)}
	}
	return d, nil
}

func parseOrder(s string) (ingest.Order, error) {
	switch o := ingest.Order(s); o {
	case ingest.Newest, ingest.Oldest:
		return o, nil
	}
	return "", usageError{fmt.Errorf("--order %q: use newest or oldest", s)}
}

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
