package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/web"
)

// crowd is a served site and its clients, by the address that they come from.
type crowd struct {
	t       *testing.T
	address string
	release chan struct{} // ends all answers of /slow
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{t: t, address: l.Addr().String(), release: make(chan struct{})}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-c.release
		}
		_, _ = io.WriteString(w, "ok")
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, l, h, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		close(c.release)
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return c
}

// dial connects from a loopback address.
func (c *crowd) dial(from string) net.Conn {
	c.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	conn, err := d.DialContext(c.t.Context(), "tcp", c.address)
	if err != nil {
		c.t.Skipf("this machine cannot connect from %s: %v", from, err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask returns the status of one answer on a connection that stays open.
func (c *crowd) ask(conn net.Conn, path string) (int, error) {
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	if path != "/slow" {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return resp.StatusCode, err
}

func (c *crowd) want(conn net.Conn, path string, status int) {
	c.t.Helper()
	if got, err := c.ask(conn, path); err != nil || got != status {
		c.t.Errorf("%s from %s: %d, %v, want %d", path, conn.LocalAddr(), got, err, status)
	}
}

// The oldest idle connection makes room for a new one, of the same address where that has too many.
func TestIdleConnectionsOfOneAddressTakeNoOthersPlace(t *testing.T) {
	web.SetRoom(t, 8, 4, 2)
	c := newCrowd(t)
	honest := c.dial("127.0.0.2")
	c.want(honest, "/", 200)
	var idle []net.Conn
	for range 20 {
		conn := c.dial("127.0.0.3")
		c.want(conn, "/", 200)
		idle = append(idle, conn)
	}
	c.want(c.dial("127.0.0.4"), "/livez", 200)
	c.want(honest, "/", 200) // it is older than all of them, and still open
	open := 0                // the server closes the connections that it noticed first, never the newest
	for i, conn := range idle {
		_, err := c.ask(conn, "/")
		if err == nil {
			open++
		} else if i == len(idle)-1 {
			t.Errorf("the newest connection is closed: %v", err)
		}
	}
	if open != 4 {
		t.Errorf("%d idle connections of one address are open, want 4", open)
	}
}

// Clients that are served slowly are not idle: clients that come then may ask only whether serve lives.
func TestLivezAnswersWhileAllConnectionsAreBusy(t *testing.T) {
	web.SetRoom(t, 4, 2, 2)
	c := newCrowd(t)
	for i := range 4 {
		c.want(c.dial(fmt.Sprintf("127.0.0.%d", 2+i/2)), "/slow", 200)
	}
	for range 5 { // each leaves the spare room to the next
		c.want(c.dial("127.0.0.9"), "/livez", 200)
	}
	c.want(c.dial("127.0.0.9"), "/", 503)
	c.want(c.dial("127.0.0.2"), "/livez", 200)
	for range 10 { // more than the spare room holds, once it has closed the connections before
		_, _ = c.dial("127.0.0.9").Write([]byte("GET"))
		time.Sleep(10 * time.Millisecond) // a real server has to accept them
	}
	if status, err := c.ask(c.dial("127.0.0.9"), "/livez"); err == nil {
		t.Errorf("a connection beyond the spare room: %d, want it closed", status)
	}
}

func TestSixHundredIdleSocketsSilenceNothing(t *testing.T) {
	c := newCrowd(t)
	for range 600 {
		_ = c.dial("127.0.0.5")
	}
	c.want(c.dial("127.0.0.6"), "/livez", 200)
	c.want(c.dial("127.0.0.5"), "/", 200)
}
