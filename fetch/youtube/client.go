// Package youtube is the YouTube Data API v3 as a fetch.Upstream with all optional interfaces of package
// fetch, and the grammar of YouTube's ids, handles and addresses.
//
// It does without Google's client for Go, whose structs cannot tell a count that YouTube withholds from a count of zero,
// and which could therefore only build URLs: an answer is decoded here, once, into what ingest.Video stores. A bad item does not spoil its page: a field that is not as the API documents it is
// left out of its video, a video without an id out of its list, and ingest.Odd counts them.
package youtube

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

const defaultBaseURL = "https://youtube.googleapis.com/"

// The most that YouTube's answers hold, by developers.google.com/youtube/v3/docs and by recorded answers.
const (
	// pageSize is the number of results on one page; a shorter page is not always the last one.
	pageSize = 50
	fullPage = "50" // as a parameter
	// maxIDsPerCall is the number of ids that one call asks for (videos/list, videos/batchGetStats).
	maxIDsPerCall = 50
	// chartSize is the number of videos in a chart [seen].
	chartSize = 200
	// maxFound is the number of results that a search lists, however many it found (search/list, channelId). Totals
	// are not to be trusted.
	maxFound = 500
	// maxUploads is the number of videos that a list of uploads shows [seen].
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
}

// Client is YouTube. It may be used concurrently.
type Client struct{ *wire.Client }

var (
	_ fetch.Upstream = (*Client)(nil)
	_ fetch.Searcher = (*Client)(nil)
	_ fetch.Archive  = (*Client)(nil)
	_ fetch.Namer    = (*Client)(nil)
	_ fetch.Counter  = (*Client)(nil)
)

// New refuses what wire.ParseBaseURL does, and returns ErrNoKey or ErrKey for a key. It sends nothing.
func New(_ context.Context, cfg Config) (*Client, error) {
	base, err := wire.ParseBaseURL(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, err
	}
	if err := checkKey(cfg.Key, base); err != nil {
		return nil, err
	}
	c := &Client{wire.NewClient("YouTube", base, wire.Headers{
		// "gzip" is asked for here as well as in Accept-Encoding, which net/http adds
		// (developers.google.com/youtube/v3/getting-started#gzip).
		Agent:   "trendvidstream-ingest/" + cmp.Or(cfg.Version, "dev") + " (gzip)",
		KeyName: "X-Goog-Api-Key",
		Key:     cfg.Key,
	}, cfg.Timeout)}
	c.Refusal = c.refusal
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

// Limits implements fetch.Upstream.
func (*Client) Limits() fetch.Limits {
	return fetch.Limits{
		IDsPerCall: maxIDsPerCall, PerPage: pageSize,
		ChartPages: chartSize / pageSize, SearchPages: maxFound / pageSize, Uploads: maxUploads,
	}
}

// newQuestion returns the question of a method: fields is the part of the answer that is read. Parameters come as name
// and value; a value of "" is left out.
func newQuestion(method string, region ingest.Region, part, fields string, parameters ...string) wire.Question {
	path := strings.Replace(strings.TrimSuffix(method, ".list"), ".", ":", 1) // "videos", "videos:batchGetStats"
	query := url.Values{"part": {part}, "fields": {fields}, "prettyPrint": {"false"}}
	for p := parameters; len(p) > 1; p = p[2:] {
		if p[1] != "" {
			query.Set(p[0], p[1])
		}
	}
	return wire.Question{Method: method, Region: region, Path: "/youtube/v3/" + path, Query: query}
}
