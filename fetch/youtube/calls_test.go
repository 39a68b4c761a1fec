package youtube_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

// The masks that calls send: the stored fields, and nothing else.
const (
	videoMask = "nextPageToken,items(id,snippet(publishedAt,channelId,title,channelTitle,tags,categoryId," +
		"liveBroadcastContent,defaultLanguage,defaultAudioLanguage," +
		"thumbnails(uhd/url,qhd/url,fhd/url,maxres/url,standard/url,high/url,medium/url,default/url))," +
		"contentDetails/duration,statistics(viewCount,likeCount,commentCount))"
	countMask    = "kind,items(id,statistics(viewCount,likeCount,commentCount))"
	searchMask   = "nextPageToken,pageInfo/totalResults,items(id/videoId,snippet/publishedAt)"
	channelMask  = "kind,items(id,snippet/title,contentDetails/relatedPlaylists/uploads,statistics/videoCount)"
	uploadMask   = "nextPageToken,pageInfo/totalResults,items(contentDetails/videoId,snippet/resourceId/videoId)"
	categoryMask = "items(id,snippet/title)"
)

func TestACallAsksForExactlyTheStoredFields(t *testing.T) {
	var got *http.Request
	c, srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = w.Write([]byte(`{"items":[{"id":"UC1"}]}`))
	})
	described, err := youtube.New(t.Context(), youtube.Config{BaseURL: srv.URL, Key: ingest.NewSecret(canary), Version: "1.2.3", Descriptions: true})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 1, 2, 3, 0, time.FixedZone("", 7200))
	details := "snippet,contentDetails,statistics"
	tests := map[string]struct {
		call                 fetch.Call[any]
		method, region, path string
		part, fields         string
		want                 map[string]string // other parameter -> values, joined with commas
	}{
		"a chart's first page": {
			untyped(c.Chart("US", "0", "")), "videos.list", "US", "videos", details, videoMask,
			map[string]string{"chart": "mostPopular", "regionCode": "US", "maxResults": "50"},
		},
		"a category's next page": {
			untyped(c.Chart("IN", "10", "CDIQAA")), "videos.list", "IN", "videos", details, videoMask,
			map[string]string{"chart": "mostPopular", "regionCode": "IN", "maxResults": "50", "videoCategoryId": "10", "pageToken": "CDIQAA"},
		},
		"videos by id": {
			untyped(c.Videos([]string{"a", "b"})), "videos.list", "", "videos", details, videoMask, map[string]string{"id": "a,b"},
		},
		"videos by id, described": {
			untyped(described.Videos([]string{"a", "b"})), "videos.list", "", "videos", details,
			strings.Replace(videoMask, "title,", "title,description,", 1), map[string]string{"id": "a,b"},
		},
		"counts": {
			untyped(c.Counts([]string{"a", "b"})), "videos.batchGetStats", "", "videos:batchGetStats", "id,statistics", countMask,
			map[string]string{"id": "a,b"},
		},
		"a search for everything": {
			untyped(c.Search(ingest.Query{Category: "0"}, "")), "search.list", "", "search", "snippet", searchMask,
			map[string]string{"type": "video", "maxResults": "50", "order": "relevance"},
		},
		"a search with every filter": {
			untyped(c.Search(ingest.Query{
				Text: "a b|c -d", Region: "DE", Channel: "UC1", Category: "10", After: at, Before: at.Add(time.Hour), NewestFirst: true,
			}, "CDIQAA")), "search.list", "DE", "search", "snippet", searchMask,
			map[string]string{
				"type": "video", "maxResults": "50", "order": "date", "q": "a b|c -d", "regionCode": "DE", "channelId": "UC1",
				"videoCategoryId": "10", "pageToken": "CDIQAA", "publishedAfter": "2026-02-28T23:02:03Z", "publishedBefore": "2026-03-01T00:02:03Z",
			},
		},
		"parts of a second make a search's range wider": {
			untyped(c.Search(ingest.Query{After: at.Add(999 * time.Millisecond), Before: at.Add(1001 * time.Millisecond)}, "")),
			"search.list", "", "search", "snippet", searchMask,
			map[string]string{
				"type": "video", "maxResults": "50", "order": "relevance", "publishedAfter": "2026-02-28T23:02:03Z", "publishedBefore": "2026-02-28T23:02:05Z",
			},
		},
		"a channel by id": {
			untyped(c.Channel("UC1")), "channels.list", "", "channels", details, channelMask, map[string]string{"id": "UC1"},
		},
		"a channel by handle": {
			untyped(c.Channel("@a.b-c")), "channels.list", "", "channels", details, channelMask, map[string]string{"forHandle": "@a.b-c"},
		},
		"uploads": {
			untyped(c.Uploads("UU1", "")), "playlistItems.list", "", "playlistItems", "snippet,contentDetails", uploadMask,
			map[string]string{"playlistId": "UU1", "maxResults": "50"},
		},
		"older uploads": {
			untyped(c.Uploads("UU1", "EAAaB1BUOkNESQ")), "playlistItems.list", "", "playlistItems", "snippet,contentDetails", uploadMask,
			map[string]string{"playlistId": "UU1", "maxResults": "50", "pageToken": "EAAaB1BUOkNESQ"},
		},
		"categories": {
			untyped(c.Categories("FR")), "videoCategories.list", "FR", "videoCategories", "snippet", categoryMask, map[string]string{"regionCode": "FR"},
		},
	}
	for name, tt := range tests {
		if tt.call.Method != tt.method || string(tt.call.Region) != tt.region {
			t.Errorf("%s: method %q, region %q, want %v and %v", name, tt.call.Method, tt.call.Region, tt.method, tt.region)
		}
		_, err := tt.call.Do(t.Context())
		if fe, ok := errors.AsType[*fetch.Error](err); ok && fe.Verdict != fetch.Broken { // the answer does not matter here
			t.Errorf("%s: %v", name, err)
		}
		maps.Copy(tt.want, map[string]string{"part": tt.part, "fields": tt.fields, "alt": "json", "prettyPrint": "false"})
		query := map[string]string{}
		for k, v := range got.URL.Query() {
			query[k] = strings.Join(v, ",")
		}
		if got.Method != "GET" || got.URL.Path != "/youtube/v3/"+tt.path || !maps.Equal(query, tt.want) {
			t.Errorf("%s: %s %s\n got %v\nwant %v", name, got.Method, got.URL.Path, query, tt.want)
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
	c, _ := serve(t, func(http.ResponseWriter, *http.Request) {
		t.Error("a request for a call that cannot be asked: got one, want none")
	})
	now := time.Now()
	for name, call := range map[string]fetch.Call[any]{
		"no ids":                    untyped(c.Videos(nil)),
		"51 ids":                    untyped(c.Videos(slices.Repeat([]string{"x"}, 51))),
		"no ids to count":           untyped(c.Counts(nil)),
		"51 ids to count":           untyped(c.Counts(slices.Repeat([]string{"x"}, 51))),
		"no region":                 untyped(c.Chart("", "", "")),
		"no region with categories": untyped(c.Categories("")),
		"no channel":                untyped(c.Channel("")),
		"no handle":                 untyped(c.Channel("@")),
		"no uploads":                untyped(c.Uploads("", "")),
		"no time":                   untyped(c.Search(ingest.Query{Text: "a", After: now, Before: now}, "")),
		"time backwards":            untyped(c.Search(ingest.Query{Text: "a", After: now, Before: now.Add(-time.Hour)}, "")),
	} {
		fe := fails(t.Context(), t, call)
		if fe.Verdict != fetch.Rejected || fe.Method != call.Method {
			t.Errorf("%s: %s, %v, want %v and %v", name, fe.Verdict, fe, fetch.Rejected, call.Method)
		}
		if strings.Contains(name, "ids") != errors.Is(fe, youtube.ErrIDs) {
			t.Errorf("%s: %v, want ErrIDs if and only if ids were wrong", name, fe)
		}
	}
}

func TestACallFollowsNoTokenByItself(t *testing.T) {
	var asked atomic.Int32
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"nextPageToken":"T%d","items":[{"id":"v"}]}`, asked.Add(1))
	})
	token := ""
	for n := int32(1); n <= 20; n++ {
		page, err := c.Chart("US", "", token).Do(t.Context())
		if err != nil || page.Next == token || asked.Load() != n {
			t.Fatalf("call %d: next %q after %q, %d requests, %v", n, page.Next, token, asked.Load(), err)
		}
		token = page.Next
	}
}

func TestAPageThatIsItsOwnNextIsBroken(t *testing.T) {
	token := "T"
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"nextPageToken":%q,"items":[]}`, token)
	})
	for _, call := range []fetch.Call[any]{
		untyped(c.Chart("US", "", "T")), untyped(c.Search(ingest.Query{}, "T")), untyped(c.Uploads("UU1", "T")),
	} {
		fe := fails(t.Context(), t, call)
		if fe.Verdict != fetch.Broken || !strings.Contains(fe.Error(), "its next page is the page itself") {
			t.Errorf("%s: %s, %v, want %v and \"its next page is the page itself\" in it", call.Method, fe.Verdict, fe, fetch.Broken)
		}
	}
	token = strings.Repeat("T", 2000)
	for _, call := range []fetch.Call[any]{
		untyped(c.Chart("US", "", "")), untyped(c.Search(ingest.Query{}, "")), untyped(c.Uploads("UU1", "")),
	} {
		if fe := fails(t.Context(), t, call); fe.Verdict != fetch.Broken || !strings.Contains(fe.Error(), "longer than 1024 bytes") {
			t.Errorf("%s: %s, %v, want %v and \"longer than 1024 bytes\" in it", call.Method, fe.Verdict, fe, fetch.Broken)
		}
	}
}

// A full search in order of time goes on from the newest result of its last page, whatever the order within it.
func TestThePageSaysWhenItsNewestResultWasPublished(t *testing.T) {
	for _, c := range []struct{ times, want string }{
		{"2026-02-03T00:00:00Z 2026-02-02T00:00:00Z 2026-02-02T00:00:00Z", "2026-02-03T00:00:00Z"},
		{"2026-02-02T00:00:00Z 2026-02-03T00:00:00Z", "2026-02-03T00:00:00Z"},
		{"2026-02-03T00:00:00Z soon", "0001-01-01T00:00:00Z"},
		{"", "0001-01-01T00:00:00Z"},
	} {
		var items []string
		for i, at := range strings.Fields(c.times) {
			items = append(items, fmt.Sprintf(`{"id":{"videoId":"v%d"},"snippet":{"publishedAt":%q}}`, i, at))
		}
		client, _ := serve(t, respond(http.StatusOK, `{"items":[`+strings.Join(items, ",")+`]}`))
		found, err := client.Search(ingest.Query{Text: "a", NewestFirst: true}, "").Do(t.Context())
		if got := found.Newest.Format(time.RFC3339); err != nil || got != c.want || len(found.IDs) != len(items) {
			t.Errorf("%s: the newest is of %s, %v, want %s", c.times, got, err, c.want)
		}
	}
}
