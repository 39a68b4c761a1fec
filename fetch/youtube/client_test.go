package youtube_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

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

func TestACallAsksForExactlyWhatIsStored(t *testing.T) {
	var got *http.Request
	c, srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = w.Write([]byte(`{"items":[]}`))
	})
	const fields = "nextPageToken,items(id,snippet(publishedAt,channelId,title,channelTitle,tags,categoryId," +
		"liveBroadcastContent,defaultLanguage,defaultAudioLanguage," +
		"thumbnails(uhd/url,qhd/url,fhd/url,maxres/url,standard/url,high/url,medium/url,default/url))," +
		"contentDetails/duration,statistics(viewCount,likeCount,commentCount))"
	tests := map[string]struct {
		call   fetch.Call[ingest.Page]
		region ingest.Region
		want   map[string]string // parameter -> values, joined with commas
	}{
		"a chart's first page": {c.Chart("US", "0", ""), "US", map[string]string{
			"chart": "mostPopular", "regionCode": "US", "maxResults": "50",
		}},
		"a category's next page": {c.Chart("IN", "10", "CDIQAA"), "IN", map[string]string{
			"chart": "mostPopular", "regionCode": "IN", "maxResults": "50", "videoCategoryId": "10", "pageToken": "CDIQAA",
		}},
		"videos by id": {c.Videos([]string{"a", "b"}), "", map[string]string{"id": "a,b"}},
	}
	for name, tt := range tests {
		if tt.call.Method != "videos.list" || tt.call.Region != tt.region {
			t.Errorf("%s: method %q, region %q", name, tt.call.Method, tt.call.Region)
		}
		if _, err := tt.call.Do(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tt.want["part"], tt.want["fields"] = "snippet,contentDetails,statistics", fields
		tt.want["alt"], tt.want["prettyPrint"] = "json", "false"
		query := map[string]string{}
		for k, v := range got.URL.Query() {
			query[k] = strings.Join(v, ",")
		}
		if got.Method != "GET" || got.URL.Path != "/youtube/v3/videos" || len(query) != len(tt.want) {
			t.Errorf("%s: %s %s", name, got.Method, got.URL)
		}
		for k, v := range tt.want {
			if query[k] != v {
				t.Errorf("%s: %s = %q, want %q", name, k, query[k], v)
			}
		}
		for k, v := range map[string]string{
			"X-Goog-Api-Key": canary, "User-Agent": "trendvidstream-ingest/1.2.3 (gzip)", "Accept-Encoding": "gzip",
			"Transfer-Encoding": "", "Content-Length": "",
		} {
			if got.Header.Get(k) != v {
				t.Errorf("%s: %s: %q, want %q", name, k, got.Header.Get(k), v)
			}
		}
		if strings.Contains(got.RequestURI, canary) || "http://"+got.Host != srv.URL || got.ContentLength != 0 {
			t.Errorf("%s: %s to %s, %d bytes", name, got.RequestURI, got.Host, got.ContentLength)
		}
	}
}

func TestACallThatCannotBeAskedIsNotSent(t *testing.T) {
	c, _ := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	for _, n := range []int{0, 51} {
		fe := fails(t.Context(), t, c.Videos(slices.Repeat([]string{"x"}, n)))
		if fe.Verdict != fetch.Rejected || !errors.Is(fe, youtube.ErrIDs) {
			t.Errorf("%d ids: %s, %v", n, fe.Verdict, fe)
		}
	}
	if fe := fails(t.Context(), t, c.Chart("", "", "")); fe.Verdict != fetch.Rejected {
		t.Errorf("no region: %s, %v", fe.Verdict, fe)
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
