// Package youtube is the YouTube Data API v3 as a fetch.Upstream with all optional interfaces of package
// fetch, and the grammar of YouTube's ids, handles and addresses.
//
// Google's client builds the requests and reads the error envelope. Package wire carries the key and keeps the body,
// which is decoded here once, into what ingest.Video stores: the client's structs cannot tell a count that YouTube
// withholds from a count of zero. A bad item does not spoil its page: a field that is not as the API documents it is
// left out of its video, a video without an id out of its list, and ingest.Odd counts them.
package youtube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/api/option"
	youtubev3 "google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

const (
	defaultBaseURL = "https://youtube.googleapis.com/"
	defaultTimeout = 20 * time.Second // of one call, from its first byte to its last
)

// Errors that New returns for a key.
var (
	ErrNoKey = errors.New("no API key; only a loopback base URL works without one")
	ErrKey   = errors.New("the API key holds a space, a line end or another character that no key has")
)

// Config says where YouTube is and who asks.
type Config struct {
	BaseURL string        // https, or http to a loopback address; no path; "" is Google's own
	Key     ingest.Secret // sent in a header to BaseURL's host and nowhere else; may be zero for a loopback address
	Version string        // of this program, for the User-Agent; "" is "dev"
	Timeout time.Duration // per call; 0 is 20 s
}

// Client is YouTube. It may be used concurrently.
type Client struct {
	*wire.Transport // its Host, Close and Date are the client's
	service         *youtubev3.Service
	clean           wire.Cleaner
	timeout         time.Duration
}

var (
	_ fetch.Upstream = (*Client)(nil)
	_ fetch.Searcher = (*Client)(nil)
	_ fetch.Archive  = (*Client)(nil)
	_ fetch.Namer    = (*Client)(nil)
	_ fetch.Counter  = (*Client)(nil)
)

// New returns a *wire.BaseURLError for a base URL that it refuses, and ErrNoKey or ErrKey for a key. It sends nothing.
func New(ctx context.Context, cfg Config) (*Client, error) {
	base, err := wire.ParseBaseURL(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, err
	}
	if err := checkKey(cfg.Key, base); err != nil {
		return nil, err
	}
	c := &Client{
		Transport: wire.NewTransport(base, wire.Headers{
			// "gzip" is asked for here as well as in Accept-Encoding, which net/http adds
			// (developers.google.com/youtube/v3/getting-started#gzip).
			Agent:   "trendvidstream-ingest/" + cmp.Or(cfg.Version, "dev") + " (gzip)",
			KeyName: "X-Goog-Api-Key",
			Key:     cfg.Key,
		}),
		clean:   wire.NewCleaner(cfg.Key),
		timeout: cmp.Or(cfg.Timeout, defaultTimeout),
	}
	hc := &http.Client{
		Transport:     c.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.service, err = youtubev3.NewService(ctx, option.WithHTTPClient(hc), option.WithEndpoint(base.String()))
	if err != nil {
		return nil, fmt.Errorf("making the YouTube client: %w", err)
	}
	return c, nil
}

// checkKey requires a key for every host but this machine, and one that a header can carry unchanged.
func checkKey(key ingest.Secret, base *url.URL) error {
	if key.IsZero() && !wire.IsLoopback(base.Hostname()) {
		return ErrNoKey
	}
	for _, r := range key.Reveal() {
		if r <= ' ' || r > '~' {
			return ErrKey
		}
	}
	return nil
}

// newCall returns the call for a question: send makes its request, read reads a whole answer.
func newCall[T any](c *Client, q question, send func(context.Context) error, read func(body []byte) (T, error)) fetch.Call[T] {
	return fetch.Call[T]{Method: q.method, Region: q.region, Do: func(ctx context.Context) (none T, _ error) {
		if q.wrong != nil {
			return none, &fetch.Error{Verdict: fetch.Rejected, Method: q.method, Err: c.clean.Wrap("nothing was asked", q.wrong)}
		}
		return readAnswer(q, wire.Ask(ctx, c.timeout, send), c.clean, read)
	}}
}

// readAnswer reads an answer; without one, its error says why.
func readAnswer[T any](q question, a wire.Answer, clean wire.Cleaner, read func(body []byte) (T, error)) (none T, _ error) {
	if err := verdict(q, a, clean); err != nil {
		return none, err
	}
	v, err := read(a.Body)
	switch {
	case errors.Is(err, errAbsent):
		return none, &fetch.Error{Verdict: fetch.Rejected, Method: q.method, Err: clean.Wrap("YouTube answers", err)}
	case err != nil:
		return none, &fetch.Error{Verdict: fetch.Broken, Method: q.method, Err: clean.Wrap("YouTube's answer makes no sense", err)}
	}
	return v, nil
}

// errorOnly returns the error of a request and drops the decoded answer: the transport keeps the body.
func errorOnly[T any](_ T, err error) error { return err }
