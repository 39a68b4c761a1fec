package fetch

import (
	"context"
	"fmt"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// mostTries is how many claims of a piece in a row may bring nothing.
	mostTries = 5
	// mostDeaths is how many claims of a piece in a row may end without a word: their processes died. That
	// most often says nothing of the piece, which may not even have been asked for; where it does, each of
	// them cost a call at most.
	mostDeaths = 25
	// mostTroubles is how many pieces in a row may fail as if the upstream were at fault before a run ends:
	// the next ones would be paid for in vain too.
	mostTroubles = 3
	// mostUnanswered is how many, where calls are dear, before any of the run has been answered.
	mostUnanswered = 2
)

// trouble is a piece that was given back, or failed, because calls failed that no id is to blame for.
type trouble struct{ err error }

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// CarryOn works on backfills, one after another, until each is done or refused by quota, ctx is done, or
// something fails that the next would meet too. It is for those that may be carried on without a person;
// every heartbeat of a service may call it.
func (r *Reconciler) CarryOn(ctx context.Context, waiting []ingest.Backfill) ([]SlotResult, error) {
	var all []SlotResult
	for _, b := range waiting {
		worked, err := r.Run(ctx, RunOptions{Backfill: &b})
		all = append(all, worked...)
		if err != nil {
			return all, fmt.Errorf("backfill %s: %w", b.ID, err)
		}
	}
	return all, nil
}

// piece is the work of a piece of a backfill.
func (r *Reconciler) piece(b *ingest.Backfill) *lookup {
	since := r.Now().Add(-knownFor)
	if b.Kind == ingest.BackfillRefresh || b.Created.Before(since) {
		since = b.Created
	}
	return &lookup{
		upstream: r.Upstream, sink: r.Sink, library: r.Library, as: quota.Backfill, since: since,
		load: func(ctx context.Context, slot ingest.Slot) (finder, error) {
			if b.Kind == ingest.BackfillVideos || b.Kind == ingest.BackfillRefresh {
				return nil, nil
			}
			piece, err := r.Library.Piece(ctx, slot.SlotKey)
			if err != nil {
				return nil, err
			}
			return r.finder(b, piece.Spec), nil
		},
	}
}

// finder is how the ids of a piece are found; nil where it has them.
func (r *Reconciler) finder(b *ingest.Backfill, spec ingest.PieceSpec) finder {
	limits := r.Upstream.Limits()
	switch b.Kind {
	case ingest.BackfillSearch:
		query := b.Spec.Query
		query.After, query.Before = spec.After, spec.Before
		return &searching{upstream: r.Upstream.(Searcher), query: query, limits: limits, pages: limits.SearchPages, splits: true}
	case ingest.BackfillUploads:
		return &uploads{upstream: r.Upstream.(Archive), channel: spec.Channel, pages: uploadPages(limits)}
	default:
		return nil
	}
}

// concludePiece ends a piece because a call failed for good. What may be the upstream's fault is tried
// again by later runs, a few times.
func (p *pass) concludePiece(ctx context.Context, e *Error, err error) (ingest.Slot, error) {
	l, finding := p.work.(*lookup)
	if e.Verdict != Broken && (e.Verdict != Rejected || finding && l.finds) {
		if _, searches := l.find.(*searching); finding && searches { // every slice asks the same, but for its time
			return p.finish(ctx, p.slot, ingest.Failed, err.Error(), &trouble{err})
		}
		return p.finish(ctx, p.slot, ingest.Failed, err.Error(), nil)
	}
	return p.giveBack(ctx, err)
}

// giveBack hands a piece that brought nothing to later runs, until it has been tried often enough.
func (p *pass) giveBack(ctx context.Context, err error) (ingest.Slot, error) {
	state := ingest.Due
	if p.slot.Tries >= mostTries {
		state = ingest.Failed
	}
	return p.finish(ctx, p.slot, state, err.Error(), &trouble{err})
}
