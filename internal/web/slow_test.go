package web_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest/internal/web"
)

// pipes is a listener whose connections are in memory, so that a bubble's clock moves their deadlines.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.dialled <- theirs
	return ours
}

// TestASlowClientIsCutOff: a client that sends a header or a body byte by byte, or reads no answer, holds a connection
// for seconds, however long it continues, and others are answered meanwhile.
func TestASlowClientIsCutOff(t *testing.T) {
	const head = "GET /big HTTP/1.1\r\nHost: localhost\r\n"
	for _, slow := range []struct {
		name     string
		sends    string        // at once
		then     string        // a byte a second, again and again
		reads    bool          // the answer
		atLatest time.Duration // it is cut off
	}{
		{"header", head + "X-Slow: ", "a", true, 5 * time.Second},
		{"nothing at all", "", "", true, 5 * time.Second},
		{"body", "POST /big HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n", "a", true, 10 * time.Second},
		{"answer that is not read", head + "\r\n", "", false, 15 * time.Second},
		{"nothing after an answer", head + "Connection: keep-alive\r\n\r\n", "", true, time.Minute},
	} {
		t.Run(slow.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err == nil {
						_, _ = io.WriteString(w, strings.Repeat("big ", 100_000))
					}
				})
				go func() { ended <- web.Serve(ctx, l, handler, slog.New(slog.DiscardHandler)) }()
				began, gone := time.Now(), make(chan time.Duration, 1)
				c, wrote := l.dial(), make(chan struct{})
				go func() {
					defer close(wrote)
					_, err := io.WriteString(c, slow.sends)
					for err == nil && slow.then != "" {
						time.Sleep(time.Second)
						_, err = io.WriteString(c, slow.then)
					}
				}()
				go func() {
					if !slow.reads {
						time.Sleep(slow.atLatest + time.Second)
					}
					_, err := io.Copy(io.Discard, c)
					if err != nil && !errors.Is(err, io.ErrClosedPipe) {
						t.Error(err)
					}
					gone <- time.Since(began)
				}()
				other := l.dial()
				go func() { _, _ = io.WriteString(other, head+"Connection: close\r\n\r\n") }()
				if answer, err := io.ReadAll(other); err != nil || !strings.Contains(string(answer), " 200 OK") || time.Since(began) > time.Second {
					t.Errorf("another client had to wait %v: %v %.40s, want \" 200 OK\" in it and at most %v", time.Since(began), err, answer, time.Second)
				}
				if after := <-gone; after > slow.atLatest+2*time.Second {
					t.Errorf("it held its connection for %v, want at most %v", after, slow.atLatest)
				}
				_ = c.Close()
				<-wrote
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestABodyIsNotWaitedFor: the site reads none, and a slow one holds no connection.
func TestABodyIsNotWaitedFor(t *testing.T) {
	for _, head := range []string{"POST /v1/search", "GET /v1/search", "GET /livez", "PUT /nothing"} {
		t.Run(head, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				site := &web.Site{Alive: func() error { return nil }}
				go func() { ended <- web.Serve(ctx, l, site.Handler(), slog.New(slog.DiscardHandler)) }()
				began, c := time.Now(), l.dial()
				go func() {
					_, _ = io.WriteString(c, head+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nab")
				}()
				answer, err := io.ReadAll(c)
				if took := time.Since(began); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") || took > time.Second {
					t.Errorf("held its connection for %v: %v %.40s, want \"HTTP/1.1 \" at the beginning and at most %v", took, err, answer, time.Second)
				}
				_ = c.Close()
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
