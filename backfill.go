package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// KindBackfill is the kind of a slot that is a piece of a backfill. No config names it.
const KindBackfill Kind = "backfill"

// backfillPrefix begins the name of a backfill's job. Names of configured jobs have no slash.
const backfillPrefix = "backfill/"

// BackfillKind says how a backfill finds its videos, and so how it is cut into pieces. For scheduled jobs see Kind.
type BackfillKind string

// The kinds of backfills.
const (
	BackfillUploads BackfillKind = "uploads" // all videos of channels: a piece is a channel
	BackfillSearch  BackfillKind = "search"  // results of a search: a piece is a span of time
	BackfillVideos  BackfillKind = "videos"  // videos by their ids: a piece is a call's worth of ids
	BackfillRefresh BackfillKind = "refresh" // stored videos that have become old: a piece is a call's worth of ids
)

// Order is the working order of a search's pieces: if the quota runs out first, it decides which results are there.
type Order string

// The orders. Pieces of other backfills stay in their given order.
const (
	Newest Order = "newest" // the default: "" means the same
	Oldest Order = "oldest"
)

// Upkeep says whether a backfill's videos are refreshed, which costs quota again and again, or left to be deleted.
type Upkeep string

// The upkeeps. Without one a video is refreshed as long as it was seen lately.
const (
	KeepFresh Upkeep = "keep-fresh" // always
	LetGo     Upkeep = "let-go"     // never, until something else finds it
)

// BackfillSpec is a person's request, before it is cut into pieces. Equal requests have one Backfill.Identity.
type BackfillSpec struct {
	Channels  []string      `json:"channels,omitempty"`     // uploads: ids or handles
	Query     Query         `json:"query,omitzero"`         // search
	IDs       string        `json:"ids,omitempty"`          // videos: a digest of the ids given
	Given     int           `json:"given,omitempty"`        // videos: the number of ids given
	Rejected  int           `json:"rejected,omitempty"`     // videos: the number of lines without an id
	Why       string        `json:"why,omitempty"`          // videos: why they were rejected, or where that is written
	OlderThan time.Duration `json:"older_than_ns,omitzero"` // refresh
	Order     Order         `json:"order,omitempty"`
	Upkeep    Upkeep        `json:"upkeep,omitempty"`
}

// Lack returns the lines of the given list that hold no id.
func (s BackfillSpec) Lack() Lack {
	return Lack{Piece: "the list of ids", Stored: s.Given, Expected: s.Given + s.Rejected, Reason: s.Why}
}

// Backfill is a plan to fetch something once, in pieces; each piece is a slot. Its state is derived from the states
// of its pieces, and stored nowhere:
//
//	state                  event                                        next
//	none                   it is planned                                due
//	due, stopped           a run claims a piece                         claimed
//	claimed                the run ends, and no piece was refused       due
//	claimed                quota is refused for a piece                 stopped
//	claimed                the last open piece ends, and none failed    done
//	claimed                the last open piece ends, and some failed    failed
//	failed, or done with   retry makes those pieces due again           due
//	ids given up
//	due, stopped, claimed  it is cancelled; what was fetched stays      skipped
//	done, failed           the same is planned with --again             another plan, due
//	skipped                the same is planned                          another plan, due
type Backfill struct {
	ID        string // given by the store: "bf-7"
	Kind      BackfillKind
	Spec      BackfillSpec
	Table     string    // the name of the cost table it was priced with
	Created   time.Time // videos fetched since then are not fetched again
	Wait      bool      // ingest serve may carry it on
	Cancelled time.Time // zero: it was not

	// Confirmed is the most that a person agreed to spend on it, by pool; nil: there was no request. Charges is the
	// sum of its charges so far.
	Confirmed, Charges map[string]int64
}

// Job returns the name of the job that the backfill's slots belong to.
func (b Backfill) Job() string { return backfillPrefix + b.ID }

// State returns the plan's state from the number of its pieces in each state.
func (b Backfill) State(pieces map[State]int) State {
	open := pieces[Due] + pieces[Claimed] + pieces[Stopped]
	switch {
	case !b.Cancelled.IsZero():
		return Skipped
	case open == 0 && pieces[Failed] > 0:
		return Failed
	case open == 0:
		return Done
	case pieces[Claimed] > 0:
		return Claimed
	case pieces[Stopped] > 0:
		return Stopped
	default:
		return Due
	}
}

// Identity returns the same text for backfills that ask for the same thing, even in a different order.
func (b Backfill) Identity() string {
	b.Spec.Order, b.Spec.Given, b.Spec.Rejected, b.Spec.Why = "", 0, 0, ""
	text, err := json.Marshal(b.Spec)
	if err != nil { // a year after 9999, which no query has
		text = fmt.Append(nil, b.Spec)
	}
	sum := sha256.Sum256(append([]byte(string(b.Kind)+" "), text...))
	return hex.EncodeToString(sum[:16])
}

// Exhausted reports whether everything agreed to is spent.
func (b Backfill) Exhausted() bool {
	for pool, most := range b.Confirmed {
		if b.Charges[pool] < most {
			return false
		}
	}
	return b.Confirmed != nil
}

// Reversed reports whether the latest piece in time comes first.
func (b Backfill) Reversed() bool {
	return b.Kind == BackfillSearch && cmp.Or(b.Spec.Order, Newest) == Newest
}

// IsBackfillJob reports whether the job is a backfill, and returns its ID.
func IsBackfillJob(job string) (id string, ok bool) { return strings.CutPrefix(job, backfillPrefix) }

// Piece is a part of a backfill that is worked on, and resumed, as a unit. The slot with its key has its state.
type Piece struct {
	Key  string // unique within the backfill; at most about 100 bytes
	Spec PieceSpec
	IDs  []string // to look up, at most one call's worth; empty if they must first be found

	Listing Listing
}

// Listing sums up the pages of a piece. It is stored with the piece, for later runs and to decide what the piece
// lacks.
type Listing struct {
	Channel  string `json:"channel,omitempty"`  // the id of the channel whose videos are listed
	Expected int    `json:"expected,omitempty"` // the upstream's number of videos; 0: unknown, or none
	None     bool   `json:"none,omitempty"`     // the upstream counts no videos
	Total    int    `json:"total,omitempty"`    // the last total that the list gave
	Shrunk   bool   `json:"shrunk,omitempty"`   // the list became shorter while it was read
	Asked    bool   `json:"asked,omitempty"`    // the channel was asked for again at the end of its list
	// the list's first id when it was first read; "" if all of it must be read
	Top   string `json:"top,omitempty"`
	Found int    `json:"found,omitempty"` // ids, without repeats
	Idle  int    `json:"idle,omitempty"`  // pages in a row that brought nothing new
	Empty int    `json:"empty,omitempty"` // pages in all that brought nothing new
	// when the newest result of the last page was published; zero unless pages are chronological
	Last   time.Time `json:"last,omitzero"`
	Stored int       `json:"stored,omitempty"` // stored videos of the list, when Lack was set
	Lack   string    `json:"lack,omitempty"`   // why the piece ended incomplete; "": it is complete

	Watch *Watch `json:"watch,omitempty"` // of a channel whose uploads are watched
}

// Watch is the note of one slot of a watched channel for the next one, which reads the list up to known videos.
type Watch struct {
	Uploads string    `json:"uploads,omitempty"` // the name of its list of videos; "": the channel was never found
	AskedAt time.Time `json:"asked_at,omitzero"` // when the channel was last asked for by its handle or id
	// the first ids of its list, as of the last slot that read up to known ones
	Newest []string  `json:"newest,omitempty"`
	First  []string  `json:"first,omitempty"` // the same, while a slot has not reached known ids
	Moved  string    `json:"moved,omitempty"` // the handle's present channel, in words; "": to the channel
	Gone   time.Time `json:"gone,omitzero"`   // since when the upstream has no such channel; zero: it has it
}

// Lack describes a part of a backfill that ended incomplete: the upstream gave less than it has. See PieceFailure.
type Lack struct {
	Piece    string
	Stored   int
	Expected int // about; 0: not known
	Reason   string
}

// String describes it: "500 of about 1500: the search lists no more".
func (l Lack) String() string {
	if l.Expected > 0 {
		return fmt.Sprintf("%d of about %d: %s", l.Stored, l.Expected, l.Reason)
	}
	return fmt.Sprintf("%d, and there is more: %s", l.Stored, l.Reason)
}

// PieceFailure is a piece that failed, or an id that could not be looked up. A retry takes it up, but no Lack.
type PieceFailure struct {
	Piece  string `json:"piece"`        // its key
	ID     string `json:"id,omitempty"` // "": the piece itself
	Reason string `json:"reason"`
}

// PieceSpec says where to find the ids of a piece; it is zero for a piece whose ids are given.
type PieceSpec struct {
	Channel       string    `json:"channel,omitempty"` // an id or a handle
	After, Before time.Time `json:",omitzero"`         // of a search: published within [After, Before), whole seconds
}

// Slice returns the piece of a search that covers [after, before).
func Slice(after, before time.Time) Piece {
	after, before = after.UTC().Truncate(time.Second), before.UTC().Truncate(time.Second)
	return Piece{
		Key:  after.Format(time.RFC3339) + "/" + before.Format(time.RFC3339),
		Spec: PieceSpec{After: after, Before: before},
	}
}

// Slices splits a search of [from, to) into equally long pieces of at most each, to the second.
func Slices(from, to time.Time, each time.Duration) []Piece {
	span := to.Sub(from) / time.Second
	n := max((span+each/time.Second-1)/(each/time.Second), 1)
	var pieces []Piece
	for i := range n {
		pieces = append(pieces, Slice(from.Add(span*i/n*time.Second), from.Add(span*(i+1)/n*time.Second)))
	}
	return pieces
}

// IDPiece returns the nth piece of a backfill whose ids are given.
func IDPiece(n int, ids []string) Piece {
	return Piece{Key: fmt.Sprintf("%06d", n), IDs: ids}
}
