// Package dailymotion is Dailymotion's public API as a fetch.Upstream. It reads only public data and has no key.
// Dailymotion calls this API, at https://api.dailymotion.com, legacy; its successor under /v2 needs an access token
// for every call.
//
// The provider's documentation, below https://developers.dailymotion.com:
//   - A list is {page, limit, explicit, total, has_more, list}; page and limit are 100 at most; total is
//     not to be trusted, has_more is: /reference/understand-api-response
//   - No list gives more than 1,000 results, and public data needs no authentication:
//     /guides/browse-large-catalogs/
//   - Any field may be null; a date is a number of seconds, an array holds strings or numbers:
//     /api/platform-api/data-types
//   - Fields and filters, among them country (declared by the uploader) and ams_country (where a video may be
//     watched): /api/platform-api/reference - Errors, and the meaning of 400, 401, 403, 404 and 5xx:
//     /api/platform-api/errors/
//
// Undocumented, and untested against the real API: whether sort=trending and country work together (public programs
// combine them); how a client that asks too often is refused (429, and 403 for "spam activity", are taken to mean it);
// whether ams_country works without a token; how many ids one call may have; the answers for an unknown country or
// category, or a page after the last; when the provider's day turns, if it has one; how long its data may be kept.
//
// A region's chart therefore lists videos declared to be of that country, not those watched there, and lacks videos
// that are blocked where this program runs.
package dailymotion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

const defaultBaseURL = "https://api.dailymotion.com/"

// pageSize is the most that Dailymotion gives, and lastPage the last page of that size: no list has more than 1,000
// results.
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

	Descriptions bool // ask for the videos' descriptions too
}

// Client is Dailymotion as a fetch.Upstream, which needs no key. It may be used concurrently.
type Client struct {
	*wire.Client
	fields string // of a video
}

var (
	_ fetch.Upstream = (*Client)(nil)
	_ fetch.Searcher = (*Client)(nil)
)

// New refuses the URLs that wire.ParseBaseURL refuses. It sends nothing.
func New(_ context.Context, cfg Config) (*Client, error) {
	base, err := wire.ParseBaseURL(cmp.Or(cfg.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, err
	}
	agent := wire.Headers{Agent: "trendvidstream-ingest/" + cmp.Or(cfg.Version, "dev")}
	c := &Client{wire.NewClient("Dailymotion", base, agent, cfg.Timeout), videoFields}
	if cfg.Descriptions {
		c.fields += ",description"
	}
	c.Refusal = c.refusal
	return c, nil
}

// Limits implements fetch.Upstream.
func (*Client) Limits() fetch.Limits {
	return fetch.Limits{IDsPerCall: maxIDsPerCall, PerPage: pageSize, ChartPages: lastPage, SearchPages: lastPage}
}

// Chart implements fetch.Upstream: a page of 100 trending videos of a country. category is the id of one of
// Dailymotion's channels, "music"; token is the page's number.
func (c *Client) Chart(region ingest.Region, category, token string) fetch.Call[ingest.Page] {
	q := wire.Question{Method: videosTrending, Region: region}
	if region == "" {
		q.Wrong = errNoRegion
	}
	query := url.Values{"sort": {"trending"}, "country": {strings.ToLower(string(region))}, "fields": {c.fields}}
	setCategory(query, category)
	return newCall(c, q, query, token, mapVideos)
}

// Videos implements fetch.Upstream. For no ids, too many, or an invalid one, Do fails with ErrIDs and sends nothing.
// An answer with any other video counts as broken: the filter did not work, so that missing videos may still exist.
func (c *Client) Videos(ids []string) fetch.Call[ingest.Page] {
	q := wire.Question{Method: videosList}
	if len(ids) == 0 || len(ids) > maxIDsPerCall {
		q.Wrong = fmt.Errorf("%w, not %d", ErrIDs, len(ids))
	}
	for _, id := range ids {
		if !isID(id) {
			q.Wrong = fmt.Errorf("%w, not %.40q", ErrIDs, id)
		}
	}
	query := url.Values{"ids": {strings.Join(ids, ",")}, "fields": {c.fields}}
	return newCall(c, q, query, "", func(body []byte, number int) (ingest.Page, error) {
		found, err := mapVideos(body, number)
		for _, v := range found.Videos {
			if !slices.Contains(ids, v.ID) {
				return ingest.Page{}, fmt.Errorf("video %.40q was not asked for", v.ID)
			}
		}
		found.Next = ""
		return found, err
	})
}

// Search implements fetch.Searcher. ams_country excludes videos that are blocked in q.Region.
func (c *Client) Search(sought ingest.Query, token string) fetch.Call[ingest.Found] {
	q := wire.Question{Method: videosSearch, Region: sought.Region}
	if sought.Text == "" {
		q.Wrong = errNoText
	}
	query := url.Values{"search": {sought.Text}, "sort": {"relevance"}, "fields": {"id"}}
	if sought.NewestFirst {
		query.Set("sort", "recent")
	}
	if sought.Region != "" {
		query.Set("ams_country", strings.ToLower(string(sought.Region)))
	}
	if sought.Channel != "" {
		query.Set("owners", sought.Channel)
	}
	setCategory(query, sought.Category)
	setTime(query, "created_after", sought.After)
	setTime(query, "created_before", sought.Before)
	return newCall(c, q, query, token, mapFound)
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

// newCall returns the call for the page that token names; "" is the first.
func newCall[T any](c *Client, q wire.Question, query url.Values, token string,
	read func([]byte, int) (T, error)) fetch.Call[T] {
	page := cmp.Or(token, "1")
	number, err := strconv.Atoi(page)
	if err != nil || number < 1 || number > lastPage || strconv.Itoa(number) != page {
		bad := &fetch.Error{Verdict: fetch.BadToken, Method: q.Method, Err: fmt.Errorf("%w, not %.40q", errToken, token)}
		return fetch.Call[T]{Method: q.Method, Region: q.Region,
			Do: func(context.Context) (none T, _ error) { return none, bad }}
	}
	query.Set("page", page)
	query.Set("limit", strconv.Itoa(pageSize))
	q.Send = func(ctx context.Context) error { return c.Get(ctx, "/videos", query) }
	return wire.NewCall(c.Client, q, func(body []byte) (T, error) { return read(body, number) })
}
