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

func to(t testing.TB, base string) *wire.Transport {
	t.Helper()
	u, err := wire.ParseBaseURL(base)
	if err != nil {
		t.Fatal(err)
	}
	tr := wire.NewTransport(u, wire.Headers{Agent: "test/1", KeyName: "X-Key", Key: ingest.NewSecret(canary)})
	t.Cleanup(tr.Close)
	return tr
}

func get(ctx context.Context, tr *wire.Transport) wire.Answer {
	return tr.Get(ctx, time.Minute, "/things", url.Values{"a": {"b c"}})
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
	e := wire.Unanswered("The upstream", "things.list", a, wire.NewCleaner(ingest.NewSecret(canary)))
	if e.Method != "things.list" {
		t.Errorf("%+v", e)
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
