package web_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/web"
)

func TestSlowClientsAreBounded(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := web.Bounded(inner, 2)
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	var clients []net.Conn
	for range 3 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	first, second := <-accepted, <-accepted
	select {
	case <-accepted:
		t.Fatal("a third connection was accepted beside two")
	case <-time.After(50 * time.Millisecond): // it would be there by now; a slow machine only hides a mistake
	}
	_ = first.Close()
	_ = first.Close() // twice frees one place
	third := <-accepted
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
	for _, c := range append(clients, second, third) {
		_ = c.Close()
	}
}
