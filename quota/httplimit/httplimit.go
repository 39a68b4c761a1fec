// Package httplimit limits how often each client may call an http.Handler, by any quota.Ledger: in memory
// (package memledger) for one process, SQLite or Redis if the count must outlive it or be shared.
//
// A window is exact and sliding: never more than its quota in any span of its length, across every
// minute's edge. All windows of a request are decided together and charged all or nothing, a refusal
// charges nothing, and Retry-After is true: the same request, sent so many seconds later and nothing else
// between, is admitted; one second earlier it is refused.
//
// A client is an address (IPv6: its /64), or the owner of an API token. Forwarding headers are believed
// from listed proxies only, from the right, up to the first hop that is not listed; see Config.Proxies.
//
// Responses carry RateLimit-Policy and RateLimit by draft-ietf-httpapi-ratelimit-headers-11, refusals
// Retry-After and a problem document (RFC 9457). The partition key pk is the FNV-1a hash (64 bits)
// of the client's account in the ledger: it tells a client's partitions apart, and keeps no secret.
//
// Memory: an idle client costs nothing once its longest window has passed, a busy one at most an entry per
// step (a sixtieth of its shortest window), and of new clients beyond Config.MaxClients many share one
// account, so that a flood of addresses takes nothing from the clients that were there before it.
package httplimit

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Config configures a Limiter. Only Ledger and Limits are needed.
type Config struct {
	Ledger quota.Ledger
	Prefix string // of the accounts in the ledger, which others may use too; "" is http

	Limits []Limit            // of each client without a token
	Plans  map[string][]Limit // by name, for tokens
	Tokens []Token
	Outer  []Limit // of all clients together, in a coarse way; none: no such limit
	Routes []Route // that cost more than 1, or have limits of their own for each client

	// Proxies are the addresses that are believed when they say whom they forward for, in the header that
	// Forwarding names; the other header is ignored, and so are both from anybody else.
	Proxies    []netip.Prefix
	Forwarding Forwarding // "" is XForwardedFor

	Allow []netip.Prefix // clients without limits
	Deny  []netip.Prefix // clients that get 403; it wins over Allow

	Observe bool   // only count: nothing is refused, and no field is sent
	Fields  Fields // "" is Draft11

	// SuccessesOnly gives back what a request was charged when the handler answers 5xx or panics. Each
	// request is an entry of its own then: a client may take up as many as its largest quota.
	SuccessesOnly bool

	MaxClients int // addresses that have accounts of their own; 0 is 100,000

	// Timeout bounds how long the ledger may take; 0 is 250 ms, and less than 0 no bound, for one in memory.
	Timeout time.Duration
	Log     *slog.Logger     // says when the ledger ceases to answer, and when it is back; nil: nothing is logged
	Now     func() time.Time // nil is time.Now; only for what the ledger's own clock does not decide
}

// Limit is a sliding window.
type Limit struct {
	Quota  int64         // 1..quota.MaxLimit
	Window time.Duration // whole seconds, up to quota.MaxWindow
	Name   string        // in the fields; "" is the window's length, such as 1m
}

// PerMinute returns a limit over any 60 seconds.
func PerMinute(n int64) Limit { return Limit{Quota: n, Window: time.Minute} }

// PerHour returns a limit over any 60 minutes.
func PerHour(n int64) Limit { return Limit{Quota: n, Window: time.Hour} }

// Route is the cost of requests that match a pattern of http.ServeMux.
type Route struct {
	Name    string // letters, digits, '.', '-', '_'
	Pattern string // such as GET /v1/search
	Cost    int64  // 0 is 1
	Limits  []Limit
}

// Limiter is a Config that holds together. Safe for concurrent use.
type Limiter struct {
	Config

	anonymous *plan
	plans     map[string]*plan
	outer     *question // nil: none
	routes    *http.ServeMux
	names     map[string]string // of routes, by pattern
	known     *knownClients
	longest   time.Duration // window of any client
	fullUntil atomic.Int64  // the outer limit refuses until then, in microseconds since 1970
	failing   atomic.Bool   // the ledger did not answer last

	mu    sync.Mutex
	stats Stats
}

// Stats counts requests since the start.
type Stats struct {
	Allowed      int64 // by the ledger
	Refused      int64 // 429, or what would have been one under Observe
	Overloaded   int64 // 503: all clients together had used up the outer limit
	Denied       int64 // 403
	Unauthorized int64 // 401: a token that is not known
	FailedOpen   int64 // served although the ledger could not answer
	FailedClosed int64 // 503 because the ledger could not answer
	Refunded     int64 // charges given back
	Shared       int64 // by clients beyond MaxClients, which share accounts
}

// Stats returns the limiter's counts so far.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// count adds one to one of the stats.
func (l *Limiter) count(of *int64) {
	l.mu.Lock()
	*of++
	l.mu.Unlock()
}

// New checks the configuration and returns its limiter.
func New(c Config) (*Limiter, error) {
	l := &Limiter{Config: c, plans: map[string]*plan{}}
	l.Prefix, l.Forwarding, l.Fields = cmp.Or(c.Prefix, "http"), cmp.Or(c.Forwarding, XForwardedFor), cmp.Or(c.Fields, Draft11)
	l.MaxClients, l.Timeout = cmp.Or(c.MaxClients, 100_000), cmp.Or(c.Timeout, 250*time.Millisecond)
	if l.Now == nil {
		l.Now = time.Now
	}
	l.Proxies, l.Allow, l.Deny = plain(c.Proxies), plain(c.Allow), plain(c.Deny)
	switch {
	case c.Ledger == nil:
		return nil, errors.New("httplimit: no ledger")
	case len(l.Prefix) > 16 || quota.CheckAccount(l.Prefix) != nil:
		return nil, fmt.Errorf("httplimit: prefix %q: use up to 16 letters, digits, '.', '-' and '_'", c.Prefix)
	case l.MaxClients < 0:
		return nil, fmt.Errorf("httplimit: at most %d clients", c.MaxClients)
	case l.Forwarding != XForwardedFor && l.Forwarding != Forwarded:
		return nil, fmt.Errorf("httplimit: forwarding header %q: use %s or %s", c.Forwarding, XForwardedFor, Forwarded)
	case l.Fields != Draft11 && l.Fields != Off:
		return nil, fmt.Errorf("httplimit: fields %q: use %s or %s", c.Fields, Draft11, Off)
	}
	if err := l.compile(); err != nil {
		return nil, err
	}
	return l, nil
}

// Handler limits the calls of next.
func (l *Limiter) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr := l.address(r)
		if contains(l.Deny, addr) {
			l.count(&l.stats.Denied)
			if !l.Observe {
				Problem{Status: http.StatusForbidden, Detail: "this address may not use this service"}.Write(w)
				return
			}
		}
		if contains(l.Allow, addr) {
			next.ServeHTTP(w, r)
			return
		}
		l.limit(w, r, addr, next)
	})
}
