package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	rateWindow = time.Minute    // the upstream limits calls per minute
	rateFor    = 24 * time.Hour // how long a learned rate is used

	fewestAnswers = 6 // within rateWindow: with fewer, no rate is learned

	mostWaiting = 90 * time.Second  // the longest wait that the upstream may ask for, over all retries of a call
	mostQueued  = 150 * time.Second // a call's wait behind other passes' calls; shorter than a claim's lease

	rateNote      = "rate"
	rereads       = time.Second            // how often the note is read while no rate is learned
	answeredEvery = 250 * time.Millisecond // how often a waiting call checks whether the one before it was answered
)

// Rate spreads the calls of all processes that share its Notes. When the upstream refuses calls for coming too fast,
// all wait as long as it asks. Then they go at the rate that was answered before the refusal or, if there were too few
// answers to know it, for a minute one at a time in each process. The zero Rate lets all calls of this process go at
// once.
type Rate struct {
	Notes Notes // nil: no other process shares the rate

	mu       sync.Mutex
	known    knownRate
	read     time.Time   // when the note was last read
	answered []time.Time // within rateWindow
	inFlight int
}

// knownRate is the state that processes share. It is written after a refusal and, once a rate is learned, before each
// call.
type knownRate struct {
	Until   time.Time     `json:"until"`         // before it no call is sent
	Last    time.Time     `json:"last"`          // when the last call is, or will be, sent
	Gap     time.Duration `json:"gap,omitempty"` // between two calls; 0: no rate was learned
	Learned time.Time     `json:"learned,omitzero"`
	Gone    time.Time     `json:"gone,omitzero"`     // the place of the last call that was sent at a learned rate
	Ahead   time.Time     `json:"ahead,omitzero"`    // the last place that WaitAhead took
	Shifted time.Duration `json:"shifted,omitempty"` // by how much WaitAhead has put off later calls in all
}

// turn is a call's place among all calls.
type turn struct {
	method   string
	patience time.Duration // how long the call may wait
	at       time.Time     // when it may be sent, at a learned rate; zero: no place is reserved yet
	shifted  time.Duration // the part of knownRate.Shifted that is already in at
	ahead    bool
	until    time.Time // the latest time for a call of WaitAhead
}

// Wait waits until a call may be sent, also if a refusal comes meanwhile. If that takes longer than patience, the
// error is an *Error with Burst, and no place is taken. If the error is nil, Done must follow the call. A nil pause
// waits by the clock.
func (r *Rate) Wait(ctx context.Context, method string, patience time.Duration, now func() time.Time,
	pause func(context.Context, time.Duration) error) error {
	return r.wait(ctx, turn{method: method, patience: patience}, now, pause)
}

// WaitAhead is Wait for a client's call, which has little patience: at a learned rate it takes the next place, and all
// later calls wait longer. While others wait, it never takes two places in a row, so that it gets at most half of
// them.
func (r *Rate) WaitAhead(ctx context.Context, method string, patience time.Duration, now func() time.Time) error {
	return r.wait(ctx, turn{method: method, patience: patience, ahead: true, until: now().Add(patience)}, now, nil)
}

func (r *Rate) wait(ctx context.Context, t turn, now func() time.Time,
	pause func(context.Context, time.Duration) error) error {
	for at := now(); ; {
		d, err := r.next(ctx, &t, at)
		if err != nil || d <= 0 {
			return err
		}
		if pause == nil {
			pause = sleep
		}
		if err := pause(ctx, d); err != nil {
			return err
		}
		if at = at.Add(d); now().After(at) {
			at = now()
		}
	}
}

// next returns how long a call still has to wait; 0: it may be sent.
func (r *Rate) next(ctx context.Context, t *turn, now time.Time) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh(ctx, now)
	k := &r.known
	at, stopped := now, k.Until.Sub(now)
	if stopped > 0 {
		at = k.Until
	}
	switch {
	case k.Gap > 0:
		if t.ahead {
			at = r.placeAhead(ctx, t, at)
			break
		}
		if t.at.IsZero() || t.at.Before(k.Until) { // a refusal came meanwhile
			t.at, t.shifted = ingest.Later(at, k.Last.Add(k.Gap)), k.Shifted
			if t.at.Sub(now) <= t.patience {
				k.Last = t.at
				r.save(ctx)
			}
		}
		t.at, t.shifted = t.at.Add(k.Shifted-t.shifted), k.Shifted
		at = t.at
	case stopped <= 0 && now.Sub(k.Until) < rateWindow && r.inFlight > 0:
		at = now.Add(answeredEvery)
	}
	if d := at.Sub(now); stopped > mostWaiting || d > t.patience || t.ahead && at.After(t.until) {
		return 0, &Error{Verdict: Burst, Method: t.method, Wait: d,
			Err: fmt.Errorf("the upstream refused calls for coming too fast: the next call waits %v more", d.Round(time.Second))}
	} else if d > 0 {
		return d, nil
	}
	if r.inFlight++; k.Gap > 0 {
		k.Gone = ingest.Later(k.Gone, at)
		r.save(ctx)
	}
	return 0, nil
}

// placeAhead returns when a client's call may be sent, at the given time or later. It takes that place if the call has
// the patience for it.
func (r *Rate) placeAhead(ctx context.Context, t *turn, at time.Time) time.Time {
	k := &r.known
	if !t.at.IsZero() && !t.at.Before(k.Until) {
		return t.at
	}
	// While others wait, the client gets every second place. It takes the place half a gap early, so that the call that
	// holds the place learns of it from the note in time.
	if fair := k.Ahead.Add(2*k.Gap - k.Gap/2); at.Before(fair) && k.Last.After(k.Ahead) {
		return fair
	}
	at = ingest.Later(at, k.Gone.Add(k.Gap))
	place := ingest.Later(at, k.Last.Add(k.Gap))
	if before := place.Sub(at) / k.Gap; before > 0 {
		place = place.Add(-before * k.Gap)
	}
	if !place.After(t.until) {
		if !place.After(k.Last) {
			k.Shifted += k.Gap
			k.Last = k.Last.Add(k.Gap)
		}
		t.at, k.Ahead, k.Last = place, place, ingest.Later(k.Last, place)
		r.save(ctx)
	}
	return place
}

// Done notes the end of a call that Wait let go; e is nil if it was answered. A refusal for coming too fast stops all
// calls for as long as the upstream asks or, if it only names its limit, until that limit's window has passed. Done
// returns the length of that stop; 0: there is none, and after a refusal the caller backs off alone.
func (r *Rate) Done(ctx context.Context, now time.Time, e *Error) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	switch {
	case e == nil:
		r.answered = append(r.answered, now)
		for len(r.answered) > 0 && now.Sub(r.answered[0]) >= rateWindow {
			r.answered = r.answered[1:]
		}
		return 0
	case e.Verdict != Burst:
		return 0
	}
	wait := e.Wait
	if wait == 0 && e.Sure {
		wait = rateWindow
	}
	if wait > 0 {
		r.stop(ctx, now, wait)
	}
	return wait
}

// stop stops all calls, and learns the rate from the first refusal: calls that were in flight with it teach nothing.
func (r *Rate) stop(ctx context.Context, now time.Time, wait time.Duration) {
	r.read = time.Time{}
	r.refresh(ctx, now)
	if !r.known.Until.After(now) {
		n := 0
		for _, t := range r.answered {
			if now.Sub(t) < rateWindow {
				n++
			}
		}
		if n >= fewestAnswers { // with fewer answers, calls of other programs have filled the window
			r.known.Gap, r.known.Learned = max(r.known.Gap, rateWindow/time.Duration(n-1)), now
		}
	}
	r.known.Until = ingest.Later(r.known.Until, now.Add(wait))
	r.save(ctx)
}

// refresh adds the other processes' knowledge, and forgets a rate that is older than rateFor and times that are further
// ahead than rateFor, from before the clock was set back.
func (r *Rate) refresh(ctx context.Context, now time.Time) {
	if r.Notes != nil && (r.known.Gap > 0 || now.Sub(r.read).Abs() >= rereads) {
		r.read = now
		var other knownRate
		text, err := r.Notes.Note(ctx, rateNote)
		// if the note cannot be read, this process uses its own knowledge
		if err == nil && text != "" && json.Unmarshal([]byte(text), &other) == nil {
			k := &r.known
			k.Until, k.Last = ingest.Later(k.Until, other.Until), ingest.Later(k.Last, other.Last)
			k.Gone = ingest.Later(k.Gone, other.Gone)
			k.Ahead, k.Shifted = ingest.Later(k.Ahead, other.Ahead), max(k.Shifted, other.Shifted)
			if other.Learned.After(r.known.Learned) {
				r.known.Gap, r.known.Learned = other.Gap, other.Learned
			}
		}
	}
	k := &r.known
	if now.Sub(k.Learned).Abs() > rateFor {
		k.Gap, k.Learned = 0, time.Time{}
	}
	for _, t := range []*time.Time{&k.Until, &k.Last, &k.Gone, &k.Ahead} {
		if t.Sub(now) > rateFor {
			*t = time.Time{}
		}
	}
}

// save shares the knowledge with the other processes. If it fails, each process uses its own.
func (r *Rate) save(ctx context.Context) {
	if r.Notes == nil {
		return
	}
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	if text, err := json.Marshal(r.known); err == nil {
		_ = r.Notes.SetNote(ctx, rateNote, string(text))
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
