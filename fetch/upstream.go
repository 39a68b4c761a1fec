package fetch

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// Call is one request to an upstream, as a value, so that no call can leave before its cost is taken: price it by its
// Method, take the cost, then call Do.
type Call[T any] struct {
	Method string        // as costs.yaml names it: "videos.list"
	Region ingest.Region // "" if the call has no region

	// Do sends the request once, without retries. Its error is an *Error if the upstream's answer, or its absence,
	// could be classified.
	Do func(ctx context.Context) (T, error)
}

// Upstream makes calls; nothing is sent until Do. Implement it to add a provider (see fetch/youtube); the optional
// interfaces beside it add searches, channels and counts.
type Upstream interface {
	// Chart is one page of a region's chart. category "" or "0" is the whole chart; token "" is the first page.
	Chart(region ingest.Region, category, token string) Call[ingest.Page]
	// Videos is the current state of up to Limits.IDsPerCall videos. Deleted ones are missing from the page.
	Videos(ids []string) Call[ingest.Page]
	Limits() Limits
}

// Abilities that only some upstreams have.
type (
	// Searcher finds videos by words.
	Searcher interface {
		// Search is one page of results; token "" is the first.
		Search(q ingest.Query, token string) Call[ingest.Found]
	}

	// Archive lists all videos of a channel.
	Archive interface {
		// Channel finds a channel by its id or its handle, "@name". If it does not exist, the error is an *Error with
		// Rejected.
		Channel(idOrHandle string) Call[ingest.Channel]
		// Uploads is one page of the videos of a channel, newest first.
		Uploads(uploads, token string) Call[ingest.Found]
	}

	// Namer names categories.
	Namer interface {
		Categories(region ingest.Region) Call[[]ingest.Category]
	}

	// Counter fetches only the counts of up to Limits.IDsPerCall videos, from a pool of their own. Deleted videos are
	// missing.
	Counter interface {
		Counts(ids []string) Call[[]ingest.Counts]
	}
)

// CallVerdict is the meaning of an upstream's answer for the pass and for the quota: whether a retry helps, whether the
// call was paid for, and whether a pool is spent.
type CallVerdict string

// The verdicts, named for what a pass does about them.
const (
	Spent     CallVerdict = "spent"      // a pool's day is over: drain it, stop
	Burst     CallVerdict = "burst"      // too many calls at once: back off, the day goes on
	BadKey    CallVerdict = "bad_key"    // the key is refused: fatal, exit 77
	NoChart   CallVerdict = "no_chart"   // the region has no such chart: skip
	BadToken  CallVerdict = "bad_token"  // the page token is refused: begin again at page 1, once
	BadRegion CallVerdict = "bad_region" // the upstream does not know the region: fatal for it alone
	Broken    CallVerdict = "broken"     // the upstream failed or its answer makes no sense: retry, bounded
	Unsent    CallVerdict = "unsent"     // the request certainly never left this machine: refund, then as Broken
	Rejected  CallVerdict = "rejected"   // the request itself is refused for good: fail
)

// VerdictSuspect is counted for a call that was answered with too little to be believed (ingest.Asked). It is no Error.
const VerdictSuspect = "suspect"

// Error is a call that failed, with its meaning for the pass and for the quota: Settle acts on its Verdict.
type Error struct {
	Verdict CallVerdict
	Method  string
	Status  int           // HTTP, of an answer that refuses; 0: none
	Pool    string        // with Spent: the pool, "" for every pool of the method
	Sure    bool          // with Burst: the upstream named the exceeded rate, so that the refusal is certain
	Vague   bool          // with Rejected: forbidden, without a reason why
	Wait    time.Duration // with Burst: how long the upstream asks to wait; 0: it does not say
	Err     error         // without secrets
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %v", e.Method, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// NotSent is the error of a call that was given up before it was sent.
var NotSent = &Error{Verdict: Unsent}

// Is reports whether target is ingest.ErrKeyRefused, for a refused key, or else ingest.ErrNoAnswer.
func (e *Error) Is(target error) bool {
	return target == ingest.ErrKeyRefused && e.Verdict == BadKey || target == ingest.ErrNoAnswer && e.Verdict != BadKey
}
