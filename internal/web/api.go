package web

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// API serves a front end's visitors: /v1/search, /v1/charts/{region}, /v1/videos/{id}, /v1/quota, /v1/slots.
// Documents match the commands' --json. openapi.json is the contract, maintained by hand.
type API struct {
	Documents func() (*report.Documents, error) // an error if nothing is open
	Limiter   *httplimit.Limiter                // nil: no limits
	// whose pages may read the API in a browser, such as https://www.example.com
	Origins []string

	cache    *cache
	provider pages.Provider // that feeds name as the source
}

// limitsPath is where other servers ask for their clients, with a body.
const limitsPath = "/v1/limits"

//go:embed openapi.json
var openAPI []byte

// The number of items on a page.
const (
	usualPage = 20
	maxPage   = 100
)

// maxQuery bounds the query string, in bytes.
const maxQuery = 2 << 10

// handler serves everything under /v1/. quota returns the report.
func (a *API) handler(quota func(context.Context) (report.QuotaDocument, error)) http.Handler {
	a.cache = newCache(freshFor)
	mux := http.NewServeMux()
	for path, read := range map[string]func(context.Context, *report.Documents, *http.Request, url.Values) (any, error){
		"/v1/search": a.readSearch, "/v1/charts/{region}": a.readChart, "/v1/videos/{id}": readVideo,
		"/v1/regions": readRegions, "/v1/slots": readSlots,
	} {
		mux.Handle("GET "+path, a.document(func(ctx context.Context, r *http.Request, params url.Values) (any, error) {
			docs, err := a.Documents()
			if err != nil {
				return nil, err
			}
			return read(ctx, docs, r, params)
		}))
	}
	mux.Handle("GET /v1/quota", a.document(func(ctx context.Context, _ *http.Request, params url.Values) (any, error) {
		if err := refuseAll(params); err != nil {
			return nil, err
		}
		return quota(ctx)
	}))
	mux.Handle("GET /v1/openapi.json",
		a.document(func(_ context.Context, r *http.Request, params url.Values) (any, error) {
			base := strconv.AppendQuote(nil, pages.BasePath(r.Context())+"/")
			return encoded{kind: "application/json",
				body: bytes.Replace(openAPI, []byte(`"url": "/"`), append([]byte(`"url": `), base...), 1)}, refuseAll(params)
		}))
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			httplimit.Problem{Status: http.StatusNotFound, Detail: "there is no such path: /v1/openapi.json lists them"}.Write(w)
			return
		}
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		httplimit.Problem{Status: http.StatusMethodNotAllowed, Detail: "the API only reads: use GET"}.Write(w)
	})
	return a.guard(a.limited(mux))
}

// Close closes the ledger of the limits per client.
func (a *API) Close() {
	if a != nil && a.Limiter != nil {
		_ = a.Limiter.Ledger.Close()
	}
}

// askedBy adds the paths at which other servers ask for their clients.
func (a *API) askedBy(mux *http.ServeMux) {
	mux.Handle("POST "+limitsPath, a.asked((*httplimit.Limiter).Ask))
	mux.Handle("GET /v1/limited", a.asked((*httplimit.Limiter).Limited))
	mux.Handle("/auth", a.asked((*httplimit.Limiter).Auth))
}

// asked lets other servers ask for their clients, with one of the limiter's handlers.
func (a *API) asked(handler func(*httplimit.Limiter) http.Handler) http.Handler {
	if a.Limiter == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			httplimit.Problem{Status: http.StatusForbidden,
				Detail: "nothing is limited here: set api.limits, and list who may ask in api.callers"}.Write(w)
		})
	}
	return handler(a.Limiter)
}

// limited applies the limits per client, if there are any.
func (a *API) limited(h http.Handler) http.Handler {
	if a == nil || a.Limiter == nil {
		return h
	}
	return a.Limiter.Handler(h)
}

// document answers with read's result, or with its error as a problem.
func (a *API) document(read func(ctx context.Context, r *http.Request, params url.Values) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		params, err := parameters(r)
		if err != nil {
			problemOf(err).Write(w)
			return
		}
		doc := a.cache.get(r.Context(), keyOf(r, params.Encode()), func(ctx context.Context) *document {
			return newDocument(read(ctx, r, params))
		})
		if doc.err != nil {
			problemOf(doc.err).Write(w)
			return
		}
		doc.write(w, r)
	})
}

func newDocument(doc any, err error) *document {
	var e encoded
	if err == nil {
		e, err = encode(doc)
	}
	header := http.Header{
		"Content-Type": {e.kind}, "Vary": {"Accept-Encoding, Authorization, Origin"},
		"Cache-Control": {"public, max-age=" + strconv.Itoa(int(freshFor/time.Second))},
	}
	if e.name != "" {
		header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": e.name}))
	}
	return &document{err: err, body: e.body, header: header}
}

// problemOf returns an error in a form for visitors. Internal causes are for /readyz to report.
func problemOf(err error) httplimit.Problem {
	for status, known := range map[int]error{http.StatusBadRequest: report.ErrBadRequest,
		http.StatusNotFound: report.ErrNotFound} {
		if errors.Is(err, known) {
			return httplimit.Problem{Status: status, Detail: term.Clean(strings.TrimPrefix(err.Error(), known.Error()+": "))}
		}
	}
	return httplimit.Problem{Status: http.StatusServiceUnavailable,
		Detail: "this cannot be read right now: try again soon"}
}

// parameters returns the URL's parameters, each allowed once.
func parameters(r *http.Request) (url.Values, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return nil, fmt.Errorf("%w: more than %d bytes after the question mark", report.ErrBadRequest, maxQuery)
	}
	params, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: the part after the question mark is not well formed: escape %% as %%25 and ; as %%3B",
			report.ErrBadRequest)
	}
	for name, values := range params {
		if len(values) > 1 {
			return nil, fmt.Errorf("%w: %s is given %d times: give it once", report.ErrBadRequest,
				term.Fit(name, 40), len(values))
		}
	}
	return params, nil
}

// refuseAll refuses the parameters of a path that has none.
func refuseAll(params url.Values) error {
	for name := range params {
		return fmt.Errorf("%w: there is no parameter %q here: /v1/openapi.json lists them",
			report.ErrBadRequest, term.Fit(name, 40))
	}
	return nil
}

func limitOf(params url.Values) (int, error) {
	if !params.Has("limit") {
		return usualPage, nil
	}
	limit, err := strconv.Atoi(params.Get("limit"))
	if err != nil || limit < 1 || limit > maxPage {
		return 0, fmt.Errorf("%w: limit %q: use 1 to %d", report.ErrBadRequest, term.Fit(params.Get("limit"), 20), maxPage)
	}
	return limit, nil
}

// publicQuota is the report without the path of the data directory, which visitors need not know.
func (s *Site) publicQuota(ctx context.Context) (report.QuotaDocument, error) {
	source, err := s.Status.Source()
	if err != nil {
		return report.QuotaDocument{}, err
	}
	doc, _, err := source.Quota(ctx, func() standing.Facts { return s.Standing(ctx).Facts })
	doc.Data = ""
	return doc, err
}

func (a *API) readSearch(ctx context.Context, docs *report.Documents, r *http.Request, params url.Values) (any, error) {
	if strings.TrimSpace(params.Get("q")) == "" {
		return nil, fmt.Errorf("%w: q is missing: the words to search for", report.ErrBadRequest)
	}
	if _, err := limitOf(params); err != nil {
		return nil, err
	}
	format, err := formatOf(params, "csv", "atom")
	if err != nil {
		return nil, err
	}
	doc, err := docs.Search(ctx, without(params, "format"))
	switch {
	case err != nil:
		return nil, err
	case format == "csv":
		return csvOf("search", doc.Items, doc.ItemCells)
	case format == "atom":
		body, err := a.provider.SearchFeed(r, doc, params)
		return encoded{kind: atomXML, body: body}, err
	}
	return doc, nil
}

func (a *API) readChart(ctx context.Context, docs *report.Documents, r *http.Request, params url.Values) (any, error) {
	format, err := formatOf(params, "csv", "atom")
	if err != nil {
		return nil, err
	}
	asked := without(params, "fields", "format")
	if format == "atom" {
		asked.Set("course", "true") // since when a video is charted is the time of its entry
	}
	doc, err := docs.Chart(ctx, r.PathValue("region"), asked)
	// the store is younger: the feed has no entry yet
	if format == "atom" && asked.Has("compare") && errors.Is(err, report.ErrNotFound) {
		doc, err = docs.Chart(ctx, r.PathValue("region"), without(asked, "compare", "change"))
		doc.ChartDocument.Items = nil
	}
	switch {
	case err != nil:
		return nil, err
	case format == "csv":
		return chartCSV(doc, params.Get("course") == "true")
	case format == "atom":
		body, err := a.provider.ChartFeed(r, doc, params)
		return encoded{kind: atomXML, body: body}, err
	case !doc.Compared():
		return withFields(doc.ChartDocument, params.Get("fields"))
	}
	return withFields(doc, params.Get("fields"))
}

func readRegions(ctx context.Context, docs *report.Documents, _ *http.Request, params url.Values) (any, error) {
	if err := refuseAll(params); err != nil {
		return nil, err
	}
	return docs.Regions(ctx)
}

// videoPage is a page of a video's sightings.
type videoPage struct {
	report.HistoryDocument
	Next *string `json:"next"`
}

func readVideo(ctx context.Context, docs *report.Documents, r *http.Request, params url.Values) (any, error) {
	format, err := formatOf(params, "csv")
	if err != nil {
		return nil, err
	}
	doc, err := docs.Video(ctx, r.PathValue("id"), without(params, "limit", "after", "format"))
	switch {
	case err != nil:
		return nil, err
	case format == "csv": // all of it
		return csvOf("video", doc.Sightings, doc.SightingCells)
	}
	page := videoPage{HistoryDocument: doc}
	page.Sightings, page.Next, err = pageOf(doc.Sightings, params, func(s report.SightingDocument) string {
		return s.Slot.UTC().Format("20060102150405") + " " + s.Job + " " + string(s.Region)
	})
	return page, err
}

type slotsPage struct {
	Slots []report.SlotDocument `json:"slots"`
	Next  *string               `json:"next"`
}

func readSlots(ctx context.Context, docs *report.Documents, _ *http.Request, params url.Values) (any, error) {
	all, err := docs.Slots(ctx, without(params, "limit", "after"))
	if err != nil {
		return nil, err
	}
	var page slotsPage
	page.Slots, page.Next, err = pageOf(all, params, func(s report.SlotDocument) string {
		return s.DueAt.UTC().Format("20060102150405") + " " + s.Job + " " + s.Region
	})
	for i := range page.Slots {
		page.Slots[i].Reason = term.Clean(page.Slots[i].Reason)
	}
	return page, err
}

func without(params url.Values, names ...string) url.Values {
	out := url.Values{}
	for name, values := range params {
		if !slices.Contains(names, name) {
			out[name] = values
		}
	}
	return out
}

// pageOf returns the page after the item that a cursor names, or the first page. Items come and go between requests, so
// a cursor names an item by its key: none is shown twice or left out.
func pageOf[T any](items []T, params url.Values, key func(T) string) (page []T, next *string, err error) {
	limit, err := limitOf(params)
	if err != nil {
		return nil, nil, err
	}
	if after := params.Get("after"); after != "" {
		last, err := base64.RawURLEncoding.DecodeString(after)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: after is not a cursor of this list: take next from its last page",
				report.ErrBadRequest)
		}
		i := slices.IndexFunc(items, func(item T) bool { return key(item) == string(last) })
		if i < 0 {
			return nil, nil, fmt.Errorf("%w: the cursor's row is no longer here, or the filters have changed: "+
				"begin at the first page", report.ErrBadRequest)
		}
		items = items[i+1:]
	}
	page = append([]T{}, items[:min(limit, len(items))]...)
	if len(items) > limit {
		next = new(base64.RawURLEncoding.EncodeToString([]byte(key(page[limit-1]))))
	}
	return page, next, nil
}
