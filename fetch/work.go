package fetch

import (
	"context"

	"github.com/trendvidstream/ingest"
)

// maxRetries is how often a call is made again, each time with a take of its own.
const maxRetries = 3

// work is the steps of one kind of job.
type work interface {
	// next returns the slot's next step; ok is false when there is nothing left to ask.
	next(ctx context.Context, slot ingest.Slot) (s step, ok bool, err error)
	// doneReason returns a summary, once no call is left to make.
	doneReason() (reason string)
}

// step is one call of a pass, and the use of its answer. Its functions return the slot as they wrote it.
type step struct {
	method  string
	region  ingest.Region
	retries int                             // at most
	do      func(ctx context.Context) error // sends the call and keeps the answer for save
	odd     func() ingest.Odd               // what made no sense in the answer
	// save writes the answer with the slot's progress: its next token, and the state Done when it was the
	// last.
	save func(ctx context.Context, slot ingest.Slot) (ingest.Slot, error)

	// restart, set for a call for the page at the slot's token, sets the slot back to before its first page when the
	// token was refused. units is what the refused call cost.
	restart func(ctx context.Context, slot ingest.Slot, units int64) (ingest.Slot, error)
	// narrow, if set, may go on with another call after this one failed for good: for fewer ids.
	narrow func(ctx context.Context, slot ingest.Slot, e *Error) (_ ingest.Slot, goesOn bool, err error)
	// wholePages, if not 0, is how many pages there must be quota for before the first one is asked for.
	wholePages int
	// alike says that other pieces make the same call for another span of time: if this one is refused, they would be
	// too.
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
		odd:  func() ingest.Odd { return oddOf(answer) },
		save: func(ctx context.Context, slot ingest.Slot) (ingest.Slot, error) { return save(ctx, slot, answer) },
	}
}

func oddOf(answer any) ingest.Odd {
	switch a := answer.(type) {
	case ingest.Page:
		return a.Odd
	case interface{ oddities() ingest.Odd }:
		return a.oddities()
	case []ingest.Counts:
		if len(a) > 0 {
			return a[0].Odd
		}
	}
	return nil
}
