package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// maxBody bounds an answer after decompression, as against gzip bombs; a page of 100 videos with every field is below
// 1 MiB.
const maxBody = 16 << 20

var (
	errTooLarge    = fmt.Errorf("the answer is larger than %d MiB", maxBody>>20)
	errOtherHost   = errors.New("refused to send a request to another host")
	errNotLoopback = errors.New("refused to connect in clear to an address that is not loopback")
	errNoPlace     = errors.New("a request without a place for its answer: use Ask or Get")
)

// Headers are sent with every request. Only the Key is a secret: it is removed from answers.
type Headers struct {
	Agent   string        // User-Agent
	KeyName string        // the header for Key
	Key     ingest.Secret // zero: no such header; removed from answers that repeat it
}

// Transport is the only way out: to one host, and back with a bounded body. As a RoundTripper it fills in the *Answer
// of Ask, and returns the status with an empty object as the body: a client library then decodes nothing, and only the
// adapter reads the upstream's answer.
//
// It sends a request at most once. net/http would repeat a GET when a kept connection breaks, a second arrival for one
// take, so requests have a form that it must not repeat. Connections use HTTP/1.1 only: calls are sequential, so
// that HTTP/2 gains nothing, and its client repeats requests by rules of its own. A redirect is an answer like any
// other.
//
// It may be used concurrently.
type Transport struct {
	base         *http.Transport
	scheme, host string
	headers      Headers

	mu             sync.Mutex
	dateOf, dateAt time.Time // the last Date header, and when it arrived
}

// NewTransport returns a Transport to base, a result of ParseBaseURL.
func NewTransport(base *url.URL, headers Headers) *Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	proxy := http.ProxyFromEnvironment
	if IsLoopback(base.Hostname()) {
		proxy = nil
	}
	if base.Scheme == "http" {
		dialer.Control = loopbackOnly // the resolver decides what "localhost" is
	}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &Transport{
		base: &http.Transport{
			Proxy:                  proxy,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  15 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			OnProxyConnectResponse: refusedByProxy,
			MaxIdleConns:           16,
			MaxIdleConnsPerHost:    16,
			// Shorter than servers' own, so that a call seldom uses a connection that is just being closed, when it
			// cannot be known whether the call arrived.
			IdleConnTimeout: 30 * time.Second,
			Protocols:       &http1,
		},
		scheme:  base.Scheme,
		host:    base.Host,
		headers: headers,
	}
}

// refusedByProxy is the error of a proxy that makes no connection: the upstream has seen nothing.
func refusedByProxy(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return fmt.Errorf("the proxy %s wants a user and a password (HTTP 407): put them into HTTPS_PROXY", proxy.Host)
	}
	return fmt.Errorf("the proxy %s makes no connection (HTTP %d): see HTTPS_PROXY and NO_PROXY, or ask who runs it",
		proxy.Host, answer.StatusCode)
}

// Host returns the host, "api.example.com" or "127.0.0.1:8080"; a store holds data of one.
func (t *Transport) Host() string { return t.host }

// Close closes idle connections. The Transport stays usable.
func (t *Transport) Close() { t.base.CloseIdleConnections() }

// Date returns the last Date header, and when it arrived by this machine's clock; zero before the first.
func (t *Transport) Date() (upstream, here time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dateOf, t.dateAt
}

// AskDate asks the host's clock by a HEAD request without the key, which costs no quota. It returns the zero time if
// the answer has no Date. An error is a *fetch.Error with Unsent: the host was not reached.
func (t *Transport) AskDate(ctx context.Context) (time.Time, error) {
	const within = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	u := url.URL{Scheme: t.scheme, Host: t.host, Path: "/"}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.String(), http.NoBody)
	if err != nil {
		return time.Time{}, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("User-Agent", t.headers.Agent)
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return time.Time{}, &fetch.Error{Verdict: fetch.Unsent, Method: "HEAD /",
			Err: fmt.Errorf("ask %s for its clock: %w", t.host, err)}
	}
	_ = resp.Body.Close()
	return t.keepDate(resp), nil
}

// RoundTrip implements http.RoundTripper for requests whose context comes from Ask.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a, ok := req.Context().Value(answerKey{}).(*Answer)
	if !ok {
		return nil, errNoPlace
	}
	if req.URL.Scheme != t.scheme || !strings.EqualFold(req.URL.Host, t.host) {
		a.Err = fmt.Errorf("%w: %s", errOtherHost, req.URL.Host)
		return nil, a.Err
	}
	t.exchange(req, a)
	if a.Err != nil {
		return nil, a.Err
	}
	return &http.Response{
		Status:        http.StatusText(a.Status),
		StatusCode:    a.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(strings.NewReader("{}")),
		ContentLength: 2,
		Request:       req,
	}, nil
}

// exchange sends a copy of the request to the one host, with the key, and fills in the answer.
func (t *Transport) exchange(req *http.Request, a *Answer) {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		// Faults before this, in DNS, connection or TLS handshake, cost nothing.
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	req = req.Clone(ctx)
	req.URL.Scheme, req.URL.Host, req.Host = t.scheme, t.host, ""
	req.Header.Set("User-Agent", t.headers.Agent)
	if !t.headers.Key.IsZero() {
		req.Header.Set(t.headers.KeyName, t.headers.Key.Reveal())
	}
	if req.GetBody = nil; req.Method == http.MethodGet {
		req.Body = oneShotBody{}
	}
	resp, err := t.base.RoundTrip(req)
	a.Sent = sent.Load()
	if err != nil {
		a.Err = err
		return
	}
	defer resp.Body.Close()
	if t.keepDate(resp); resp.StatusCode < http.StatusOK { // such as 101, whose body need not end
		a.Err = fmt.Errorf("HTTP %d is no answer", resp.StatusCode)
		return
	}
	body, err := readAll(resp)
	if err != nil {
		a.Err = fmt.Errorf("HTTP %d: %w", resp.StatusCode, err)
		return
	}
	a.Status, a.Location, a.Body = resp.StatusCode, resp.Header.Get("Location"), t.hideKey(body)
	a.Header = http.Header{}
	for name, values := range resp.Header {
		for _, v := range values {
			a.Header[name] = append(a.Header[name], string(t.hideKey([]byte(v))))
		}
	}
}

// Forward sends another program's request to the host once, with its method, path, query, body and header fields, and
// with the key.
func (t *Transport) Forward(req *http.Request) (a Answer) {
	t.exchange(req, &a)
	return a
}

// hideKey removes the key from an answer that repeats it.
func (t *Transport) hideKey(said []byte) []byte {
	if key := t.headers.Key.Reveal(); len(key) >= minKey {
		return hideKey(key, said)
	}
	return said
}

// keepDate stores the Date header of an answer, and returns it; the zero time if there is none. The Date of an answer
// from a cache says nothing about the present.
func (t *Transport) keepDate(resp *http.Response) time.Time {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil || cached(resp.Header) {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dateOf, t.dateAt = date, time.Now()
	return date
}

// fromCache are the words of caches for an answer of their own.
var fromCache = []string{"hit", "stale", "updating", "revalidated"}

// cached reports whether a cache says that an answer is its own: by RFC 9111, by RFC 9211, where stale is the reason
// for asking again, or as Squid, Varnish, nginx and hosts of content do.
func cached(h http.Header) bool {
	for name, values := range h {
		text := strings.ToLower(strings.Join(values, ","))
		words := strings.FieldsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
		own := false
		switch name {
		case "Cache-Control", "X-Cache-Lookup":
		case "Age":
			own = true
		case "Warning": // 110: stale; 111, 112, 113: not asked again
			own = strings.HasPrefix(text, "11")
		case "Cache-Status":
			own = slices.Contains(words, "hit")
		case "X-Varnish": // the number of this request, and of the one that filled the cache
			own = len(strings.Fields(text)) > 1
		case "X-Cache-Hits":
			own = strings.ContainsAny(text, "123456789")
		default:
			own = strings.Contains(name, "Cache") &&
				slices.ContainsFunc(words, func(word string) bool { return slices.Contains(fromCache, word) })
		}
		if own {
			return true
		}
	}
	return false
}

// oneShotBody is an empty body that cannot be rewound, so that net/http does not resend the request when a kept
// connection breaks. It sends no bytes.
type oneShotBody struct{}

func (oneShotBody) Read([]byte) (int, error) { return 0, io.EOF }
func (oneShotBody) Close() error             { return nil }

func readAll(resp *http.Response) ([]byte, error) {
	if resp.ContentLength > maxBody {
		return nil, errTooLarge
	}
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= 1<<20 {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case n > maxBody:
		return nil, errTooLarge
	}
	return b.Bytes(), nil
}

// loopbackOnly is a net.Dialer's Control.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%w: %s", errNotLoopback, address)
	}
	return nil
}
