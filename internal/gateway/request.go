package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/fetch/wire"
)

const (
	maxQuery    = 8 << 10
	bodyWithin  = 10 * time.Second
	callsAtOnce = 16
	longest     = 60 * time.Second // of a request, from its header to the end of its answer
)

// route is a handler that carries the name of a method through a ServeMux.
type route string

func (route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// call is a request that was understood.
type call struct {
	method string // as costs.yaml names it
	client string

	path, query string // the query is sorted, and without a key
	long        bool   // it is sent as a POST in place of a GET
	fresh       bool   // no answer from the cache, nor from a call in flight
}

// target identifies a call: calls with the same target may share an answer.
func (c *call) target() string { return c.path + "?" + c.query }

// admit finds the method and the client of a request. Nothing is charged yet. Any other method than GET changes
// something, which an API key may not do.
func (g *Gateway) admit(r *http.Request) (method, client string, refusal *answer) {
	if r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" {
		return "", "", problem(http.StatusForbidden, "forbidden",
			"a page in a browser may not spend quota: call the gateway from a program")
	}
	if len(g.config.Clients) == 0 && !loopback(r.Host) {
		return "", "", problem(http.StatusForbidden, "forbidden",
			"without clients: in its config the gateway answers at its own address only, such as 127.0.0.1:8090")
	}
	handler, _ := g.routes.Handler(r)
	name, ok := handler.(route)
	if !ok || r.URL.Path != r.URL.EscapedPath() || r.Method == http.MethodHead {
		at := r.Method + " " + r.URL.EscapedPath()
		return "", "", problem(http.StatusForbidden, "forbidden", at+" is no route here, and "+
			"a request without a price does not pass: give its method units: and route: "+at+" in costs.yaml")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(r.URL.RawQuery) > maxQuery {
		return "", "", longQuery
	}
	if client, refusal = g.client(r, query); refusal != nil {
		return "", "", refusal
	}
	if r.Method != http.MethodGet {
		return "", "", problem(http.StatusUnauthorized, "required", string(name)+
			" needs the consent of a user, and the gateway has only an API key: nothing was sent, and nothing was spent")
	}
	for parameter := range query {
		if !slices.Contains(ours, parameter) && !g.config.Upstream.Takes(r.URL.Path, parameter) {
			return "", "", problem(http.StatusBadRequest, "badRequest",
				fmt.Sprintf("%s has no parameter %.40q: leave it out", name, parameter))
		}
	}
	return string(name), client, nil
}

// asGet returns the GET that a POST stands for. Google's clients send one in its place, with the query as its body, if
// the address would be longer than 2,048 characters.
func (g *Gateway) asGet(w http.ResponseWriter, r *http.Request) (*http.Request, *answer) {
	get := r.Clone(r.Context())
	get.Method, get.Body = http.MethodGet, http.NoBody
	handler, _ := g.routes.Handler(get)
	if _, ok := handler.(route); !ok || r.Method != http.MethodPost ||
		!strings.EqualFold(r.Header.Get(overridden), http.MethodGet) {
		return r, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin)) // a test's recorder has no deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuery))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return r, longQuery
	}
	if err != nil {
		return r, problem(http.StatusRequestTimeout, "badRequest",
			fmt.Sprintf("the body did not arrive whole within %v", bodyWithin))
	}
	_ = control.SetReadDeadline(time.Time{})
	get.URL.RawQuery = strings.Trim(r.URL.RawQuery+"&"+string(body), "&")
	return get, nil
}

// overridden is the header field of such a POST.
const overridden = "X-HTTP-Method-Override"

var longQuery = problem(http.StatusBadRequest, "badRequest", "the query cannot be read, or is longer than 8 KiB")

// newCall is the call that an admitted request asks for.
func newCall(r *http.Request, method, client string) *call {
	query := r.URL.Query()
	for _, name := range ours {
		query.Del(name)
	}
	return &call{
		method: method, client: client, path: r.URL.Path, query: query.Encode(),
		long:  strings.EqualFold(r.Header.Get(overridden), http.MethodGet),
		fresh: strings.Contains(strings.ToLower(r.Header.Get("Cache-Control")), "no-cache"),
	}
}

// request builds the request to send. A GET that came as a POST leaves as one.
func (c *call) request(ctx context.Context) (*http.Request, error) {
	u := url.URL{Scheme: "http", Host: "upstream", Path: c.path, RawQuery: c.query} // Forward sets the real host
	verb, body, header := http.MethodGet, io.Reader(http.NoBody), http.Header{}
	if c.long {
		verb, body, u.RawQuery = http.MethodPost, strings.NewReader(c.query), ""
		header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"},
			"X-Http-Method-Override": {http.MethodGet}}
	}
	req, err := http.NewRequestWithContext(ctx, verb, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	req.Header = header
	return req, nil
}

// ours are parameters that are accepted and not passed on: for the upstream, this program is the client.
var ours = []string{"key", "quotaUser", "userIp"}

// loopback reports whether a Host header names this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return wire.IsLoopback(strings.Trim(host, "[]"))
}
