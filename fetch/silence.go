package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// An upstream that is away is probed, not tried: after two slots of the schedule in a row that got no usable answer,
// the others wait, and one call asks again for all series after five minutes, then after ten, then every twenty; more
// rarely where six hours of that would cost more than 3 % of a day's limit. It has no retries, as the second slot has
// none, and is not made while even the upstream's clock, which costs nothing, cannot be asked. The first answer ends
// the wait. Slots that a person forces, and backfills, are tried all the same.

// silentSlots is how many slots in a row must get no usable answer before the upstream counts as away.
const silentSlots = 2

// probeWaits are how long it then takes until each probe. The last value repeats.
var probeWaits = []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute}

// A silence of outage costs at most mostAsking millionths of a day's limit, if probes at most rarestProbe apart can do
// that.
const (
	outage      = 6 * time.Hour
	mostAsking  = 30_000
	rarestProbe = 3 * time.Hour
)

// silence is the upstream's silence towards the schedule.
type silence struct {
	Slots  int       `json:"slots"` // in a row that got no usable answer
	Probes int       `json:"probes,omitempty"`
	Spent  int64     `json:"spent,omitempty"` // by slots and probes, in millionths of a day's limit
	Last   int64     `json:"last,omitempty"`  // by the last of them
	Next   time.Time `json:"next,omitzero"`   // when the next probe is, if the upstream counts as away
}

const silenceNote = "silence"

func (s silence) away() bool { return s.Slots >= silentSlots }

// wait sets when the next probe is.
func (s *silence) wait(now time.Time) {
	wait := probeWaits[min(s.Probes, len(probeWaits)-1)]
	paid := max(0, mostAsking-s.Spent) / max(s.Last, 1)
	if usual := outage/probeWaits[len(probeWaits)-1] + 1; paid < int64(usual)-int64(s.Probes) {
		wait = max(wait, min(outage/time.Duration(max(paid, 1)), rarestProbe))
	}
	s.Next = now.Add(wait)
	s.Probes++
}

// heedsSilence reports whether this run waits for an upstream that is away.
func (r *runner) heedsSilence() bool {
	return r.Notes != nil && !r.options.Force && r.options.Backfill == nil
}

// awaitAnswer returns an *Error if the upstream is away and it is not yet time for a probe, or if the probe failed at
// the upstream's clock. r.probes is then true if the next slot is the probe.
func (r *runner) awaitAnswer(ctx context.Context) error {
	r.silence, r.probes, r.isAway = silence{}, false, false
	if !r.heedsSilence() {
		return nil
	}
	text, err := r.Notes.Note(ctx, silenceNote)
	if err != nil {
		return fmt.Errorf("read how long the upstream has been silent: %w", err)
	}
	if text != "" && json.Unmarshal([]byte(text), &r.silence) != nil {
		r.silence = silence{} // damaged: counted from now on
	}
	if !r.silence.away() {
		return nil
	}
	now := r.Now()
	if open, err := r.Slots.Claimable(ctx, now); err != nil || len(open) == 0 {
		return err
	}
	if wait := r.silence.Next.Sub(now); wait > 0 && wait <= rarestProbe {
		return r.silence.error(nil)
	}
	r.silence.wait(now)
	if err := r.noteSilence(ctx); err != nil {
		return err
	}
	if r.Date != nil {
		if _, err := r.Date(ctx); err != nil {
			return r.silence.error(err)
		}
	}
	r.probes = true
	return nil
}

// error says that nothing is fetched until the next probe.
func (s silence) error(err error) *Error {
	said := fmt.Errorf("the last %d slots got no usable answer: nothing is fetched until one call asks again at %s",
		s.Slots, s.Next.UTC().Format(time.DateTime+"Z"))
	if err != nil {
		said = fmt.Errorf("%w: %w", said, err)
	}
	return &Error{Verdict: Broken, Method: "upstream", Err: said}
}

func (r *runner) noteSilence(ctx context.Context) error {
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	text, err := json.Marshal(r.silence)
	if err == nil {
		err = r.Notes.SetNote(ctx, silenceNote, string(text))
	}
	if err != nil {
		return fmt.Errorf("note how long the upstream has been silent: %w", err)
	}
	return nil
}

// reportSlot notes whether a slot of the schedule got a usable answer.
func (r *runner) reportSlot(ctx context.Context, e result) error {
	answered := e.State == ingest.Done || e.State == ingest.Skipped || e.State == ingest.Failed ||
		e.State == ingest.Due && !e.RetryAt.IsZero()
	switch {
	case e.Err != nil || !answered && e.silent == 0 || !r.heedsSilence():
		return e.Err
	case e.silent > 0:
		r.silence.Slots++
		r.silence.Spent, r.silence.Last = r.silence.Spent+e.silent, e.silent
		if r.silence.away() && !r.probes {
			r.silence.wait(r.Now())
		}
		r.isAway = r.silence.away()
		return r.noteSilence(ctx)
	case r.silence.Slots > 0:
		r.silence, r.probes = silence{}, false
		return r.noteSilence(ctx)
	}
	return nil
}
