package fetch

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// searchTries is how often a page is asked for: one of 100 units is not worth more.
const searchTries = 2

// searching finds what a search finds, page by page.
type searching struct {
	upstream Searcher
	query    ingest.Query
	limits   Limits
	pages    int  // at most
	splits   bool // where there is more than a search brings, two searches of half the time go on

	seen    map[string]bool // ids, by this process
	resumed bool            // another process has seen some
}

func (f *searching) call(slot ingest.Slot, save func(context.Context, ingest.Slot, found) (ingest.Slot, error)) step {
	if f.seen == nil {
		f.seen, f.resumed = map[string]bool{}, slot.Pages > 0
	}
	s := stepOf(f.upstream.Search(f.query, slot.Token), func(ctx context.Context, slot ingest.Slot, page ingest.Found) (ingest.Slot, error) {
		return save(ctx, slot, f.found(slot, page))
	})
	s.tries = searchTries
	return s
}

// found is what becomes of a page, by which the slot has so many pages. A last page that is full is taken for
// cut off: after 500 results the upstream names no next page, whether there are more or not, and what it says
// of their number cannot be trusted. A slice of 500 exactly, of which nothing is missing, is therefore split
// in vain; to take it for complete would lose the rest of every slice that has more.
func (f *searching) found(slot ingest.Slot, page ingest.Found) found {
	out := found{ids: page.IDs, token: page.Next}
	for _, id := range page.IDs {
		f.seen[id] = true
	}
	if len(page.IDs) == 0 {
		out.token = "" // whatever it says
	}
	if slot.Pages < f.pages {
		return out
	}
	out.token = ""
	// An upstream whose pages repeat themselves, or are empty, would be split down to the second.
	worth := f.resumed || len(f.seen) >= f.limits.PerPage
	full := len(page.IDs) >= f.limits.PerPage*4/5 // some results are left out of pages
	if f.splits && worth && (page.Next != "" || full) {
		out.halves, out.note = halve(f.query.After, f.query.Before)
	}
	return out
}

func (f *searching) rewind(slot ingest.Slot) (ingest.Slot, int) {
	pages := slot.Pages
	slot.Token, slot.Pages = "", 0
	return slot, pages
}

// halve splits a span of time in two, each of at least a second.
func halve(after, before time.Time) (halves []ingest.Piece, note string) {
	middle := after.Add(before.Sub(after) / 2).Truncate(time.Second)
	if after.IsZero() || !middle.After(after) || !middle.Before(before) {
		return nil, "it found as many as a search brings, or more, and its time cannot be split any further (the least is a second): what more there is, is out of reach"
	}
	return []ingest.Piece{ingest.Slice(after, middle), ingest.Slice(middle, before)}, "it found as many as a search brings, or more, and was split in two"
}

// search is the work of a search that the schedule wants, or why there is none.
func (r *Reconciler) search(job ingest.Job, slot ingest.Slot, pages int) (w work, why string) {
	searcher, ok := r.Upstream.(Searcher)
	if !ok {
		return nil, ErrNoSearch.Error()
	}
	limits := r.Upstream.Limits()
	find := &searching{
		upstream: searcher, limits: limits, pages: min(max(pages, 1), limits.SearchPages),
		query: ingest.Query{Text: job.Query, Region: slot.Region(), Category: job.Category},
	}
	return &lookup{
		upstream: r.Upstream, sink: r.Sink, library: r.Library, as: quota.Scheduled, since: r.Now().Add(-knownFor),
		load: func(context.Context, ingest.Slot) (finder, error) { return find, nil },
	}, ""
}
