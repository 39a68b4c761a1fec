package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/quota"
)

const (
	takeWithin   = 6 * time.Second // longer than any ledger waits
	answerWithin = 20 * time.Second
	patience     = 5 * time.Second  // of a client's call after the upstream refused calls for coming too fast
	spenderFor   = 10 * time.Second // how long the top spender is kept: finding it costs more than a decision
)

// spend makes a call once its rate allows it. It goes on if the client hangs up: every call is counted.
func (g *Gateway) spend(c *call) *answer {
	ctx, now := context.Background(), g.config.Governor.Now
	if err := g.config.Rate.WaitAhead(ctx, c.method, patience, now); err != nil {
		return tooFast(err)
	}
	a, e := g.pay(c)
	if wait := g.config.Rate.Done(ctx, now(), e); wait > 0 {
		a.retry(wait)
	}
	return a
}

// pay takes quota, sends the call and settles it. It returns why the call was not served, or not even sent; nil if it
// was.
func (g *Gateway) pay(c *call) (*answer, *fetch.Error) {
	d, err := g.take(c)
	if err != nil {
		select {
		case g.troubles <- err:
		default: // a request for it is under way
		}
		a := unavailable(err)
		if a.status == http.StatusServiceUnavailable && !g.silent.Swap(true) && g.config.Log != nil {
			g.config.Log.Error("the ledger does not answer, and clients get 503 until it does", slog.Any("error", err))
		}
		return a, fetch.NotSent
	}
	g.silent.Store(false)
	if !d.Allowed {
		return refused(d, g.sentence(d)), fetch.NotSent
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	req, err := c.request(ctx)
	if err != nil {
		g.settle(d, fetch.NotSent)
		return problem(http.StatusBadRequest, "badRequest", err.Error()), fetch.NotSent
	}
	sent := time.Now()
	from := g.config.Upstream.Forward(req)
	e := g.config.Upstream.Verdict(c.method, from)
	verdict := "ok"
	if e != nil {
		verdict = string(e.Verdict)
	}
	g.config.OnCall(c.method, verdict, time.Since(sent))
	if refunded := g.settle(d, e); refunded {
		d.Pools = nil
	}
	a := answerOf(from, e).charged(d)
	a.asked = true
	return a, e
}

func (g *Gateway) take(c *call) (quota.Decision, error) {
	ctx, cancel := context.WithTimeout(context.Background(), takeWithin)
	defer cancel()
	return g.config.Governor.Take(ctx, quota.Request{Method: c.method, Purpose: quota.Client, Client: c.client})
}

// settle makes a take final once its call was answered. If that fails, the ledger counts too much, which is safe.
func (g *Gateway) settle(d quota.Decision, e *fetch.Error) (refunded bool) {
	ctx, cancel := context.WithTimeout(context.Background(), takeWithin)
	defer cancel()
	refunded, err := fetch.Settle(ctx, g.config.Governor, d, e, g.config.Governor.Tariff.FreeBursts)
	if err != nil && g.config.Log != nil {
		g.config.Log.WarnContext(ctx, "the answer's meaning could not be noted: the ledger counts too much",
			slog.String("method", d.Who.Method), slog.Any("error", err))
	}
	return refunded
}

// sentence describes a refusal as a run does.
func (g *Gateway) sentence(d quota.Decision) string {
	top, _ := g.spenders.Get(d.Refusal.Pool, func() recent.Answer[string] {
		ctx, cancel := context.WithTimeout(context.Background(), takeWithin)
		defer cancel()
		return recent.Answer[string]{Is: g.config.Governor.TopSpender(ctx, d.Refusal.Pool, d.At),
			Until: time.Now().Add(spenderFor)}
	})
	return d.Sentence(top)
}
