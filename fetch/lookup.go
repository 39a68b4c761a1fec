package fetch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// knownFor is the greatest age of a fetched video that needs no look-up when it is found again.
const knownFor = 24 * time.Hour

// lookup is the work of a slot that looks up videos by ids, which it first finds if they are not given. It looks ids
// up as soon as they fill a call, so that few ever wait. The slot's Pages and Token belong to the finder; look-ups
// change neither.
type lookup struct {
	*Reconciler
	backfill *ingest.Backfill // nil: a scheduled slot
	since    time.Time        // videos fetched since then are not looked up
	watches  bool             // a slot of uploads: ids that fill no call are left for the look-up of all channels

	goesOn bool // the slot has more to do than the look-ups

	find   finder         // nil: the ids are given
	said   ingest.Listing // sums up the finder's pages
	loaded bool
	narrow narrowing
	notes  []string // for the slot's reason
	tally  absences

	doubted []string // ids that a suspect answer lacked, to be asked for again in other company
	suspect bool     // that answer was suspect too
}

// finder finds ids, page by page.
type finder interface {
	// page returns the call for the page at the slot's token.
	page(slot ingest.Slot) Call[foundPage]
	// recordMissing records the slot's missing videos, once nothing is left to look up. more says that page has one more
	// call to make.
	recordMissing(ctx context.Context, slot ingest.Slot) (more bool, err error)
	// rewind returns the slot as before its first page, and how many paid pages are asked for again.
	rewind(slot ingest.Slot) (_ ingest.Slot, pages int)
}

// misser is a finder that may know what a refused call means.
type misser interface {
	// missing returns the page that stands for the refused call; ok is false if the call failed.
	missing(slot ingest.Slot, e *Error) (_ foundPage, ok bool)
}

// foundPage is a page of a finder.
type foundPage struct {
	ids       []string
	token     string         // of the next page; "": there is none
	rest      []ingest.Piece // pieces that find videos that this slot cannot
	note      string
	malformed ingest.Malformed
}

func (f foundPage) malformedParts() ingest.Malformed { return f.malformed }

// readAs returns the call with its answer converted by read.
func readAs[T any](c Call[T], read func(T) foundPage) Call[foundPage] {
	return Call[foundPage]{Method: c.Method, Region: c.Region, Do: func(ctx context.Context) (foundPage, error) {
		answer, err := c.Do(ctx)
		if err != nil {
			return foundPage{}, err
		}
		return read(answer), nil
	}}
}

// load reads a backfill piece's request.
func (l *lookup) load(ctx context.Context, slot ingest.Slot) error {
	b := l.backfill
	l.loaded = true
	if l.watches {
		return l.loadWatch(ctx, slot)
	}
	if b == nil || b.Kind != ingest.BackfillSearch && b.Kind != ingest.BackfillUploads {
		return nil
	}
	piece, err := l.Library.Piece(ctx, slot.SlotKey)
	if err != nil {
		return fmt.Errorf("read the piece's request: %w", err)
	}
	l.said = piece.Listing
	if b.Kind == ingest.BackfillUploads {
		l.find = &uploads{seen: newSeen(&l.said), Reconciler: l.Reconciler, channel: piece.Spec.Channel, since: l.since}
		return nil
	}
	query := b.Spec.Query
	query.After, query.Before = piece.Spec.After, piece.Spec.Before
	find := newSearching(l.Upstream, query, l.Upstream.Limits().SearchPages, &l.said)
	find.splits = true
	l.find = find
	return nil
}

// loadWatch reads the note of the channel's last slot. The slot without a channel takes over the ids that the others
// have left.
func (l *lookup) loadWatch(ctx context.Context, slot ingest.Slot) error {
	if slot.Key == "" {
		_, err := l.Sink.Enqueue(ctx, slot, nil, l.since)
		return err
	}
	piece, err := l.Library.Piece(ctx, slot.SlotKey)
	if err != nil {
		return fmt.Errorf("read the note of the channel: %w", err)
	}
	l.said = ingest.Listing{Channel: piece.Listing.Channel, None: piece.Listing.None, Watch: piece.Listing.Watch}
	l.find = newWatching(l.Upstream, slot.Key, l.Now(), &l.said)
	return nil
}

func (l *lookup) next(ctx context.Context, slot ingest.Slot) (step, bool, error) {
	if !l.loaded {
		if err := l.load(ctx, slot); err != nil {
			return step{}, false, err
		}
	}
	if l.narrow.active() {
		s := l.lookupStep(ingest.Asked{IDs: l.narrow.groups[0]}, false)
		if s.retries = 0; len(l.narrow.groups[0]) == 1 { // an id that has failed gets few calls
			s.retries = 1
		}
		return s, true, nil
	}
	if l.suspect || len(l.doubted) > 0 {
		return l.recheck(ctx)
	}
	perCall := l.Upstream.Limits().IDsPerCall
	ids, err := l.Library.Queued(ctx, slot.SlotKey, perCall+1, l.since)
	if err != nil {
		return step{}, false, fmt.Errorf("find the ids to look up: %w", err)
	}
	more := l.find != nil && (slot.Pages == 0 || slot.Token != "")
	watch, _ := l.find.(*watching)
	switch {
	case more && len(ids) < perCall:
		return l.findStep(slot), true, nil
	case watch != nil && len(ids) < perCall:
		l.addNote(watch.moved())
		return step{}, false, watch.gone()
	case len(ids) == 0 && l.find != nil && slot.Pages > 0:
		return l.recordMissing(ctx, slot)
	case len(ids) == 0:
		return step{}, false, nil
	}
	last := !more && watch == nil && !l.goesOn && len(ids) <= perCall && l.said.Expected == 0 && l.said.Lack == ""
	return l.lookupStep(ingest.Asked{IDs: ids[:min(len(ids), perCall)]}, last), true, nil
}

// recheck asks for ids that a suspect answer lacked, in the company of videos that are there. If there are too few of
// these, or the new answer is suspect too, the piece waits.
func (l *lookup) recheck(ctx context.Context) (step, bool, error) {
	perCall := l.Upstream.Limits().IDsPerCall
	asked := ingest.Asked{IDs: l.doubted[:min(len(l.doubted), perCall*4/5)]}
	var err error
	if !l.suspect {
		if asked.Witnesses, err = l.Library.Witnesses(ctx, perCall-len(asked.IDs)); err != nil {
			return step{}, false, fmt.Errorf("find videos to ask for too: %w", err)
		}
	}
	if len(asked.Witnesses) < ingest.MinWitnesses {
		return step{}, false, &suspectError{l.tally.String()}
	}
	return l.lookupStep(asked, false), true, nil
}

func (l *lookup) findStep(slot ingest.Slot) step {
	s := stepOf(l.find.page(slot), l.enqueue)
	s.restart = l.restart
	if _, ok := l.find.(*searching); ok {
		s.retries, s.alike = searchRetries, true
	}
	if f, ok := l.find.(misser); ok && (l.watches || slot.Token != "") {
		s.narrow = func(ctx context.Context, slot ingest.Slot, e *Error) (_ ingest.Slot, goesOn bool, err error) {
			page, goesOn := f.missing(slot, e)
			if goesOn {
				slot.Pages = max(slot.Pages, 1)
				slot, err = l.enqueue(ctx, slot, page)
			}
			return slot, goesOn, err
		}
	}
	return s
}

// recordMissing stores the slot's missing videos, unless the finder wants one more call first.
func (l *lookup) recordMissing(ctx context.Context, slot ingest.Slot) (step, bool, error) {
	more, err := l.find.recordMissing(ctx, slot)
	if err != nil || more {
		return l.findStep(slot), err == nil, err
	}
	if l.said.Lack != "" {
		slot.Listing = &l.said
		_, err = l.Sink.Enqueue(ctx, slot, nil, l.since)
	}
	return step{}, false, err
}

// lookupStep returns the step that looks up ids; last says that it completes the slot if nothing is left out. A call
// that fails is narrowed down to the ids that cause it, which are given up.
func (l *lookup) lookupStep(asked ingest.Asked, last bool) step {
	ids := asked.IDs
	s := stepOf(l.Upstream.Videos(asked.All()),
		func(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
			slot.Pages--
			absent, proved := asked.Judge(page.Videos)
			// a person's ids may be of no video
			asked.Keep = !proved && (l.watches || l.backfill != nil && l.backfill.Kind != ingest.BackfillVideos)
			switch {
			case asked.Keep:
				l.suspect, l.doubted = len(asked.Witnesses) > 0, absent
			case last && len(absent) == 0:
				slot.State, slot.Reason = ingest.Done, strings.Trim(l.doneReason()+"; "+slot.Reason, "; ")
			default:
				l.doubted = nil
			}
			slot, a, err := l.Sink.SaveFound(ctx, slot, asked, page)
			if err == nil {
				l.narrow.succeeded()
				l.tally.add(a)
			}
			return slot, err
		})
	s.asked = &asked
	s.narrow = func(ctx context.Context, slot ingest.Slot, e *Error) (_ ingest.Slot, goesOn bool, err error) {
		id, goesOn := l.narrow.failed(ids, e.Verdict == Rejected)
		if id == "" {
			return slot, goesOn, nil
		}
		if slot, err = l.Sink.GiveUp(ctx, slot, id, oneLine(e.Error())); err != nil {
			return slot, false, fmt.Errorf("give up an id: %w", err)
		}
		return slot, true, nil
	}
	return s
}

// enqueue queues the ids of a page for lookup.
func (l *lookup) enqueue(ctx context.Context, slot ingest.Slot, f foundPage) (ingest.Slot, error) {
	slot.Token, slot.Listing = f.token, &l.said
	slot, err := l.Sink.Enqueue(ctx, slot, f.ids, l.since, f.rest...)
	if err == nil {
		l.addNote(f.note)
	}
	return slot, err
}

// restart sets the slot back to page 1, and notes the cost.
func (l *lookup) restart(ctx context.Context, slot ingest.Slot, units int64) (ingest.Slot, error) {
	slot, pages := l.find.rewind(slot)
	slot.Listing = &l.said
	slot, err := l.Sink.Restart(ctx, slot, pages)
	if err != nil {
		return slot, fmt.Errorf("begin at page 1 again: %w", err)
	}
	wasted := "the refused call was"
	if pages > 0 {
		wasted = counted(pages, "page") + " and the refused call were"
	}
	l.addNote(fmt.Sprintf(
		"the upstream refused the page token: the slot began at page 1 again, and %s paid for nothing (%s)",
		wasted, counted(int(units)*(pages+1), "unit")))
	return slot, nil
}

func (l *lookup) addNote(s string) {
	if s != "" && !slices.Contains(l.notes, s) {
		l.notes = append(l.notes, s)
	}
}

func (l *lookup) doneReason() string {
	notes := l.notes
	if s := l.said; s.Lack != "" {
		notes = append([]string{"incomplete, " + ingest.Lack{Stored: s.Stored, Expected: s.Expected,
			Reason: s.Lack}.String()}, notes...)
	}
	return joined(append(notes, l.tally.String())...)
}

// seen counts the new ids on a list's pages, and the pages without any.
type seen struct {
	*ingest.Listing
	ids map[string]bool // seen by this process
}

func newSeen(l *ingest.Listing) seen { return seen{l, map[string]bool{}} }

func (s *seen) add(ids []string) {
	before := len(s.ids)
	for _, id := range ids {
		s.ids[id] = true
	}
	if fresh := len(s.ids) - before; fresh > 0 {
		s.Found += fresh
		s.Idle = 0
		return
	}
	s.Idle++
	s.Empty++
}

// restart resets the counts, to read the list from its first page again.
func (s *seen) restart() {
	clear(s.ids)
	s.Found, s.Idle, s.Empty, s.Total = 0, 0, 0, 0
}

// recordMissing does nothing: the totals of searches are guesses, and a job of uploads never asks for a channel's older
// uploads.
func (s *seen) recordMissing(context.Context, ingest.Slot) (more bool, err error) { return false, nil }

func (s *seen) rewind(slot ingest.Slot) (ingest.Slot, int) {
	s.restart()
	pages := slot.Pages
	slot.Token, slot.Pages = "", 0
	return slot, pages
}
