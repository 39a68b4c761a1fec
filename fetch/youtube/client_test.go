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

func TestNewRefusesAddressesThatMustNotGetTheKey(t *testing.T) {
	for base, host := range map[string]string{
		"": "youtube.googleapis.com", "https://YouTube.GoogleAPIs.com:443/": "youtube.googleapis.com", "http://127.0.0.1:8080/": "127.0.0.1:8080",
	} {
		if c, err := youtube.New(t.Context(), youtube.Config{BaseURL: base, Key: ingest.NewSecret(canary)}); err != nil || c.Host() != host {
			t.Errorf("%q: %v, want host %s", base, err, host)
		}
	}
	for _, base := range []string{
		"http://youtube.googleapis.com/", "https://me:" + canary + "@youtube.googleapis.com/", "https://youtube.googleapis.com/?key=" + canary,
		"https://youtube.googleapis.com/youtube/v3/", "https://%" + canary,
	} {
		_, err := youtube.New(t.Context(), youtube.Config{BaseURL: base, Key: ingest.NewSecret(canary)})
		if err == nil || !strings.HasPrefix(err.Error(), "upstream URL") {
			t.Errorf("%q: %v, want it refused", base, err)
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
			t.Errorf("%q: %v, want error %v", key, err, youtube.ErrKey)
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
		t.Errorf("first: %v, want %v", fe, fetch.Broken)
	}
	if page, err := call.Do(t.Context()); err != nil || len(page.Videos) != 1 || n != 2 {
		t.Errorf("second: %v, %v, %d requests, want one video and 2 requests", page, err, n)
	}
}

func TestTheDateOfAnAnswerIsKept(t *testing.T) {
	theirs := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", theirs.Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	fails(t.Context(), t, c.Categories("US"))
	if upstream, _ := c.Date(); !upstream.Equal(theirs) {
		t.Errorf("%s, want %s", upstream, theirs)
	}
}
