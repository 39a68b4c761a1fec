package youtube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

// MapPage and ParseDuration are measured and tested without a server.
var (
	MapPage       = mapPage
	ParseDuration = parseDuration
)

// RoundTripper is the client's way out, with a context that it accepts.
func RoundTripper(ctx context.Context, c *Client) (context.Context, http.RoundTripper) {
	return context.WithValue(ctx, answerKey{}, &answer{}), c.transport
}

// Trust makes the client accept a test server's certificate.
func Trust(c *Client, roots *x509.CertPool) {
	c.transport.base.TLSClientConfig = &tls.Config{RootCAs: roots}
}
