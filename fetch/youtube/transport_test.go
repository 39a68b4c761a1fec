package youtube_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var reached atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		defer other.Close()
		c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?key="+canary, status)
		})
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != fetch.Broken || !strings.Contains(fe.Error(), "redirects to "+strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%d: %s, %v", status, fe.Verdict, fe)
		}
		if reached.Load() != 0 {
			t.Errorf("%d: the other host was asked", status)
		}
	}
}

func TestTheKeyGoesToItsHostOnly(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	defer other.Close()
	c, srv := serve(t, respond(http.StatusOK, "{}"))
	for _, url := range []string{other.URL, strings.Replace(srv.URL, "http", "https", 1), srv.URL + "0"} {
		ctx, rt := youtube.RoundTripper(t.Context(), c)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := rt.RoundTrip(req); err == nil || !strings.Contains(err.Error(), "another host") {
			t.Errorf("%s: %v, %v", url, resp, err)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	var member bytes.Buffer // a gzip file may be many of these, one behind the other
	zip := gzip.NewWriter(&member)
	_, _ = zip.Write(spaces)
	_ = zip.Close()
	tests := map[string]http.HandlerFunc{
		"50 MB": func(w http.ResponseWriter, _ *http.Request) { repeat(w, spaces, 50) },
		"50 MB, announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "52428800")
			repeat(w, spaces, 50)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) { repeat(w, spaces, math.MaxInt) },
		"gzip bomb without end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			repeat(w, member.Bytes(), math.MaxInt)
		},
	}
	for name, h := range tests {
		c, _ := serve(t, h)
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != fetch.Broken || !strings.Contains(fe.Error(), "larger than 16 MiB") {
			t.Errorf("%s: %s, %v", name, fe.Verdict, fe)
		}
	}
}

// repeat writes b up to n times, until the client hangs up.
func repeat(w io.Writer, b []byte, n int) {
	for range n {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

func TestGzipIsRead(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = zip.Write(pageOf(50))
		_ = zip.Close()
	})
	if page, err := c.Chart("US", "", "").Do(t.Context()); err != nil || len(page.Videos) != 50 {
		t.Errorf("%d videos, %v", len(page.Videos), err)
	}
}

// hijacked answers with raw bytes and resets the connection.
func hijacked(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, raw)
		if raw == "" {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
}

func TestAnAnswerThatBreaksOffIsBroken(t *testing.T) {
	for name, raw := range map[string]string{
		"reset before a byte":   "",
		"no HTTP":               "SSH-2.0-" + canary + "\r\n",
		"the key in the status": "HTTP/1.1 " + canary + "\r\n\r\n",
		"the key as a header":   "HTTP/1.1 200 OK\r\n" + canary + "\r\n\r\n",
		"in the header":         "HTTP/1.1 200 OK\r\nContent-Le",
		"in the body":           "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"items\":[]}",
		"in a chunk":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"items\":[]}",
		"in a bad chunk":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + canary + "\r\n",
		"in gzip":               "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n\x1f\x8b\x08",
		"in no gzip":            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n{\"items\":[]}",
		"in an error":           "HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\n{\"error\"",
		"endless header":        "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20),
	} {
		c, _ := serve(t, hijacked(raw))
		if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.Broken {
			t.Errorf("%s: %s, %v", name, fe.Verdict, fe)
		}
	}
}

func TestASlowAnswerEndsWithTheCall(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a drip":  drip,
	}
	for name, h := range tests {
		_, srv := serve(t, h)
		c := clientOf(t, srv.URL, 100*time.Millisecond)
		begin := time.Now()
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != fetch.Broken || !errors.Is(fe, context.DeadlineExceeded) || !strings.Contains(fe.Error(), "in time") {
			t.Errorf("%s: %s, %v", name, fe.Verdict, fe)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func TestWhatNeverLeftIsUnsent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	tls := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	for name, base := range map[string]string{
		"refused":                   "http://" + addr,
		"certificate of a stranger": tls.URL,
	} {
		fe := fails(t.Context(), t, clientOf(t, base, 5*time.Second).Chart("US", "", ""))
		if fe.Verdict != fetch.Unsent || !strings.Contains(fe.Error(), "YouTube was not reached") {
			t.Errorf("%s: %s, %v", name, fe.Verdict, fe)
		}
	}
}

func TestACancelledCallSaysWhetherItLeft(t *testing.T) {
	shutdown := errors.New("shutting down")
	arrived := make(chan struct{})
	c, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(shutdown)
	}()
	if fe := fails(ctx, t, c.Chart("US", "", "")); fe.Verdict != fetch.Broken || !errors.Is(fe, context.Canceled) {
		t.Errorf("in flight: %s, %v", fe.Verdict, fe)
	}
	if fe := fails(ctx, t, c.Chart("US", "", "")); fe.Verdict != fetch.Unsent || !errors.Is(fe, context.Canceled) {
		t.Errorf("before: %s, %v", fe.Verdict, fe)
	}
}

func TestOneCallArrivesOnce(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var arrived atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			answerOnceAndHangUp(conn, &arrived)
		}
	}()
	c := clientOf(t, "http://"+ln.Addr().String(), 5*time.Second)
	if _, err := c.Chart("US", "", "").Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.Broken {
		t.Errorf("%s, %v", fe.Verdict, fe)
	}
	if n := arrived.Load(); n != 2 {
		t.Errorf("two calls arrived as %d requests", n)
	}
	_ = ln.Close()
	<-done
}

// answerOnceAndHangUp answers the first request on a kept connection, reads the second and closes:
// what a server does that fails or is restarted after it has counted a request.
func answerOnceAndHangUp(conn net.Conn, arrived *atomic.Int32) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for range 2 {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_ = req.Body.Close()
		if arrived.Add(1) == 1 {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"items\":[]}")
			continue
		}
		return
	}
}

func TestTLSIsSpokenAndVerified(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.Header.Get("X-Goog-Api-Key") != canary {
			t.Errorf("%s, key %q", r.Proto, r.Header.Get("X-Goog-Api-Key"))
		}
		_, _ = w.Write([]byte(`{"items":[]}`))
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	c := clientOf(t, srv.URL, 5*time.Second)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	youtube.Trust(c, roots)
	if _, err := c.Chart("US", "", "").Do(t.Context()); err != nil {
		t.Error(err)
	}
}
