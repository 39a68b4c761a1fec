package youtubesim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

// answer is what a call is answered, before it is written.
type answer struct {
	status int
	body   object
	html   string // instead of body
	pretty bool
	fault  *Fault // spoils the answer on its way, unless it is the answer
}

// masked applies the caller's field mask, which errors ignore.
func masked(a *answer, q *request) *answer {
	a.pretty = q.pretty
	if q.fields != nil && a.status == http.StatusOK {
		a.body = q.fields.apply(a.body).(object)
	}
	return a
}

func (a *answer) spoiledBy(kind string) bool { return a.fault != nil && a.fault.kind == kind }

// loggedStatus is 0 for a call that gets no answer.
func (a *answer) loggedStatus() int {
	if a.spoiledBy("drop") || a.spoiledBy("reset") {
		return 0
	}
	return a.status
}

func (a *answer) delay() time.Duration {
	if a.fault == nil {
		return 0
	}
	return a.fault.delay
}

// writeAnswer writes a at the upstream's own time.
func writeAnswer(w http.ResponseWriter, r *http.Request, at time.Time, a *answer) {
	switch {
	case a.spoiledBy("drop"):
		panic(http.ErrAbortHandler) // net/http's way to close without an answer
	case a.spoiledBy("reset"):
		reset(w)
	}
	h := w.Header()
	h.Set("Date", at.UTC().Format(http.TimeFormat))
	h.Set("Vary", "Origin, X-Origin, Referer")
	h.Set("Content-Type", "application/json; charset=UTF-8")
	body := a.encode()
	switch {
	case a.html != "":
		h.Set("Content-Type", "text/html; charset=UTF-8")
	case a.spoiledBy("empty"):
		body = nil
	case a.spoiledBy("hugebody"):
		w.WriteHeader(a.status)
		writeHuge(w)
		return
	}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(body) > 0 {
		h.Set("Content-Encoding", "gzip")
		body = zip(body)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	if a.spoiledBy("truncate") {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // an error means that the caller went away
}

// encode is the body as the API writes it: indented unless the caller declined.
func (a *answer) encode() []byte {
	if a.html != "" {
		return []byte(a.html)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if a.pretty {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(a.body); err != nil {
		panic(fmt.Sprintf("youtubesim: an answer is no JSON: %v", err)) // maps, slices and scalars only
	}
	return b.Bytes()
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer does not fail
	_ = z.Close()
	return out.Bytes()
}

// hugeBody is how much a hugebody fault writes, in bytes, unless the caller hangs up before.
const hugeBody = 64 << 20

func writeHuge(w io.Writer) {
	chunk := []byte(strings.Repeat(" ", 64<<10))
	_, _ = io.WriteString(w, `{"kind": "`)
	for n := 0; n < hugeBody; n += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, `"}`)
}

// reset closes the connection so that the caller sees a reset, and ends the handler.
func reset(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	panic(http.ErrAbortHandler)
}
