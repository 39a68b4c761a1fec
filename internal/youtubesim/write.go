package youtubesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// reply is an answer and how to write it.
type reply struct {
	*answer
	at     time.Time // by the upstream's clock
	pretty bool      // indented
	fault  string    // the kind of fault that spoils it; "": none
}

// hungUp reports whether the caller gets no answer.
func (a reply) hungUp() bool { return a.fault == "drop" || a.fault == "reset" }

// write writes the reply; a panic with http.ErrAbortHandler is net/http's way to close without an answer.
func (a reply) write(w http.ResponseWriter, r *http.Request) {
	if a.fault == "reset" {
		reset(w)
	}
	if a.hungUp() {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	h.Set("Date", a.at.UTC().Format(http.TimeFormat))
	h.Set("Vary", "Origin, X-Origin, Referer")
	h.Set("Content-Type", "application/json; charset=UTF-8")
	if a.wait > 0 {
		h.Set("Retry-After", strconv.FormatFloat(math.Ceil(a.wait.Seconds()), 'f', 0, 64))
	}
	body := a.encode()
	if a.status == http.StatusOK && a.html == "" && a.fault == "" {
		tag := contentTag(body)
		h.Set("Etag", tag)
		if r.Method == http.MethodGet && r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	switch {
	case a.html != "":
		h.Set("Content-Type", "text/html; charset=UTF-8")
	case a.fault == "empty":
		body = nil
	case a.fault == "hugebody":
		w.WriteHeader(a.status)
		writeHuge(w)
		return
	}
	standin.Write(w, r, a.status, body, a.fault == "truncate")
}

// encode returns the body as the API writes it.
func (a reply) encode() []byte {
	if a.html != "" {
		return []byte(a.html)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if a.pretty {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(a.body); err != nil {
		panic(fmt.Sprintf("youtubesim: an answer is not JSON: %v", err)) // maps, slices and scalars only
	}
	return b.Bytes()
}

// changing are the etags in a body, which change with every call.
var changing = regexp.MustCompile(`"etag": ?"[^"]*"`)

// contentTag is the Etag of an answer. It stays the same while only the etags within the answer change.
func contentTag(body []byte) string {
	return strconv.Quote(idText(standin.HashText(string(changing.ReplaceAll(body, nil)))))
}

// hugeBody is how many bytes a hugebody fault writes, unless the caller hangs up first.
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

// reset closes the connection so that the caller sees a reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
