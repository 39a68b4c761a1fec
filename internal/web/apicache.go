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
)

// How long and how much the API caches: data changes every few minutes, and requests repeat.
const (
	freshFor   = 10 * time.Second // also the max-age of Cache-Control
	keptFor    = 10 * time.Minute // an answer whose version is unchanged
	maxEntries = 1000
	maxCached  = 32 << 20        // bytes of all bodies
	maxMaking  = 8               // answers being made at once
	makeWithin = 5 * time.Second // for one answer
	gzipFrom   = 1 << 10         // bytes; gzip is not worth it for fewer
)

// rawJSON is a document already encoded as JSON.
type rawJSON []byte

// cache keeps answers for freshFor, and longer while the version of their source is unchanged. Concurrent requests for
// one answer make it once.
type cache struct {
	mu      sync.Mutex
	entries map[string]*entry
	bytes   int
	making  chan struct{} // of capacity maxMaking
}

// entry is an answer, complete once ready is closed.
type entry struct {
	ready chan struct{}
	err   error
	made  time.Time // when it was made
	held  time.Time // when it was last known to hold
	by    string    // the version of its source; "": not known
	body  []byte
	etag  string

	zip    sync.Once
	zipped []byte
}

// get returns the entry of a key, and makes it if there is none. version, if not nil, returns the version of its
// source.
func (c *cache) get(ctx context.Context, key string, version func(context.Context) string, document func(context.Context) (any, error)) (*entry, error) {
	if version == nil {
		version = func(context.Context) string { return "" }
	}
	c.mu.Lock()
	if c.making == nil {
		c.making, c.entries = make(chan struct{}, maxMaking), map[string]*entry{}
	}
	e, ok := c.entries[key]
	if ok && e.stale() && e.by != "" && time.Since(e.made) < keptFor {
		c.mu.Unlock()
		now := version(ctx)
		c.mu.Lock()
		if now == e.by {
			e.held = time.Now()
		}
		e, ok = c.entries[key]
	}
	if !ok || e.stale() {
		e = &entry{ready: make(chan struct{})}
		c.put(key, e)
		c.mu.Unlock()
		c.make(ctx, key, e, version, document)
	} else {
		c.mu.Unlock()
	}
	select {
	case <-e.ready:
		return e, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// make makes an entry. It outlives the request that asked first, since others wait for it.
func (c *cache) make(ctx context.Context, key string, e *entry, version func(context.Context) string, document func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeWithin)
	defer cancel()
	by := ""
	select {
	case c.making <- struct{}{}:
		by = version(ctx) // first, so that a write meanwhile makes the entry outdated
		e.body, e.err = encode(ctx, document)
		<-c.making
	case <-ctx.Done():
		e.err = ctx.Err()
	}
	sum := sha256.Sum256(e.body)
	e.etag = `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	c.mu.Lock()
	e.made = time.Now()
	e.held, e.by = e.made, by
	if c.entries[key] == e {
		if e.err != nil { // the next request may succeed
			delete(c.entries, key)
		} else {
			c.bytes += len(e.body)
		}
	}
	c.mu.Unlock()
	close(e.ready)
}

func encode(ctx context.Context, document func(context.Context) (any, error)) ([]byte, error) {
	doc, err := document(ctx)
	if err != nil {
		return nil, err
	}
	if raw, ok := doc.(rawJSON); ok {
		return raw, nil
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// stale must be called with c.mu held.
func (e *entry) stale() bool { return !e.made.IsZero() && time.Since(e.held) >= freshFor }

// put makes room if necessary: it drops stale entries first, then any others.
func (c *cache) put(key string, e *entry) {
	c.drop(key)
	for _, all := range []bool{false, true} {
		for other, old := range c.entries {
			if len(c.entries) < maxEntries && c.bytes < maxCached {
				break
			}
			if old.stale() || all && !old.made.IsZero() {
				c.drop(other)
			}
		}
	}
	c.entries[key] = e
}

func (c *cache) drop(key string) {
	if e, ok := c.entries[key]; ok {
		if !e.made.IsZero() {
			c.bytes -= len(e.body)
		}
		delete(c.entries, key)
	}
}

// write answers with the entry, or with 304 if the client has it.
func (e *entry) write(w http.ResponseWriter, r *http.Request) {
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
			z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // a level that exists
			_, _ = z.Write(e.body)                          // memory takes it all
			_ = z.Close()
			e.zipped = b.Bytes()
		})
		body = e.zipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may be gone
}

// matches reports whether If-None-Match names the tag, which is compared weakly (RFC 9110, section 13.1.2).
func matches(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether the header accepts gzip, or any coding, without q=0.
func acceptsGzip(header string) bool {
	accepted := false
	for part := range strings.SplitSeq(header, ",") {
		coding, q, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		refused := strings.TrimRight(strings.TrimPrefix(q, "q=0"), ".0") == "" && q != ""
		switch strings.ToLower(coding) {
		case "gzip":
			return !refused
		case "*":
			accepted = !refused
		}
	}
	return accepted
}
