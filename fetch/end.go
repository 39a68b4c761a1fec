package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

const (
	// spentPause is the wait after a provider has refused on both sides of its midnight.
	spentPause = 5 * time.Minute
	// maxReason bounds reasons not written for people, in bytes.
	maxReason = 300
)

// fruitlessWaits are the waits of a piece after 1, 2, 3, 4 and 5 or more fruitless claims in a row. A person who runs
// the backfill does not wait.
var fruitlessWaits = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour}

// mostWait is how long a slot of the schedule waits at most after a failed call.
const mostWait = time.Hour

// ending is how a pass ends its slot. There are five: done, stopped, failed, skipped and givenBack.
type ending struct {
	state     ingest.State
	reason    string
	retryAt   time.Time // of a stop, and of a piece that waits
	known     bool      // logged before: not logged again
	uncounted bool      // the claim is not counted as fruitless
	err       error     // concerns the whole run; nil if only this slot
}

// done ends a slot that has no call left to make.
func done(reason string) ending { return ending{state: ingest.Done, reason: reason} }

// stopped ends a slot because quota was refused.
func stopped(reason string, retryAt time.Time) ending {
	return ending{state: ingest.Stopped, reason: reason, retryAt: retryAt, uncounted: true}
}

// failed ends a slot that no further call would complete.
func failed(reason string) ending { return ending{state: ingest.Failed, reason: reason} }

// skipped ends a slot that has nothing to fetch.
func skipped(reason string) ending { return ending{state: ingest.Skipped, reason: reason} }

// givenBack makes the slot due again, with its progress, because err keeps this run from going on.
func givenBack(err error) ending {
	return ending{state: ingest.Due, reason: err.Error(), uncounted: true, err: err}
}

// end records how the slot ended, and the malformedParts of its answers, unless another run has taken over the claim.
func (p *pass) end(ctx context.Context, e ending) (ingest.Slot, error) {
	if errors.Is(e.err, ingest.ErrFenced) {
		return p.slot, e.err
	}
	e.reason = withMalformed(e.reason, p.malformed)
	return p.record(ctx, p.slot, e)
}

// record writes how a slot ended, even if ctx is done: without a reason its tick would be lost.
func (r *Reconciler) record(ctx context.Context, slot ingest.Slot, e ending) (ingest.Slot, error) {
	slot.State, slot.Reason = e.state, e.reason
	if e.state == ingest.Stopped || !e.retryAt.IsZero() {
		slot.RetryAt = e.retryAt
	}
	if e.uncounted {
		slot.Tries = max(0, slot.Tries-1)
	}
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	if err := r.Slots.Finish(ctx, slot); err != nil {
		return slot, errors.Join(e.err, fmt.Errorf("finish the slot of %v: %w", slot.Series(), err))
	}
	level := slog.LevelInfo
	if e.known {
		level = slog.LevelDebug
	}
	r.Log.Log(ctx, level, "slot "+string(slot.State), slotAttr(slot),
		slog.Int64("units", slot.Units), slog.Int("pages", slot.Pages), slog.String("reason", slot.Reason))
	return slot, e.err
}

func slotAttr(s ingest.Slot) slog.Attr {
	return slog.Group("", slog.String("job", s.Job), slog.String("region", s.Key), slog.Time("slot", s.DueAt))
}

// callFailed returns the ending of a slot whose call failed for good.
func (p *pass) callFailed(ctx context.Context, s step, err error) ending {
	e, ok := errors.AsType[*Error](err)
	if !ok || ctx.Err() != nil {
		return p.interrupted(ctx, err)
	}
	piece := p.slot.Kind == ingest.KindBackfill
	if !piece && e.Verdict == Broken && p.saved == 0 {
		p.silent.Store(max(p.part, 1))
	}
	switch {
	case e.Verdict == BadKey || e.Verdict == Unsent: // the next slot would fail too, and this call cost nothing
		return p.interrupted(ctx, err)
	case e.Verdict == Spent: // twice, on both sides of a midnight
		return stopped(err.Error(), p.Now().Add(spentPause))
	case e.Verdict == Burst: // the day goes on: the slot is claimed again at once, and its calls wait
		return stopped(err.Error(), p.Now().Add(max(e.Wait, rateWindow)))
	case e.Verdict == NoChart:
		return p.absent(ctx, skipped(err.Error()))
	case e.Verdict == BadRegion && p.slot.Kind == ingest.KindChart:
		return p.absent(ctx, failed(err.Error()))
	case p.slot.Kind == ingest.KindRefresh: // its videos may be deleted before the next refresh
		return p.tryAgain(err)
	// its saved pages are paid for; p.again: they were paid for twice
	case p.slot.Kind == ingest.KindChart && e.Verdict == Broken && p.saved > 0 && !p.restarted && p.again == "":
		return p.tryAgain(err)
	// the upstream may be at fault
	case piece && (e.Verdict == Broken || e.Vague || e.Verdict == Rejected && s.narrow != nil):
		return p.fruitless(err)
	}
	end := failed(err.Error())
	if piece && s.alike {
		end.err = &trouble{err}
	}
	return end
}

// absent remembers that the region has no such chart, so that it costs one call a day, and returns its slot's ending. A
// chart that was there before is asked for again sooner, once.
func (p *pass) absent(ctx context.Context, end ending) ending {
	saving, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	region, category, wait := p.slot.Region(), p.Jobs[p.slot.Job].Category, absentFor
	noted, err := p.Library.NoChartUntil(saving, region, category)
	if err == nil && noted.IsZero() {
		var charted bool
		if charted, err = p.Library.Charted(saving, p.slot.Series()); charted {
			wait = confirmAfter
		}
	}
	if err == nil {
		err = p.Sink.SaveNoChart(saving, region, category, p.Now().Add(wait))
	}
	if err != nil {
		return p.interrupted(ctx, fmt.Errorf("remember that %s has no such chart: %w", p.slot.Key, err))
	}
	return end
}

// absentReason returns why a slot needs no pass: the upstream had no such chart less than absentFor ago. If that cannot
// be read, the upstream is asked.
func (p *pass) absentReason(ctx context.Context) (why string) {
	job := p.Jobs[p.slot.Job]
	if job.Kind != ingest.KindChart {
		return ""
	}
	until, err := p.Library.NoChartUntil(ctx, p.slot.Region(), job.Category)
	if err != nil || !until.After(p.Now()) || until.After(p.Now().Add(absentFor)) {
		return ""
	}
	return fmt.Sprintf("%s had no such chart when it was last asked: asked again from %s",
		p.slot.Key, until.UTC().Format(time.DateTime+"Z"))
}

// interrupted returns the ending of a slot whose pass cannot go on because of err. A slot that hung fails, since
// further attempts would be paid for and hang too.
func (p *pass) interrupted(ctx context.Context, err error) ending {
	if gone, ok := errors.AsType[*goneError](err); ok {
		return skipped(gone.why)
	}
	if suspect, ok := errors.AsType[*suspectError](err); ok {
		end := p.fruitless(suspect)
		if p.slot.Kind != ingest.KindBackfill {
			end.err = nil
		}
		end.retryAt = p.Now().Add(ingest.RecheckAfter)
		return end
	}
	if !errors.Is(context.Cause(ctx), errLeaseOver) {
		return givenBack(err)
	}
	switch hung := errors.New(p.hungReason()); p.slot.Kind {
	case ingest.KindBackfill: // perhaps it waited for another piece's call
		return p.fruitless(hung)
	case ingest.KindRefresh:
		return p.tryAgain(hung)
	default:
		return failed(hung.Error())
	}
}

// tryAgain returns the ending of a refresh or a chart whose call failed: it is tried again within mostWait.
func (p *pass) tryAgain(err error) ending {
	end := p.fruitless(err)
	end.err, end.retryAt = nil, p.Now().Add(min(end.retryAt.Sub(p.Now()), mostWait))
	return end
}

// fruitless returns the ending of a piece that brought nothing: it waits, the longer the more often that happens.
func (p *pass) fruitless(err error) ending {
	end := givenBack(&trouble{err})
	end.uncounted = false
	tries := min(max(p.slot.Tries, 1), len(fruitlessWaits))
	end.retryAt = p.Now().Add(fruitlessWaits[tries-1])
	return end
}

// trouble is the error of a piece whose calls failed without an id to blame.
type trouble struct{ err error }

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// hungReason returns the reason for a pass that saved nothing within its lease.
func (p *pass) hungReason() string {
	return fmt.Sprintf("hung: no page within its lease of %v", p.lease())
}

// withMalformed adds the malformedParts of the answers to a reason.
func withMalformed(reason string, malformed ingest.Malformed) string {
	if len(malformed) == 0 {
		return reason
	}
	return strings.TrimPrefix(reason+"; "+oneLine(malformed.String()), "; ")
}

// oneLine puts s on one line, cut to maxReason.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}
