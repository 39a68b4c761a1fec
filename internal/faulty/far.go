package faulty

import (
	"context"
	"net"
	"time"
)

// Far returns an address that leads to a server and makes each round trip take that long, except connecting, which no
// program can delay. It carries bytes as they are, also the bytes of TLS.
func Far(t T, server string, roundTrip time.Duration) (addr string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("faulty: %v", err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				up, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", server)
				if err != nil {
					_ = client.Close()
					return
				}
				go carry(client, up, roundTrip/2)
				carry(up, client, roundTrip/2)
			}()
		}
	}()
	return listener.Addr().String()
}

// carry brings bytes from one end to the other, each after a delay. It closes both at the end.
func carry(to, from net.Conn, delay time.Duration) {
	type parcel struct {
		due   time.Time
		bytes []byte
	}
	way := make(chan parcel, 1024)
	go func() {
		defer close(way)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			way <- parcel{time.Now().Add(delay), b[:n]}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
}
