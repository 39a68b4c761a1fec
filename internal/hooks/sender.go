package hooks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	sendWithin = 10 * time.Second // one event
	leaseFor   = time.Minute      // longer than sendWithin, with time for the store
	firstPause = 5 * time.Second  // before an event is tried again; each next pause is twice as long
	lastPause  = time.Hour        // the longest
	checkEvery = 5 * time.Second  // how often Serve looks for events
	noteWithin = 5 * time.Second  // of a NoteSent whose context has ended
)

// Store keeps the events and the progress of each hook.
type Store interface {
	NextEvent(ctx context.Context, c ingest.HookClaim) (e ingest.Event, ok bool, err error)
	NoteSent(ctx context.Context, c ingest.HookClaim, e ingest.Event, why string, retryAt time.Time) error
	NoteSituations(ctx context.Context, domain string, at time.Time, now []ingest.Situation) error
}

// Sender sends each hook its events in order. No other process that shares the store sends to the hook meanwhile.
type Sender struct {
	Hooks   []Hook
	Store   Store
	Owner   string                  // names this process
	Died    func(owner string) bool // another process is certainly gone
	Now     func() time.Time
	Log     *slog.Logger
	Version string        // of the program
	Within  time.Duration // how long a hook may take; 0: sendWithin
}

// Idle reports whether there are no hooks.
func (t *Sender) Idle() bool { return t == nil || len(t.Hooks) == 0 }

// Note writes the events of the situations that have begun or ended at a time, by domain. A failure is logged: the next
// call makes up for it.
func (t *Sender) Note(ctx context.Context, at time.Time, now map[string][]ingest.Situation) {
	for domain, list := range now {
		if err := t.Store.NoteSituations(ctx, domain, at, list); err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "the hooks miss a change of state until the next note", slog.Any("error", err))
		}
	}
}

// Send sends every hook its waiting events, all hooks at once. It returns when no event waits, each hook has failed, or
// ctx is done.
func (t *Sender) Send(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range t.Hooks {
		all.Go(func() {
			for t.sendNext(ctx, h) && ctx.Err() == nil {
			}
		})
	}
	all.Wait()
}

// endWithin bounds how long hooks keep a command from its end: the next command sends the remaining events.
const endWithin = 15 * time.Second

// SendAtEnd notes the situations of a time and sends the waiting events, at the end of a command.
func (t *Sender) SendAtEnd(ctx context.Context, at time.Time, now map[string][]ingest.Situation) {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	t.Note(ctx, at, now)
	t.Send(ctx)
}

// Serve sends events until ctx is done.
func (t *Sender) Serve(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range t.Hooks { // a hook that hangs holds up no other
		one := *t
		one.Hooks = []Hook{h}
		all.Go(func() {
			tick := time.NewTicker(checkEvery)
			defer tick.Stop()
			for ctx.Err() == nil {
				one.Send(ctx)
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	all.Wait()
}

// sendNext sends a hook its next event, and reports whether there may be another.
func (t *Sender) sendNext(ctx context.Context, h Hook) (more bool) {
	claim := ingest.HookClaim{Name: h.Name, Owner: t.Owner, Now: t.Now(), Lease: leaseFor, Died: t.Died}
	e, ok, err := t.Store.NextEvent(ctx, claim)
	if err != nil || !ok {
		t.warn(ctx, h, err)
		return false
	}
	why, retryAt := "", time.Time{}
	if err := t.send(ctx, h, e); err != nil {
		if ctx.Err() != nil { // a stop: the next process sends it
			return false
		}
		why, retryAt = err.Error(), t.Now().Add(min(firstPause<<min(e.Tries, 10), lastPause))
	}
	claim.Now = t.Now()
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	if err := t.Store.NoteSent(noting, claim, e, why, retryAt); err != nil {
		t.warn(ctx, h, err)
		return false
	}
	if why != "" {
		t.warn(ctx, h, errors.New(why))
	}
	return why == ""
}

func (t *Sender) warn(ctx context.Context, h Hook, err error) {
	if err != nil && ctx.Err() == nil {
		t.Log.WarnContext(ctx, "a hook failed; it is tried again", slog.String("hook", h.Name), slog.Any("error", err))
	}
}

// errSlow is the error of a hook that took too long.
var errSlow = errors.New("it took too long")

// send sends a hook one event. Its errors hold no secret.
func (t *Sender) send(ctx context.Context, h Hook, e ingest.Event) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(t.Within, sendWithin), errSlow)
	defer cancel()
	body, err := h.body(ctx, e)
	if err != nil || body == nil {
		return err
	}
	if h.Run != "" {
		return h.run(ctx, e, body)
	}
	address, key, err := h.Secrets()
	if err != nil {
		return err
	}
	to := NewEndpoint(address, t.Version)
	defer to.Close()
	header := http.Header{"Content-Type": {"application/json"}}
	if err := sign(key, header, e, t.Now(), body); err != nil {
		return err
	}
	if err := to.Post(ctx, "", nil, header, bytes.NewReader(body)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errors.New(to.WithoutURL(err))
	}
	return nil
}
