package fetch

import (
	"context"
	"net/url"
	"strings"

	"github.com/trendvidstream/ingest"
)

// uploads finds the videos of a channel: first the list that holds them, then its pages. The slot's token is the
// list's name, escaped, a slash, and the list's own token.
type uploads struct {
	upstream Archive
	channel  string // an id or a handle
	pages    int    // a list with more is taken to be endless
}

func (f *uploads) call(slot ingest.Slot, save func(context.Context, ingest.Slot, foundPage) (ingest.Slot, error)) step {
	if slot.Token == "" {
		return stepOf(f.upstream.Channel(f.channel), func(ctx context.Context, slot ingest.Slot, c ingest.Channel) (ingest.Slot, error) {
			if c.Uploads == "" {
				return save(ctx, slot, foundPage{note: "the channel lists no videos"})
			}
			return save(ctx, slot, foundPage{token: url.PathEscape(c.Uploads) + "/"})
		})
	}
	list, token, _ := strings.Cut(slot.Token, "/")
	name, err := url.PathUnescape(list)
	if err != nil {
		name = list // not written by us
	}
	return stepOf(f.upstream.Uploads(name, token), func(ctx context.Context, slot ingest.Slot, page ingest.Found) (ingest.Slot, error) {
		out := foundPage{ids: page.IDs}
		switch {
		case page.Next == "":
		case slot.Pages > f.pages:
			out.note = "its pages do not end: the rest was left out"
		default:
			out.token = list + "/" + page.Next
		}
		return save(ctx, slot, out)
	})
}

// uploadPages bounds the pages of a channel. Pages need not be full, so it is more than Limits.Uploads would fill.
func uploadPages(l Limits) int { return 5 * l.Uploads / (2 * l.PerPage) }

// rewind goes back to the first page of the list, whose name remains known.
func (f *uploads) rewind(slot ingest.Slot) (ingest.Slot, int) {
	pages := slot.Pages - 1
	list, token, _ := strings.Cut(slot.Token, "/")
	if token == "" { // the list itself is refused
		slot.Token, slot.Pages = "", 0
		return slot, pages + 1
	}
	slot.Token, slot.Pages = list+"/", 1
	return slot, pages
}
