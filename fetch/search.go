package fetch

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest"
)

// searchRetries is how often the call for a page is retried: at 100 units it is not worth more.
const searchRetries = 1

// searching is the finder of a search.
type searching struct {
	upstream Searcher
	query    ingest.Query
	limits   Limits
	pages    int  // at most
	splits   bool // if there is more than a search lists, two searches of half the time each go on

	seen    map[string]bool // ids that this process has seen
	resumed bool            // another process has seen some
}

// newSearching panics unless up is a Searcher.
func newSearching(up Upstream, query ingest.Query, pages int) *searching {
	limits := up.Limits()
	return &searching{upstream: up.(Searcher), query: query, limits: limits, pages: min(max(pages, 1), limits.SearchPages)}
}

func (f *searching) call(slot ingest.Slot, save func(context.Context, ingest.Slot, foundPage) (ingest.Slot, error)) step {
	if f.seen == nil {
		f.seen, f.resumed = map[string]bool{}, slot.Pages > 0
	}
	s := stepOf(f.upstream.Search(f.query, slot.Token), func(ctx context.Context, slot ingest.Slot, page ingest.Found) (ingest.Slot, error) {
		return save(ctx, slot, f.readPage(slot, page))
	})
	s.retries, s.alike = searchRetries, true
	return s
}

// readPage returns what a page brings; slot.Pages counts it already. A last page that is full counts as cut off, since
// at its limit the upstream names no next page whether there are more results or not. So a slice that holds exactly as
// many as a search lists is split for nothing, but no slice loses results.
func (f *searching) readPage(slot ingest.Slot, page ingest.Found) foundPage {
	out := foundPage{ids: page.IDs, token: page.Next}
	for _, id := range page.IDs {
		f.seen[id] = true
	}
	if len(page.IDs) == 0 {
		out.token = "" // even if it names a next page
	}
	if slot.Pages < f.pages {
		return out
	}
	out.token = ""
	// Otherwise an upstream whose pages repeat themselves, or are empty, would be split down to the second.
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
		return nil, "it found as many as a search lists, or more, and its time cannot be split any further (the least is a second): the rest cannot be reached"
	}
	return []ingest.Piece{ingest.Slice(after, middle), ingest.Slice(middle, before)}, "it found as many as a search lists, or more, and was split in two"
}
