package fetch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// newPass returns the pass over a slot that this run has claimed.
func (r *runner) newPass(slot ingest.Slot) *pass {
	p := &pass{Reconciler: r.Reconciler, share: r.share}
	had := slot.Pages
	p.work, slot, p.idle = r.workFor(slot)
	if had > slot.Pages {
		p.again = counted(had, "page") + " in vain: too old to go on from, the chart was begun again"
	}
	p.publishProgress(slot)
	switch {
	case r.forced[slot.SlotKey]:
		p.purpose = quota.Manual
	case p.work != nil:
		p.purpose = p.work.purpose()
	}
	return p
}

// workFor returns the work of a claimed slot, and the slot as it begins. If there is nothing to do for it, why is the
// reason to skip it.
func (r *runner) workFor(slot ingest.Slot) (_ work, _ ingest.Slot, why string) {
	if r.options.Backfill != nil {
		return r.pieceWork(r.options.Backfill), slot, ""
	}
	job, ok := r.Jobs[slot.Job]
	if !ok {
		return nil, slot, r.unwantedReason(slot.Series())
	}
	pages := cmp.Or(r.options.Pages, r.pages[slot.Job], job.Pages)
	switch job.Kind {
	case ingest.KindChart:
		if slot.Token != "" && r.Now().Sub(slot.TokenAt) > resumeWithin {
			slot.Token, slot.Pages = "", 0
		}
		return &chart{upstream: r.Upstream, sink: r.Sink, category: job.Category, pages: pages, whole: r.options.paced}, slot, ""
	case ingest.KindRefresh:
		return &refresh{Reconciler: r.Reconciler}, slot, ""
	case ingest.KindSearch:
		if _, ok := r.Upstream.(Searcher); !ok {
			return nil, slot, ErrNoSearch.Error()
		}
		query := ingest.Query{Text: job.Query, Region: slot.Region(), Category: job.Category}
		return r.newLookup(quota.Scheduled, r.Now().Add(-knownFor), func(_ context.Context, _ ingest.Slot, said *ingest.Listing) (finder, error) {
			return newSearching(r.Upstream, query, pages, said), nil
		}), slot, ""
	default:
		return nil, slot, fmt.Sprintf("this program knows no jobs of kind %s", job.Kind)
	}
}

// pieceWork returns the work of a piece of a backfill.
func (r *Reconciler) pieceWork(b *ingest.Backfill) work {
	since := r.Now().Add(-knownFor)
	if b.Kind == ingest.BackfillRefresh || b.Created.Before(since) {
		since = b.Created
	}
	return r.newLookup(quota.Backfill, since, func(ctx context.Context, slot ingest.Slot, said *ingest.Listing) (finder, error) {
		if b.Kind != ingest.BackfillSearch && b.Kind != ingest.BackfillUploads {
			return nil, nil
		}
		piece, err := r.Library.Piece(ctx, slot.SlotKey)
		if err != nil {
			return nil, err
		}
		*said = piece.Listing
		if b.Kind == ingest.BackfillUploads {
			return &uploads{seen: newSeen(said), upstream: r.Upstream.(Archive), library: r.Library, channel: piece.Spec.Channel, since: since}, nil
		}
		query := b.Spec.Query
		query.After, query.Before = piece.Spec.After, piece.Spec.Before
		find := newSearching(r.Upstream, query, r.Upstream.Limits().SearchPages, said)
		find.splits = true
		return find, nil
	})
}

func (r *Reconciler) newLookup(as quota.Purpose, since time.Time, load func(context.Context, ingest.Slot, *ingest.Listing) (finder, error)) *lookup {
	return &lookup{upstream: r.Upstream, sink: r.Sink, library: r.Library, as: as, since: since, load: load}
}
