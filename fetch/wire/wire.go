// Package wire is what every upstream's adapter needs between a request and its answer: one way out to one host, which
// sends each request at most once and brings back a bounded body (transport.go) without the key (hide.go); the rules
// for a base URL (baseurl.go); what answers have in common (decode.go); text from outside made fit for an error
// (clean.go); and the errors of refusals and of calls without a whole answer (unanswered.go). What an answer means is
// up to the adapter.
package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Answer is the outcome of one request. Either Err is nil and Body is whole, or Err says why not.
type Answer struct {
	Status   int
	Location string      // the Location header, of a redirect
	Header   http.Header // without the key
	Body     []byte      // without the key
	Err      error
	Sent     bool // a connection was handed over: from here on the request may have arrived
}

var errNoAnswer = errors.New("the request was never handed to the network")

// answerKey is the context key for a request's *Answer.
type answerKey struct{}

// Ask gives send a context whose one request, through a Transport, fills in the answer. What send returns matters only
// if the Transport was never asked: the Transport has seen everything else itself, and in full. It ends after timeout.
func Ask(ctx context.Context, timeout time.Duration, send func(context.Context) error) Answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var a Answer
	if err := send(context.WithValue(ctx, answerKey{}, &a)); a.Err == nil && a.Status == 0 {
		a.Err = cmp.Or(err, errNoAnswer)
	}
	// net/http reports the cause that a context was cancelled with; callers check for its kind.
	if a.Err != nil && ctx.Err() != nil && !errors.Is(a.Err, ctx.Err()) {
		a.Err = fmt.Errorf("%w: %w", ctx.Err(), a.Err)
	}
	return a
}

// Get requests a path of the host, "/videos", with a query: for adapters without a client library.
func (t *Transport) Get(ctx context.Context, timeout time.Duration, path string, query url.Values) Answer {
	return Ask(ctx, timeout, func(ctx context.Context) error {
		u := url.URL{Scheme: t.scheme, Host: t.host, Path: path, RawQuery: query.Encode()}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
		if err != nil {
			return fmt.Errorf("making the request: %w", err)
		}
		resp, err := t.RoundTrip(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body) // an empty object, in memory
		return resp.Body.Close()
	})
}
