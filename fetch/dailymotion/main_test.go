package dailymotion_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/dailymotion"
	"github.com/trendvidstream/ingest/internal/dailymotionsim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the stand-in's clock.
var now = time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)

// serve starts a server and returns a client of it, both closed with the test.
func serve(t testing.TB, h http.HandlerFunc) (*dailymotion.Client, *httptest.Server) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return clientOf(t, srv.URL, 20*time.Second), srv
}

func clientOf(t testing.TB, base string, timeout time.Duration) *dailymotion.Client {
	t.Helper()
	c, err := dailymotion.New(t.Context(), dailymotion.Config{BaseURL: base, Version: "1.2.3", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// standIn starts the stand-in with faults, and returns a client of it.
func standIn(t testing.TB, o dailymotionsim.Options, faults ...string) (*dailymotion.Client, *dailymotionsim.Server, string) {
	t.Helper()
	for _, text := range faults {
		f, err := dailymotionsim.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Faults = append(o.Faults, f)
	}
	o.Now = func() time.Time { return now }
	sim, err := dailymotionsim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c, srv := serve(t, sim.ServeHTTP)
	return c, sim, srv.URL
}

// respond answers every request with a status and a body.
func respond(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// fails does the call and returns its error.
func fails[T any](ctx context.Context, t testing.TB, call fetch.Call[T]) *fetch.Error {
	t.Helper()
	got, err := call.Do(ctx)
	if err == nil {
		t.Fatalf("got %.200v, want an error", got)
	}
	fe, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		t.Fatalf("%T is no *fetch.Error: %v", err, err)
	}
	if fe.Method != call.Method {
		t.Errorf("a call of %s fails as %s", call.Method, fe.Method)
	}
	return fe
}
