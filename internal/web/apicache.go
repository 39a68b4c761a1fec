package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/recent"
)

// How long and how much the API caches: data changes every few minutes, and requests repeat.
const (
	freshFor   = 10 * time.Second // also the max-age of Cache-Control
	maxCached  = 32 << 20         // bytes of all bodies
	atLeast    = 1 << 10          // the least that any answer counts, in bytes
	maxMaking  = 8                // answers being made at once
	makeWithin = 5 * time.Second  // for one answer
	gzipFrom   = 1 << 10          // bytes; gzip is not worth it for fewer
)

// rawJSON is a document already encoded as JSON.
type rawJSON []byte

// document is an answer that many requests may share.
type document struct {
	err  error
	body []byte
	etag string

	zip    sync.Once
	zipped []byte
}

// encoded makes a document for all requests that wait for it, so it outlives the request that asked first.
func (a *API) encoded(ctx context.Context, read func(context.Context) (any, error)) recent.Answer[*document] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeWithin)
	defer cancel()
	select {
	case a.making <- struct{}{}:
		defer func() { <-a.making }()
	case <-ctx.Done():
		return recent.Answer[*document]{Is: &document{err: ctx.Err()}}
	}
	doc, err := read(ctx)
	body, raw := doc.(rawJSON)
	if err == nil && !raw {
		var b bytes.Buffer
		err = json.NewEncoder(&b).Encode(doc)
		body = b.Bytes()
	}
	if err != nil { // the next request may succeed
		return recent.Answer[*document]{Is: &document{err: err}}
	}
	sum := sha256.Sum256(body)
	etag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return recent.Answer[*document]{Is: &document{body: body, etag: etag}, Weight: atLeast + len(body), Until: time.Now().Add(freshFor)}
}

// write answers with the document, or with 304 if the client has it.
func (e *document) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", e.etag)
	h.Set("Vary", "Accept-Encoding, Authorization, Origin")
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(freshFor/time.Second)))
	if r.Header.Get("Authorization") != "" {
		h.Set("Cache-Control", "private, max-age="+strconv.Itoa(int(freshFor/time.Second)))
	}
	if matches(r.Header.Get("If-None-Match"), e.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	body := e.body
	if len(body) >= gzipFrom && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		e.zip.Do(func() {
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // this level exists
			_, _ = z.Write(e.body)                          // writing to memory cannot fail
			_ = z.Close()
			e.zipped = b.Bytes()
		})
		body = e.zipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may be gone
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
