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
	"net/http"
	"net/url"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// Client asks one upstream.
type Client struct {
	*Transport // its Host, Close and Date are the client's
	Cleaner
	// Refusal returns what an answer means whose status is not 200. The adapter sets it.
	Refusal func(Question, Answer) *fetch.Error
	name    string
	timeout time.Duration
}

const defaultTimeout = 20 * time.Second // of one call, from its first byte to its last

// NewClient returns a client of the upstream that a person calls name, at base, which is as ParseBaseURL returns it.
// A call ends after timeout; 0 is 20 s.
func NewClient(name string, base *url.URL, headers Headers, timeout time.Duration) *Client {
	return &Client{Transport: NewTransport(base, headers), Cleaner: Cleaner{headers.Key}, name: name, timeout: cmp.Or(timeout, defaultTimeout)}
}

// Question is what a call asks.
type Question struct {
	Method string // as costs.yaml names it
	Region ingest.Region
	Wrong  error  // why it cannot be asked; nil if it can
	Path   string // of a GET
	Query  url.Values
}

// NewCall returns the call for a question: read reads a whole answer.
func NewCall[T any](c *Client, q Question, read func(body []byte) (T, error)) fetch.Call[T] {
	return fetch.Call[T]{Method: q.Method, Region: q.Region, Do: func(ctx context.Context) (none T, _ error) {
		if q.Wrong != nil {
			return none, c.failed(fetch.Rejected, q.Method, "nothing was asked", q.Wrong)
		}
		return Read(c, q, c.Get(ctx, q.Path, q.Query, c.timeout), read)
	}}
}

// ErrAbsent is for a valid answer which says that the requested thing does not exist.
var ErrAbsent = errors.New("there is no such thing")

// Read reads an answer. Its error is a *fetch.Error, by certainty: what was never sent, what broke off, what the
// upstream refused, and what makes no sense.
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

// failed returns an error with what it means for a person in front.
func (c *Client) failed(v fetch.CallVerdict, method, says string, err error) *fetch.Error {
	return &fetch.Error{Verdict: v, Method: method, Err: c.Wrap(says, err)}
}

// Answer is the outcome of one request. Either Err is nil and Body is whole, or Err says why not.
type Answer struct {
	Status   int
	Location string      // the Location header, of a redirect
	Header   http.Header // without the key
	Body     []byte      // without the key
	Err      error
	Sent     bool // a connection was handed over: from here on the request may have arrived
}
