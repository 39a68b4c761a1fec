// Package youtube is the YouTube Data API v3 as a fetch.Upstream with all optional interfaces of package
// fetch, and the grammar of YouTube's ids, handles and addresses.
//
// Google's client builds the requests. Package wire carries the key and keeps the body, which is decoded here, into
// the fields of ingest.Video: the client's structs have 0 for a withheld count and for zero. A bad item does not spoil
// its page: a field that differs from the API's documentation is left out of its video, a video without an id out of
// its list, and ingest.Malformed counts them.
package youtube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	youtubev3 "google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
	_ "github.com/trendvidstream/ingest/internal/quiet" // before gRPC
)

const defaultBaseURL = "https://youtube.googleapis.com/"

// The sizes of YouTube's answers, by developers.google.com/youtube/v3/docs or as recorded [seen].
const (
	// pageSize is the number of results on one page; a shorter page is not always the last one.
	pageSize = 50
	// maxIDsPerCall is the number of ids in one call (videos/list, videos/batchGetStats).
	maxIDsPerCall = 50
	// chartSize is the number of videos in a chart [seen].
	chartSize = 200
	// maxFound is the number of results that a search lists, however many there are (search/list, channelId). Its
	// totals are unreliable.
	maxFound = 500
	// maxUploads is the number of videos in a list of uploads [seen].
	maxUploads = 20_000
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

	Descriptions bool // ask for the videos' descriptions too
}

// Client is YouTube's Data API as a fetch.Upstream. It may be used concurrently.
type Client struct {
	*wire.Client
	service *youtubev3.Service

	descriptions bool
}

var (
	_ fetch.Upstream = (*Client)(nil)
	_ fetch.Searcher = (*Client)(nil)
	_ fetch.Archive  = (*Client)(nil)
	_ fetch.Namer    = (*Client)(nil)
	_ fetch.Counter  = (*Client)(nil)
)

// New refuses the URLs that wire.ParseBaseURL refuses, and returns ErrNoKey or ErrKey for a key. It sends nothing.
func New(ctx context.Context, cfg Config) (*Client, error) {
	base, err := wire.ParseBaseURL(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, err
	}
	if err := checkKey(cfg.Key, base); err != nil {
		return nil, err
	}
	c := &Client{descriptions: cfg.Descriptions, Client: wire.NewClient("YouTube", base, wire.Headers{
		// YouTube wants "gzip" here as well as in Accept-Encoding, which net/http adds
		Agent:   "trendvidstream-ingest/" + cmp.Or(cfg.Version, "dev") + " (gzip)",
		KeyName: "X-Goog-Api-Key",
		Key:     cfg.Key,
	}, cfg.Timeout)}
	c.Refusal = c.refusal
	hc := &http.Client{
		Transport:     c.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.service, err = youtubev3.NewService(ctx, option.WithHTTPClient(hc), option.WithEndpoint(base.String()),
		option.WithLogger(slog.New(slog.DiscardHandler))) // its own obeys an environment variable and quotes each request
	if err != nil {
		return nil, fmt.Errorf("making the YouTube client: %w", err)
	}
	return c, nil
}

// checkKey requires a key for every host but this machine, of characters that a header can carry.
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

// Limits implements fetch.Upstream.
func (*Client) Limits() fetch.Limits {
	return fetch.Limits{
		IDsPerCall: maxIDsPerCall, PerPage: pageSize,
		ChartPages: chartSize / pageSize, SearchPages: maxFound / pageSize, Uploads: maxUploads,
	}
}

// requester is a call of Google's client. It decodes an empty object: the transport keeps the body.
type requester[R any] interface {
	Do(...googleapi.CallOption) (R, error)
}

// newCall returns the call for a question: ask makes its request, and read reads a whole answer.
func newCall[R, T any](c *Client, q wire.Question, ask func(context.Context) requester[R],
	read func(body []byte) (T, error)) fetch.Call[T] {
	q.Send = func(ctx context.Context) error {
		_, err := ask(ctx).Do()
		return err
	}
	return wire.NewCall(c.Client, q, read)
}
