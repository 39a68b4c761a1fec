// Package youtube is the YouTube Data API v3 as a fetch.Upstream.
//
// Google's client builds the requests and reads the error envelope; our transport carries the key
// and reads the answer. The client's structs cannot tell a count that YouTube withholds from a
// count of zero, so the transport keeps the body, hands the client an empty object in its place,
// and mapping.go decodes the body once, into what ingest.Video stores: presence survives, and what
// we do not keep is never allocated. One function, verdict, says what an answer means.
//
// A call reaches YouTube at most once. net/http sends a GET again by itself when a kept connection
// breaks, which would be a second arrival for one take, so requests are sent in a form that it may
// not repeat (see transport.go).
package youtube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	youtubev3 "google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// DefaultBaseURL is Google's own.
const DefaultBaseURL = "https://youtube.googleapis.com/"

// DefaultTimeout bounds one call from its first byte to its last.
const DefaultTimeout = 20 * time.Second

// MaxIDs is how many ids one call may ask for (developers.google.com/youtube/v3/docs/videos/list).
const MaxIDs = 50

// videosList is the method's name in costs.yaml.
const videosList = "videos.list"

// pageSize is the most that YouTube gives; a shorter page does not mean the last one.
const pageSize = 50

// Errors that New returns for a key, and calls for ids that cannot be asked for.
var (
	ErrNoKey = errors.New("no API key; only a loopback base URL works without one")
	ErrKey   = errors.New("the API key holds a space, a line end or another character that no key has")
	ErrIDs   = fmt.Errorf("a call asks for 1 to %d ids", MaxIDs)
)

var errNoRegion = errors.New("a chart needs a region")

// Config says where YouTube is and who asks.
type Config struct {
	BaseURL string        // https, or http to a loopback address; no path; "" is DefaultBaseURL
	Key     ingest.Secret // sent in a header to BaseURL's host and nowhere else; may be zero for a loopback address
	Version string        // of this program, for the User-Agent; "" is "dev"
	Timeout time.Duration // per call; 0 is DefaultTimeout
}

// Client is YouTube. It may be used concurrently.
type Client struct {
	service   *youtubev3.Service
	transport *transport
	clean     cleaner
	timeout   time.Duration
}

var _ fetch.Upstream = (*Client)(nil)

// New refuses a base URL with a *BaseURLError and a key with ErrNoKey or ErrKey. It sends nothing.
func New(ctx context.Context, cfg Config) (*Client, error) {
	base, err := parseBaseURL(cmp.Or(cfg.BaseURL, DefaultBaseURL))
	if err != nil {
		return nil, err
	}
	if err := checkKey(cfg.Key, base); err != nil {
		return nil, err
	}
	c := &Client{
		transport: newTransport(base, cfg.Key, "trendvidstream-ingest/"+cmp.Or(cfg.Version, "dev")),
		clean:     newCleaner(cfg.Key),
		timeout:   cmp.Or(cfg.Timeout, DefaultTimeout),
	}
	hc := &http.Client{
		Transport:     c.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.service, err = youtubev3.NewService(ctx, option.WithHTTPClient(hc), option.WithEndpoint(base.String()))
	if err != nil {
		return nil, fmt.Errorf("making the YouTube client: %w", err)
	}
	return c, nil
}

// Host is where the data comes from, "youtube.googleapis.com" or "127.0.0.1:8080": a store is kept
// to one of them.
func (c *Client) Host() string { return c.transport.host }

// Close drops the connections that are kept for the next call. The client stays usable.
func (c *Client) Close() { c.transport.base.CloseIdleConnections() }

// Chart implements fetch.Upstream: one page of chart=mostPopular.
func (c *Client) Chart(region ingest.Region, category, token string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: videosList, Region: region, Do: func(ctx context.Context) (ingest.Page, error) {
		if region == "" {
			return ingest.Page{}, &fetch.Error{Verdict: fetch.Rejected, Method: videosList, Err: errNoRegion}
		}
		call := c.listVideos().Chart("mostPopular").RegionCode(string(region)).MaxResults(pageSize)
		if category != "" && category != "0" {
			call.VideoCategoryId(category)
		}
		if token != "" {
			call.PageToken(token)
		}
		return c.page(ctx, question{method: videosList, chart: true}, func(ctx context.Context) error {
			_, err := call.Context(ctx).Do()
			return err
		})
	}}
}

// Videos implements fetch.Upstream. With no ids, or more than MaxIDs, Do fails with ErrIDs and
// sends nothing.
func (c *Client) Videos(ids []string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: videosList, Do: func(ctx context.Context) (ingest.Page, error) {
		if len(ids) == 0 || len(ids) > MaxIDs {
			err := fmt.Errorf("%w, not %d", ErrIDs, len(ids))
			return ingest.Page{}, &fetch.Error{Verdict: fetch.Rejected, Method: videosList, Err: err}
		}
		call := c.listVideos().Id(ids...)
		return c.page(ctx, question{method: videosList}, func(ctx context.Context) error {
			_, err := call.Context(ctx).Do()
			return err
		})
	}}
}

func (c *Client) listVideos() *youtubev3.VideosListCall {
	return c.service.Videos.List([]string{"snippet", "contentDetails", "statistics"}).Fields(googleapi.Field(videoFields))
}

// page sends one request and reads its answer as a page of videos. What send returns matters only
// where the transport was never asked: all else the transport has seen itself, and in full.
func (c *Client) page(ctx context.Context, q question, send func(context.Context) error) (ingest.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var a answer
	if err := send(context.WithValue(ctx, answerKey{}, &a)); a.err == nil && a.status == 0 {
		a.err = cmp.Or(err, errNoAnswer)
	}
	// net/http reports the cause that a context was cancelled with; callers ask for its kind.
	if a.err != nil && ctx.Err() != nil && !errors.Is(a.err, ctx.Err()) {
		a.err = fmt.Errorf("%w: %w", ctx.Err(), a.err)
	}
	if err := verdict(q, a, c.clean); err != nil {
		return ingest.Page{}, err
	}
	page, err := mapPage(a.body)
	if err != nil {
		return ingest.Page{}, &fetch.Error{Verdict: fetch.Broken, Method: q.method, Err: c.clean.wrap("YouTube's answer makes no sense", err)}
	}
	return page, nil
}
