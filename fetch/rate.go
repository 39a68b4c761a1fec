package fetch

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	rateWindow = time.Minute    // of limits on a rate
	rateFor    = 24 * time.Hour // how long a learned rate holds

	fewestAnswers = 6 // within rateWindow, of which a rate can be learned

	mostWaiting = 90 * time.Second  // that the upstream asks for, over all retries of a call
	mostQueued  = 150 * time.Second // with the calls of other passes before it: a claim's lease is longer
)

// Rate spreads the calls of all passes that share it. A refusal for their rate stops them all until the time that the
// upstream asks for; then one goes first, and the others follow at the rate that was answered before the refusal. The
// zero Rate lets all calls go at once.
type Rate struct {
	mu       sync.Mutex
	until    time.Time     // before it no call is sent
	last     time.Time     // when the last call is, or will be, sent
	gap      time.Duration // between two calls; 0: no rate was learned
	learned  time.Time
	answered []time.Time // within rateWindow
}

// reserve returns when the next call may be sent; ok is false if that is too far ahead to wait for.
func (r *Rate) reserve(now time.Time) (at time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.learned).Abs() > rateFor {
		r.gap = 0
	}
	if at = now; r.until.After(at) {
		at = r.until
	}
	if next := r.last.Add(r.gap); r.gap > 0 && next.After(at) {
		at = next
	}
	if r.until.Sub(now) > mostWaiting || at.Sub(now) > mostQueued {
		return at, false
	}
	r.last = at
	return at, true
}

// wait waits until a call may be sent, also if a refusal comes meanwhile. If that takes too long for a pass, the error is
// an *Error with Burst.
func (r *Rate) wait(ctx context.Context, method string, now func() time.Time, pause func(context.Context, time.Duration) error) error {
	for {
		at, ok := r.reserve(now())
		d := at.Sub(now())
		if !ok {
			return &Error{Verdict: Burst, Method: method, Wait: d, Err: fmt.Errorf("after a refusal for their rate, calls wait for %v more", d.Round(time.Second))}
		}
		if d > 0 {
			if err := pause(ctx, d); err != nil {
				return err
			}
		}
		r.mu.Lock()
		again := r.until.After(at)
		r.mu.Unlock()
		if !again {
			return nil
		}
	}
}

// answer counts a call that was answered.
func (r *Rate) answer(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered = append(r.answered, now)
	for len(r.answered) > 0 && now.Sub(r.answered[0]) >= rateWindow {
		r.answered = r.answered[1:]
	}
}

// refuse stops all calls after a refusal for their rate, and returns for how long: as the upstream asks or, if it names
// its limit only, until the window of that has passed. 0: neither is known, and the caller backs off alone.
func (r *Rate) refuse(now time.Time, e *Error) time.Duration {
	wait := e.Wait
	if wait == 0 && e.Sure {
		wait = rateWindow
	}
	if wait == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if stopped := r.until.After(now); !stopped { // the first refusal: calls that were in flight with it teach nothing
		n := 0
		for _, t := range r.answered {
			if now.Sub(t) < rateWindow {
				n++
			}
		}
		if n >= fewestAnswers { // after fewer, others' calls have filled the window
			r.gap, r.learned = max(r.gap, rateWindow/time.Duration(max(n-1, 1))), now
		}
	}
	if t := now.Add(wait); t.After(r.until) {
		r.until = t
	}
	return wait
}
