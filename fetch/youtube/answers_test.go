package youtube_test

import (
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

func TestAnAnswerIsMappedWithoutChanges(t *testing.T) {
	counts := func(c *youtube.Client) fetch.Call[any] { return untyped(c.Counts([]string{"v"})) }
	search := func(c *youtube.Client) fetch.Call[any] { return untyped(c.Search(ingest.Query{}, "")) }
	channel := func(c *youtube.Client) fetch.Call[any] { return untyped(c.Channel("UC1")) }
	handle := func(c *youtube.Client) fetch.Call[any] { return untyped(c.Channel("@Name")) }
	uploads := func(c *youtube.Client) fetch.Call[any] { return untyped(c.Uploads("UU1", "")) }
	categories := func(c *youtube.Client) fetch.Call[any] { return untyped(c.Categories("US")) }
	tests := map[string]struct {
		call func(*youtube.Client) fetch.Call[any]
		body string
		want any
	}{
		"counts, some withheld": {
			counts, `{"items":[{"id":"a","statistics":{"viewCount":"0","likeCount":"2","commentCount":"9223372036854775807"}},{"id":"b"},null,
			{"statistics":{"viewCount":"1"}},{"id":"a","statistics":{"viewCount":null}}]}`,
			[]ingest.Counts{{ID: "a", Views: n(0), Likes: n(2), Comments: n(9223372036854775807), Malformed: ingest.Malformed{"id": 1}}, {ID: "b"}, {ID: "a"}},
		},
		"counts of none":           {counts, `{"items":[]}`, []ingest.Counts(nil)},
		"counts without a list":    {counts, `{"kind":"youtube#batchGetStatsResponse"}`, []ingest.Counts(nil)},
		"found, twice, in order":   {search, `{"nextPageToken":"T","items":[{"id":{"videoId":"b"}},{"id":{"videoId":"a"}},{"id":{"videoId":"b"}}]}`, ingest.Found{IDs: []string{"b", "a", "b"}, Next: "T"}},
		"found no videos":          {search, `{"items":[{"id":{"kind":"youtube#channel","channelId":"UC1"}},{},null,{"id":{}}],"pageInfo":{"totalResults":1000000}}`, ingest.Found{Total: 1_000_000}},
		"found nothing, and more":  {search, `{"nextPageToken":"T","items":[]}`, ingest.Found{Next: "T"}},
		"uploads say it twice":     {uploads, `{"items":[{"contentDetails":{"videoId":"a"},"snippet":{"resourceId":{"videoId":"a"}}}]}`, ingest.Found{IDs: []string{"a"}}},
		"uploads say it once":      {uploads, `{"items":[{"contentDetails":{"videoId":"a"}},{"snippet":{"resourceId":{"videoId":"b"}}},{"snippet":{}}]}`, ingest.Found{IDs: []string{"a", "b"}}},
		"a channel":                {channel, `{"items":[{"id":"UC1","snippet":{"title":"\u0000T"},"contentDetails":{"relatedPlaylists":{"uploads":"UU1","likes":""}},"statistics":{"videoCount":"7"}}]}`, ingest.Channel{ID: "UC1", Title: "\x00T", Uploads: "UU1", Videos: n(7)}},
		"a channel, no count":      {channel, `{"items":[{"id":"UC1","statistics":{"subscriberCount":"x"}}]}`, ingest.Channel{ID: "UC1"}},
		"a channel among others":   {channel, `{"items":[{"id":"UC2"},{"id":"UC1","snippet":{"title":"T"}},{"id":"UC1","snippet":{"title":"T"}}]}`, ingest.Channel{ID: "UC1", Title: "T"}},
		"a handle's channel":       {handle, `{"items":[{"id":"UC9","statistics":{"videoCount":"0"}}]}`, ingest.Channel{ID: "UC9", Videos: n(0)}},
		"categories":               {categories, `{"items":[{"id":"1","snippet":{"title":"Film & Animation"}},{"id":"2","snippet":{"title":""}},{"snippet":{"title":"x"}},null]}`, []ingest.Category{{ID: "1", Name: "Film & Animation"}}},
		"half a surrogate pair":    {channel, `{"items":[{"id":"UC1","snippet":{"title":"a\ud83d \ud83d\ude00"}}]}`, ingest.Channel{ID: "UC1", Title: "a\ufffd 😀"}},
		"found no ids of videos":   {search, `{"items":[{"id":{"videoId":" a"}},{"id":{"videoId":"b"}},{"id":{"videoId":"` + strings.Repeat("c", 65) + `"}}]}`, ingest.Found{IDs: []string{"b"}, Malformed: ingest.Malformed{"id": 2}}},
		"nothing but nulls behind": {search, `{"items":[{"id":{"videoId":"a"}}` + strings.Repeat(",null", 60) + `]}`, ingest.Found{IDs: []string{"a"}}},
	}
	for name, tt := range tests {
		c, _ := serve(t, respond(http.StatusOK, tt.body))
		if got, err := tt.call(c).Do(t.Context()); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, tt.want)
		}
	}
}

func TestAChannelThatIsNotThereIsRejected(t *testing.T) {
	for body, want := range map[string]struct {
		verdict fetch.CallVerdict
		says    string
	}{
		`{"kind":"youtube#channelListResponse"}`:            {fetch.Rejected, `there is no such thing: channel "`},
		`{"kind":"youtube#channelListResponse","items":[]}`: {fetch.Rejected, `there is no such thing: channel "`},
		`{"items":[{},null]}`:                               {fetch.Rejected, `there is no such thing: channel "`},
		`{}`:                                                {fetch.Broken, "not the list"},
		`{"kind":"youtube#videoListResponse"}`:              {fetch.Broken, "not the list"},
		`{"items":[{"id":"UC8"},{"id":"UC9"}]}`:             {fetch.Broken, "channel"},
	} {
		c, _ := serve(t, respond(http.StatusOK, body))
		for _, who := range []string{"UC1", "@name\x1b[31m"} {
			fe := fails(t.Context(), t, c.Channel(who))
			if fe.Verdict != want.verdict || fe.Method != "channels.list" || !strings.Contains(fe.Error(), want.says) || strings.Contains(fe.Error(), "\x1b") {
				t.Errorf("%s, %s: %s, %v, want %v of channels.list: %q", who, body, fe.Verdict, fe, want.verdict, want.says)
			}
		}
	}
}

// TestAHostileAnswerAllocatesLittle: an answer that no documentation allows must not cost hundreds of megabytes.
func TestAHostileAnswerAllocatesLittle(t *testing.T) {
	c, _ := serve(t, respond(http.StatusOK, ""))
	const size = 1 << 20
	for name, text := range map[string]string{
		"tags":     `{"items":[{"id":"v","snippet":{"tags":[""` + strings.Repeat(`,""`, size/3) + `]}}]}`,
		"items":    `{"items":[{}` + strings.Repeat(`,{}`, size/3) + `]}`,
		"nulls":    `{"items":[null` + strings.Repeat(`,null`, size/5) + `,{}]}`,
		"unknown":  `{"items":[{"id":"v","x":[0` + strings.Repeat(`,0`, size/2) + `]}]}`,
		"keys":     `{"items":[{"id":"v"` + strings.Repeat(`,"x":0`, size/6) + `}]}`,
		"nested":   `{"items":[{"id":"v","x":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}]}`,
		"an error": strings.Repeat("[", size),
		"errors":   `{"error":{"errors":[{}` + strings.Repeat(`,{}`, size/3) + `]}}`,
		"details":  `{"error":{"details":[{}` + strings.Repeat(`,{}`, size/3) + `]}}`,
	} {
		body := []byte(text)
		for status, most := range map[int]float64{200: 1, 403: 8} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = youtube.Understand(c, "chart", status, body)
			runtime.ReadMemStats(&after)
			allocated := float64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%-8s %d, %4d KiB: %.1f times its size allocated", name, status, len(body)>>10, allocated/float64(len(body)))
			if allocated > most*float64(len(body))+1<<20 {
				t.Errorf("%s, %d: %.1f times its size allocated", name, status, allocated/float64(len(body)))
			}
		}
	}
}
