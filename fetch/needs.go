package fetch

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// Schedule says what is due. It is asked with what the table of slots knows already.
type Schedule interface {
	Due(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot
}

// Slots keeps the rows of everything that must happen once.
type Slots interface {
	// AddDue adds rows that are not there yet and leaves those that are. Slots come with their
	// State: Due, or Missed where a newer one of the same job and key is due. Adding a Due slot
	// ends every older slot of its series that is due, or claimed with its lease over, as Skipped,
	// "superseded by ...". A claim that still runs is left alone, and a stopped slot keeps its
	// outcome and its reason: Claim no longer hands it out.
	AddDue(ctx context.Context, slots []ingest.Slot) error
	// Newest is the latest due time known for every job and key of the schedule, in whatever state.
	Newest(ctx context.Context) (map[ingest.Series]time.Time, error)
	// Claim hands one open slot of those that c wants to its owner until the lease is over: due,
	// stopped with no newer slot of its job and key, or claimed with its lease over at c.Now; never
	// while another slot of its series is claimed and the lease of that is not over. Slots of the schedule
	// and pieces of a backfill are apart: c says which. Of the schedule, the least fresh
	// series comes first (that whose last slot was done longest ago, or never: a chart that was cut
	// short makes nobody fresh), then the oldest due, then by job and key; pieces come in their order. It
	// raises Attempt and Tries. ok is false when there is none.
	Claim(ctx context.Context, c ingest.Claim) (slot ingest.Slot, ok bool, err error)
	// Retire ends what waits in series that nobody wants any more: due, or claimed with its lease
	// over, as Skipped with the series' reason. A stopped slot keeps its outcome; Claim no longer
	// hands it out.
	Retire(ctx context.Context, gone map[ingest.Series]string) error
	// Finish writes the slot's state, reason and progress under the fence. A slot that is given back
	// as Due when its series has a newer one ends as Skipped.
	Finish(ctx context.Context, slot ingest.Slot) error
}

// Sink keeps pages.
type Sink interface {
	// SavePage writes the page and the slot's new progress and state in one transaction, under the
	// fence, and returns the slot as written, with Videos counted. Ranks go on behind those the
	// slot already has; a video that the slot already has keeps its first rank and takes no second.
	// With slot.Pages == 1 it first clears what an earlier attempt at the slot saved.
	SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error)
}

// Library is what a refresh keeps young.
type Library interface {
	// Stale is up to n ids of videos that were charted within ingest.KeepFor before now and were
	// last fetched more than ingest.RefreshAfter before now, oldest first.
	Stale(ctx context.Context, now time.Time, n int) ([]string, error)
	// SaveVideos writes the videos that came back for the ids asked, deletes those that did not
	// (the upstream no longer has them), and writes the slot's progress, in one transaction under
	// the fence.
	SaveVideos(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error)
	// Sweep deletes placements and videos older than ingest.KeepFor before now, with their index
	// rows, in bounded transactions, and says how many.
	Sweep(ctx context.Context, now time.Time) (placements, videos int, err error)
}

// Shelf keeps what was found by other ways than a chart: ids first, which an answer says little more of,
// then the videos that they are of. Ids wait in the store, so that a search is never paid for twice.
type Shelf interface {
	// Park keeps ids to be looked up, behind those that wait, and writes the slot's progress, in one
	// transaction under the fence. An id that waits already, in the slot or in another of its backfill, is
	// left out; so is one whose video was fetched at since or later, and one that this backfill has looked
	// up in vain. Halves are pieces that are added to the slot's backfill.
	Park(ctx context.Context, slot ingest.Slot, ids []string, since time.Time, halves ...ingest.Piece) (ingest.Slot, error)
	// Parked is up to n of the ids that wait in the slot, in order, without those whose video was fetched
	// at since or later.
	Parked(ctx context.Context, slot ingest.SlotKey, n int, since time.Time) ([]string, error)
	// SaveFound writes the videos that came back for the ids asked, which wait no longer, and the slot's
	// progress, in one transaction under the fence. slot.Videos goes up by what came back. What did not is
	// noted as vanished, and deleted where it was kept.
	SaveFound(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error)
}

// Pieces keeps what a backfill's pieces are about. Slots of the schedule that look ids up have it too.
type Pieces interface {
	// Piece is what the slot asks for, without its ids.
	Piece(ctx context.Context, slot ingest.SlotKey) (ingest.Piece, error)
	// Restart writes that the slot begins anew, at page 1, after so many pages that are paid for, under the
	// fence. What has been found stays.
	Restart(ctx context.Context, slot ingest.Slot, pages int) (ingest.Slot, error)
	// GiveUp writes that an id of the slot cannot be looked up, and why, under the fence: it waits no longer.
	GiveUp(ctx context.Context, slot ingest.Slot, id, reason string) (ingest.Slot, error)
}

// Absences remembers which charts an upstream does not have, for a while: asking costs quota.
type Absences interface {
	// NoChart is until when the region is known to have no such chart; zero when it is not.
	NoChart(ctx context.Context, region ingest.Region, category string) (until time.Time, err error)
	// NoteNoChart remembers that, until then; a zero time forgets it.
	NoteNoChart(ctx context.Context, region ingest.Region, category string, until time.Time) error
}

// Names keeps what categories are called, by region.
type Names interface {
	// Unnamed is the regions, in order, that had a chart before charted and whose categories were last
	// named before stale, or never.
	Unnamed(ctx context.Context, charted, stale time.Time) ([]ingest.Region, error)
	// SaveNames replaces what the categories of a region are called, and writes the slot's progress, in
	// one transaction under the fence.
	SaveNames(ctx context.Context, slot ingest.Slot, region ingest.Region, names []ingest.Category) (ingest.Slot, error)
}

// Tallies keeps counts that came alone.
type Tallies interface {
	// Uncounted is up to n ids of videos that are kept and were neither fetched nor counted at before or
	// later, those first that were fetched longest ago.
	Uncounted(ctx context.Context, before time.Time, n int) ([]string, error)
	// SaveCounts writes the counts that came back for the ids asked, and the slot's progress, in one
	// transaction under the fence. What did not come back counts as asked.
	SaveCounts(ctx context.Context, slot ingest.Slot, asked []string, counts []ingest.Counts) (ingest.Slot, error)
}

// Quota is what a pass draws from.
type Quota interface {
	Take(ctx context.Context, r quota.Request) (quota.Decision, error)
	Refund(ctx context.Context, d quota.Decision) error
	Drain(ctx context.Context, d quota.Decision, pool string) error
}
