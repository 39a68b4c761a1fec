package fetch

import (
	"context"
	"errors"

	"github.com/trendvidstream/ingest"
)

// CarryOn works on the backfills that may be carried on without a person, one after another, until ctx is
// done, quota is refused or something fails that the next would meet too. Every heartbeat of a service may
// call it: with nothing to do it costs a look at the slots.
func (r *Reconciler) CarryOn(ctx context.Context, waiting []ingest.Backfill) ([]Worked, error) {
	return nil, errors.ErrUnsupported
}
