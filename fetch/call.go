package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

const (
	passRetries = 8                // of all calls of a pass, plus one for every answer it saved
	longestWait = 10 * time.Second // before a retry, unless the upstream asks for more
)

// call makes one step's call. Every retry is a take of its own, as upstreams may charge for calls they fail. It
// returns the refusing decision if quota is refused; otherwise its error is the last answer as an *Error, or the
// reason why there was no call.
func (p *pass) call(ctx context.Context, s step) (refused *quota.Decision, _ error) {
	wait := backoff.NewExponentialBackOff()
	wait.RandomizationFactor = 1 // full jitter, so that eight regions do not retry at once
	wait.MaxInterval = longestWait
	spent, waited := false, time.Duration(0)
	for retries := 0; ; retries++ {
		d, err := p.admit(ctx, s)
		if err != nil {
			return nil, err
		}
		if !d.Allowed {
			return &d, nil
		}
		e := p.send(ctx, s)
		asked := p.share.rate.Done(ctx, p.Now(), e)
		err = p.settle(ctx, d, e)
		if e == nil {
			return nil, nil
		}
		switch e.Verdict {
		case Spent:
			if err != nil || spent {
				return nil, errors.Join(e, err)
			}
			spent = true
			continue // the drained pool refuses the next take, with the reason and the time
		case Unsent, Burst, Broken:
		default:
			return nil, e
		}
		if p.retried++; retries == s.retries || p.probe && p.saved == 0 || p.retried > passRetries+p.saved {
			counted := fmt.Sprintf("called %d times, %d retries", retries+1, retries)
			if others := p.retried - 1 - retries; others > 0 {
				counted += fmt.Sprintf(" after %d other retries in this pass", others)
			}
			return nil, fmt.Errorf("%w (%s)", e, counted)
		}
		pause := wait.NextBackOff()
		if asked > 0 { // admit waits for it
			if waited += asked; waited > mostWaiting {
				e.Wait = asked
				return nil, fmt.Errorf("%w (it asks to wait %v)", e, asked)
			}
			continue
		}
		if err := p.pause(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// admit waits until the call may be sent and draws its cost. If that took so long that the windows no longer cover the
// call, as when the process was suspended, it begins again. The caller must end an admitted call's share, and report
// the call to the Rate.
func (p *pass) admit(ctx context.Context, s step) (quota.Decision, error) {
	for {
		if err := p.share.rate.Wait(ctx, s.method, mostQueued, p.Now, p.pause); err != nil {
			return quota.Decision{}, err
		}
		asked := p.Now()
		d, err := p.draw(ctx, s)
		if err == nil && d.Allowed {
			if err = p.share.beginCall(ctx); err == nil && p.Now().Sub(asked) <= p.Quota.SendWithin() {
				return d, nil
			}
			if err == nil {
				p.share.endCall()
			}
			p.refund(ctx, d)
		}
		p.share.rate.Done(ctx, p.Now(), NotSent)
		if err != nil || !d.Allowed {
			return d, err
		}
	}
}

// draw draws the call's cost, and refunds it if the run must not spend that much.
func (p *pass) draw(ctx context.Context, s step) (quota.Decision, error) {
	if p.share.exhausted() {
		return quota.Decision{}, ErrMaxUnits
	}
	if p.Room != nil {
		if err := p.Room(); err != nil {
			return quota.Decision{}, fmt.Errorf("%v: not asked: %w", p.slot.Series(), err)
		}
	}
	r := quota.Request{Method: s.method, Region: string(s.region), Purpose: p.purpose}
	if p.purpose == quota.Scheduled {
		r.Region = string(p.slot.ChargedRegion()) // look-ups too are made for the slot's region
	}
	if p.Reserve != nil && p.purpose == quota.Backfill { // the pace has already set a refresh's need aside
		r.Reserve = p.Reserve(ctx)
	}
	if s.wholePages > 0 {
		r.Calls = s.wholePages - p.slot.Pages
		if p.slot.Pages == 0 && p.retried == 0 {
			r.Calls += Spare(s.wholePages)
		}
	}
	// If the run ends meanwhile, the ledger still gets a moment to answer: a take whose outcome is unknown counts as
	// charged.
	taking, cancel := withGrace(ctx, callWithin)
	defer cancel()
	end := p.logStep(taking, "take")
	d, err := p.Quota.Take(taking, r)
	end(err, slog.String("method", r.Method), slog.String("region", r.Region), slog.String("purpose", string(r.Purpose)),
		slog.Bool("allowed", d.Allowed), slog.Bool("degraded", d.Degraded), slog.Any("cost", charges(d)))
	if err != nil || !d.Allowed {
		return d, err
	}
	slot := p.slot
	slot.Charge(charges(d), d.Degraded)
	p.units, p.part = slot.Units-p.slot.Units, p.part+part(d)
	slot.Unsaved += p.units
	p.publishProgress(slot)
	err = p.share.spend(p.units)
	if err == nil {
		err = p.noteCharge(ctx)
	}
	if err != nil {
		p.refund(ctx, d)
	}
	return d, err
}

// noteCharge stores a piece's charge before its call is sent; ErrMaxCharges if that exceeds the agreed amount.
func (p *pass) noteCharge(ctx context.Context) error {
	if p.slot.Kind != ingest.KindBackfill {
		return nil
	}
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	agreed, err := p.Sink.NoteCharge(ctx, p.slot)
	switch {
	case err != nil:
		return fmt.Errorf("note a call's cost: %w", err)
	case !agreed:
		return ErrMaxCharges
	}
	return nil
}

// refund gives back the cost of a call that was not sent or costs nothing. If that fails, the ledger safely counts too
// much.
func (p *pass) refund(ctx context.Context, d quota.Decision) {
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	if err := p.Quota.Refund(ctx, d); err == nil {
		p.uncharge(d)
	}
}

// uncharge subtracts a refund from the slot's charges.
func (p *pass) uncharge(d quota.Decision) {
	slot := p.slot
	slot.Refund(charges(d), d.Degraded)
	p.part -= part(d)
	slot.Unsaved -= p.slot.Units - slot.Units
	p.share.giveBack(p.slot.Units - slot.Units)
	p.publishProgress(slot)
}

func charges(d quota.Decision) map[string]int64 {
	pools := map[string]int64{}
	for _, p := range d.Pools {
		pools[p.Pool] = p.Charged
	}
	return pools
}

// part returns the largest part of a day's limit that a decision charged, in millionths.
func part(d quota.Decision) (most int64) {
	for _, p := range d.Pools {
		for _, w := range p.Windows {
			if w.Window.Day() || w.Window.Length >= 24*time.Hour {
				most = max(most, p.Charged*1_000_000/w.Window.Limit)
			}
		}
	}
	return most
}

// settle makes the take of an answered call final. An error ends the pass, which would otherwise call a spent pool
// again and again.
func (p *pass) settle(ctx context.Context, d quota.Decision, e *Error) error {
	refunded, err := Settle(ctx, p.Quota, d, e, p.FreeBursts)
	if refunded {
		p.uncharge(d)
	}
	switch {
	case err == nil || refunded:
		return nil
	case e == nil:
		p.Log.WarnContext(ctx, "the pool stays closed until another call asks", slog.Any("error", err))
		return nil
	}
	return fmt.Errorf("note that the pool is spent: %w", err)
}

func (p *pass) pause(ctx context.Context, d time.Duration) error {
	if p.Pause != nil {
		return p.Pause(ctx, d)
	}
	return sleep(ctx, d)
}

// send makes the call and ends its share. If the run ends meanwhile, the call gets a moment to finish, as it is paid
// for.
func (p *pass) send(ctx context.Context, s step) (e *Error) {
	defer p.share.endCall()
	ctx, cancel := withGrace(ctx, callWithin)
	defer cancel()
	end := p.logStep(ctx, "call")
	sent, verdict, status := time.Now(), "ok", http.StatusOK
	err := s.do(ctx)
	switch {
	case err == nil && s.suspect():
		verdict = VerdictSuspect
		p.share.markAnswered()
	case err == nil:
		p.share.markAnswered()
	default:
		var ok bool
		if e, ok = errors.AsType[*Error](err); !ok { // the adapter could not classify it
			e = &Error{Verdict: Broken, Method: s.method, Err: err}
		}
		if e.Vague && p.share.forbids(p.slot.SlotKey) {
			e.Verdict, e.Err = BadKey, fmt.Errorf("every call of any kind is forbidden: %w", e.Err)
		}
		verdict, status = string(e.Verdict), e.Status
		if ctx.Err() != nil {
			verdict = "cancelled" // by us: it says nothing about the upstream
		}
	}
	attrs := []slog.Attr{slog.String("method", s.method), slog.String("region", string(s.region)),
		slog.String("verdict", verdict)}
	if status > 0 {
		attrs = append(attrs, slog.Int("status", status))
	}
	end(err, attrs...)
	if p.OnCall != nil {
		p.OnCall(s.method, verdict, time.Since(sent))
	}
	return e
}

// Settle makes a take final once its call was answered; e is nil if the call was served. It refunds a call that
// certainly
// never left, and one refused for its rate if the upstream charges nothing for that. It closes a pool that the upstream
// says is spent. Every other call was paid for. Settle works even if ctx is done. After an error the ledger counts too
// much, or the upstream refuses one more call, which is safe.
func Settle(ctx context.Context, q Settler, d quota.Decision, e *Error, freeBursts bool) (refunded bool, err error) {
	ctx, cancel := withGrace(ctx, writeWithin)
	defer cancel()
	switch {
	case e == nil:
		if d.Probe {
			err = q.Answered(ctx, d)
		}
		return false, err
	case e.Verdict == Spent:
		return false, q.Drain(ctx, d, e.Pool)
	case e.Verdict == Unsent, e.Verdict == Burst && e.Sure && freeBursts:
		err = q.Refund(ctx, d)
		return err == nil, err
	}
	return false, nil
}
