package web_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/web"
)

func TestSlowClientsAreBounded(t *testing.T) {
	web.SetMaxConnections(t, 2)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, l, http.NotFoundHandler(), slog.New(slog.DiscardHandler)) }()
	ask := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			_, err = c.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	answer := func(c net.Conn, within time.Duration) error {
		_ = c.SetReadDeadline(time.Now().Add(within))
		_, err := bufio.NewReader(c).ReadByte()
		return err
	}
	const patient = 20 * time.Second
	first, second := ask(), ask()
	if err := errors.Join(answer(first, patient), answer(second, patient)); err != nil {
		t.Fatal(err)
	}
	third := ask()
	if err := answer(third, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) { // a slow machine only hides a mistake
		t.Fatalf("a third connection beside two: %v", err)
	}
	_ = first.Close()
	if err := answer(third, patient); err != nil {
		t.Errorf("a connection in the place of one that has ended: %v", err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
