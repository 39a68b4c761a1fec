package wire_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch/wire"
)

func TestADateFromACacheIsNoClock(t *testing.T) {
	age := "" // of the answer
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Sat, 28 Nov 2026 05:00:00 GMT")
		if age != "" {
			w.Header().Set("Age", age)
		}
	}))
	t.Cleanup(srv.Close)
	base, err := wire.ParseBaseURL(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := wire.NewTransport(base, wire.Headers{})
	t.Cleanup(transport.Close)
	for _, tt := range []struct {
		age  string
		want time.Time
	}{{"86400", time.Time{}}, {"0", time.Time{}}, {"", time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)}} {
		age = tt.age
		if got, err := transport.AskDate(t.Context()); err != nil || !got.Equal(tt.want) {
			t.Errorf("with Age %q the date is %v, %v", tt.age, got, err)
		}
	}
}
