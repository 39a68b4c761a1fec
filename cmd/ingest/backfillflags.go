package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// kindFlags holds the flags of the kinds of backfill, as the user gave them.
type kindFlags struct {
	region           ingest.Region
	from, to         time.Time
	slice, olderThan time.Duration
	orderBy          string
	order            ingest.Order
	again, ask       bool
	keepFresh, letGo bool
}

// upkeep returns whether the videos are kept fresh or let go; "": neither flag was given.
func (f kindFlags) upkeep() (ingest.Upkeep, error) {
	switch {
	case f.keepFresh && f.letGo:
		return "", usageError{
			errors.New("--keep-fresh and --let-go: give one of them, or neither to refresh videos that are found again")}
	case f.keepFresh:
		return ingest.KeepFresh, nil
	case f.letGo:
		return ingest.LetGo, nil
	}
	return "", nil
}

// checkRange checks --from and --to: both or neither, in order, not in the future.
func (f kindFlags) checkRange(now time.Time) error {
	if f.from.IsZero() != f.to.IsZero() {
		return usageError{errors.New("--from and --to: give both, or neither for everything until now")}
	}
	for i, t := range []time.Time{f.from, f.to} {
		if t.After(now) {
			return usageError{fmt.Errorf("--%s %s is in the future: it is %s now", []string{"from", "to"}[i],
				term.Day(t), term.Stamp(now))}
		}
	}
	switch {
	case f.from.IsZero():
	case !f.from.Before(f.to):
		return usageError{fmt.Errorf("--from %s is not before --to %s: are they reversed?", term.Day(f.from), term.Day(f.to))}
	case f.from.Before(youtube.FirstVideo):
		return usageError{fmt.Errorf("--from %s is before the first video, of %s", term.Day(f.from),
			term.Day(youtube.FirstVideo))}
	}
	return nil
}

// kindCommands returns one command per kind below "ingest backfill VERB"; each passes the request to do.
func (a *app) kindCommands(verb string, do func(context.Context, backfillRequest) error) []*cobra.Command {
	f := &kindFlags{order: ingest.Newest, orderBy: "date"}
	kind := func(use, short string, args cobra.PositionalArgs, example string,
		read func(kindFlags, []string) (backfillRequest, error)) *cobra.Command {
		cmd := command(use, short, args, func(ctx context.Context, args []string) error {
			r, err := read(*f, args)
			if err != nil {
				return err
			}
			r.again, r.ask, r.spec.Order = f.again, f.ask, f.order
			if r.spec.Upkeep, err = f.upkeep(); err != nil {
				return err
			}
			return do(ctx, r)
		})
		cmd.Example = "  ingest backfill " + verb + " " + example
		cmd.Flags().BoolVar(&f.again, "again", false, "plan it again, though the same was done before")
		cmd.Flags().Var(orderFlag(&f.order), "order",
			"which part of the time range a search fetches first: the `newest` or the oldest")
		return cmd
	}
	commands := []*cobra.Command{
		kind("uploads CHANNEL...", "All videos of channels: ids, @handles or URLs",
			orAsk(cobra.MinimumNArgs(1), "which channels? Give their ids, @handles or the URLs of their pages"),
			"uploads @GoogleDevelopers UC_x5XG1OV2P6uZZ5FSM9Ttw", requestUploads),
		kind("search QUERY", "The results of a search, slice of time by slice of time",
			orAsk(cobra.MinimumNArgs(1), "search for what? Give the words, such as 'world cup'"),
			"search 'world cup' --from 2026-06-01 --to 2026-07-01", a.requestSearch),
		kind("videos FILE", "Videos by their ids, one a line; - is standard input",
			orAsk(cobra.ExactArgs(1), "which videos? Give one file with an id a line, or - for standard input"),
			"videos ids.txt", a.requestVideos),
		kind("refresh", "Every stored video last fetched longer ago than --older-than", noArgs,
			"refresh --older-than 7d", a.requestRefresh),
	}
	for _, cmd := range commands[:3] {
		cmd.Flags().BoolVar(&f.keepFresh, "keep-fresh", false, "refresh its videos every 25 days, found again or not")
		cmd.Flags().BoolVar(&f.letGo, "let-go", false, "never refresh them: deleted on day 29 unless found again")
	}
	commands[0].Flags().BoolVar(&f.ask, "ask", false, "ask how many videos each channel has, a call each")
	search, most := commands[1].Flags(), providers["youtube"].calls.Limits()
	search.Var(config.RegionFlag(&f.region), "region", "only videos that may be watched in this `region`")
	search.Var(config.InstantFlag(&f.from), "from", "only videos published since this `day` or RFC 3339 time")
	search.Var(config.InstantFlag(&f.to), "to", "only videos published before this `day` or time; with --from, or neither")
	search.Var(config.Choice(&f.orderBy, "date", "relevance"), "order-by",
		fmt.Sprintf("which %d of a slice's results come: by `date` or relevance", most.SearchPages*most.PerPage))
	search.Var(config.SpanFlag(&f.slice, "7d", time.Minute), "slice",
		"how much `time` one search covers at most, such as 24h")
	commands[3].Flags().Var(config.SpanFlag(&f.olderThan, "", time.Hour), "older-than", "`D`, such as 24h or 7d")
	return commands
}

func orderFlag(into *ingest.Order) *config.FlagValue {
	return config.Choice(into, ingest.Newest, ingest.Oldest)
}

// backfillRequest is a backfill as the user asked for it.
type backfillRequest struct {
	kind  ingest.BackfillKind
	spec  ingest.BackfillSpec
	again bool // plan it again even if it was done before
	ask   bool // ask for the sizes of channels

	ids      *youtube.IDList       // of a backfill of videos
	rejected []report.RejectedLine // the first lines that were rejected
	// pieces makes the pieces; it is called once, with the store open.
	pieces func(context.Context, *store.Store) iter.Seq2[ingest.Piece, error]
}

func requestUploads(_ kindFlags, args []string) (backfillRequest, error) {
	channels, err := youtube.ParseChannels(args)
	if err != nil {
		return backfillRequest{}, usageError{err}
	}
	var pieces []ingest.Piece
	for _, c := range channels {
		pieces = append(pieces, ingest.Piece{Key: c, Spec: ingest.PieceSpec{Channel: c}})
	}
	return backfillRequest{
		kind: ingest.BackfillUploads, spec: ingest.BackfillSpec{Channels: channels},
		pieces: fixedPieces(slices.Values(pieces)),
	}, nil
}

func (a *app) requestSearch(f kindFlags, args []string) (backfillRequest, error) {
	q := ingest.Query{
		Text: strings.Join(strings.Fields(strings.Join(args, " ")), " "), Region: f.region, After: f.from,
		Before: f.to, NewestFirst: f.orderBy == "date",
	}
	r := backfillRequest{kind: ingest.BackfillSearch}
	if q.Text == "" {
		return r, usageError{errors.New("the query is empty")}
	}
	now := a.clock.Now().UTC().Truncate(time.Second)
	if err := f.checkRange(now); err != nil {
		return r, err
	}
	r.spec.Query = q
	from, to, each := q.After, q.Before, f.slice
	if from.IsZero() { // kept out of the spec: plans with the same flags must be equal
		from, to = youtube.FirstVideo, now
	}
	if n := to.Sub(from) / each; n > mostSlices {
		each = to.Sub(from) / mostSlices // a slice that finds too much is split later
	}
	r.pieces = fixedPieces(slices.Values(ingest.Slices(from, to, each)))
	return r, nil
}

// mostSlices bounds how many slices a search begins with: each costs a call even if it finds nothing.
const mostSlices = 500

func (a *app) requestVideos(_ kindFlags, args []string) (backfillRequest, error) {
	r := backfillRequest{kind: ingest.BackfillVideos}
	f, err := openIDs(args[0])
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }()
	out := report.RejectedLines{Say: a.say}
	if args[0] != "-" {
		out.Path = args[0] + ".rejected"
	}
	r.ids, err = youtube.ReadIDs(f, out.Add)
	if err := errors.Join(err, out.Close()); err != nil {
		return r, usageError{err}
	}
	if r.ids.Column != "" {
		a.say("%s: the videos are read from %s", args[0], r.ids.Column)
	}
	r.rejected = out.First
	r.spec.Given, r.spec.Rejected, r.spec.Why = len(r.ids.IDs), r.ids.Wrong, out.Where()
	if len(r.ids.IDs) == 0 {
		return r, usageError{errors.New("there is no id of a video: give one a line, or the URL of its page")}
	}
	digest := sha256.New()
	for _, id := range r.ids.IDs {
		digest.Write(id[:])
	}
	r.spec.IDs = hex.EncodeToString(digest.Sum(nil)[:16])
	r.pieces = fixedPieces(func(yield func(ingest.Piece) bool) {
		n := 0
		for ids := range r.ids.Chunks(a.provider().calls.Limits().IDsPerCall) {
			if n++; !yield(ingest.IDPiece(n, ids)) {
				return
			}
		}
	})
	return r, nil
}

// requestRefresh lists the videos that are old when the plan is made. Later fetches do not change the list.
func (a *app) requestRefresh(f kindFlags, _ []string) (backfillRequest, error) {
	r := backfillRequest{kind: ingest.BackfillRefresh}
	if r.spec.OlderThan = f.olderThan; f.olderThan == 0 {
		return r, usageError{errors.New("--older-than: how old is old, such as 24h or 7d?")}
	}
	r.pieces = func(ctx context.Context, s *store.Store) iter.Seq2[ingest.Piece, error] {
		return func(yield func(ingest.Piece, error) bool) {
			n := 0
			for ids, err := range s.Older(ctx, a.clock.Now().Add(-r.spec.OlderThan), a.provider().calls.Limits().IDsPerCall) {
				if n++; !yield(ingest.IDPiece(n, ids), err) || err != nil {
					return
				}
			}
		}
	}
	return r, nil
}

// openIDs opens a file of ids, or standard input for "-".
func openIDs(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("read the ids: %w: name a file with one id a line, or - for standard input", err)}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, usageError{fmt.Errorf("read the ids: %s is a directory: name a file with one id a line", path)}
	}
	return f, nil
}

// fixedPieces returns pieces that are known without the store.
func fixedPieces(pieces iter.Seq[ingest.Piece]) func(context.Context, *store.Store) iter.Seq2[ingest.Piece, error] {
	return func(context.Context, *store.Store) iter.Seq2[ingest.Piece, error] {
		return func(yield func(ingest.Piece, error) bool) {
			for p := range pieces {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}
