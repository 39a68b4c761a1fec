// Package wire holds the parts that every upstream's adapter needs: the only way out, which sends each request to one
// host at most once and returns a bounded body (transport.go) without the key (hide.go); the rules for a base URL
// (baseurl.go); decoding that answers have in common (decode.go); text from outside made safe for errors (clean.go);
// and the errors of refusals and of calls without a whole answer (unanswered.go). The adapter decides what an answer
// means.
package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// Client asks one upstream. An adapter embeds it, and adds its own calls and the meaning of refusals.
type Client struct {
	*Transport // the client has its Host, Close and Date
	Cleaner
	// Refusal returns the meaning of an answer whose status is not 200. The adapter sets it.
	Refusal func(Question, Answer) *fetch.Error
	name    string
	timeout time.Duration
}

const defaultTimeout = 20 * time.Second // of one call, from its first byte to its last

// NewClient returns a client of the upstream called name in errors, at base, a result of ParseBaseURL. A call ends
// after timeout; 0 is 20 s.
func NewClient(name string, base *url.URL, headers Headers, timeout time.Duration) *Client {
	return &Client{Transport: NewTransport(base, headers), Cleaner: Cleaner{headers.Key}, name: name,
		timeout: cmp.Or(timeout, defaultTimeout)}
}

// Question describes a call and sends it. NewCall makes a fetch.Call of it.
type Question struct {
	Method string // as costs.yaml names it
	Region ingest.Region
	Wrong  error // why it must not be sent; nil if it may
	Send   func(context.Context) error
}

// NewCall returns the call for a question; read reads a whole answer.
func NewCall[T any](c *Client, q Question, read func(body []byte) (T, error)) fetch.Call[T] {
	return fetch.Call[T]{Method: q.Method, Region: q.Region, Do: func(ctx context.Context) (none T, _ error) {
		if q.Wrong != nil {
			return none, c.failed(fetch.Rejected, q.Method, "nothing was asked", q.Wrong)
		}
		return Read(c, q, Ask(ctx, c.timeout, q.Send), read)
	}}
}

// ErrAbsent is for a valid answer that the requested thing does not exist.
var ErrAbsent = errors.New("there is no such thing")

// Read reads an answer. Its error is a *fetch.Error for a request that was not sent, broke off or was refused, or
// whose answer makes no sense.
func Read[T any](c *Client, q Question, a Answer, read func(body []byte) (T, error)) (none T, _ error) {
	switch {
	case a.Err != nil:
		return none, c.Unanswered(q.Method, a)
	case a.Status != http.StatusOK:
		return none, c.Refusal(q, a)
	}
	v, err := read(a.Body)
	switch {
	case errors.Is(err, ErrAbsent):
		return none, c.failed(fetch.Rejected, q.Method, c.name+" answers", err)
	case err != nil:
		return none, c.failed(fetch.Broken, q.Method, c.name+"'s answer makes no sense", err)
	}
	return v, nil
}

// failed returns an error preceded by its meaning for a person.
func (c *Client) failed(v fetch.CallVerdict, method, says string, err error) *fetch.Error {
	return &fetch.Error{Verdict: v, Method: method, Err: c.Wrap(says, err)}
}

// Answer is the outcome of one request: either Err is nil and Body is whole, or Err says why not.
type Answer struct {
	Status   int
	Location string      // the Location header, of a redirect
	Header   http.Header // without the key
	Body     []byte      // without the key
	Err      error
	Sent     bool // the request had a connection and may have arrived
}

var errNoAnswer = errors.New("the request was never handed to the network")

// answerKey is the context key for a request's *Answer.
type answerKey struct{}

// Ask calls send, whose one request goes through a Transport, and returns the answer that the Transport put into the
// context. send's own error counts only if the Transport was not reached. Ask ends after timeout.
func Ask(ctx context.Context, timeout time.Duration, send func(context.Context) error) Answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var a Answer
	if err := send(context.WithValue(ctx, answerKey{}, &a)); a.Err == nil && a.Status == 0 {
		a.Err = cmp.Or(err, errNoAnswer)
	}
	// net/http reports the cause of a cancelled context; callers check for its kind.
	if a.Err != nil && ctx.Err() != nil && !errors.Is(a.Err, ctx.Err()) {
		a.Err = fmt.Errorf("%w: %w", ctx.Err(), a.Err)
	}
	return a
}

// Get requests a path of the host, "/videos", with a query, within Ask: for adapters without a client library.
func (t *Transport) Get(ctx context.Context, path string, query url.Values) error {
	u := url.URL{Scheme: t.scheme, Host: t.host, Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
