package gateway_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
)

// raw sends bytes as they are, and reads one answer, or fails after a few seconds.
func (w *world) raw(text string) (*http.Response, string) {
	w.t.Helper()
	conn := w.dial(strings.TrimPrefix(w.url, "http://"))
	if _, err := io.WriteString(conn, text); err != nil {
		w.t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatalf("no answer to %.60q: %v", text, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body)
}

func (w *world) dial(addr string) net.Conn {
	w.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// clients have their names as their tokens.
func clients(names ...string) (of []gateway.Client) {
	for _, name := range names {
		of = append(of, gateway.Client{Name: name, TokenSHA256: sha256.Sum256([]byte(name))})
	}
	return of
}

// TestTwoLengthsAndTrailersSmuggleNothing: the sent header has one length and none of the fields that came at the
// end.
func TestTwoLengthsAndTrailersSmuggleNothing(t *testing.T) {
	const route = "POST /youtube/v3/videos?part=id HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX-HTTP-Method-Override: GET\r\n"
	for name, tt := range map[string]struct {
		request string
		status  int
		body    string // that arrives; "": nothing does
	}{
		"a length and chunks":  {route + "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nid=a\r\n0\r\n\r\nGET /youtube/v3/videos HTTP/1.1\r\n\r\n", 200, "id=a&part=id"},
		"two lengths":          {route + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}\r\n", 400, ""},
		"two encodings":        {route + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 501, ""},
		"an unknown encoding":  {route + "Transfer-Encoding: xchunked\r\n\r\n{}", 501, ""},
		"trailers":             {route + "Transfer-Encoding: chunked\r\nTrailer: Authorization, X-Goog-User-Project\r\n\r\n4\r\nid=a\r\n0\r\nAuthorization: Bearer x\r\nX-Goog-User-Project: other\r\n\r\n", 200, "id=a&part=id"},
		"a chunk of 4 GB":      {route + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n" + strings.Repeat("x", 2<<20), 400, ""},
		"no end of the chunks": {route + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 408, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			w := newWorld(t, 1000, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				mu.Lock()
				got = append(got, string(body))
				mu.Unlock()
				if err != nil || r.ContentLength != int64(len(body)) || len(r.Trailer) > 0 || r.Header.Get("Authorization")+r.Header.Get("X-Goog-User-Project") != "" {
					t.Errorf("what arrived: %v, length %d, %v, %v", err, r.ContentLength, r.Header, r.Trailer)
				}
				_, _ = io.WriteString(out, "{}")
			}), nil)
			resp, body := w.raw(tt.request)
			mu.Lock()
			defer mu.Unlock()
			arrived := strings.Join(got, "|")
			if resp.StatusCode != tt.status || arrived != tt.body || w.spent("units") != w.calls() {
				t.Errorf("%d, %q arrived, %d charged: %s", resp.StatusCode, arrived, w.spent("units"), body)
			}
		})
	}
}

// TestARefusalDoesNotWaitForTheBody: otherwise a slow client without a token holds a connection.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	w := newWorld(t, 100, nil, func(c *gateway.Config) { c.Clients = clients("reports") })
	for path, want := range map[string]int{"/youtube/v3/nothing": 403, "/youtube/v3/comments?part=snippet&key=guess": 401} {
		began := time.Now()
		resp, body := w.raw("POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
		if took := time.Since(began); resp.StatusCode != want || !resp.Close || took > 3*time.Second {
			t.Errorf("%s: %d after %v: %s", path, resp.StatusCode, took, body)
		}
	}
}

// TestAGetDoesNotWaitForItsBody: it means nothing, and a client that never ends it would wait until the read time-out.
func TestAGetDoesNotWaitForItsBody(t *testing.T) {
	w := newWorld(t, 100, nil, nil)
	for _, body := range []string{"Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\nid", "Content-Length: 9\r\n\r\n"} {
		began := time.Now()
		resp, said := w.raw("GET /youtube/v3/videos?part=id&id=a HTTP/1.1\r\nHost: 127.0.0.1\r\n" + body)
		if took := time.Since(began); resp.StatusCode != 200 || !resp.Close || took > 5*time.Second {
			t.Errorf("%q: %d after %v: %s", body, resp.StatusCode, took, said)
		}
	}
}

func TestTooManyIsSaidByTheProviderOrByAWaitUnderAMinute(t *testing.T) {
	w := newWorld(t, 100, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("id") == "quick" {
			_, _ = io.WriteString(out, "{}")
			return
		}
		out.Header().Set("Retry-After", "7")
		googleError(out, http.StatusTooManyRequests, "rateLimitExceeded")
	}), func(c *gateway.Config) {
		c.Clients = clients("a", "b")
		own := quota.Pool{Name: "units", Windows: []quota.Window{{Name: "20s", Length: 20 * time.Second, Limit: 1}}}
		c.Governor.Tariff.Grace = 0
		if err := c.Governor.Tariff.LimitClients(map[string][]quota.Pool{"a": {own}}); err != nil {
			t.Fatal(err)
		}
	})
	w.ask(http.MethodGet, "/youtube/v3/videos?part=id&id=quick&key=a", "")
	a := w.ask(http.MethodGet, "/youtube/v3/videos?part=id&id=quick&key=a", "")
	wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.StatusCode != 429 || err != nil || wait < 10 || wait > 20 || !strings.Contains(a.body, "rateLimitExceeded") || w.calls() != 1 {
		t.Errorf("ours: %d, Retry-After %d, %d arrived: %s", a.StatusCode, wait, w.calls(), a.body)
	}
	if a := w.ask(http.MethodGet, videos+"&key=b", ""); a.StatusCode != 429 || a.Header.Get("Retry-After") != "7" || w.calls() != 2 || w.spent("units") != 2 {
		t.Errorf("the provider's: %d, Retry-After %s, %d arrived, %d charged: %s", a.StatusCode, a.Header.Get("Retry-After"), w.calls(), w.spent("units"), a.body)
	}
}

// TestASlowProviderHoldsUpOneClientOnly, which may have sixteen calls in progress, and a client that hangs up is charged
// for what arrived, once.
func TestASlowProviderHoldsUpOneClientOnly(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, 1000, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("chart") == "" {
			<-release
		}
		_, _ = io.WriteString(out, "{}")
	}), func(c *gateway.Config) { c.Clients = clients("slow", "quick") })
	var gone []net.Conn
	for i := range 64 {
		conn := w.dial(strings.TrimPrefix(w.url, "http://"))
		_, _ = fmt.Fprintf(conn, "GET /youtube/v3/videos?part=id&id=video-%d&key=slow HTTP/1.1\r\nHost: x\r\n\r\n", i)
		gone = append(gone, conn)
	}
	for until := time.Now().Add(10 * time.Second); w.calls() < 16 && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	if a := w.ask(http.MethodGet, videos+"&key=quick", ""); a.StatusCode != 200 {
		t.Errorf("the quick client: %d: %s, want 200", a.StatusCode, a.body)
	}
	if a := w.ask(http.MethodGet, videos+"&key=slow", ""); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the slow client's 17th: %d: %s, want %v", a.StatusCode, a.body, http.StatusTooManyRequests)
	}
	for _, conn := range gone {
		_ = conn.Close()
	}
	close(release)
	if w.calls() != 17 || w.spent("units") != 17 {
		t.Errorf("%d arrived and %d are charged, want 17: sixteen and the quick one", w.calls(), w.spent("units"))
	}
}

// TestTenThousandConnectionsHoldNoOtherClientUp: each sends half a header. A client that sends a whole one is
// answered.
func TestTenThousandConnectionsHoldNoOtherClientUp(t *testing.T) {
	w := newWorld(t, 100, nil, nil)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(t.Context(), l, w.gateway, slog.New(slog.DiscardHandler)) }()
	opened := 0
	for range 10_000 {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			break // as many as this machine allows
		}
		defer func() { _ = conn.Close() }()
		opened++
		_, _ = io.WriteString(conn, "GET "+videos+" HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
	}
	if opened < 1000 {
		t.Fatalf("%d connections opened, want at least 1000", opened)
	}
	t.Logf("%d connections opened", opened)
	w.url = "http://" + l.Addr().String()
	for i := range 10 {
		began := time.Now()
		a := w.ask(http.MethodGet, videos+"&maxResults="+strconv.Itoa(i+1), "", "Connection", "close")
		if took := time.Since(began); a.StatusCode != 200 || took > 5*time.Second {
			t.Errorf("a whole request among them: %d after %v", a.StatusCode, took)
		}
	}
	w.agree(10)
}
