package fetch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// notebook is Notes in memory.
type notebook map[string]string

func (n notebook) Note(_ context.Context, name string) (string, error) { return n[name], nil }

func (n notebook) SetNote(_ context.Context, name, text string) error {
	n[name] = text
	return nil
}

// rated is one process with a clock of all.
type rated struct {
	*fetch.Rate

	t   *testing.T
	now *time.Time
}

// wait waits for a call's turn, and returns for how long.
func (r rated) wait(patience time.Duration) (time.Duration, error) {
	before := *r.now
	err := r.Wait(r.t.Context(), "videos.list", patience, func() time.Time { return *r.now }, func(_ context.Context, d time.Duration) error {
		*r.now = r.now.Add(d)
		return nil
	})
	return r.now.Sub(before), err
}

// call is answered, or refused for its rate; asks is for how long.
func (r rated) call(asks time.Duration) time.Duration {
	r.t.Helper()
	waited, err := r.wait(2 * time.Minute)
	if err != nil {
		r.t.Fatal(err)
	}
	var e *fetch.Error
	if asks > 0 {
		e = &fetch.Error{Verdict: fetch.Burst, Wait: asks}
	}
	if d := r.Done(r.t.Context(), *r.now, e); d != asks {
		r.t.Errorf("after a refusal for %v all wait %v", asks, d)
	}
	return waited
}

func processes(t *testing.T) (one, other, later rated) {
	now, notes := start, notebook{}
	at := func() rated { return rated{&fetch.Rate{Notes: notes}, t, &now} }
	return at(), at(), at()
}

func TestProcessesShareTheRateThatOneWasRefusedFor(t *testing.T) {
	one, other, later := processes(t)
	for range 10 {
		one.call(0)
		other.call(0)
	}
	one.call(time.Minute)
	*one.now = one.now.Add(time.Second) // while another may not have read the note yet
	if _, err := other.wait(5 * time.Second); err == nil {
		t.Error("a call of another process in the minute of the pause: got no error, want it to wait")
	} else if e, ok := errors.AsType[*fetch.Error](err); !ok || e.Verdict != fetch.Burst || e.Wait != 59*time.Second {
		t.Errorf("another process is told %v", err)
	}
	if waited := later.call(0); waited != 59*time.Second {
		t.Errorf("a process that began later waited %v", waited)
	}
	gap := time.Minute / 9
	for i, r := range []rated{one, other, other, later, one} {
		if waited := r.call(0); waited != gap {
			t.Errorf("call %d waited %v, want %v", i, waited, gap)
		}
	}
	*one.now = one.now.Add(24 * time.Hour)
	if waited := one.call(0) + one.call(0) + other.call(0) + other.call(0); waited != 0 {
		t.Errorf("a day later, calls wait %v, want 0", waited)
	}
}

func TestAClockThatGoesBackStopsNoCall(t *testing.T) {
	one, _, later := processes(t)
	for range 10 {
		one.call(0)
	}
	one.call(time.Minute)
	*one.now = one.now.AddDate(0, 0, -2)
	if waited := one.call(0) + one.call(0) + later.call(0) + later.call(0); waited != 0 {
		t.Errorf("calls wait %v, want 0", waited)
	}
}

// Too few answers before a refusal teach no rate: after the pause one call goes, and the next when that was answered.
func TestARefusalThatTeachesNoRateLetsOneGoFirst(t *testing.T) {
	one, _, _ := processes(t)
	one.call(0)
	one.call(20 * time.Second)
	if waited, err := one.wait(time.Minute); err != nil || waited != 20*time.Second {
		t.Fatalf("the first call waited %v, %v", waited, err)
	}
	if _, err := one.wait(0); err == nil {
		t.Error("a second call while the first has no answer: got no error, want it to wait")
	}
	one.Done(t.Context(), *one.now, nil)
	if waited, err := one.wait(0); err != nil || waited != 0 {
		t.Errorf("after the answer a call waited %v, %v, want 0", waited, err)
	}
	if waited, err := one.wait(2 * time.Minute); err != nil || waited != time.Minute {
		t.Errorf("a call beside one without an answer waited %v, %v; want until a minute has passed", waited, err)
	}
}

func TestACallThatWasNotSentTellsNothingOfTheRate(t *testing.T) {
	one, _, _ := processes(t)
	one.call(time.Second)
	if _, err := one.wait(time.Minute); err != nil {
		t.Fatal(err)
	}
	one.Done(t.Context(), *one.now, fetch.NotSent)
	if waited, err := one.wait(0); err != nil {
		t.Errorf("the next call waited %v, %v", waited, err)
	}
}
