package fetch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// knownFor is how young a video is that need not be looked up although it was found.
const knownFor = 24 * time.Hour

// lookup is the work of a slot that looks videos up by their ids, and finds the ids first where it was not
// given them. Ids are looked up as soon as a call is full of them, so that only few ever wait. The slot's
// Pages and Token are those of what is found: to look up changes neither.
type lookup struct {
	upstream Upstream
	sink     Sink
	library  Library
	as       quota.Purpose
	since    time.Time // a video that was fetched since is not looked up
	load     func(ctx context.Context, slot ingest.Slot) (finder, error)

	find   finder // nil: the ids are given
	loaded bool
	finds  bool     // the step under way finds, rather than looks up
	asked  []string // by the step under way, where it looks up
	narrow narrowing
	notes  []string // for the person who asks how it went

	restarted bool
}

// finder finds ids, page by page.
type finder interface {
	// call is the call for the page at the slot's token.
	call(slot ingest.Slot, save func(context.Context, ingest.Slot, found) (ingest.Slot, error)) step
	// rewind is the slot before its first page, and how many pages are paid for in vain.
	rewind(slot ingest.Slot) (_ ingest.Slot, pages int)
}

// found is what a page of a finder brings.
type found struct {
	ids    []string
	token  string // of the next page; "": there is nothing more to find here
	halves []ingest.Piece
	note   string // for the person who asks how it went
}

func (l *lookup) purpose() quota.Purpose { return l.as }

func (l *lookup) next(ctx context.Context, slot ingest.Slot) (step, bool, error) {
	if !l.loaded {
		find, err := l.load(ctx, slot)
		if err != nil {
			return step{}, false, fmt.Errorf("read what the piece asks for: %w", err)
		}
		l.find, l.loaded = find, true
	}
	if l.finds = false; l.narrow.going() {
		ids, tries := l.narrow.next()
		s := l.ask(ids, false)
		s.tries = tries
		return s, true, nil
	}
	perCall := l.upstream.Limits().IDsPerCall
	ids, err := l.library.Queued(ctx, slot.SlotKey, perCall+1, l.since)
	if err != nil {
		return step{}, false, fmt.Errorf("find the ids to look up: %w", err)
	}
	more := l.find != nil && (slot.Pages == 0 || slot.Token != "")
	switch {
	case more && len(ids) < perCall:
		l.finds = true
		return l.find.call(slot, l.enqueue), true, nil
	case len(ids) == 0:
		return step{}, false, nil
	}
	return l.ask(ids[:min(len(ids), perCall)], !more && len(ids) <= perCall), true, nil
}

// ask looks ids up; last says that the slot is done then.
func (l *lookup) ask(ids []string, last bool) step {
	l.asked = ids
	return stepOf(l.upstream.Videos(ids), func(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
		slot.Pages--
		if last {
			slot.State, slot.Reason = ingest.Done, l.end()
		}
		slot, err := l.sink.SaveFound(ctx, slot, ids, page)
		if err == nil {
			l.narrow.came()
		}
		return slot, err
	})
}

// enqueue queues the ids of a page for lookup.
func (l *lookup) enqueue(ctx context.Context, slot ingest.Slot, f found) (ingest.Slot, error) {
	slot.Token = f.token
	slot, err := l.sink.Enqueue(ctx, slot, f.ids, l.since, f.halves...)
	if err == nil {
		l.note(f.note)
	}
	return slot, err
}

func (l *lookup) note(s string) {
	if s != "" && !slices.Contains(l.notes, s) {
		l.notes = append(l.notes, s)
	}
}

func (l *lookup) end() string { return strings.Join(l.notes, "; ") }

// mend goes on after a call that failed for good: without a token that the upstream refuses, once, and
// around ids that no call brings.
func (l *lookup) mend(ctx context.Context, slot ingest.Slot, e *Error, cost int64) (_ ingest.Slot, goesOn bool, err error) {
	switch {
	case e.Verdict == BadToken && l.finds && !l.restarted && slot.Token != "":
		l.restarted = true
		slot, pages := l.find.rewind(slot)
		if slot, err = l.sink.Restart(ctx, slot, pages); err != nil {
			return slot, false, fmt.Errorf("begin at page 1 again: %w", err)
		}
		vain := "the refused call was"
		if pages > 0 {
			vain = counted(pages, "page") + " and the refused call were"
		}
		l.note(fmt.Sprintf("the upstream refused its page token: it began at page 1 again, and %s paid for in vain (%s)",
			vain, counted(int(cost)*(pages+1), "unit")))
		return slot, slot.State == ingest.Claimed, nil
	case l.finds || e.Verdict != Rejected && e.Verdict != Broken:
		return slot, false, nil
	}
	id, goesOn := l.narrow.failed(l.asked, e.Verdict == Rejected)
	if id == "" {
		return slot, goesOn, nil
	}
	if slot, err = l.sink.GiveUp(ctx, slot, id, oneLine(e.Error())); err != nil {
		return slot, false, fmt.Errorf("give an id up: %w", err)
	}
	return slot, slot.State == ingest.Claimed, nil
}
