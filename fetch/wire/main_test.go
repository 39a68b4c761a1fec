package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is the key of every test.
const canary = "CANARY-0123456789_secret"

// serve starts a server and returns the way to it, both closed with the test.
func serve(t testing.TB, h http.HandlerFunc) (*wire.Transport, *httptest.Server) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return to(t, srv.URL), srv
}

func base(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := wire.ParseBaseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func to(t testing.TB, address string) *wire.Transport {
	t.Helper()
	tr := wire.NewTransport(base(t, address), wire.Headers{Agent: "test/1", KeyName: "X-Key", Key: ingest.NewSecret(canary)})
	t.Cleanup(tr.Close)
	return tr
}

func get(ctx context.Context, tr *wire.Transport) wire.Answer {
	return within(ctx, tr, time.Minute)
}

func within(ctx context.Context, tr *wire.Transport, timeout time.Duration) wire.Answer {
	return wire.Ask(ctx, timeout, func(ctx context.Context) error { return tr.Get(ctx, "/things", url.Values{"a": {"b c"}}) })
}

// unanswered returns the verdict on an answer that must not be whole.
func unanswered(t testing.TB, a wire.Answer) *fetch.Error {
	t.Helper()
	if a.Err == nil {
		t.Fatalf("got %d and %d bytes, want an error", a.Status, len(a.Body))
	}
	if a.Status != 0 || a.Body != nil {
		t.Errorf("an error came with a status or a body: %d, %.40q", a.Status, a.Body)
	}
	c := wire.NewClient("The upstream", &url.URL{}, wire.Headers{Key: ingest.NewSecret(canary)}, 0)
	e := c.Unanswered("things.list", a)
	if e.Method != "things.list" {
		t.Errorf("%+v, want \"things.list\"", e)
	}
	holdsNoKey(t, e)
	return e
}

// holdsNoKey checks err and all that it wraps.
func holdsNoKey(t testing.TB, err error) {
	t.Helper()
	if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, canary) {
		t.Errorf("the key is in %s", text)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			holdsNoKey(t, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			holdsNoKey(t, inner)
		}
	}
}
