package youtube_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

func TestNewRefusesWhatTheKeyMustNotBeSentTo(t *testing.T) {
	tests := []struct{ base, host, fault string }{
		{base: "", host: "youtube.googleapis.com"},
		{base: "https://youtube.googleapis.com", host: "youtube.googleapis.com"},
		{base: "https://YouTube.GoogleAPIs.com:443/", host: "youtube.googleapis.com"},
		{base: "https://example.org:8443/", host: "example.org:8443"},
		{base: "http://127.0.0.1:8080/", host: "127.0.0.1:8080"},
		{base: "HTTP://127.9.9.9:80", host: "127.9.9.9"},
		{base: "http://localhost:1/", host: "localhost:1"},
		{base: "http://[::1]:8080/", host: "[::1]:8080"},
		{base: "http://[::ffff:127.0.0.1]:8080/", host: "[::ffff:127.0.0.1]:8080"},

		{base: "http://youtube.googleapis.com/", fault: "in clear"},
		{base: "http://192.168.1.1:8080/", fault: "in clear"},
		{base: "http://0.0.0.0:8080/", fault: "in clear"},
		{base: "http://localhost.example.org/", fault: "in clear"},
		{base: "http://127.0.0.1.example.org/", fault: "in clear"},
		{base: "http://2130706433/", fault: "in clear"},
		{base: "http://[fe80::1]/", fault: "in clear"},
		{base: "http://me:" + canary + "@127.0.0.1/", fault: "user name"},
		{base: "https://me@example.org/", fault: "user name"},
		{base: "https://example.org/?key=" + canary, fault: "query"},
		{base: "https://example.org/?", fault: "query"},
		{base: "https://example.org/#" + canary, fault: "fragment"},
		{base: "https://example.org/youtube/v3/", fault: "path"},
		{base: "ftp://127.0.0.1/", fault: "https://"},
		{base: "127.0.0.1:8080", fault: "not a URL"},
		{base: "localhost:8080", fault: "https://"},
		{base: "youtube.googleapis.com", fault: "https://"},
		{base: "https:///", fault: "no host"},
		{base: "https://:443/", fault: "no host"},
		{base: "http:127.0.0.1", fault: "no host"},
		{base: "https://exa mple.org/", fault: "not a URL"},
	}
	for _, tt := range tests {
		c, err := youtube.New(t.Context(), youtube.Config{BaseURL: tt.base, Key: ingest.NewSecret(canary)})
		if tt.fault == "" {
			if err != nil || c.Host() != tt.host {
				t.Errorf("%q: %v, want host %s", tt.base, err, tt.host)
			}
			continue
		}
		if _, ok := errors.AsType[*youtube.BaseURLError](err); !ok || !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q: %v, want a *BaseURLError with %q", tt.base, err, tt.fault)
			continue
		}
		holdsNoKey(t, err)
	}
}

func TestNewRefusesAKeyThatIsMissingOrCannotBeOne(t *testing.T) {
	if _, err := youtube.New(t.Context(), youtube.Config{}); !errors.Is(err, youtube.ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := youtube.New(t.Context(), youtube.Config{BaseURL: "http://127.0.0.1:1/"}); err != nil {
		t.Errorf("a loopback address without a key: %v", err)
	}
	for _, key := range []string{canary + "\n", canary + "\r\nX: y", " " + canary, canary + "é", "a\x00b"} {
		_, err := youtube.New(t.Context(), youtube.Config{Key: ingest.NewSecret(key)})
		if !errors.Is(err, youtube.ErrKey) {
			t.Errorf("%q: %v", key, err)
			continue
		}
		holdsNoKey(t, err)
	}
}

func TestACallMayBeDoneAgain(t *testing.T) {
	n := 0
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"items":[{"id":"x"}]}`))
	})
	call := c.Chart("US", "", "")
	if fe := fails(t.Context(), t, call); fe.Verdict != fetch.Broken {
		t.Errorf("first: %v", fe)
	}
	if page, err := call.Do(t.Context()); err != nil || len(page.Videos) != 1 || n != 2 {
		t.Errorf("second: %v, %v, %d requests", page, err, n)
	}
}

func TestADateIsKeptOfEveryAnswer(t *testing.T) {
	theirs := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	header := theirs.Format(http.TimeFormat)
	status := http.StatusOK
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", header)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"items":[]}`))
	})
	if upstream, here := c.Date(); !upstream.IsZero() || !here.IsZero() {
		t.Errorf("before any answer: %s, %s", upstream, here)
	}
	begin := time.Now()
	if _, err := c.Regions().Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	upstream, here := c.Date()
	if !upstream.Equal(theirs) || here.Before(begin) || here.After(time.Now()) {
		t.Errorf("%s at %s, want %s at about %s", upstream, here, theirs, begin)
	}
	header, status = theirs.Add(time.Hour).Format(http.TimeFormat), http.StatusServiceUnavailable
	fails(t.Context(), t, c.Regions())
	if upstream, _ := c.Date(); !upstream.Equal(theirs.Add(time.Hour)) {
		t.Errorf("an error's date is %s", upstream)
	}
	header = "yesterday " + canary
	fails(t.Context(), t, c.Regions())
	if upstream, _ := c.Date(); !upstream.Equal(theirs.Add(time.Hour)) {
		t.Errorf("nonsense became %s", upstream)
	}
}
