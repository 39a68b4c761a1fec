package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// Endpoint is a URL that we report to. It is a secret: all who know it can speak in our name.
type Endpoint struct {
	url     ingest.Secret
	version string // of the program
	client  *http.Client
}

// NewEndpoint returns an endpoint for a program of this version.
func NewEndpoint(address ingest.Secret, version string) Endpoint {
	return Endpoint{url: address, version: version, client: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout: 2 * time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (e Endpoint) Close() { e.client.CloseIdleConnections() }

// Post posts a body to the path under the URL, "" for the URL itself, and adds parameters to those it has. It returns
// when there is an answer, or when ctx is done. Only an answer of 2xx is no error.
func (e Endpoint) Post(ctx context.Context, path string, with url.Values, header http.Header, body io.Reader) error {
	u, err := url.Parse(e.url.Reveal())
	if err != nil {
		return err
	}
	if len(with) > 0 {
		query := u.Query()
		for name, values := range with {
			query[name] = values
		}
		u.RawQuery = query.Encode()
	}
	if path != "" {
		u = u.JoinPath(path)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), body)
	if err != nil {
		return err
	}
	req.Header = header
	req.Header.Set("User-Agent", "ingest/"+e.version)
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<10) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}

// WithoutURL returns the text of the error without the URL that net/http adds to it, and without any part of its path.
func (e Endpoint) WithoutURL(err error) string {
	if around, ok := errors.AsType[*url.Error](err); ok {
		err = around.Err
	}
	text := term.Clean(err.Error())
	_, path, _ := strings.Cut(e.url.Reveal(), "://")
	_, path, _ = strings.Cut(path, "/")
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune("/?&=", r) }) {
		if len(part) > 3 {
			text = strings.ReplaceAll(text, part, "***")
		}
	}
	return text
}
