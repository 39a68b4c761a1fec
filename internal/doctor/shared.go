package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// What checks ask of a store, wherever it is: a file is read without opening it as a store, a database is opened for
// reading.

func (d *Doctor) inspectStore(ctx context.Context) (s store.Summary, err error) {
	if d.OpenStore == nil {
		return store.Inspect(ctx, d.Config.Data)
	}
	err = d.withStore(ctx, func(of *store.Store) (err error) {
		s, err = of.Summary(ctx)
		return err
	})
	s.Path = d.StoreName
	return s, err
}

func (d *Doctor) inspectSlots(ctx context.Context, since, now time.Time) (s store.SlotSummary, err error) {
	if d.OpenStore == nil {
		return store.InspectSlots(ctx, d.Config.Data, since, now)
	}
	err = d.withStore(ctx, func(of *store.Store) (err error) {
		s, err = of.SlotSummary(ctx, since, now)
		return err
	})
	return s, err
}

// withStore calls do with a store that is not a file.
func (d *Doctor) withStore(ctx context.Context, do func(*store.Store) error) error {
	s, err := d.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return do(s)
}

// judgeShared judges a store that is not a file.
func judgeShared(ctx context.Context, d *Doctor, s store.Summary, err error) Finding {
	var newer *store.VersionError
	switch {
	case errors.Is(err, store.ErrMissing):
		return warn(d.StoreName+" has no tables yet", "ingest run makes them")
	case errors.As(err, &newer):
		return failWith(err, "use the program that wrote it, or let ingest run bring it up to date")
	case err != nil:
		return failAs(err, "cannot be read: "+err.Error(), "see that it runs, and that --store names it")
	}
	return judgeStore(ctx, d, s)
}
