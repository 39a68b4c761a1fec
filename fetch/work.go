package fetch

import (
	"context"

	"github.com/trendvidstream/ingest"
)

// maxRetries is how often a call is made again, each time with a take of its own.
const maxRetries = 3

// work is the steps of one kind of job.
type work interface {
	// next returns the slot's next step; ok is false if there is none.
	next(ctx context.Context, slot ingest.Slot) (s step, ok bool, err error)
	// doneReason returns a summary for a done slot.
	doneReason() (reason string)
}

// step is one call of a pass, and the use of its answer. Its functions return the slot as written.
type step struct {
	method    string
	region    ingest.Region
	retries   int                             // at most
	do        func(ctx context.Context) error // sends the call and keeps the answer for save
	malformed func() ingest.Malformed         // fields that made no sense
	videos    func() []ingest.Video           // of an answer that is a page
	// save writes the answer with the slot's progress: its next token, or the state Done.
	save func(ctx context.Context, slot ingest.Slot) (ingest.Slot, error)

	// restart is set for the page at the slot's token. It sets the slot back to before its first page after the token
	// was refused; units is the cost of the refused call.
	restart func(ctx context.Context, slot ingest.Slot, units int64) (ingest.Slot, error)
	// narrow, if set, may go on with a call for fewer ids after this one failed for good.
	narrow func(ctx context.Context, slot ingest.Slot, e *Error) (_ ingest.Slot, goesOn bool, err error)
	// asked is the question of a look-up of videos; nil for other calls.
	asked *ingest.Asked
	// wholePages, if not 0, is how many pages need quota before the first is asked for.
	wholePages int
	// alike says that other pieces make the same call for another time span, and would be refused like this one.
	alike bool
}

// stepOf returns the step of a call whose answer save writes.
func stepOf[T any](c Call[T], save func(ctx context.Context, slot ingest.Slot, answer T) (ingest.Slot, error)) step {
	var answer T
	return step{
		method: c.Method, region: c.Region, retries: maxRetries,
		do: func(ctx context.Context) (err error) {
			answer, err = c.Do(ctx)
			return err
		},
		malformed: func() ingest.Malformed { return malformedOf(answer) },
		videos: func() []ingest.Video {
			page, _ := any(answer).(ingest.Page)
			return page.Videos
		},
		save: func(ctx context.Context, slot ingest.Slot) (ingest.Slot, error) { return save(ctx, slot, answer) },
	}
}

// suspect reports whether the answer lacks too many of the videos that were asked for.
func (s step) suspect() bool {
	if s.asked == nil {
		return false
	}
	_, proved := s.asked.Judge(s.videos())
	return !proved
}

func malformedOf(answer any) ingest.Malformed {
	switch a := answer.(type) {
	case ingest.Page:
		return a.Malformed
	case interface{ malformedParts() ingest.Malformed }:
		return a.malformedParts()
	case []ingest.Counts:
		if len(a) > 0 {
			return a[0].Malformed
		}
	}
	return nil
}
