package wire_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
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
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

func TestAnAnswerIsBroughtBackWhole(t *testing.T) {
	var got *http.Request
	tr, srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusTeapot)
		zip := gzip.NewWriter(w)
		_, _ = zip.Write([]byte("short and stout"))
		_ = zip.Close()
	})
	a := get(t.Context(), tr)
	if a.Err != nil || a.Status != http.StatusTeapot || string(a.Body) != "short and stout" || !a.Sent {
		t.Errorf("%+v, want 418 short and stout", a)
	}
	if got.RequestURI != "/things?a=b+c" || "http://"+got.Host != srv.URL || tr.Host() != got.Host {
		t.Errorf("asked %s of %s", got.RequestURI, got.Host)
	}
	if h := got.Header; h.Get("User-Agent") != "test/1" || h.Get("X-Key") != canary || h.Get("Accept-Encoding") != "gzip" || got.ContentLength != 0 {
		t.Errorf("%v, %d bytes", got.Header, got.ContentLength)
	}
}

func TestADateIsKeptOfEveryAnswer(t *testing.T) {
	theirs := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	header, status := theirs.Format(http.TimeFormat), http.StatusOK
	tr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", header)
		w.WriteHeader(status)
	})
	if upstream, here := tr.Date(); !upstream.IsZero() || !here.IsZero() {
		t.Errorf("before any answer: %s, %s", upstream, here)
	}
	begin := time.Now()
	get(t.Context(), tr)
	if upstream, here := tr.Date(); !upstream.Equal(theirs) || here.Before(begin) || here.After(time.Now()) {
		t.Errorf("%s at %s, want %s at about %s", upstream, here, theirs, begin)
	}
	header, status = theirs.Add(time.Hour).Format(http.TimeFormat), http.StatusServiceUnavailable
	get(t.Context(), tr)
	if upstream, _ := tr.Date(); !upstream.Equal(theirs.Add(time.Hour)) {
		t.Errorf("an error's date is %s", upstream)
	}
	header = "yesterday " + canary
	get(t.Context(), tr)
	if upstream, _ := tr.Date(); !upstream.Equal(theirs.Add(time.Hour)) {
		t.Errorf("nonsense became %s", upstream)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("a request to the host of a redirect: got one, want none")
		}))
		defer other.Close()
		tr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		if a := get(t.Context(), tr); a.Err != nil || a.Status != status || a.Location != other.URL {
			t.Errorf("%d: %+v, want the redirect to %s", status, a, other.URL)
		}
		if host := wire.RedirectHost(other.URL + "/x?y"); "http://"+host != other.URL {
			t.Errorf("%s is %s", other.URL, host)
		}
	}
	for _, location := range []string{"", "/elsewhere", "http://[::1", "\x00"} {
		if host := wire.RedirectHost(location); host != "nowhere we may follow" {
			t.Errorf("%q is %s, want \"nowhere we may follow\"", location, host)
		}
	}
}

func TestNothingIsSentToAnotherHost(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request to this host: got one, want none") }))
	defer other.Close()
	tr, srv := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request to this host: got one, want none") })
	for _, u := range []string{other.URL, strings.Replace(srv.URL, "http", "https", 1), srv.URL + "0"} {
		a := wire.Ask(t.Context(), time.Second, func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
			if err != nil {
				return err
			}
			_, err = tr.RoundTrip(req)
			return err
		})
		if e := unanswered(t, a); e.Verdict != fetch.Unsent || !strings.Contains(e.Error(), "another host") {
			t.Errorf("%s: %s, %v, want %v and \"another host\" in it", u, e.Verdict, e, fetch.Unsent)
		}
	}
	if _, err := tr.RoundTrip(httptest.NewRequest(http.MethodGet, srv.URL, nil)); err == nil {
		t.Error("a request without a place for its answer: got no error, want it refused")
	}
}

func TestARequestThatWasNeverMadeIsUnsent(t *testing.T) {
	for name, err := range map[string]error{"refused by the client": errors.New("no"), "forgotten": nil} {
		a := wire.Ask(t.Context(), time.Second, func(context.Context) error { return err })
		if e := unanswered(t, a); e.Verdict != fetch.Unsent || err != nil && !errors.Is(e, err) {
			t.Errorf("%s: %s, %v, want verdict %v of %v", name, e.Verdict, e, fetch.Unsent, err)
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
		tr, _ := serve(t, h)
		if e := unanswered(t, get(t.Context(), tr)); e.Verdict != fetch.Broken || !strings.Contains(e.Error(), "larger than 16 MiB") {
			t.Errorf("%s: %s, %v, want %v and \"larger than 16 MiB\" in it", name, e.Verdict, e, fetch.Broken)
		}
	}
	tr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { repeat(w, spaces, 16) })
	if a := get(t.Context(), tr); a.Err != nil || len(a.Body) != 16<<20 {
		t.Errorf("exactly 16 MiB: %d bytes, %v", len(a.Body), a.Err)
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
		"in the body":           "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"list\":[]}",
		"in a chunk":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"list\":[]}",
		"in a bad chunk":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + canary + "\r\n",
		"in gzip":               "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n\x1f\x8b\x08",
		"in no gzip":            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n{\"list\":[]}",
		"in an error":           "HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\n{\"error\"",
		"endless header":        "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20),
	} {
		tr, _ := serve(t, hijacked(raw))
		e := unanswered(t, get(t.Context(), tr))
		if e.Verdict != fetch.Broken || strings.Contains(e.Error(), canary) || !strings.Contains(e.Error(), "The upstream's answer broke off") {
			t.Errorf("%s: %s, %v, want verdict %v, an answer that broke off and no secret", name, e.Verdict, e, fetch.Broken)
		}
	}
}

// A slow answer costs no time here: in the bubble the clock moves only when all wait.
func TestASlowAnswerEndsWithTheCall(t *testing.T) {
	tests := []struct {
		name           string
		answer         func(net.Conn)
		timeout, after time.Duration
	}{
		{"silence", silence, 12 * time.Second, 12 * time.Second},
		{"silence of a server that has 15 s to begin", silence, time.Minute, 15 * time.Second},
		{"a drip", drip, 12 * time.Second, 12 * time.Second},
		{"a drip for long", drip, time.Minute, time.Minute},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			tr := to(t, "http://127.0.0.1/")
			hungUp := make(chan struct{})
			wire.Dial(tr, func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() {
					defer close(hungUp)
					tt.answer(there)
				}()
				return here, nil
			})
			begin := time.Now()
			e := unanswered(t, within(t.Context(), tr, tt.timeout))
			if e.Verdict != fetch.Broken || !errors.Is(e, context.DeadlineExceeded) || !strings.Contains(e.Error(), "The upstream gave no whole answer in time") {
				t.Errorf("%s: %s, %v, want %v, error %v and \"The upstream gave no whole answer in time\" in it", tt.name, e.Verdict, e, fetch.Broken, context.DeadlineExceeded)
			}
			if took := time.Since(begin); took != tt.after {
				t.Errorf("%s: took %s, want %s", tt.name, took, tt.after)
			}
			<-hungUp
		})
	}
}

func TestAConnectionThatIsNeverMadeEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := to(t, "http://127.0.0.1/")
		wire.Dial(tr, func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		begin := time.Now()
		e := unanswered(t, within(t.Context(), tr, 7*time.Second))
		if took := time.Since(begin); took != 7*time.Second || e.Verdict != fetch.Unsent || !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("%s after %s: %v", e.Verdict, took, e)
		}
	})
}

// silence reads the request and says nothing.
func silence(conn net.Conn) {
	defer conn.Close()
	_, _ = io.Copy(io.Discard, conn)
}

// drip answers with a byte a second, for as long as the client reads.
func drip(conn net.Conn) {
	defer conn.Close()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return
	}
	for text := "HTTP/1.1 200 OK\r\n\r\n"; ; text = " " {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func TestAnUnsentCallIsReportedAsUnsent(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stranger := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request to this host: got one, want none") }))
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	stranger.StartTLS()
	defer stranger.Close()
	for name, base := range map[string]string{"refused": gone.URL, "certificate of a stranger": stranger.URL} {
		if e := unanswered(t, get(t.Context(), to(t, base))); e.Verdict != fetch.Unsent || !strings.Contains(e.Error(), "The upstream was not reached") {
			t.Errorf("%s: %s, %v, want %v and \"The upstream was not reached\" in it", name, e.Verdict, e, fetch.Unsent)
		}
	}
}

func TestACancelledCallSaysWhetherItLeft(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	tr, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(errors.New("shutting down"))
		<-r.Context().Done()
	})
	if e := unanswered(t, get(ctx, tr)); e.Verdict != fetch.Broken || !errors.Is(e, context.Canceled) {
		t.Errorf("in flight: %s, %v, want %v and error %v", e.Verdict, e, fetch.Broken, context.Canceled)
	}
	if e := unanswered(t, get(ctx, tr)); e.Verdict != fetch.Unsent || !errors.Is(e, context.Canceled) {
		t.Errorf("before: %s, %v, want %v and error %v", e.Verdict, e, fetch.Unsent, context.Canceled)
	}
}

// The behaviour of a server that fails, or is restarted, after it has counted a request on a kept connection.
func TestOneCallArrivesOnce(t *testing.T) {
	var arrived atomic.Int32
	tr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) > 1 {
			hijacked("")(w, r)
		}
	})
	if a := get(t.Context(), tr); a.Err != nil {
		t.Fatal(a.Err)
	}
	if e := unanswered(t, get(t.Context(), tr)); e.Verdict != fetch.Broken {
		t.Errorf("%s, %v, want %v", e.Verdict, e, fetch.Broken)
	}
	if n := arrived.Load(); n != 2 {
		t.Errorf("two calls arrived as %d requests, want 2", n)
	}
}

func TestTLSIsSpokenAndVerified(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.Header.Get("X-Key") != canary {
			t.Errorf("%s, key %q, want 1 and %v", r.Proto, r.Header.Get("X-Key"), canary)
		}
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	tr := to(t, srv.URL)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	wire.Trust(tr, &tls.Config{RootCAs: roots})
	if a := get(t.Context(), tr); a.Err != nil || a.Status != http.StatusOK {
		t.Errorf("%+v, want %v", a, http.StatusOK)
	}
}

func TestOnlyLoopbackIsConnectedToInClear(t *testing.T) {
	for _, address := range []string{"192.0.2.1:80", "[2001:db8::1]:80", "example.org:80", "0.0.0.0:80", ""} {
		if err := wire.LoopbackOnly(address); err == nil {
			t.Errorf("%q is let through, want an error", address)
		}
	}
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"} {
		if err := wire.LoopbackOnly(address); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
	conn, err := wire.Connect(t.Context(), to(t, "http://localhost/"), "192.0.2.1:80") // a resolver's possible answers for localhost
	if err == nil {
		_ = conn.Close()
		t.Error("a connection in clear to another machine: got no error, want it refused")
	} else if !strings.Contains(err.Error(), "not loopback") {
		t.Error(err)
	}
}

// Asking for the clock costs nothing, and never shows the key.
func TestAskingForTheDateIsNoCall(t *testing.T) {
	theirs := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	tr, srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.URL.Path != "/" || strings.Contains(strings.Join(r.Header["X-Key"], ""), canary) {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		w.Header().Set("Date", theirs.Format(http.TimeFormat))
		w.WriteHeader(http.StatusNotFound)
	})
	if got, err := tr.AskDate(t.Context()); err != nil || !got.Equal(theirs) {
		t.Errorf("%v, %v, want %v", got, err, theirs)
	}
	srv.Close()
	var call *fetch.Error
	if _, err := tr.AskDate(t.Context()); !errors.As(err, &call) || call.Verdict != fetch.Unsent {
		t.Errorf("%v of a host that is gone", err)
	}
}
