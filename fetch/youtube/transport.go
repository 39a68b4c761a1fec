package youtube

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
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trendvidstream/ingest"
)

// maxBody is the most that is read of an answer, after gzip: a page of 50 videos with every field
// is below 1 MiB, and a bomb ends here.
const maxBody = 16 << 20

var (
	errTooLarge    = fmt.Errorf("the answer is larger than %d MiB", maxBody>>20)
	errOtherHost   = errors.New("refused to send a request to another host")
	errNotLoopback = errors.New("refused to connect in clear to an address that is not loopback")
	errNoAnswer    = errors.New("the request was never handed to the network")
)

// answer is what came of one request. Either err is nil and the body is whole, or err says why not.
type answer struct {
	status   int
	location string // the Location header, of a redirect
	body     []byte
	err      error
	sent     bool // a connection was handed over: from here on the request may have arrived
}

// answerKey is where a call's context carries its *answer.
type answerKey struct{}

// transport is the one way out: to one host, with the key, and back with a bounded body.
//
// Its connections speak HTTP/1.1 only. Calls come one after the other, so HTTP/2 gains nothing, and
// its client repeats requests by rules of its own.
type transport struct {
	base         *http.Transport
	scheme, host string
	key          ingest.Secret
	agent        string
	date         atomic.Pointer[date] // of the last answer that had one
}

// date is one moment by two clocks.
type date struct{ theirs, ours time.Time }

func newTransport(base *url.URL, key ingest.Secret, agent string) *transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	proxy := http.ProxyFromEnvironment
	if IsLoopback(base.Hostname()) {
		proxy = nil
	}
	if base.Scheme == "http" {
		dialer.Control = loopbackOnly // "localhost" is what the resolver says it is
	}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &transport{
		base: &http.Transport{
			Proxy:                  proxy,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  15 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConns:           4,
			// Shorter than the servers' own, so that a call seldom meets a connection that is
			// just being closed: whether such a call arrived cannot be known.
			IdleConnTimeout: 30 * time.Second,
			Protocols:       &http1,
		},
		scheme: base.Scheme,
		host:   base.Host,
		key:    key,
		agent:  agent,
	}
}

// RoundTrip implements http.RoundTripper for requests whose context carries an *answer. It fills
// that in, and returns the status with an empty object as the body.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a, ok := req.Context().Value(answerKey{}).(*answer)
	if !ok {
		return nil, errors.New("a request without a place for its answer")
	}
	if req.URL.Scheme != t.scheme || !strings.EqualFold(req.URL.Host, t.host) {
		a.err = fmt.Errorf("%w: %s", errOtherHost, req.URL.Host)
		return nil, a.err
	}
	t.exchange(req, a)
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{
		Status:        http.StatusText(a.status),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(strings.NewReader("{}")),
		ContentLength: 2,
		Request:       req,
	}, nil
}

func (t *transport) exchange(req *http.Request, a *answer) {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		// Name, connection and TLS handshake are behind us; every fault before this is free.
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	resp, err := t.base.RoundTrip(t.outgoing(req.Clone(ctx)))
	a.sent = sent.Load()
	if err != nil {
		a.err = err
		return
	}
	defer resp.Body.Close()
	if theirs, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		t.date.Store(&date{theirs, time.Now()})
	}
	body, err := readAll(resp)
	if err != nil {
		a.err = fmt.Errorf("HTTP %d: %w", resp.StatusCode, err)
		return
	}
	a.status, a.location, a.body = resp.StatusCode, resp.Header.Get("Location"), t.withoutKey(body)
}

// keyLen is how long a key must be, in bytes, to be looked for in answers: Google's have 39, and a shorter
// one, which only a stand-in takes, is found in other words.
const keyLen = 16

// withoutKey is a body without the key, should the upstream repeat it: titles are kept as they come.
func (t *transport) withoutKey(body []byte) []byte {
	key := []byte(t.key.Reveal())
	if len(key) < keyLen || !bytes.Contains(body, key) {
		return body
	}
	return bytes.ReplaceAll(body, key, []byte("***"))
}

// outgoing adds to our own copy of a request what only the wire may see.
func (t *transport) outgoing(req *http.Request) *http.Request {
	if !t.key.IsZero() {
		req.Header.Set("X-Goog-Api-Key", t.key.Reveal())
	}
	// "gzip" is asked for here as well as in Accept-Encoding, which net/http adds
	// (developers.google.com/youtube/v3/getting-started#gzip).
	req.Header.Set("User-Agent", t.agent+" (gzip)")
	req.Host = ""
	req.Body = onlyOnce{}
	return req
}

// onlyOnce is an empty body that net/http finds empty and sends nothing for, but may not rewind: so
// it does not send the request again when a kept connection breaks.
type onlyOnce struct{}

func (onlyOnce) Read([]byte) (int, error) { return 0, io.EOF }
func (onlyOnce) Close() error             { return nil }

// readAll reads a body of at most maxBody bytes.
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

// timedOut reports whether err is a deadline, the call's or one of the transport's own.
func timedOut(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}
