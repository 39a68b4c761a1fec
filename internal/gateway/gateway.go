// Package gateway lets any tool spend quota through the ledger. A route of costs.yaml names the method of a request;
// one take draws its cost from the shared pools and from the client's own; only then is a request sent, with the
// upstream's key, the way passes send theirs. The answer is settled as for a pass.
//
// Only the path of a GET and the parameters that the upstream lists are passed on. An answer is read whole before the
// verdict, so that a slow upstream does not hold up a take.
package gateway

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/quota"
)

const (
	cacheBytes = 64 << 20
	entryBytes = 1 << 10 // the approximate size of an answer besides its target and its body
)

// Upstream receives the requests, and knows the meaning of its answers.
type Upstream interface {
	// Forward sends a request to the upstream, not to the host that it names, at most once.
	Forward(req *http.Request) wire.Answer
	// Verdict returns the meaning of an answer for the quota; nil if the call was served.
	Verdict(method string, a wire.Answer) *fetch.Error
	// Takes reports whether a parameter of this name may be sent to the route of a GET at this path.
	Takes(path, parameter string) bool
}

// Config configures a gateway.
type Config struct {
	Governor *quota.Governor // the routes are its tariff's routes
	Upstream Upstream
	Clients  []Client                 // none: every client that reaches a loopback address is "local"
	Cache    map[string]time.Duration // by method: how long an answer is repeated at no cost
	Log      *slog.Logger
	Rate     *fetch.Rate // spreads the calls after one was refused for coming too fast; nil: the gateway has its own

	// OnCall is called after every call that was sent, with "ok" or the verdict, and how long it took.
	OnCall func(method, verdict string, took time.Duration)
	// OnRepeat is called for every request that was answered without a call. Both must be safe for concurrent use.
	OnRepeat func(method string)
}

// Gateway is an http.Handler. Each client has at most callsAtOnce requests in progress, and each of these ends in about
// a minute. The server around it needs only a time-out for the header of a request.
type Gateway struct {
	config Config

	routes  *http.ServeMux
	rooms   map[string]chan struct{} // by client
	answers recent.Answers[*answer]

	spenders recent.Answers[string] // who spent most, by pool
	silent   atomic.Bool            // the ledger did not answer the last take, and the log says so
	troubles chan error             // of takes, for Door.Keep; of several at once it gets one
}

// New returns a gateway.
func New(c Config) *Gateway {
	if c.OnCall == nil {
		c.OnCall = func(string, string, time.Duration) {}
	}
	if c.OnRepeat == nil {
		c.OnRepeat = func(string) {}
	}
	c.Rate = cmp.Or(c.Rate, new(fetch.Rate))
	g := &Gateway{config: c, routes: http.NewServeMux(), answers: recent.Answers[*answer]{Room: cacheBytes},
		rooms: map[string]chan struct{}{localClient: make(chan struct{}, callsAtOnce)}, troubles: make(chan error, 1)}
	for pattern, method := range c.Governor.Tariff.Routes {
		g.routes.Handle(pattern, route(method))
	}
	for _, client := range c.Clients {
		g.rooms[client.Name] = make(chan struct{}, callsAtOnce)
	}
	return g
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(longest)) // a test's recorder has no deadlines
	r, refusal := g.asGet(w, r)
	if refusal != nil {
		refusal.writeNow(w, r)
		return
	}
	method, client, refusal := g.admit(r)
	if refusal != nil {
		refusal.writeNow(w, r)
		return
	}
	room := g.rooms[client]
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	default:
		tooMany.writeNow(w, r)
		return
	}
	a := g.answer(newCall(r, method, client)).conditional(r)
	if r.Method == http.MethodGet {
		a.writeNow(w, r)
		return
	}
	a.write(w)
}

// answer answers from the cache, from a call that is in flight already, or by a call of its own.
func (g *Gateway) answer(c *call) *answer {
	spend := func() recent.Answer[*answer] { return g.keeping(c, g.spend(c)) }
	own := func() recent.Answer[*answer] {
		made := spend()
		if !made.Until.IsZero() { // a refusal or a failure says nothing about kept answers
			g.answers.Put(c.target(), made)
		}
		return recent.Answer[*answer]{Is: made.Is}
	}
	if c.fresh {
		return own().Is
	}
	a, mine := g.answers.Get(c.target(), spend)
	if !mine && a != nil && !a.asked { // another client's refusal says nothing about this one
		a, mine = g.answers.Get(c.client+" "+c.target(), own)
	}
	switch {
	case a == nil:
		return brokeOff
	case mine || !a.asked:
		return a
	}
	g.config.OnRepeat(c.method)
	return a.free()
}

// keeping says how long an answer may be repeated.
func (g *Gateway) keeping(c *call, a *answer) recent.Answer[*answer] {
	kept := recent.Answer[*answer]{Is: a, Weight: 2*len(c.target()) + len(a.body) + entryBytes}
	holds := g.config.Cache[c.method]
	if holds > 0 && a.status == http.StatusOK {
		kept.Until = time.Now().Add(holds)
	}
	return kept
}
