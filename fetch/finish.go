package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	// spentPause is how long to wait after a provider has refused on both sides of its midnight.
	spentPause = 5 * time.Minute
	// maxFruitless is how many claims of a piece in a row may bring nothing.
	maxFruitless = 5
	// maxReason bounds, in bytes, a reason that was not written for a person.
	maxReason = 300
)

// errOverdue ends a pass that has saved no page within its lease.
var errOverdue = errors.New("the claim holds no longer")

// trouble is the error of a piece that was given back, or failed, because calls failed and no id is to blame.
type trouble struct{ err error }

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// finish records how a slot ended, even if ctx is done: a lost reason is a lost tick.
func (r *Reconciler) finish(ctx context.Context, slot ingest.Slot, state ingest.State, reason string, cause error) (ingest.Slot, error) {
	slot.State, slot.Reason = state, reason
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	if err := r.Slots.Finish(ctx, slot); err != nil {
		return slot, errors.Join(cause, fmt.Errorf("finish the slot of %s %s: %w", slot.Job, slot.Key, err))
	}
	r.Log.InfoContext(ctx, "slot "+string(state), slotAttr(slot),
		slog.Int64("units", slot.Units), slog.Int("pages", slot.Pages), slog.String("reason", reason))
	return slot, cause
}

func slotAttr(s ingest.Slot) slog.Attr {
	return slog.Group("", slog.String("job", s.Job), slog.String("region", s.Key), slog.Time("slot", s.DueAt))
}

// stop ends the slot because quota was refused. The reason is frozen, for whoever finds the region stale the next
// morning.
func (p *pass) stop(ctx context.Context, d quota.Decision) (ingest.Slot, error) {
	reason := d.Refusal.String()
	if p.Explain != nil {
		reason = p.Explain(ctx, d)
	}
	slot := uncountTry(p.slot)
	slot.RetryAt = d.RetryAt
	return p.finish(ctx, slot, ingest.Stopped, reason, nil)
}

// uncountTry keeps the claim from counting as one that brought nothing.
func uncountTry(slot ingest.Slot) ingest.Slot {
	slot.Tries = max(0, slot.Tries-1)
	return slot
}

// conclude ends the slot because a call failed for good.
func (p *pass) conclude(ctx context.Context, s step, err error) (ingest.Slot, error) {
	e, ok := errors.AsType[*Error](err)
	if !ok || ctx.Err() != nil {
		return p.release(ctx, err)
	}
	switch e.Verdict {
	case BadKey, Unsent: // the next slot would fare no better, and this one cost nothing
		return p.release(ctx, err)
	case Spent: // twice, although the day turned in between
		slot := uncountTry(p.slot)
		slot.RetryAt = p.Now().Add(spentPause)
		return p.finish(ctx, slot, ingest.Stopped, err.Error(), nil)
	case NoChart:
		return p.skipAbsent(ctx, err)
	case Burst, BadToken, BadRegion, Broken, Rejected:
	}
	var cause error
	if p.slot.Kind == ingest.KindBackfill {
		if e.Verdict == Broken || e.Verdict == Rejected && s.recover != nil { // the upstream may be at fault
			return p.returnPiece(ctx, err)
		}
		if s.alike {
			cause = &trouble{err}
		}
	}
	return p.finish(ctx, p.slot, ingest.Failed, err.Error(), cause)
}

// skipAbsent ends the slot of a chart that does not exist, and remembers that for its region and category.
func (p *pass) skipAbsent(ctx context.Context, cause error) (ingest.Slot, error) {
	saving, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	if err := p.Sink.SaveNoChart(saving, p.slot.Region(), p.Jobs[p.slot.Job].Category, p.Now().Add(absentFor)); err != nil {
		return p.release(ctx, fmt.Errorf("remember that %s has no such chart: %w", p.slot.Key, err))
	}
	return p.finish(ctx, p.slot, ingest.Skipped, cause.Error(), nil)
}

// release hands the slot back as due, with its progress, for a later run: this one cannot go on. A slot that hung
// fails: the next attempt would hang too, and each of them is paid for.
func (p *pass) release(ctx context.Context, cause error) (ingest.Slot, error) {
	if errors.Is(cause, ingest.ErrFenced) {
		return p.slot, cause
	}
	if errors.Is(context.Cause(ctx), errOverdue) {
		if p.slot.Kind == ingest.KindBackfill { // it may have waited for another piece's call
			return p.returnPiece(ctx, errors.New(p.overdueReason()))
		}
		return p.finish(ctx, p.slot, ingest.Failed, p.overdueReason(), nil)
	}
	return p.finish(ctx, uncountTry(p.slot), ingest.Due, cause.Error(), cause)
}

// returnPiece hands a piece that brought nothing to later runs; after maxFruitless claims in a row it fails the piece.
func (p *pass) returnPiece(ctx context.Context, err error) (ingest.Slot, error) {
	state := ingest.Due
	if p.slot.Tries >= maxFruitless {
		state = ingest.Failed
	}
	return p.finish(ctx, p.slot, state, err.Error(), &trouble{err})
}

// overdueReason returns the reason for a pass that saved nothing within its lease.
func (p *pass) overdueReason() string {
	return fmt.Sprintf("hung: no page within its lease of %v", p.lease())
}

// oneLine puts s on one line, cut to maxReason.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}
