package standin

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Write writes an answer, compressed if the caller accepts that. With truncate its body breaks off halfway.
func Write(w http.ResponseWriter, r *http.Request, status int, body []byte, truncate bool) {
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(body) > 0 {
		w.Header().Set("Content-Encoding", "gzip")
		body = zip(body)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if truncate {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // an error means that the caller has gone
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	z := zippers.Get().(*gzip.Writer) //nolint:forcetypeassert // nothing else is in it
	z.Reset(&out)
	_, _ = z.Write(b) // a buffer does not fail
	_ = z.Close()
	zippers.Put(z)
	return out.Bytes()
}

// zippers are writers for reuse: a new one takes 800 KB.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
