// Package httplimit limits how often each client may call an http.Handler, with any quota.Ledger: in memory (package
// memledger) for one process, SQLite or Redis for counts that must survive it or be shared.
//
// A window is exact and sliding: never more than its quota in any span of its length. All windows of a request are
// decided together and charged all or nothing, and a refusal charges nothing. Retry-After is exact: if nothing else is
// sent, the same request is admitted after that many seconds, and refused one second earlier.
//
// A client is an address (IPv6: its /64) or the owner of an API token. Forwarding headers are believed only from
// listed proxies, right to left, up to the first hop that is not listed; see Config.Proxies.
//
// Responses have RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-11, refusals Retry-After and a
// problem document (RFC 9457). They have no partition key pk: made of a client's address it would reveal the address. A
// handler must not let shared caches keep its answers, since the fields describe one client.
//
// Memory: an idle client is forgotten after its longest window; a busy one has at most an entry per step (a sixtieth
// of its shortest window). New clients beyond Config.MaxClients share accounts, so that a flood of addresses takes
// nothing from known clients.
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
	"github.com/trendvidstream/ingest/quota/memledger"
)

// Config configures a Limiter. Only Limits are needed.
type Config struct {
	Ledger quota.Ledger // nil: the memory of this process
	Prefix string       // of account names, as others may use the ledger too; "" is http

	Limits []Limit            // of each client without a token
	Plans  map[string][]Limit // by name, for tokens
	Tokens []Token
	Outer  []Limit // of all clients together; none: no such limit
	// Addresses limits each address in addition to all plans: its requests with and without tokens together. The names
	// of these limits begin with address-. Each request with a token is then an entry of its own, as with
	// SuccessesOnly.
	Addresses []Limit
	Routes    []Route // with a cost above 1 or with their own limits for each client

	// Failure bounds the spends of requests while the ledger cannot answer, counted in the memory of this process.
	Failure Failure

	// Callers may ask for other clients, at the handlers Auth and Ask; so may tokens marked as Caller.
	Callers []netip.Prefix

	// Proxies may name the client in the header Forwarding. The other header, and both from any other address, are
	// ignored.
	Proxies    []netip.Prefix
	Forwarding Forwarding // "" is XForwardedFor

	Allow []netip.Prefix // clients without limits
	Deny  []netip.Prefix // clients that get 403; takes precedence over Allow

	Observe     bool        // every limit, and Deny, is observed: nothing is refused
	Fields      []Fields    // none: Draft11
	ClientNames ClientNames // in the log and for Limited; "" is Hashed

	// SuccessesOnly refunds a request when the handler answers 5xx or panics. Each request is then an entry of its
	// own: a client may have as many as its largest quota.
	SuccessesOnly bool

	MaxClients int // addresses with accounts of their own; 0 is 100,000

	// Timeout bounds the ledger's answer; 0 is 250 ms, below 0 there is no bound.
	Timeout time.Duration
	// logs limited clients, and when the ledger stops and resumes answering; nil: nothing is logged
	Log *slog.Logger
	Now func() time.Time // nil is time.Now; the ledger decides by its own clock
}

// Limit is how much a client may use in any span of a length, without a burst at its edges.
type Limit struct {
	Quota   int64         // 1..quota.MaxLimit
	Window  time.Duration // whole seconds, up to protocol.MaxWindow
	Name    string        // in the fields; "" is the window's length, such as 1m
	Observe bool          // only count the requests that it would refuse; no field shows it
}

// Failure bounds the spends of each process while the ledger cannot answer, by parts of each limit, but allows at
// least 1. Beyond them, requests get 503.
type Failure struct {
	OpenAtMost float64 // a request may cost this part of each limit; 0 is a tenth, below 0 no request goes on
	// a client may spend this part of each limit in its window, beside the amount that the ledger admits; 0 is half,
	// below 0 nothing
	Emergency float64
}

// Route is the cost of requests that match a pattern of http.ServeMux, for handlers that differ in their expense.
type Route struct {
	Name    string // letters, digits, '.', '-', '_'
	Pattern string // such as GET /v1/search
	Cost    int64  // 0 is 1
	Limits  []Limit
}

// Limiter is a checked Config: Handler puts it before a handler. Safe for concurrent use.
type Limiter struct {
	Config

	anonymous *plan
	plans     map[string]*plan
	outer     *plan // of every request
	capped    *plan // of an address beside the plan of a token
	routes    *http.ServeMux
	names     map[string]string // of routes, by pattern
	costs     map[string]int64  // by the name of the route
	all       string            // the account of all clients together
	spare     memledger.Ledger  // decides while the ledger cannot answer
	known     *knownClients
	longest   time.Duration // window of any client
	full      atomic.Pointer[full]
	windows   []*window
	denials   denials
	failing   atomic.Bool // the ledger did not answer the last request

	mu    sync.Mutex
	stats Stats
}

// full is the last refusal of the outer limit: requests that cost as much are refused without asking, until then.
type full struct {
	cost  int64
	until time.Time
	by    []*window
}

// Stats counts requests since the start, by their fate.
type Stats struct {
	Allowed      int64 // by the ledger
	Refused      int64 // 429
	Observed     int64 // admitted although an observed limit would refuse them
	Overloaded   int64 // 503: the outer limit was used up
	Denied       int64 // 403
	Unauthorized int64 // 401: an unknown token
	Repeated     int64 // admitted under a key that was charged before
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
func (l *Limiter) count(counter *int64) {
	l.mu.Lock()
	*counter++
	l.mu.Unlock()
}

// New checks the configuration and returns its limiter.
func New(c Config) (*Limiter, error) {
	l := &Limiter{Config: c, plans: map[string]*plan{}}
	l.Prefix, l.Forwarding = cmp.Or(c.Prefix, "http"), cmp.Or(c.Forwarding, XForwardedFor)
	if len(l.Fields) == 0 {
		l.Fields = []Fields{Draft11}
	}
	l.Failure.OpenAtMost, l.Failure.Emergency = cmp.Or(c.Failure.OpenAtMost, 0.1), cmp.Or(c.Failure.Emergency, 0.5)
	l.all, l.spare.Now = l.Prefix+".all", c.Now
	if c.Ledger == nil {
		l.Ledger, l.Timeout = &memledger.Ledger{Now: c.Now}, -1
	}
	l.MaxClients, l.Timeout = cmp.Or(c.MaxClients, 100_000), cmp.Or(c.Timeout, 250*time.Millisecond)
	if l.Now == nil {
		l.Now = time.Now
	}
	l.Proxies, l.Callers, l.Allow, l.Deny = plain(c.Proxies), plain(c.Callers), plain(c.Allow), plain(c.Deny)
	switch {
	case len(l.Prefix) > 16 || quota.CheckAccount(l.Prefix) != nil:
		return nil, fmt.Errorf("httplimit: prefix %q: use up to 16 letters, digits, '.', '-' and '_'", c.Prefix)
	case l.MaxClients < 0:
		return nil, fmt.Errorf("httplimit: at most %d clients", c.MaxClients)
	case l.Forwarding != XForwardedFor && l.Forwarding != Forwarded:
		return nil, fmt.Errorf("httplimit: forwarding header %q: use %s or %s", c.Forwarding, XForwardedFor, Forwarded)
	case l.ClientNames != "" && l.ClientNames != Hashed && l.ClientNames != Plain:
		return nil, fmt.Errorf("httplimit: names of clients %q: use %s or %s", l.ClientNames, Hashed, Plain)
	case l.Failure.OpenAtMost > 1 || l.Failure.Emergency > 1:
		return nil, errors.New("httplimit: the budget without the ledger is a part of a limit, up to 1")
	}
	if err := checkFields(l.Fields); err != nil {
		return nil, err
	}
	if err := l.compile(); err != nil {
		return nil, err
	}
	return l, nil
}

// Handler limits the calls of next. Handlers Auth and Ask answer other servers, which limit theirs.
func (l *Limiter) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.limit(w, r, l.address(r, false), next) })
}
