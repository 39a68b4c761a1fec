package httplimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// request is the subject of a decision.
type request struct {
	route    string
	cost     int64
	client   string // its account
	parts    []part // of the client, then of others charged with it; the account of all clients together comes last
	observed []part // in the same order
	once     string // the caller's key: under the same key nothing is charged twice within the longest window; "" for none
}

// part is one account's charge.
type part struct {
	account  string
	question *question
	once     bool // of a key
}

// charged is a decision that may be refunded.
type charged struct {
	ledger   quota.Ledger
	part     part
	decision quota.Decision
}

// verdict is the decision about a request.
type verdict struct {
	problem  *Problem      // why it is refused; nil if it is admitted
	wait     time.Duration // how long the request will be refused; 0: not known, or it is admitted
	part     part          // the client whose limits the answer shows
	decision quota.Decision
	shown    bool // the answer shows limits
	degraded bool // the ledger did not decide
	taken    []charged
}

// decide charges every part of a request, or refuses it and charges none.
func (l *Limiter) decide(ctx context.Context, r request) (v verdict) {
	if full := l.fullFor(r.cost); full != nil {
		return l.overloaded(full)
	}
	if r.once != "" {
		if v, repeated := l.repeated(ctx, r); repeated {
			return v
		}
		r.parts = append(r.parts, l.onceOnly(r))
	}
	counter := &l.stats.Allowed
	for i, p := range r.parts {
		c, err := l.take(ctx, p)
		d := c.decision
		switch {
		case err != nil || !d.Allowed && d.Degraded:
			l.refund(ctx, v.taken)
			l.count(&l.stats.FailedClosed)
			return verdict{wait: d.RetryAfter, problem: &Problem{Status: http.StatusServiceUnavailable,
				Detail: "limits cannot be checked right now: try again soon"}}
		case !d.Allowed && p.account == l.all:
			l.refund(ctx, v.taken)
			l.full.Store(&full{r.cost, l.Now().Round(0).Add(d.RetryAfter), p.question.refusing(d)})
			return l.overloaded(l.full.Load())
		case !d.Allowed && p.once: // the same request came twice at once
			l.refund(ctx, v.taken)
		case !d.Allowed:
			l.count(&l.stats.Refused)
			l.refund(ctx, v.taken)
			l.denied(ctx, r, p, d, false)
			return refused(l.lastToAdmit(ctx, p, d, r.parts[i+1:]))
		case d.Degraded:
			counter, v.degraded = &l.stats.FailedOpen, true
		case p.account == r.client:
			v.part, v.decision, v.shown = p, d, true
		}
		if len(r.parts)+len(r.observed) > 1 || l.SuccessesOnly { // else nothing is ever given back
			v.taken = append(v.taken, c)
		}
	}
	if counter == &l.stats.Allowed {
		counter = l.observe(ctx, r, &v)
	}
	if r.cost > 0 {
		for _, c := range v.taken {
			c.part.question.allow(c.decision)
		}
		if len(v.taken) == 0 && v.shown {
			v.part.question.allow(v.decision)
		}
	}
	l.count(counter)
	return v
}

// lastToAdmit returns the part that will refuse for longest, the refused one or one of the others, so that Retry-After
// is right for the whole request. Nothing is charged.
func (l *Limiter) lastToAdmit(ctx context.Context, p part, d quota.Decision, others []part) (part, quota.Decision) {
	for _, other := range others {
		if other.once || other.account == l.all || d.Degraded {
			continue
		}
		ask := other.ask()
		ask.Peek = true
		bounded, cancel := l.bounded(ctx)
		look, err := l.Ledger.Take(bounded, ask)
		cancel()
		if err == nil && !look.Allowed && look.RetryAfter > d.RetryAfter {
			p, d = other, look
		}
	}
	return p, d
}

// observe charges the observed limits with an admitted request, all or none, and returns its count.
func (l *Limiter) observe(ctx context.Context, r request, v *verdict) (counter *int64) {
	enforced := len(v.taken)
	for _, p := range r.observed {
		c, err := l.ask(ctx, p)
		if err == nil && c.decision.Allowed {
			v.taken = append(v.taken, c)
			continue
		}
		l.refund(ctx, v.taken[enforced:])
		v.taken = v.taken[:enforced]
		if err != nil && !errors.Is(err, quota.ErrNeverFits) {
			return &l.stats.FailedOpen
		}
		l.denied(ctx, r, p, c.decision, true)
		return &l.stats.Observed
	}
	return &l.stats.Allowed
}

func (l *Limiter) ask(ctx context.Context, p part) (charged, error) {
	bounded, cancel := l.bounded(ctx)
	defer cancel()
	d, err := l.Ledger.Take(bounded, p.ask())
	return charged{l.Ledger, p, d}, err
}

func (p part) ask() quota.Ask {
	return quota.Ask{
		Account: p.account, Who: quota.Who{Purpose: quota.Manual, Method: "http"}, Charges: p.question.charges,
		Horizon: p.question.horizon, Precision: p.question.precision, HasFallback: true,
	}
}

// take asks the ledger. If it cannot answer, the memory of this process decides about a part of each limit.
func (l *Limiter) take(ctx context.Context, p part) (charged, error) {
	c, err := l.ask(ctx, p)
	if failed := err != nil; l.failing.Load() != failed && l.failing.CompareAndSwap(!failed, failed) && l.Log != nil {
		if failed {
			l.Log.LogAttrs(ctx, slog.LevelWarn, "the ledger of the limits per client cannot answer: "+
				"cheap requests go on, within a part of each limit", slog.String("error", err.Error()))
		} else {
			l.Log.LogAttrs(ctx, slog.LevelInfo, "limits per client are checked again")
		}
	}
	if err == nil {
		return c, nil
	}
	ask := p.ask()
	if ask.Charges = l.Failure.charges(ask.Charges); ask.Charges == nil {
		return charged{}, err
	}
	d, err := l.spare.Take(context.WithoutCancel(ctx), ask)
	d.Degraded = true
	return charged{&l.spare, p, d}, err
}

// bounded bounds a question to the ledger. A client that hangs up does not cancel it: otherwise hanging up would avoid
// being counted.
func (l *Limiter) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.Timeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), l.Timeout)
}

// charges returns the amounts that may be spent without the ledger; nil if a charge is too expensive for that.
func (f Failure) charges(all []quota.Charge) []quota.Charge {
	part := func(limit int64, share float64) int64 {
		if share < 0 {
			return 0
		}
		return min(max(int64(float64(limit)*share), 1), limit)
	}
	all = slices.Clone(all)
	for i, c := range all {
		c.Bounds = slices.Clone(c.Bounds)
		for j, b := range c.Bounds {
			c.Bounds[j].Ceiling = part(b.Window.Limit, f.Emergency)
			if c.Amount > min(part(b.Window.Limit, f.OpenAtMost), c.Bounds[j].Ceiling) {
				return nil
			}
		}
		all[i] = c
	}
	return all
}

// refund gives back charges that the ledger can distinguish from others.
func (l *Limiter) refund(ctx context.Context, taken []charged) {
	for _, t := range taken {
		bounded, cancel := l.bounded(ctx)
		if t.ledger.Refund(bounded, t.part.account, t.decision) == nil {
			l.count(&l.stats.Refunded)
		}
		cancel()
	}
}

// onceOnly returns the charge on a key's account, which admits one in the longest window of the request.
func (l *Limiter) onceOnly(r request) part {
	q := &question{horizon: time.Second}
	for _, p := range append(r.parts, r.observed...) {
		q.horizon = max(q.horizon, p.question.horizon)
	}
	sum := sha256.Sum256([]byte(r.client + " " + r.once))
	window := quota.Window{Name: "once", Length: q.horizon, Limit: 1}
	q.charges = []quota.Charge{{Pool: "once", Amount: 1, Bounds: []quota.Bound{{Window: window, Ceiling: 1}}}}
	return part{l.Prefix + ".once-" + hex.EncodeToString(sum[:16]), q, true}
}

// repeated reports whether the request's key was charged before. If so, the verdict admits it again.
func (l *Limiter) repeated(ctx context.Context, r request) (v verdict, yes bool) {
	c, err := l.take(ctx, l.onceOnly(r).peeking())
	if err != nil || c.decision.Pools[0].Windows[0].Used == 0 {
		return v, false
	}
	l.count(&l.stats.Repeated)
	if p := r.parts; len(p) > 0 && p[0].account == r.client {
		c, err := l.take(ctx, p[0].peeking())
		v = verdict{part: p[0], decision: c.decision, shown: err == nil && !c.decision.Degraded}
		v.degraded = !v.shown
	}
	return v, true
}

// peeking returns the part with a cost of 0.
func (p part) peeking() part {
	p.question, _ = p.question.costing(0, false)
	return p
}

// fullFor returns the last refusal by the limit of all clients together, if it still refuses this cost; else nil.
func (l *Limiter) fullFor(cost int64) *full {
	full := l.full.Load()
	if full == nil || cost < full.cost {
		return nil
	}
	// otherwise the clock was set back
	if wait := full.until.Sub(l.Now().Round(0)); wait > 0 && wait <= l.outer.enforced[""].horizon {
		return full
	}
	return nil
}

// refused is the verdict on a request above a client's limit.
func refused(p part, d quota.Decision) verdict {
	violated := names(p.question.refusing(d))
	return verdict{part: p, decision: d, shown: true, wait: d.RetryAfter, problem: &Problem{
		Status: http.StatusTooManyRequests, Type: quotaExceeded,
		Title: "Request cannot be satisfied as assigned quota has been exceeded",
		Detail: "the limit " + strings.Join(violated, " and ") + " is used up: try again in " +
			strconv.FormatInt(seconds(d.RetryAfter), 10) + " s",
		Violated: violated,
	}}
}

// overloaded is the verdict while the limit of all clients together is used up.
func (l *Limiter) overloaded(full *full) verdict {
	l.count(&l.stats.Overloaded)
	for _, w := range full.by {
		w.refused.Add(1)
	}
	wait := full.until.Sub(l.Now().Round(0))
	return verdict{wait: wait, problem: &Problem{
		Status: http.StatusServiceUnavailable, Type: reducedCapacity,
		Title:    "Request cannot be satisfied due to temporary server capacity constraints",
		Detail:   "all clients together have used up the limit: try again in " + strconv.FormatInt(seconds(wait), 10) + " s",
		Violated: []string{"all"},
	}}
}

// write writes the fields of the answer and, if the request is refused, the rest of it.
func (l *Limiter) write(w http.ResponseWriter, v verdict) (admitted bool) {
	if v.shown {
		l.setFields(w.Header(), v)
	}
	if v.problem == nil {
		return true
	}
	if v.wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds(v.wait), 10))
	}
	v.problem.Write(w)
	return false
}
