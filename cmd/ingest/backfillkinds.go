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
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// wanted is a backfill as a person asked for it.
type wanted struct {
	kind  ingest.BackfillKind
	spec  ingest.BackfillSpec
	again bool // plan it anew though the same was done before
	ask   bool // ask how large channels are

	ids *youtube.IDList // of videos
	// pieces makes the pieces; it is called once, with the store open.
	pieces func(context.Context, *store.Store) iter.Seq2[ingest.Piece, error]
}

// kindFlags are the flags of the kinds, as they were given.
type kindFlags struct {
	region, from, to, orderBy string
	slice, olderThan          string
	order                     string
	again, ask                bool
}

// kindCommands are one command per kind below "ingest backfill VERB", each of which hands what is wanted to do.
func (a *app) kindCommands(verb string, do func(context.Context, wanted) error) []*cobra.Command {
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
	reads := []func(kindFlags, []string) (wanted, error){a.wantUploads, a.wantSearch, a.wantVideos, a.wantRefresh}
	for i, cmd := range commands {
		read := reads[i]
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			w, err := read(*f, args)
			if err != nil {
				return err
			}
			w.again, w.ask = f.again, f.ask
			if w.spec.Order, err = parseOrder(f.order); err != nil {
				return err
			}
			return do(cmd.Context(), w)
		}
		cmd.Flags().BoolVar(&f.again, "again", false, "plan it anew, though the same was done before")
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

func (a *app) wantUploads(_ kindFlags, args []string) (wanted, error) {
	channels, err := youtube.ParseChannels(args)
	if err != nil {
		return wanted{}, usageError{err}
	}
	w := wanted{kind: ingest.BackfillUploads, spec: ingest.BackfillSpec{Channels: channels}}
	w.pieces = given(func(yield func(ingest.Piece) bool) {
		for _, c := range channels {
			if !yield(ingest.Piece{Key: c, Spec: ingest.PieceSpec{Channel: c}}) {
				return
			}
		}
	})
	return w, nil
}

func (a *app) wantSearch(f kindFlags, args []string) (wanted, error) {
	q := ingest.Query{Text: strings.Join(strings.Fields(strings.Join(args, " ")), " ")}
	w := wanted{kind: ingest.BackfillSearch}
	if q.Text == "" {
		return w, usageError{errors.New("the query is empty")}
	}
	switch f.orderBy {
	case "date":
		q.NewestFirst = true
	case "relevance":
	default:
		return w, usageError{fmt.Errorf("--order-by %q: use date or relevance", f.orderBy)}
	}
	if f.region != "" {
		r, err := regions.Parse(f.region)
		if err != nil {
			return w, usageError{fmt.Errorf("--region: %w", err)}
		}
		q.Region = r
	}
	each, err := spanFlag("slice", f.slice, time.Minute)
	if err != nil {
		return w, err
	}
	now := a.clock.Now().UTC().Truncate(time.Second)
	if q.After, q.Before, err = between(f.from, f.to, now); err != nil {
		return w, err
	}
	w.spec.Query = q
	from, to := q.After, q.Before
	if from.IsZero() { // what is not said here must not tell two plans of the same flags apart
		from, to = youtube.FirstVideo, now
	}
	if n := to.Sub(from) / each; n > mostSlices {
		each = to.Sub(from) / mostSlices // many videos of long ago: slices are split where they are too full
	}
	w.pieces = given(func(yield func(ingest.Piece) bool) {
		for _, p := range timeSlices(from, to, each) {
			if !yield(p) {
				return
			}
		}
	})
	return w, nil
}

// mostSlices is how many slices a search begins with at most: each costs a call even where it finds nothing.
const mostSlices = 500

func (a *app) wantVideos(_ kindFlags, args []string) (wanted, error) {
	w := wanted{kind: ingest.BackfillVideos}
	f, err := openIDs(args[0])
	if err != nil {
		return w, err
	}
	defer func() { _ = f.Close() }()
	if w.ids, err = youtube.ReadIDs(f); err != nil {
		return w, usageError{err}
	}
	a.sayRejected(w.ids)
	if len(w.ids.IDs) == 0 {
		return w, usageError{errors.New("there is no id of a video: give one a line, 11 characters each")}
	}
	digest := sha256.New()
	for _, id := range w.ids.IDs {
		digest.Write(id[:])
	}
	w.spec.IDs = hex.EncodeToString(digest.Sum(nil)[:16])
	w.pieces = given(func(yield func(ingest.Piece) bool) {
		n := 0
		for ids := range w.ids.Chunks(a.provider().calls.Limits().IDsPerCall) {
			if n++; !yield(idPiece(n, ids)) {
				return
			}
		}
	})
	return w, nil
}

// wantRefresh lists what is old when it is planned: what is fetched meanwhile is not fetched again.
func (a *app) wantRefresh(f kindFlags, _ []string) (wanted, error) {
	w := wanted{kind: ingest.BackfillRefresh}
	if f.olderThan == "" {
		return w, usageError{errors.New("--older-than: how old is old, such as 24h or 7d?")}
	}
	var err error
	if w.spec.OlderThan, err = spanFlag("older-than", f.olderThan, time.Hour); err != nil {
		return w, err
	}
	w.pieces = func(ctx context.Context, s *store.Store) iter.Seq2[ingest.Piece, error] {
		return func(yield func(ingest.Piece, error) bool) {
			n := 0
			for ids, err := range s.Older(ctx, a.clock.Now().Add(-w.spec.OlderThan), a.provider().calls.Limits().IDsPerCall) {
				if n++; !yield(idPiece(n, ids), err) || err != nil {
					return
				}
			}
		}
	}
	return w, nil
}

// sayRejected lists the lines that were left out.
func (a *app) sayRejected(l *youtube.IDList) {
	for _, r := range shownLines(l.Rejected) {
		a.say("ingest: line %d is no id of a video: %s", r.Line, r.Text)
	}
	if more := l.Wrong - len(l.Rejected); more > 0 {
		a.say("ingest: and %s more lines that are none", term.Thousands(int64(more)))
	}
}

// rejectedLine is a line of a list of ids that was left out, safe for a terminal.
type rejectedLine struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// shownLines is the lines that were left out, as a person may see them.
func shownLines(lines []youtube.RejectedLine) []rejectedLine {
	var out []rejectedLine
	for _, l := range lines {
		out = append(out, rejectedLine{l.Line, term.Fit(l.Text, 40)})
	}
	return out
}

func idPiece(n int, ids []string) ingest.Piece {
	return ingest.Piece{Key: fmt.Sprintf("%06d", n), IDs: ids}
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

// given is pieces that are known without the store.
func given(pieces iter.Seq[ingest.Piece]) func(context.Context, *store.Store) iter.Seq2[ingest.Piece, error] {
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
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC().Truncate(time.Second), nil
		}
	}
	return time.Time{}, usageError{fmt.Errorf("--%s %q: use a day such as 2026-11-01, which begins at 00:00 UTC, or an RFC 3339 time such as 2026-11-01T09:00:00Z", flag, s)}
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
