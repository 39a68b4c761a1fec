package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
)

// Trust makes the transport accept a test server's certificate.
func Trust(t *Transport, cfg *tls.Config) { t.base.TLSClientConfig = cfg }

// Dial replaces how the transport makes connections.
func Dial(t *Transport, dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	t.base.DialContext = dial
}

// Connect makes a connection as a request does.
func Connect(ctx context.Context, t *Transport, address string) (net.Conn, error) {
	return t.base.DialContext(ctx, "tcp", address)
}

// Hide is the treatment of every body.
var Hide = hideKey

// LoopbackOnly checks every address that a connection in clear is about to go to.
func LoopbackOnly(address string) error { return loopbackOnly("tcp", address, nil) }

// UseProxy makes the Transport use a proxy.
func UseProxy(t *Transport, address string) {
	u, err := url.Parse(address)
	t.base.Proxy = func(*http.Request) (*url.URL, error) { return u, err }
}
