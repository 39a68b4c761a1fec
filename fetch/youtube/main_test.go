package youtube_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is the key of every test: no error may hold it.
const canary = "AIzaCANARY-0123456789_secret"

// serve starts a server and returns a client of it, both closed with the test.
func serve(t testing.TB, h http.HandlerFunc) (*youtube.Client, *httptest.Server) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return clientOf(t, srv.URL, 20*time.Second), srv
}

func clientOf(t testing.TB, base string, timeout time.Duration) *youtube.Client {
	t.Helper()
	c, err := youtube.New(t.Context(), youtube.Config{
		BaseURL: base, Key: ingest.NewSecret(canary), Version: "1.2.3", Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// respond answers every request with a status and a body.
func respond(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// untyped is a call whose answer may be of any type, for tables.
func untyped[T any](c fetch.Call[T]) fetch.Call[any] {
	return fetch.Call[any]{Method: c.Method, Region: c.Region, Do: func(ctx context.Context) (any, error) { return c.Do(ctx) }}
}

// everyCall returns one call of every method.
func everyCall(c *youtube.Client) map[string]fetch.Call[any] {
	return map[string]fetch.Call[any]{
		"chart":      untyped(c.Chart("US", "", "")),
		"videos":     untyped(c.Videos([]string{"v"})),
		"counts":     untyped(c.Counts([]string{"v"})),
		"search":     untyped(c.Search(ingest.Query{Text: "a"}, "")),
		"channel":    untyped(c.Channel("UC1")),
		"handle":     untyped(c.Channel("@name")),
		"uploads":    untyped(c.Uploads("UU1", "")),
		"categories": untyped(c.Categories("US")),
	}
}

// fails does the call and returns its error, after searching it for the key.
func fails[T any](ctx context.Context, t testing.TB, call fetch.Call[T]) *fetch.Error {
	t.Helper()
	got, err := call.Do(ctx)
	v := reflect.ValueOf(got)
	if err == nil {
		t.Fatalf("got %+v, want an error", got)
	}
	if v.IsValid() && !v.IsZero() {
		t.Errorf("an error came with an answer: %+v", got)
	}
	holdsNoKey(t, err)
	fe, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		t.Fatalf("%T is no *fetch.Error: %v", err, err)
	}
	return fe
}

// holdsNoKey checks every way of printing err and everything that it wraps.
func holdsNoKey(t testing.TB, err error) {
	t.Helper()
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err)
	slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "err", fmt.Errorf("pass: %w", err))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&log, verb+"\n", err)
	}
	for e := range chain(err) {
		fmt.Fprintf(&log, "%v %+v %#v\n", e, e, e)
	}
	if strings.Contains(log.String(), canary) || strings.Contains(log.String(), fmt.Sprintf("%x", canary)) {
		t.Errorf("the key is in the error: %s", log.String())
	}
}

// chain yields err and all that it wraps.
func chain(err error) func(yield func(error) bool) {
	return func(yield func(error) bool) {
		for todo := []error{err}; len(todo) > 0; todo = todo[1:] {
			if todo[0] == nil {
				continue
			}
			if !yield(todo[0]) {
				return
			}
			switch e := todo[0].(type) {
			case interface{ Unwrap() error }:
				todo = append(todo, e.Unwrap())
			case interface{ Unwrap() []error }:
				todo = append(todo, e.Unwrap()...)
			}
		}
	}
}
