// Package dailymotion is Dailymotion's public API as a fetch.Upstream. It reads only public data, so it has no
// key. This is the API that Dailymotion calls legacy, at https://api.dailymotion.com; its successor under /v2
// wants an access token for every call.
//
// The provider's documentation, below https://developers.dailymotion.com:
//   - A list is {page, limit, explicit, total, has_more, list}; page and limit are 100 at most; total is
//     not to be trusted, has_more is: /reference/understand-api-response
//   - No list gives more than 1,000 results, and public data needs no authentication:
//     /guides/browse-large-catalogs/
//   - Any field may be null; a date is a number of seconds, an array holds strings or numbers:
//     /api/platform-api/data-types
//   - Fields and filters, among them country (what the uploader declared) and ams_country (where a video may be
//     watched): /api/platform-api/reference
//   - Errors, and what 400, 401, 403, 404 and 5xx stand for: /api/platform-api/errors/
//
// Undocumented, and never tried here against the real API: that sort=trending and country work together (public
// programs combine them); how a client that asks too often is refused (429, and 403 for "spam activity", are taken to
// mean it); that ams_country works without a token; how many ids one call may hold; what an unknown country or
// category, or a page after the last, gets; when the provider's day turns, if it has one; and how long its data may be
// kept.
//
// A region's chart therefore lists videos declared to be of that country, not what is watched there; and it lacks what
// is blocked where this program runs.
package dailymotion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

const (
	defaultBaseURL = "https://api.dailymotion.com/"
	defaultTimeout = 20 * time.Second // of one call, from its first byte to its last
)

// pageSize is the most that Dailymotion gives, and lastPage the last page of that size: no list gives
// more than 1,000 results.
const (
	pageSize = 100
	lastPage = 1000 / pageSize

	maxIDsPerCall = 50 // the provider names no number
)

// The methods' names in costs.yaml. All are GET /videos.
const (
	videosTrending = "videos.trending"
	videosList     = "videos.list"
	videosSearch   = "videos.search"
)

// Why a call may be refused before it is sent.
var (
	ErrIDs      = fmt.Errorf("a call asks for 1 to %d ids, each of letters and digits", maxIDsPerCall)
	errNoRegion = errors.New("a chart needs a region")
	errNoText   = errors.New("a search needs a text")
	errToken    = fmt.Errorf("a page token is a number from 1 to %d", lastPage)
)

// Config says where Dailymotion is and who asks.
type Config struct {
	BaseURL string        // https, or http to a loopback address; no path; "" is Dailymotion's own
	Version string        // of this program, for the User-Agent; "" is "dev"
	Timeout time.Duration // per call; 0 is 20 s
}

// Client is Dailymotion. It may be used concurrently.
type Client struct {
	*wire.Transport // its Host, Close and Date are the client's
	timeout         time.Duration
}

var (
	_ fetch.Upstream = (*Client)(nil)
	_ fetch.Searcher = (*Client)(nil)
)

// New returns a *wire.BaseURLError for a base URL that it refuses. It sends nothing.
func New(_ context.Context, cfg Config) (*Client, error) {
	base, err := wire.ParseBaseURL(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, err
	}
	return &Client{
		Transport: wire.NewTransport(base, wire.Headers{Agent: "trendvidstream-ingest/" + cmp.Or(cfg.Version, "dev")}),
		timeout:   cmp.Or(cfg.Timeout, defaultTimeout),
	}, nil
}

// Limits implements fetch.Upstream.
func (*Client) Limits() fetch.Limits {
	return fetch.Limits{IDsPerCall: maxIDsPerCall, PerPage: pageSize, ChartPages: lastPage, SearchPages: lastPage}
}

// Chart implements fetch.Upstream: one page, of 100, of what trends among the videos of a country. category is the id
// of one of Dailymotion's channels, "music"; token is the page's number.
func (c *Client) Chart(region ingest.Region, category, token string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: videosTrending, Region: region, Do: func(ctx context.Context) (ingest.Page, error) {
		if region == "" {
			return ingest.Page{}, rejectedError(videosTrending, errNoRegion)
		}
		q := url.Values{"sort": {"trending"}, "country": {strings.ToLower(string(region))}, "fields": {videoFields}}
		setCategory(q, category)
		return fetchPage(ctx, c, videosTrending, token, q, mapVideos)
	}}
}

// Videos implements fetch.Upstream. With no ids, too many, or one that would be read as something else, Do fails with
// ErrIDs and sends nothing. An answer with a video that was not asked for counts as broken: the filter did not work,
// so what is missing is not gone.
func (c *Client) Videos(ids []string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: videosList, Do: func(ctx context.Context) (ingest.Page, error) {
		asked := map[string]bool{}
		for _, id := range ids {
			if !isID(id) {
				return ingest.Page{}, rejectedError(videosList, fmt.Errorf("%w, not %.40q", ErrIDs, id))
			}
			asked[id] = true
		}
		if len(ids) == 0 || len(ids) > maxIDsPerCall {
			return ingest.Page{}, rejectedError(videosList, fmt.Errorf("%w, not %d", ErrIDs, len(ids)))
		}
		q := url.Values{"ids": {strings.Join(ids, ",")}, "fields": {videoFields}}
		found, err := fetchPage(ctx, c, videosList, "", q, mapVideos)
		if err != nil {
			return ingest.Page{}, err
		}
		for _, v := range found.Videos {
			if !asked[v.ID] {
				return ingest.Page{}, brokenError(videosList, fmt.Errorf("video %.40q was not asked for", v.ID))
			}
		}
		found.Next = ""
		return found, nil
	}}
}

// Search implements fetch.Searcher. ams_country selects the videos that may be watched in q.Region: it leaves out what
// is blocked there.
func (c *Client) Search(sought ingest.Query, token string) fetch.Call[ingest.Found] {
	return fetch.Call[ingest.Found]{Method: videosSearch, Region: sought.Region, Do: func(ctx context.Context) (ingest.Found, error) {
		if sought.Text == "" {
			return ingest.Found{}, rejectedError(videosSearch, errNoText)
		}
		q := url.Values{"search": {sought.Text}, "sort": {"relevance"}, "fields": {"id"}}
		if sought.NewestFirst {
			q.Set("sort", "recent")
		}
		if sought.Region != "" {
			q.Set("ams_country", strings.ToLower(string(sought.Region)))
		}
		if sought.Channel != "" {
			q.Set("owners", sought.Channel)
		}
		setCategory(q, sought.Category)
		setTime(q, "created_after", sought.After)
		setTime(q, "created_before", sought.Before)
		return fetchPage(ctx, c, videosSearch, token, q, mapFound)
	}}
}

func setCategory(q url.Values, category string) {
	if category != "" && category != "0" {
		q.Set("channel", category)
	}
}

func setTime(q url.Values, name string, t time.Time) {
	if !t.IsZero() {
		q.Set(name, strconv.FormatInt(t.Unix(), 10))
	}
}

// fetchPage sends one request and maps its answer.
func fetchPage[T any](ctx context.Context, c *Client, method, token string, query url.Values, read func([]byte, int) (T, error)) (T, error) {
	var none T
	number, err := pageNumber(token)
	if err != nil {
		return none, &fetch.Error{Verdict: fetch.BadToken, Method: method, Err: err}
	}
	query.Set("page", strconv.Itoa(number))
	query.Set("limit", strconv.Itoa(pageSize))
	a := c.Get(ctx, c.timeout, "/videos", query)
	if err := verdict(method, a); err != nil {
		return none, err
	}
	out, err := read(a.Body, number)
	if err != nil {
		return none, brokenError(method, err)
	}
	return out, nil
}

// pageNumber reads a token; "" is the first page.
func pageNumber(token string) (int, error) {
	if token == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(token)
	if err != nil || n < 1 || n > lastPage || strconv.Itoa(n) != token {
		return 0, fmt.Errorf("%w, not %.40q", errToken, token)
	}
	return n, nil
}

func rejectedError(method string, err error) *fetch.Error {
	return &fetch.Error{Verdict: fetch.Rejected, Method: method, Err: err}
}

func brokenError(method string, err error) *fetch.Error {
	return &fetch.Error{Verdict: fetch.Broken, Method: method, Err: wire.Cleaner{}.Wrap("Dailymotion's answer makes no sense", err)}
}
