package fetch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// workOf returns the work of a claimed slot, and the slot as it begins. If there is nothing to do for it, why is the
// reason to skip it.
func (r *Reconciler) workOf(slot ingest.Slot, o RunOptions) (_ work, _ ingest.Slot, why string) {
	if o.Backfill != nil {
		return r.pieceWork(o.Backfill), slot, ""
	}
	job, ok := r.Jobs[slot.Job]
	if !ok {
		return nil, slot, r.unwantedReason(slot.Series())
	}
	pages := cmp.Or(o.Pages, job.Pages)
	switch job.Kind {
	case ingest.KindChart:
		if slot.Token != "" && r.Now().Sub(slot.TokenAt) > resumeWithin {
			slot.Token, slot.Pages = "", 0
		}
		return &chart{upstream: r.Upstream, sink: r.Sink, category: job.Category, pages: pages, whole: o.paced}, slot, ""
	case ingest.KindRefresh:
		return &refresh{Reconciler: r}, slot, ""
	case ingest.KindSearch:
		if _, ok := r.Upstream.(Searcher); !ok {
			return nil, slot, ErrNoSearch.Error()
		}
		query := ingest.Query{Text: job.Query, Region: slot.Region(), Category: job.Category}
		find := newSearching(r.Upstream, query, pages)
		return r.newLookup(quota.Scheduled, r.Now().Add(-knownFor), func(context.Context, ingest.Slot) (finder, error) { return find, nil }), slot, ""
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
	return r.newLookup(quota.Backfill, since, func(ctx context.Context, slot ingest.Slot) (finder, error) {
		if b.Kind != ingest.BackfillSearch && b.Kind != ingest.BackfillUploads {
			return nil, nil
		}
		piece, err := r.Library.Piece(ctx, slot.SlotKey)
		if err != nil {
			return nil, err
		}
		if b.Kind == ingest.BackfillUploads {
			return &uploads{upstream: r.Upstream.(Archive), channel: piece.Spec.Channel, pages: uploadPages(r.Upstream.Limits())}, nil
		}
		query := b.Spec.Query
		query.After, query.Before = piece.Spec.After, piece.Spec.Before
		find := newSearching(r.Upstream, query, r.Upstream.Limits().SearchPages)
		find.splits = true
		return find, nil
	})
}

func (r *Reconciler) newLookup(as quota.Purpose, since time.Time, load func(context.Context, ingest.Slot) (finder, error)) *lookup {
	return &lookup{upstream: r.Upstream, sink: r.Sink, library: r.Library, as: as, since: since, load: load}
}

// absentReason returns why a slot need not be passed: the upstream had no such chart when it was last asked, less than
// absentFor ago. If that cannot be read, the upstream is asked.
func (r *Reconciler) absentReason(ctx context.Context, slot ingest.Slot) (why string) {
	job := r.Jobs[slot.Job]
	if job.Kind != ingest.KindChart {
		return ""
	}
	until, err := r.Library.NoChartUntil(ctx, slot.Region(), job.Category)
	if err != nil || !until.After(r.Now()) || until.After(r.Now().Add(absentFor)) {
		return ""
	}
	return fmt.Sprintf("%s had no such chart when it was last asked: asked again from %s", slot.Key, until.UTC().Format(time.RFC3339))
}
