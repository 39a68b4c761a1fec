package fetch

import (
	"cmp"
	"fmt"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// newPass returns the pass over a slot that this run has claimed.
func (r *runner) newPass(slot ingest.Slot) *pass {
	p := &pass{Reconciler: r.Reconciler, share: r.share, purpose: quota.Scheduled, probe: r.silence.Slots > 0}
	had := slot.Pages
	p.work, slot, p.idle = r.workFor(slot)
	if had > slot.Pages {
		p.again = counted(had, "page") + " lost: too old to continue from, the chart began again"
	}
	p.publishProgress(slot)
	switch {
	case r.forced[slot.SlotKey]:
		p.purpose = quota.Manual
	case slot.Kind == ingest.KindRefresh:
		p.purpose = quota.Refresh
	case slot.Kind == ingest.KindBackfill:
		p.purpose = quota.Backfill
	}
	return p
}

// workFor returns the work of a claimed slot, and the slot as it begins; or the reason to skip it.
func (r *runner) workFor(slot ingest.Slot) (_ work, _ ingest.Slot, why string) {
	if b := r.options.Backfill; b != nil {
		since := r.Now().Add(-knownFor)
		if b.Kind == ingest.BackfillRefresh || b.Created.Before(since) {
			since = b.Created
		}
		return &lookup{Reconciler: r.Reconciler, backfill: b, since: since}, slot, ""
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
		return &chart{Reconciler: r.Reconciler, category: job.Category, pages: pages, whole: r.options.paced}, slot, ""
	case ingest.KindRefresh:
		return &refresh{Reconciler: r.Reconciler}, slot, ""
	case ingest.KindSearch:
		if _, ok := r.Upstream.(Searcher); !ok {
			return nil, slot, ErrNoSearch.Error()
		}
		l := &lookup{Reconciler: r.Reconciler, since: r.Now().Add(-knownFor)}
		l.find = newSearching(r.Upstream, job.Search(slot.Key), pages, &l.said)
		return l, slot, ""
	case ingest.KindUploads:
		if _, ok := r.Upstream.(Archive); !ok {
			return nil, slot, ErrNoUploads.Error()
		}
		return &lookup{Reconciler: r.Reconciler, since: r.Now().Add(-knownFor), watches: true}, slot, ""
	case ingest.KindVideos:
		if _, ok := r.Upstream.(Counter); !ok {
			return nil, slot, ErrNoCounts.Error()
		}
		return newCounting(r.Reconciler, job), slot, ""
	default:
		return nil, slot, fmt.Sprintf("this program knows no jobs of kind %s", job.Kind)
	}
}
