package fetch

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Scheduler lists the slots that are due; known is the newest due time of each series in the table of slots.
type Scheduler interface {
	Due(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot
}

// Pace is a schedule, stretched when the remaining quota does not pay for it.
type Pace struct {
	Schedule Scheduler
	Pages    map[string]int // pages of a job's charts, by its name; a job that is missing keeps its own
}

// Slots keeps the rows of everything that must happen once.
type Slots interface {
	// AddDue adds rows that are not there yet and leaves those that are. Slots come with their
	// State: Due, or Missed where a newer one of the same job and key is due. Adding a Due slot
	// ends every older slot of its series that is due, or claimed with its lease over, as Skipped,
	// "superseded by ...". A claim that still runs is left alone, and a stopped slot keeps its
	// outcome and its reason: Claim no longer hands it out.
	AddDue(ctx context.Context, slots []ingest.Slot) error
	// Newest returns the latest due time of every series of the schedule, in whatever state. It ignores slots due more
	// than ingest.ClockAhead after now: they were added while a clock was ahead.
	Newest(ctx context.Context, now time.Time) (map[ingest.Series]time.Time, error)
	// Claim gives c.Owner one open slot that c wants, until the lease is over. A slot is open when it is due, stopped
	// with no newer slot of its series, or claimed with its lease over at c.Now; but not while another slot of its
	// series is claimed under a lease that still runs. c says whether it wants slots of the schedule or pieces of a
	// backfill. In the schedule, the least fresh series comes first (its last slot was done longest ago, or never; a
	// chart that was cut short makes no series fresh), then the oldest due, then by job and key; pieces come in their
	// order. It raises Attempt and Tries. ok is false when there is none.
	Claim(ctx context.Context, c ingest.Claim) (slot ingest.Slot, ok bool, err error)
	// Claimable returns the slots of the schedule that repeated calls of Claim would give at now, in its order: at
	// most one of each series.
	Claimable(ctx context.Context, now time.Time) ([]ingest.SlotKey, error)
	// Retire ends slots of series that nobody wants any more, as Skipped with the series' reason: those that are due,
	// or claimed with their lease over. A stopped slot keeps its outcome; Claim no longer hands it out.
	Retire(ctx context.Context, gone map[ingest.Series]string) error
	// Finish writes the slot's state, reason and progress under the fence. A slot that is given back
	// as Due when its series has a newer one ends as Skipped.
	Finish(ctx context.Context, slot ingest.Slot) error
}

// Sink writes the answers to the store. Every write that has a slot also writes the slot's progress, in the same transaction and
// under the fence, with slot.Listing, and returns the slot as written.
type Sink interface {
	// SavePage writes a page of a chart, with Videos counted. Ranks continue after those that the slot already has; a
	// video that the slot already has keeps its first rank and gets no second. With slot.Pages == 1 it first clears
	// what an earlier attempt at the slot saved.
	SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error)
	// SaveVideos writes the videos that came back for the ids asked, and deletes those that did not: the
	// upstream no longer has them.
	SaveVideos(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error)
	// SaveCounts writes the counts that came back for the ids asked. A video that did not come back is marked as
	// counted too.
	SaveCounts(ctx context.Context, slot ingest.Slot, asked []string, counts []ingest.Counts) (ingest.Slot, error)
	// SaveNames replaces the names of a region's categories.
	SaveNames(ctx context.Context, slot ingest.Slot, region ingest.Region, names []ingest.Category) (ingest.Slot, error)

	// Enqueue appends ids to the slot's lookup queue, so that a search is never paid for twice. It leaves out
	// an id that is already queued in the slot or elsewhere in its backfill, one whose video was fetched at
	// since or later, and one that this backfill has looked up without finding it. Rest are pieces that
	// are added to the slot's backfill.
	Enqueue(ctx context.Context, slot ingest.Slot, ids []string, since time.Time, rest ...ingest.Piece) (ingest.Slot, error)
	// SaveFound writes the videos that came back for the queued ids asked and takes these ids off the queue.
	// slot.Videos goes up by what came back. Ids that did not are noted as vanished, and their videos deleted if they
	// were stored.
	SaveFound(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error)
	// Restart sets the slot back to page 1; pages is how many of its pages are already paid for. What has been found
	// stays.
	Restart(ctx context.Context, slot ingest.Slot, pages int) (ingest.Slot, error)
	// NoteCharge writes what the slot was charged, before the call that this pays for is sent: should the run die, the
	// slot counts what the ledger does. slot.Unsaved is what was charged since an answer was last saved. It writes nothing
	// unless it is agreed that the slot's backfill draws that much, by all of its runs.
	NoteCharge(ctx context.Context, slot ingest.Slot) (agreed bool, err error)
	// GiveUp takes an id that cannot be looked up off the queue, and notes why.
	GiveUp(ctx context.Context, slot ingest.Slot, id, reason string) (ingest.Slot, error)

	// SaveNoChart remembers until when the region is taken to have no such chart; a zero time forgets it.
	// It belongs to no slot.
	SaveNoChart(ctx context.Context, region ingest.Region, category string, until time.Time) error
	// Sweep deletes placements and videos older than ingest.KeepFor before now, with their index rows, in bounded
	// transactions, and returns how many. It belongs to no slot.
	Sweep(ctx context.Context, now time.Time) (placements, videos int, err error)
}

// Library is the part of the store that a pass reads.
type Library interface {
	// VideosToRefresh returns up to n ids of videos that were last fetched more than ingest.RefreshAfter before now,
	// oldest first: those seen within ingest.KeepFor before now, unless a backfill lets them go, and those it keeps fresh.
	VideosToRefresh(ctx context.Context, now time.Time, n int) ([]string, error)
	// VideosToCount returns up to n ids of stored videos that were neither fetched nor counted at before or later,
	// starting with those that were fetched longest ago.
	VideosToCount(ctx context.Context, before time.Time, n int) ([]string, error)
	// RegionsToName returns the regions, in order, that had a chart before charted and whose categories were last
	// named before stale, or never.
	RegionsToName(ctx context.Context, charted, stale time.Time) ([]ingest.Region, error)
	// Queued returns up to n of the ids in the slot's lookup queue, in order, without those whose video was fetched at
	// since or later.
	Queued(ctx context.Context, slot ingest.SlotKey, n int, since time.Time) ([]string, error)
	// Accounted returns how many videos of a channel, by its id, were fetched at since or later, and how many ids of the
	// slot were looked up without finding them.
	Accounted(ctx context.Context, slot ingest.SlotKey, channel string, since time.Time) (stored, gone int, err error)
	// Piece returns what a piece of a backfill asks for and what its pages have said, without its ids.
	Piece(ctx context.Context, slot ingest.SlotKey) (ingest.Piece, error)
	// NoChartUntil returns until when the region is known to have no such chart; zero when it is not.
	NoChartUntil(ctx context.Context, region ingest.Region, category string) (until time.Time, err error)
}

// Quota is all that a pass asks of the quota; quota.Governor has the contracts.
type Quota interface {
	Settler
	Take(ctx context.Context, r quota.Request) (quota.Decision, error)
	// SendWithin is how long after its take a call may be sent; after that it is refunded and taken again.
	SendWithin() time.Duration
	// Explain says a refusal in words.
	Explain(ctx context.Context, d quota.Decision) string
}

// Settler is the part of the quota that Settle needs.
type Settler interface {
	Refund(ctx context.Context, d quota.Decision) error
	// Drain closes a pool, "" for every pool of the take, which the provider says is spent.
	Drain(ctx context.Context, d quota.Decision, pool string) error
	// Answered opens a doubted pool again; d is the take of a probe that was answered.
	Answered(ctx context.Context, d quota.Decision) error
}
