package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Door is the handler of a gateway that opens later, and perhaps again: until then it answers 503. The zero value is
// closed.
type Door struct{ gateway atomic.Pointer[Gateway] }

// Open lets requests in; nil closes the door.
func (d *Door) Open(g *Gateway) { d.gateway.Store(g) }

func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g := d.gateway.Load(); g != nil {
		g.ServeHTTP(w, r)
		return
	}
	unavailable(quota.ErrUnavailable).write(w)
}

// Room is an open gateway and its parts. Door.Keep opens another one when its ledger has moved.
type Room struct {
	*Gateway

	Host  string                      // of the upstream
	Ask   func(context.Context) error // asks the ledger, and saves the counts
	Moved error                       // of a ledger that has to be opened again
	Close func()
}

// Keep opens the door to a room until stop is called, which closes both. When the ledger has moved, it closes the room
// and opens another, trying again at every interval. It looks at the ledger at every interval, and when a take fails.
func (d *Door) Keep(ctx context.Context, r *Room, every time.Duration,
	open func(context.Context) (*Room, error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	d.Open(r.Gateway)
	var keeping sync.WaitGroup
	keeping.Go(func() { d.keep(ctx, r, every, open) })
	return func() { cancel(); keeping.Wait() }
}

func (d *Door) keep(ctx context.Context, r *Room, every time.Duration, open func(context.Context) (*Room, error)) {
	log, troubles := r.config.Log, r.troubles
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		var trouble error
		select {
		case <-ctx.Done():
		case trouble = <-troubles:
		case <-beat.C:
			if r != nil {
				trouble = r.Ask(ctx)
			}
		}
		if r != nil && (ctx.Err() != nil || errors.Is(trouble, r.Moved)) {
			d.Open(nil)
			r.Close()
			r = nil
		}
		if ctx.Err() != nil {
			return
		}
		if r != nil {
			continue
		}
		if trouble != nil { // else the last attempt is repeated
			log.WarnContext(ctx, "the ledger is opened again", slog.Any("error", trouble))
		}
		var err error
		if r, err = open(ctx); err != nil {
			log.WarnContext(ctx, "no client is served until this is repaired", slog.Any("error", err))
			continue
		}
		troubles = r.troubles
		d.Open(r.Gateway)
	}
}
