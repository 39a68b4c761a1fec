package fetch

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Scheduler lists due slots; known is the newest due time of each series in the table of slots.
type Scheduler interface {
	Due(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot
}

// Slots keeps the rows of everything that must happen once.
//
// The life of a slot:
//
//	state            event                                                      next
//	-                its time comes, and nothing newer of its series is due     due
//	-                its time comes, but a newer one of its series is stored    skipped
//	-                its time has passed, and something newer is due            missed
//	due              a newer slot of its series is added, or the config no      skipped
//	                 longer has its job or its region
//	due, stopped     a run claims it, while no newer slot of its series exists  claimed
//	claimed          the last page is saved, or nothing is left to ask          done
//	claimed          quota refuses a call, or the provider does so twice        stopped
//	claimed          the upstream has no such chart, or cannot do such a job    skipped
//	claimed          a call fails for good                                      failed
//	claimed          the pass panics, or brings no page within its lease        failed
//	claimed          the run ends, the key is refused, the ledger or the store  due, or skipped
//	                 fails, nothing can be sent                                 if a newer one exists
//	claimed          the lease ends: the process died                           claimed by another run, or
//	                                                                            skipped as one that is due
//
// The pieces of a backfill differ, as nothing supersedes them:
//
//	claimed          calls fail, and no id is to blame                          due, and waits: a minute to 6 h
//	claimed          no page within its lease                                   due, and waits: a minute to 6 h
//	claimed          an answer lacks too much to be believed                    due, and waits: an hour
//	claimed          the same, and the pass never returns                       failed
//	claimed          any of these, or the process died, the 25th time in a row  failed, at the next claim
//	due, stopped,    the backfill is cancelled                                  skipped
//	claimed
//	failed, or with  a person retries it                                        due
//	ids given up
//
// The state of the whole plan follows from the states of its pieces: see ingest.Backfill.
type Slots interface {
	// AddDue adds the missing rows. Slots come with their State: Due, or Missed if a newer one of the same job and key
	// is due. Adding a Due slot ends every older slot of its series that is due, or claimed with its lease over, as
	// Skipped, "superseded by ...". A running claim continues; a stopped slot keeps its outcome and reason, and Claim
	// no longer returns it.
	AddDue(ctx context.Context, slots []ingest.Slot) error
	// Newest returns the newest due time of every series of the schedule, in any state. It ignores slots due more than
	// ingest.ClockAhead after now, which were added while a clock was ahead.
	Newest(ctx context.Context, now time.Time) (map[ingest.Series]time.Time, error)
	// Claim gives c.Owner one open slot that c wants, until the lease is over; ok is false if there is none. A slot is
	// open when it is due and its RetryAt, at most an hour ahead, has come, stopped with no newer slot of its series, or
	// claimed with its lease over at c.Now, unless another slot of its series is claimed under a running lease. c selects
	// slots of the schedule or pieces of a backfill. In the schedule the least fresh series comes first (its last slot
	// was done longest ago, or never; a partial chart makes no series fresh), then the oldest due, then job and key;
	// pieces come in their order. Claim raises Attempt and Tries.
	Claim(ctx context.Context, c ingest.Claim) (slot ingest.Slot, ok bool, err error)
	// Claimable returns the slots of the schedule that repeated Claims would return at now, in order: at most one per
	// series.
	Claimable(ctx context.Context, now time.Time) ([]ingest.SlotKey, error)
	// Retire ends slots of unwanted series as Skipped, with the series' reason, if they are due, or claimed with their
	// lease over. A stopped slot keeps its outcome, and Claim no longer returns it.
	Retire(ctx context.Context, gone map[ingest.Series]string) error
	// Finish writes the slot's state, reason and progress under the fence. A slot given back as Due whose series has a
	// newer one ends as Skipped.
	Finish(ctx context.Context, slot ingest.Slot) error
}

// Sink writes answers to the store. A write with a slot also writes the slot's progress and slot.Listing, in the same
// transaction and under the fence, and returns the slot as written.
type Sink interface {
	// SavePage writes a page of a chart, and counts Videos. Ranks continue after the slot's existing ones; a repeated
	// video keeps its first rank. With slot.Pages == 1 it first clears the pages of an earlier attempt.
	SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error)
	// SaveVideos writes the videos that came back, and notes the stored ones that were left out. It deletes videos
	// that a look-up ingest.RecheckAfter or longer before had left out too, if this answer proves the absence
	// (ingest.Asked) and lacks nothing else. Their placements stay until their own age.
	SaveVideos(ctx context.Context, slot ingest.Slot, asked ingest.Asked,
		page ingest.Page) (ingest.Slot, ingest.Absences, error)
	// SaveCounts writes the counts that came back for the ids asked. The others count as counted too, unless the answer
	// is suspect. A watch list's slot keeps its counts as a chart does, in the order asked, and they are sightings.
	SaveCounts(ctx context.Context, slot ingest.Slot, asked []string, counts []ingest.Counts) (ingest.Slot, error)
	// SaveNames replaces the names of a region's categories.
	SaveNames(ctx context.Context, slot ingest.Slot, region ingest.Region, names []ingest.Category) (ingest.Slot, error)

	// Enqueue appends ids to the slot's lookup queue, so that a search is never paid for twice. It skips ids that are
	// queued in the slot or elsewhere in its backfill, whose video was fetched at since or later, or that this
	// backfill has looked up without finding them. rest are pieces to add to the slot's backfill. The slot without a key
	// of a job of uploads takes over the ids that wait in the job's other slots instead. It also skips ids of a watch
	// list that another of its slots has looked up in vain within a day.
	Enqueue(ctx context.Context, slot ingest.Slot, ids []string, since time.Time,
		rest ...ingest.Piece) (ingest.Slot, error)
	// SaveFound writes the videos that came back for the queued ids asked, and takes these ids off the queue.
	// slot.Videos grows by the videos. Missing ids are recorded as vanished, and stored videos are treated as by
	// SaveVideos. If the answer is suspect, missing ids stay in the queue with asked.Keep.
	SaveFound(ctx context.Context, slot ingest.Slot, asked ingest.Asked,
		page ingest.Page) (ingest.Slot, ingest.Absences, error)
	// Restart sets the slot back to page 1; pages is how many of its pages are already paid for. Found videos stay.
	Restart(ctx context.Context, slot ingest.Slot, pages int) (ingest.Slot, error)
	// NoteCharge writes the slot's charges before the call that they pay for is sent, so that the slot agrees with the
	// ledger if the run dies. slot.Unsaved is the charge since an answer was last saved. Unless a person agreed that
	// all runs of the slot's backfill together spend that much, it writes nothing and agreed is false.
	NoteCharge(ctx context.Context, slot ingest.Slot) (agreed bool, err error)
	// GiveUp takes an id that cannot be looked up off the queue, and records why.
	GiveUp(ctx context.Context, slot ingest.Slot, id, reason string) (ingest.Slot, error)

	// SaveNoChart stores until when the region is assumed to have no such chart; a zero time forgets it. It belongs to
	// no slot.
	SaveNoChart(ctx context.Context, region ingest.Region, category string, until time.Time) error
	// Sweep deletes placements and videos older than ingest.KeepFor before now, with their index rows, in bounded
	// transactions, and returns their numbers. It belongs to no slot.
	Sweep(ctx context.Context, now time.Time) (placements, videos int, err error)
}

// Library is the part of the store that a pass reads. Sink is the part that it writes.
type Library interface {
	// VideosToRefresh returns up to n ids of videos that were last fetched more than ingest.RefreshAfter before now, or
	// will have been that much later (early), oldest first: those then seen within ingest.KeepFor, unless a backfill lets
	// them go, and those it keeps fresh. Those in doubt are left out.
	VideosToRefresh(ctx context.Context, now time.Time, early time.Duration, n int) ([]string, error)
	// VideosInDoubt returns up to n ids of stored videos that a look-up left out at askedBefore or earlier, and that none
	// has brought since, the longest ago first.
	VideosInDoubt(ctx context.Context, askedBefore time.Time, n int) ([]string, error)
	// Witnesses returns up to n ids of the stored videos that were fetched last, without those in doubt.
	Witnesses(ctx context.Context, n int) ([]string, error)
	// VideosToCount returns up to n ids of stored videos that were neither fetched nor counted at before or later;
	// those fetched longest ago come first.
	VideosToCount(ctx context.Context, before time.Time, n int) ([]string, error)
	// VideosCharted returns the ids of the videos in complete charts that were due at since or later, in no order.
	VideosCharted(ctx context.Context, since time.Time) ([]string, error)
	// RegionsToName returns the regions, in order, that had a chart before charted and whose categories were last
	// named before stale, or never.
	RegionsToName(ctx context.Context, charted, stale time.Time) ([]ingest.Region, error)
	// Queued returns up to n ids of the slot's lookup queue, in order, without ids of videos that were fetched at
	// since or later.
	Queued(ctx context.Context, slot ingest.SlotKey, n int, since time.Time) ([]string, error)
	// Accounted returns how many videos of a channel, by its id, were fetched at since or later, and how many ids of
	// the slot were looked up in vain.
	Accounted(ctx context.Context, slot ingest.SlotKey, channel string, since time.Time) (stored, gone int, err error)
	// Piece returns a piece's request and Listing, without its ids. A slot of the schedule has no request, and at first
	// the Listing of the series' newest slot before it that has one.
	Piece(ctx context.Context, slot ingest.SlotKey) (ingest.Piece, error)
	// Charted reports whether a chart of the series is stored that has videos.
	Charted(ctx context.Context, series ingest.Series) (bool, error)
	// NoChartUntil returns until when the region is known to have no such chart; zero if it is not.
	NoChartUntil(ctx context.Context, region ingest.Region, category string) (until time.Time, err error)
}

// Quota is the part of quota.Governor that a pass needs; the contracts are there.
type Quota interface {
	Settler
	Take(ctx context.Context, r quota.Request) (quota.Decision, error)
	// SendWithin is how long after its take a call may be sent; later it is refunded and taken again.
	SendWithin() time.Duration
	// Explain describes a refusal.
	Explain(ctx context.Context, d quota.Decision) string
}

// Settler is the part of the quota that Settle needs. The gateway settles its calls with it, without a pass.
type Settler interface {
	Refund(ctx context.Context, d quota.Decision) error
	// Drain closes a pool that the provider says is spent; "" closes every pool of the take.
	Drain(ctx context.Context, d quota.Decision, pool string) error
	// Answered opens a doubted pool again; d is the take of a probe that was answered.
	Answered(ctx context.Context, d quota.Decision) error
}

// Notes keeps knowledge about the upstream for all processes that share the store, such as how long it is silent.
type Notes interface {
	Note(ctx context.Context, name string) (string, error) // "" if there is none
	SetNote(ctx context.Context, name, text string) error
}
