package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// How long and how much the API and the pages cache: data changes every few minutes, and requests repeat.
const (
	freshFor   = 10 * time.Second // an answer of the API; also the max-age of Cache-Control
	pageFor    = time.Second      // a page, which says whether its chart is late
	maxCached  = 32 << 20         // bytes, of the API and of the pages each
	atLeast    = 1 << 10          // the least that any answer counts, in bytes
	maxMaking  = 8                // answers being made at once
	makeWithin = 5 * time.Second  // for one answer
	gzipFrom   = 1 << 10          // bytes; gzip is not worth it for fewer
)

// cache keeps answers for a while. Requests for an answer that is being made wait for it.
type cache struct {
	answers recent.Answers[*document]
	keep    time.Duration
	making  chan struct{} // its capacity is how many answers are made at once
}

func newCache(keep time.Duration) *cache {
	return &cache{answers: recent.Answers[*document]{Room: maxCached}, keep: keep, making: make(chan struct{}, maxMaking)}
}

// get returns the answer for a key, and makes it if none is kept. Many requests may wait for an answer, so it is made
// even if the request that asked first ends.
func (c *cache) get(ctx context.Context, key string, read func(context.Context) *document) *document {
	doc, _ := c.answers.Get(key, func() recent.Answer[*document] {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeWithin)
		defer cancel()
		select {
		case c.making <- struct{}{}:
			defer func() { <-c.making }()
		case <-ctx.Done():
			return recent.Answer[*document]{Is: &document{err: ctx.Err()}}
		}
		doc := read(ctx)
		if doc.err != nil || doc.header.Get("Cache-Control") == "no-store" { // the next request may succeed
			return recent.Answer[*document]{Is: doc}
		}
		sum := sha256.Sum256(doc.body)
		doc.header.Set("ETag", `W/"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
		return recent.Answer[*document]{Is: doc, Weight: atLeast + len(key) + len(doc.body), Until: time.Now().Add(c.keep)}
	})
	return doc
}

// keyOf is the key of an answer whose links lead below the base path.
func keyOf(r *http.Request, query string) string {
	return pages.BasePath(r.Context()) + " " + r.URL.EscapedPath() + "?" + query
}

// document is an answer that many requests may share.
type document struct {
	err    error // instead of all else
	status int   // 0: 200
	header http.Header
	body   []byte

	zip    sync.Once
	zipped []byte
}

// write answers with the document, or with 304 if the client has it.
func (d *document) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	maps.Copy(h, d.header)
	// One client's rest, and its answers, are for no other client.
	if may := h.Get("Cache-Control"); may != "no-store" &&
		(r.Header.Get("Authorization") != "" || httplimit.HasFields(h)) {
		h.Set("Cache-Control", "private, "+strings.TrimPrefix(may, "public, "))
	}
	if etag := h.Get("ETag"); etag != "" && matches(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := d.body
	if len(body) >= gzipFrom && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		d.zip.Do(func() {
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // this level exists
			_, _ = z.Write(d.body)                          // writing to memory cannot fail
			_ = z.Close()
			d.zipped = b.Bytes()
		})
		body = d.zipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(cmp.Or(d.status, http.StatusOK))
	_, _ = w.Write(body) // the client may be gone
}

// recorded returns h's answer, as a document.
func recorded(h http.Handler, r *http.Request) *document {
	d := &document{header: http.Header{"Cache-Control": {"no-store"}}}
	h.ServeHTTP((*recorder)(d), r)
	return d
}

// recorder is a document while it is written.
type recorder document

// Header implements http.ResponseWriter.
func (d *recorder) Header() http.Header { return d.header }

// WriteHeader implements http.ResponseWriter.
func (d *recorder) WriteHeader(status int) { d.status = status }

// Write implements http.ResponseWriter.
func (d *recorder) Write(body []byte) (int, error) {
	d.body = append(d.body, body...)
	return len(body), nil
}

// matches reports whether If-None-Match names the tag, by weak comparison (RFC 9110, section 13.1.2).
func matches(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether the header names gzip, without q=0.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, q, weighed := strings.Cut(strings.ReplaceAll(part, " ", ""), ";q=")
		if strings.EqualFold(coding, "gzip") {
			return !weighed || strings.Trim(q, "0.") != ""
		}
	}
	return false
}
