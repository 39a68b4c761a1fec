package httplimit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Auth answers a proxy that asks about each request before it passes it on: auth_request of nginx, ForwardAuth of
// Traefik, forward_auth of Caddy. The asked request has the method of X-Forwarded-Method or X-Original-Method (GET),
// the path of X-Forwarded-Uri or X-Original-URI, the client of Config.Forwarding, and otherwise the asking request's
// fields. A caller's token is in Proxy-Authorization, as the client uses Authorization.
//
// The answer is 200, or the answer of Handler. With ?refuse=403 a refusal is a 403, since nginx treats every other
// status as a failure.
func (l *Limiter) Auth() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.mayAsk(w, r, "Proxy-Authorization") {
			return
		}
		if r.URL.Query().Get("refuse") == "403" {
			w = &only403{w}
		}
		addr := l.address(r, true)
		if r.Header.Get(string(l.Forwarding)) == "" || !addr.IsValid() {
			Problem{Status: http.StatusBadRequest, Detail: string(l.Forwarding) +
				" is missing: the proxy must name its client in it"}.Write(w)
			return
		}
		u, err := url.ParseRequestURI(cmp.Or(r.Header.Get("X-Forwarded-Uri"), r.Header.Get("X-Original-Uri"), "/"))
		if err != nil {
			Problem{Status: http.StatusBadRequest,
				Detail: "X-Forwarded-Uri or X-Original-URI is not the path of a request"}.Write(w)
			return
		}
		asked := r.WithContext(r.Context())
		asked.Method = cmp.Or(r.Header.Get("X-Forwarded-Method"), r.Header.Get("X-Original-Method"), http.MethodGet)
		asked.Host, asked.URL = cmp.Or(r.Header.Get("X-Forwarded-Host"), r.Host), u
		l.limit(w, asked, addr,
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	})
}

// only403 turns refusals into 403.
type only403 struct{ http.ResponseWriter }

func (w *only403) WriteHeader(status int) {
	if status >= 400 && status != http.StatusUnauthorized {
		status = http.StatusForbidden
	}
	w.ResponseWriter.WriteHeader(status)
}

// mayAsk answers 403 to all but trusted callers; a trusted caller's token, if any, is in a field.
func (l *Limiter) mayAsk(w http.ResponseWriter, r *http.Request, field string) bool {
	if contains(l.Callers, parseHop(r.RemoteAddr)) {
		return true
	}
	if token, ok := bearer(r.Header.Get(field)); ok {
		if t := l.token(token); t != nil && t.Caller {
			return true
		}
	}
	Problem{Status: http.StatusForbidden, Detail: "only trusted callers may ask for other clients: " +
		"list this address in api.callers, or send the token of a caller in " + field}.Write(w)
	return false
}

// Identity is a client, such as a key or an address, whose limits a request is charged to.
type Identity struct {
	Client string `json:"client"`         // an address, or any name
	Plan   string `json:"plan,omitempty"` // one of Config.Plans; "": the plan of its token, else Config.Limits
}

type asked struct {
	Identity

	Address string     `json:"address"` // of the client, charged with it by Config.Addresses; "" is not known
	Also    []Identity `json:"also"`    // charged with it, all or none
	Cost    *int64     `json:"cost"`    // nil: the route's cost; 0: only look
	Route   string     `json:"route"`   // the name of one of Config.Routes; "": none of them
}

// Answer is the body that Ask sends to an admitted request.
type Answer struct {
	Allowed  bool   `json:"allowed"`
	Degraded bool   `json:"degraded"` // the ledger could not answer: see Config.Failure
	Limits   []Left `json:"limits"`   // of the client
}

// Left is how much of a limit a client may still use, and when it comes back.
type Left struct {
	Name      string `json:"name"`
	Limit     int64  `json:"limit"`
	Window    int64  `json:"window"` // in seconds
	Remaining int64  `json:"remaining"`
	Reset     int64  `json:"reset"` // in how many seconds it has more room
}

// maxAsked bounds the body of a question to Ask, in bytes; maxAlso the identities beside the first.
const (
	maxAsked = 4 << 10
	maxAlso  = 4
)

// Ask answers a program in any language that POSTs {"client", "plan", "address", "also", "cost", "route"}, by the
// limits of Config: 200 with an Answer, or 429 or 503 with Retry-After and a problem document. Idempotency-Key lets
// it ask again after a lost answer: under the same key a client is charged once in its longest window.
func (l *Limiter) Ask() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.mayAsk(w, r, "Authorization") {
			return
		}
		req, err := l.read(w, r)
		if err != nil {
			Problem{Status: http.StatusBadRequest, Detail: err.Error()}.Write(w)
			return
		}
		v := l.decide(r.Context(), req)
		if !l.write(w, v) {
			return
		}
		a := Answer{Allowed: true, Degraded: v.degraded, Limits: []Left{}}
		for _, pool := range v.decision.Pools {
			for _, s := range pool.Windows {
				reset := s.Window.Length
				if !s.FreesAt.IsZero() {
					reset = s.FreesAt.Sub(v.decision.At)
				}
				a.Limits = append(a.Limits, Left{s.Window.Name, s.Ceiling, seconds(s.Window.Length),
					max(s.Ceiling-s.Used, 0), seconds(reset)})
			}
		}
		writeJSON(w, a)
	})
}

func (l *Limiter) read(w http.ResponseWriter, r *http.Request) (req request, err error) {
	var q asked
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAsked))
	body.DisallowUnknownFields()
	if err := body.Decode(&q); err != nil {
		return req, fmt.Errorf("the body is not a question such as {\"client\": \"user-7\", \"cost\": 1}: %w", err)
	}
	key := r.Header.Get("Idempotency-Key")
	if len(key) > 256 || len(q.Also) > maxAlso {
		return req, fmt.Errorf("an Idempotency-Key has up to 256 bytes, and also up to %d clients", maxAlso)
	}
	if _, ok := l.costs[q.Route]; !ok && q.Route != "" {
		return req, fmt.Errorf("there is no route %q", q.Route)
	}
	cost := int64(-1)
	if q.Cost != nil {
		if cost = *q.Cost; cost < 0 || cost > quota.MaxLimit {
			return req, fmt.Errorf("cost %d: use 0 to look, or more", cost)
		}
	}
	var clients []client
	for _, who := range append([]Identity{q.Identity}, q.Also...) {
		c, err := l.identified(who)
		if err != nil {
			return req, err
		}
		clients = append(clients, c)
	}
	if q.Address != "" {
		addr := parseHop(q.Address)
		if !addr.IsValid() {
			return req, fmt.Errorf("address %q: use one such as 192.0.2.1", q.Address)
		}
		clients = l.under(addr, clients...)
	}
	req, unfit := l.request(q.Route, cost, key, clients...)
	if unfit != "" {
		return req, fmt.Errorf("a cost of %d is above the limit %s: it can never be admitted", req.cost, unfit)
	}
	return req, nil
}

// identified returns the client that a trusted caller names.
func (l *Limiter) identified(who Identity) (client, error) {
	if _, ok := l.plans[who.Plan]; !ok && who.Plan != "" {
		return client{}, fmt.Errorf("there is no plan %q", who.Plan)
	}
	if who.Client == "" || len(who.Client) > 256 {
		return client{}, fmt.Errorf("client has %d bytes: use an address, or a name of 1 to 256", len(who.Client))
	}
	plan := who.Plan
	for _, t := range l.Tokens {
		if t.Client == who.Client {
			plan = cmp.Or(plan, t.Plan)
		}
	}
	c := l.named(who.Client, plan)
	if addr, err := netip.ParseAddr(who.Client); err == nil {
		c.account, c.plan = l.account(addr.Unmap().WithZone("")), c.plan.atAddress
	}
	return c, nil
}

// Seen names the clients that are limited most, and the windows that limit them.
type Seen struct {
	Since   time.Time     `json:"since"` // within the last two hours
	Clients []Denied      `json:"clients"`
	Windows []WindowStats `json:"windows"` // since the start
}

// Denied is a client that is limited, counted while it was among the 256 that are limited most.
type Denied struct {
	Client        string    `json:"client"`
	Observed      bool      `json:"observed"` // only by limits that are observed
	Refused       int64     `json:"refused"`
	AtMostTooMany int64     `json:"at_most_too_many"` // at most so many of Refused belong to other clients
	Last          time.Time `json:"last"`
}

// Limited answers trusted callers with Seen: the 20 clients that are limited most.
func (l *Limiter) Limited() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.mayAsk(w, r, "Authorization") {
			return
		}
		seen := Seen{Clients: []Denied{}, Windows: l.Windows()}
		since, top := l.denials.top(20, l.Now())
		seen.Since = since.UTC()
		for _, d := range top {
			seen.Clients = append(seen.Clients, Denied{l.clientName(d.account), d.observed, d.refused, d.error, d.last.UTC()})
		}
		writeJSON(w, seen)
	})
}

func writeJSON(w http.ResponseWriter, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(doc)
}
