package fetch

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	// searchRetries is how often a search call is retried: at 100 units it is worth no more.
	searchRetries = 1
	// idleSearches is how many pages in a row of a search may bring nothing new before the rest is left out.
	idleSearches = 3
)

type searching struct {
	seen
	upstream Searcher
	query    ingest.Query
	limits   Limits
	pages    int  // at most; a search that splits does not count empty pages
	splits   bool // other searches, each for a part of the time, find videos that this one cannot list
}

// newSearching panics unless up is a Searcher.
func newSearching(up Upstream, query ingest.Query, pages int, listing *ingest.Listing) *searching {
	limits := up.Limits()
	return &searching{seen: newSeen(listing), upstream: up.(Searcher), query: query, limits: limits,
		pages: min(max(pages, 1), limits.SearchPages)}
}

func (f *searching) page(slot ingest.Slot) Call[foundPage] {
	return readAs(f.upstream.Search(f.query, slot.Token),
		func(page ingest.Found) foundPage { return f.readPage(slot.Pages+1, page) })
}

// readPage reads the page with a number. A full last page counts as cut off, since at its limit the upstream names no
// next page, whether there are more results or not. If there are none, one more search finds nothing new.
func (f *searching) readPage(number int, page ingest.Found) foundPage {
	pages := number // counted towards the limit
	f.add(page.IDs)
	if len(page.IDs) > 0 {
		if number == 1 || !f.Last.IsZero() && !page.Newest.After(f.Last) {
			f.Last = page.Newest
		} else {
			f.Last = time.Time{} // not chronological
		}
	}
	out := foundPage{ids: page.IDs, token: page.Next, malformed: page.Malformed}
	if f.splits && pages < 2*f.pages {
		pages -= f.Empty
	}
	switch full := len(page.IDs) >= f.limits.PerPage*4/5; { // upstreams omit some results from pages
	case page.Next != "" && f.Idle >= idleSearches:
		out.token = ""
		f.lack(page, "its pages repeat, or are empty, and do not end")
	case pages < f.pages:
	default:
		out.token = ""
		if f.splits && (page.Next != "" || full) {
			out.rest, out.note = f.rest(page)
		}
	}
	return out
}

// rest returns the searches for the results that this one could not list: one that goes on from the last page if pages
// were chronological, else one for each half of the time.
func (f *searching) rest(page ingest.Found) (rest []ingest.Piece, note string) {
	const found = "it found as many as a search lists, or more, "
	after, before := f.query.After, f.query.Before
	if after.IsZero() {
		f.lack(page, "the search lists no more")
		return nil, ""
	}
	if last := f.Last.Truncate(time.Second); f.query.NewestFirst && !f.Last.IsZero() && !last.Before(after) {
		until := last.Add(time.Second) // others of that second may be missing
		switch {
		case until.Equal(before): // all results are of this second
			f.lack(page, fmt.Sprintf("the search lists no more of the second %s", last.UTC().Format(time.RFC3339)))
			until = last
		case until.After(before): // the upstream includes the end of a time span
			until = before.Add(-time.Second)
		}
		if !until.After(after) {
			return nil, ""
		}
		return []ingest.Piece{ingest.Slice(after, until)}, found + "and another search goes on from its last result"
	}
	middle := after.Add(before.Sub(after) / 2).Truncate(time.Second)
	if !middle.After(after) || !middle.Before(before) {
		f.lack(page, "the search lists no more of a second")
		return nil, ""
	}
	return []ingest.Piece{ingest.Slice(after, middle), ingest.Slice(middle, before)}, found + "and was split in two"
}

// lack records that the search misses results. A search that does not split wants only its first pages and lacks
// nothing.
func (f *searching) lack(page ingest.Found, reason string) {
	if !f.splits {
		return
	}
	f.Lack, f.Stored, f.Expected = reason, f.Found, 0
	if page.Total > f.Found {
		f.Expected = page.Total
	}
}
