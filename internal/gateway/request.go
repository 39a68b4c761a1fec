package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
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
	maxBody     = 1 << 20
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

	verb, path, query string // the query is sorted, and without a key
	header            http.Header
	body              []byte
	fresh             bool // no answer from the cache, nor from a call in flight
}

// target identifies a call: calls with the same target may share an answer.
func (c *call) target() string { return c.path + "?" + c.query }

// admit finds the method and the client of a request, without reading its body. Nothing is charged yet.
func (g *Gateway) admit(r *http.Request) (method, client string, refusal *answer) {
	if r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" {
		return "", "", problem(http.StatusForbidden, "forbidden", "a page in a browser may not spend quota: call the gateway from a program")
	}
	if len(g.config.Clients) == 0 && !loopback(r.Host) {
		return "", "", problem(http.StatusForbidden, "forbidden", "without clients: in its config the gateway answers at its own address only, such as 127.0.0.1:8090")
	}
	handler, _ := g.routes.Handler(r)
	name, ok := handler.(route)
	if !ok || r.URL.Path != r.URL.EscapedPath() || r.Method == http.MethodHead {
		at := r.Method + " " + r.URL.EscapedPath()
		return "", "", problem(http.StatusForbidden, "forbidden", at+" is no route here, and what has no price does not pass: give its method units: and route: "+at+" in costs.yaml")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(r.URL.RawQuery) > maxQuery {
		return "", "", problem(http.StatusBadRequest, "badRequest", "the query cannot be read, or is longer than 8 KiB")
	}
	if client, refusal = g.client(r, query); refusal != nil {
		return "", "", refusal
	}
	for parameter := range query {
		if !slices.Contains(ours, parameter) && !g.config.Upstream.Takes(parameter) {
			return "", "", problem(http.StatusBadRequest, "badRequest", fmt.Sprintf("no route of the provider has a parameter %.40q: leave it out", parameter))
		}
	}
	kind, _, err := mime.ParseMediaType(cmp.Or(r.Header.Get("Content-Type"), "application/json"))
	if r.Method != http.MethodGet && (err != nil || kind != "application/json") {
		return "", "", problem(http.StatusUnsupportedMediaType, "badContent", "a body must be JSON: send Content-Type: application/json")
	}
	return string(name), client, nil
}

// readCall reads the rest of a request.
func readCall(w http.ResponseWriter, r *http.Request, method, client string) (*call, *answer) {
	query := r.URL.Query()
	for _, name := range ours {
		query.Del(name)
	}
	c := &call{
		method: method, client: client, verb: r.Method, path: r.URL.Path, query: query.Encode(), header: http.Header{},
		fresh: strings.Contains(strings.ToLower(r.Header.Get("Cache-Control")), "no-cache"),
	}
	if r.Method == http.MethodGet {
		return c, nil
	}
	for _, name := range []string{"Content-Type", "If-Match"} {
		if v := r.Header.Get(name); v != "" {
			c.header.Set(name, v)
		}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin)) // a test's recorder has no deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, problem(http.StatusRequestEntityTooLarge, "uploadTooLarge", "the body is larger than 1 MiB: media uploads do not go through the gateway")
	}
	if err != nil {
		return nil, problem(http.StatusRequestTimeout, "badRequest", fmt.Sprintf("the body did not arrive whole within %v", bodyWithin))
	}
	_ = control.SetReadDeadline(time.Time{})
	c.body = body
	return c, nil
}

// request builds the request to send.
func (c *call) request(ctx context.Context) (*http.Request, error) {
	u := url.URL{Scheme: "http", Host: "upstream", Path: c.path, RawQuery: c.query} // Forward sets the real host
	var body io.Reader = http.NoBody
	if len(c.body) > 0 {
		body = bytes.NewReader(c.body)
	}
	req, err := http.NewRequestWithContext(ctx, c.verb, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	req.Header = c.header
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
