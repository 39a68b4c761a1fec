package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// clockSkew is how far the clocks of hosts that share a plan may be apart: one host's fetches must not look older than
// another's plan.
const clockSkew = time.Minute

// idleUploads is how many pages of uploads in a row may bring nothing new before the rest is left out.
const idleUploads = 8

// uploads finds the videos of a channel: first the list that holds them, then its pages. The slot's token is the
// escaped name of the list, a slash, and the list's own token. At the end the stored videos are compared with the
// channel's count.
type uploads struct {
	seen
	*Reconciler
	channel string    // an id or a handle
	since   time.Time // videos fetched since then are not fetched again
	closing bool      // asking for the channel once more, at the end of its list
}

func (f *uploads) page(slot ingest.Slot) Call[foundPage] {
	archive := f.Upstream.(Archive)
	if slot.Token == "" {
		return readAs(archive.Channel(f.channel), f.readChannel)
	}
	list, token, _ := strings.Cut(slot.Token, "/")
	name, err := url.PathUnescape(list)
	if err != nil {
		name = list // not written by us
	}
	return readAs(archive.Uploads(name, token),
		func(page ingest.Found) foundPage { return f.readPage(slot.Pages+1, list, page) })
}

// readChannel returns where the pages of a channel begin. If the list was too short, it is read again: up to the first
// known video, or to the end if the channel lost videos meanwhile, since pages then moved up and some videos slipped
// between two of them.
func (f *uploads) readChannel(c ingest.Channel) foundPage {
	before := f.Expected
	f.Channel, f.Expected, f.None = c.ID, 0, false
	if c.Videos != nil {
		f.Expected, f.None = int(*c.Videos), *c.Videos == 0
	}
	closing := f.closing
	f.closing, f.Asked = false, f.Asked || closing
	if c.Uploads == "" {
		return foundPage{note: "the channel lists no videos"}
	}
	if closing && (f.Expected < before || f.Shrunk) {
		f.Top = ""
	}
	f.restart()
	return foundPage{token: url.PathEscape(c.Uploads) + "/"}
}

func (f *uploads) readPage(number int, list string, page ingest.Found) foundPage {
	f.add(page.IDs)
	if f.Top == "" && !f.Asked && len(page.IDs) > 0 {
		f.Top = page.IDs[0]
	}
	f.Shrunk = f.Shrunk || page.Total > 0 && page.Total < f.Total
	if f.Total == 0 || page.Total > 0 {
		f.Total = page.Total
	}
	out, sizes := foundPage{ids: page.IDs, malformed: page.Malformed}, f.Upstream.Limits()
	switch {
	case page.Next == "", f.Asked && slices.Contains(page.IDs, f.Top):
	case f.Idle >= idleUploads:
		f.Lack = "its pages repeat, or are empty, and do not end"
	case number > 5*sizes.Uploads/(2*sizes.PerPage): // pages need not be full
		f.Lack = "its pages do not end: the rest was left out"
	default:
		out.token = list + "/" + page.Next
	}
	return out
}

// missing returns the page that stands for a list that the upstream does not have: an empty one, if the channel counts
// no videos. Otherwise the two answers contradict each other, and ok is false.
func (f *uploads) missing(slot ingest.Slot, e *Error) (_ foundPage, ok bool) {
	if e.Status != http.StatusNotFound || !f.None || slot.Pages != 1 {
		return foundPage{}, false
	}
	return foundPage{note: "the channel counts no videos, and has no list of them"}, true
}

// recordMissing compares the number of stored videos with the channel's count. more says that the channel is asked
// once more.
func (f *uploads) recordMissing(ctx context.Context, slot ingest.Slot) (more bool, err error) {
	if f.Expected == 0 && f.Lack == "" {
		return false, nil
	}
	stored, gone, err := f.Library.Accounted(ctx, slot.SlotKey, f.Channel, f.since.Add(-clockSkew))
	if err != nil {
		return false, fmt.Errorf("count the videos of the channel: %w", err)
	}
	most := f.Upstream.Limits().Uploads
	switch f.Stored = stored; {
	case f.Expected > 0 && stored+gone >= f.Expected:
		f.Lack = ""
	case f.Lack == "" && !f.Asked && f.Expected <= most:
		f.closing = true
	case f.Lack == "" && f.Found >= most*4/5 && f.Expected > most:
		f.Lack = fmt.Sprintf("a list of uploads shows %d videos at most", most)
	case f.Lack == "":
		f.Lack = "its list ends there"
	}
	return f.closing, nil
}

// rewind goes back to the first page of the list, keeping the list's name.
func (f *uploads) rewind(slot ingest.Slot) (ingest.Slot, int) {
	f.restart()
	pages := slot.Pages - 1
	list, token, _ := strings.Cut(slot.Token, "/")
	if token == "" { // the list itself was refused
		slot.Token, slot.Pages = "", 0
		return slot, pages + 1
	}
	slot.Token, slot.Pages = list+"/", 1
	return slot, pages
}
