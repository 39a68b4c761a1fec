package fetch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	// newestKept is how many ids of a list the next slot knows: it finds one of them even if others were deleted.
	newestKept = 10
	// newestPages is how many pages a slot reads at most to meet a known id.
	newestPages = 10
	// askChannelAfter is how long the answer to a handle is used: later the handle may lead elsewhere.
	askChannelAfter = 7 * 24 * time.Hour
	// askByID is the token of a slot whose next call asks for the channel by its id, since its list is not there.
	askByID = "?"
)

// watching is the finder of a channel's new uploads: the ids of its list down to the first known one. The first slot of
// a channel takes one page. The slot's token is a slash and the list's own token.
type watching struct {
	seen
	upstream Archive
	channel  string // an id or a handle
	now      time.Time
	pages    int // of the list, read by this pass
	lost     bool
}

func newWatching(up Upstream, channel string, now time.Time, listing *ingest.Listing) *watching {
	if listing.Watch == nil {
		listing.Watch = &ingest.Watch{}
	}
	return &watching{seen: newSeen(listing), upstream: up.(Archive), channel: channel, now: now}
}

func (f *watching) page(slot ingest.Slot) Call[foundPage] {
	w := f.Watch
	asked := !strings.HasPrefix(f.channel, "@") && w.Uploads != "" || f.now.Sub(w.AskedAt) < askChannelAfter
	switch {
	case slot.Token == askByID && f.Channel != "":
		return readAs(f.upstream.Channel(f.Channel), f.readByID)
	case slot.Token == askByID, slot.Token == "" && (w.Uploads == "" || !asked):
		return readAs(f.upstream.Channel(f.channel), f.readChannel)
	}
	token := strings.TrimPrefix(slot.Token, "/")
	return readAs(f.upstream.Uploads(w.Uploads, token),
		func(page ingest.Found) foundPage { return f.readPage(token, page) })
}

// readChannel reads the channel of the handle or the id. A channel stays the one that it first led to.
func (f *watching) readChannel(c ingest.Channel) foundPage {
	w := f.Watch
	w.AskedAt, w.Moved = f.now, ""
	if f.Channel != "" && f.Channel != c.ID {
		w.Moved = "another channel"
		return foundPage{token: "/"}
	}
	return f.readByID(c)
}

func (f *watching) readByID(c ingest.Channel) foundPage {
	f.Channel, f.None = c.ID, c.Videos != nil && *c.Videos == 0
	if f.lost || c.Uploads == "" { // it is there, and its list is not
		f.None = f.None || c.Uploads == ""
		if !f.None {
			f.lose()
		}
		return foundPage{}
	}
	f.Watch.Uploads = c.Uploads
	return foundPage{token: "/"}
}

func (f *watching) readPage(token string, page ingest.Found) foundPage {
	w := f.Watch
	w.Gone = time.Time{}
	f.None = f.None && len(page.IDs) == 0
	f.add(page.IDs)
	if token == "" {
		w.First = page.IDs[:min(len(page.IDs), newestKept)]
	}
	out, ids := foundPage{malformed: page.Malformed}, page.IDs
	known := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(w.Newest, id) })
	if known >= 0 {
		ids = ids[:known]
	}
	out.ids = ids
	switch f.pages++; {
	case known >= 0 || page.Next == "":
	case w.Newest == nil:
		out.note = fmt.Sprintf("the first look takes the newest %d: "+
			"a backfill fetches older ones (ingest backfill plan uploads %s)", len(ids), f.channel)
	case f.pages == newestPages:
		out.note = fmt.Sprintf("%d pages show no upload that was known: the rest was left out", newestPages)
	default:
		out.token = "/" + page.Next
		return out
	}
	if len(w.First) > 0 {
		w.Newest, w.First = w.First, nil
	}
	return out
}

// lose notes that the upstream has no such channel, or does not show its list.
func (f *watching) lose() {
	if f.Watch.Gone.IsZero() {
		f.Watch.Gone = f.now
	}
}

// missing returns the page that stands for a refused call: the upstream says that there is no such channel, or no such
// list.
func (f *watching) missing(slot ingest.Slot, e *Error) (_ foundPage, ok bool) {
	w := f.Watch
	switch {
	case e.Verdict != Rejected || e.Vague || e.Status != 0 && e.Status != http.StatusNotFound:
		return foundPage{}, false
	case slot.Token == "" && e.Status == 0 && w.Uploads != "": // the handle leads nowhere; the channel may be there
		w.AskedAt, w.Moved = f.now, "no channel"
		return foundPage{token: "/"}, true
	case e.Status == 0: // no such channel
		f.lose()
	case f.None: // it has no videos yet
	case w.Gone.IsZero():
		f.lost = true
		return foundPage{token: askByID}, true
	}
	return foundPage{}, true
}

// gone returns an error if the channel is not there.
func (f *watching) gone() error {
	if f.Watch.Gone.IsZero() {
		return nil
	}
	return &goneError{fmt.Sprintf("%s was deleted or hidden: gone since %s; each slot asks again",
		f.channel, f.Watch.Gone.UTC().Format(time.DateTime+"Z"))}
}

// moved says that the handle no longer leads to the channel; "" if it does.
func (f *watching) moved() string {
	if f.Watch.Moved == "" {
		return ""
	}
	return fmt.Sprintf("renamed: %s leads to %s now; the channel is %s, which the config should name instead",
		f.channel, f.Watch.Moved, f.Channel)
}

func (f *watching) rewind(slot ingest.Slot) (ingest.Slot, int) {
	f.pages = 0
	return f.seen.rewind(slot)
}

// goneError ends a slot of a channel that is not there.
type goneError struct{ why string }

func (e *goneError) Error() string { return e.why }
