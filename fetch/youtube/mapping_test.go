package youtube_test

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

func n(i int64) *int64 { return &i }

func TestAVideoIsMappedWithoutChanges(t *testing.T) {
	tests := map[string]struct {
		item string
		want ingest.Video
	}{
		"everything": {
			`{"id":"v1","kind":"youtube#video","newKey":{"a":[1]},"snippet":{"publishedAt":"2026-02-14T01:02:03.456Z","channelId":"c1",
			"title":"<b>x</b> & \u0000\u001b[31m \u202e","channelTitle":"Ch","tags":["b","a","b"],"categoryId":"10",
			"liveBroadcastContent":"none","defaultLanguage":"en","defaultAudioLanguage":"de",
			"thumbnails":{"default":{"url":"https://i/d"},"maxres":{"url":"https://i/x","width":1280},"high":{"url":"https://i/h"},"uhd":{"url":"https://i/u"}}},
			"contentDetails":{"duration":"PT15M51S"},"statistics":{"viewCount":"9223372036854775807","likeCount":"0","commentCount":"7","dislikeCount":"x"}}`,
			ingest.Video{
				ID: "v1", Title: "<b>x</b> & \x00\x1b[31m \u202e", Channel: "Ch", ChannelID: "c1", Category: "10", Language: "en",
				Thumbnail: "https://i/u", PublishedAt: time.Date(2026, 2, 14, 1, 2, 3, 456e6, time.UTC), Duration: 951 * time.Second,
				Tags: []string{"b", "a", "b"}, Views: n(9223372036854775807), Likes: n(0), Comments: n(7),
			},
		},
		"withheld counts are nil":         {`{"id":"v","statistics":{"viewCount":"0"}}`, ingest.Video{ID: "v", Views: n(0)}},
		"null counts are nil":             {`{"id":"v","statistics":{"viewCount":null,"likeCount":"1"}}`, ingest.Video{ID: "v", Likes: n(1)}},
		"counts may be numbers":           {`{"id":"v","statistics":{"viewCount":12}}`, ingest.Video{ID: "v", Views: n(12)}},
		"no snippet":                      {`{"id":"v"}`, ingest.Video{ID: "v"}},
		"P0D is live":                     {`{"id":"v","contentDetails":{"duration":"P0D"}}`, ingest.Video{ID: "v", Live: true}},
		"PT0S is not":                     {`{"id":"v","contentDetails":{"duration":"PT0S"}}`, ingest.Video{ID: "v"}},
		"a broadcast is live":             {`{"id":"v","snippet":{"liveBroadcastContent":"live"}}`, ingest.Video{ID: "v", Live: true}},
		"a premiere has no duration yet":  {`{"id":"v","snippet":{"liveBroadcastContent":"upcoming"},"contentDetails":{"duration":"PT3M"}}`, ingest.Video{ID: "v", Live: true}},
		"the spoken language, else":       {`{"id":"v","snippet":{"defaultAudioLanguage":"ta"}}`, ingest.Video{ID: "v", Language: "ta"}},
		"a thumbnail over http is none":   {`{"id":"v","snippet":{"thumbnails":{"maxres":{"url":"http://i/x"},"medium":{"url":"https://i/m"}}}}`, ingest.Video{ID: "v", Thumbnail: "https://i/m"}},
		"only unknown thumbnails is none": {`{"id":"v","snippet":{"thumbnails":{"huge":{"url":"https://i/x"}}}}`, ingest.Video{ID: "v"}},
		"an offset becomes UTC":           {`{"id":"v","snippet":{"publishedAt":"2026-02-14T01:00:00+02:00"}}`, ingest.Video{ID: "v", PublishedAt: time.Date(2026, 2, 13, 23, 0, 0, 0, time.UTC)}},
	}
	for name, tt := range tests {
		page, err := youtube.MapPage([]byte(`{"items":[` + tt.item + `]}`))
		if err != nil || len(page.Videos) != 1 || !reflect.DeepEqual(page.Videos[0], tt.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, page.Videos, tt.want)
		}
	}
}

func TestAPageKeepsOrderAndDuplicates(t *testing.T) {
	page, err := youtube.MapPage([]byte(`{"nextPageToken":"T","items":[{"id":"b"},{"snippet":{"title":"no id"}},null,{"id":"a"},{"id":"b"}]}`))
	if err != nil || page.Next != "T" || len(page.Videos) != 3 {
		t.Fatalf("%+v, %v, want \"T\" and 3", page, err)
	}
	for i, id := range []string{"b", "a", "b"} {
		if page.Videos[i].ID != id {
			t.Errorf("video %d is %s, want %s", i, page.Videos[i].ID, id)
		}
	}
	if page, err := youtube.MapPage([]byte(`{"items":[]}`)); err != nil || len(page.Videos) != 0 || page.Next != "" {
		t.Errorf("an empty list: %+v, %v, want 0 and \"\"", page, err)
	}
}

// Malformed items are left out and counted; all else of the page is kept.
func TestOneBadItemIsOneBadItem(t *testing.T) {
	const good = `{"id":"good","snippet":{"title":"t"},"statistics":{"viewCount":"1"}}`
	of := func(field string) ingest.Malformed { return ingest.Malformed{field: 1} }
	v, titled := ingest.Video{ID: "v"}, ingest.Video{ID: "v", Title: "t"}
	for name, tt := range map[string]struct {
		item      string
		want      ingest.Video // without an id: none
		malformed ingest.Malformed
	}{
		"no id":                {`{"snippet":{"title":"t"}}`, ingest.Video{}, of("id")},
		"an id of null":        {`{"id":null}`, ingest.Video{}, of("id")},
		"a number for an id":   {`{"id":7,"snippet":{"title":"t"}}`, ingest.Video{}, of("id")},
		"an object for an id":  {`{"id":{"videoId":"v"}}`, ingest.Video{}, of("id")},
		"bytes for an id":      {"{\"id\":\"v\xff\"}", ingest.Video{}, ingest.Malformed{"id": 1, "text that is not UTF-8": 1}},
		"a space in an id":     {`{"id":" v"}`, ingest.Video{}, of("id")},
		"an endless id":        {`{"id":"` + strings.Repeat("v", 5000) + `"}`, ingest.Video{}, of("id")},
		"another kind":         {`{"kind":"youtube#activity","id":"v"}`, ingest.Video{}, of("id")},
		"a number":             {`7`, ingest.Video{}, of("id")},
		"a list":               {`[]`, ingest.Video{}, of("id")},
		"nothing":              {`{}`, ingest.Video{}, of("id")},
		"null for objects":     {`{"id":"v","snippet":null,"contentDetails":null,"statistics":null}`, v, nil},
		"numbers for objects":  {`{"id":"v","snippet":7}`, v, of("snippet")},
		"lists for objects":    {`{"id":"v","statistics":[1],"snippet":{"title":"t"}}`, titled, of("statistics")},
		"a number for a title": {`{"id":"v","snippet":{"title":1,"channelTitle":"c"}}`, ingest.Video{ID: "v", Channel: "c"}, of("snippet.title")},
		"bytes for a title":    {"{\"id\":\"v\",\"snippet\":{\"title\":\"\xff\xc0\\\"\x80\",\"categoryId\":\"1\"}}", ingest.Video{}, ingest.Malformed{"id": 1, "text that is not UTF-8": 1}},
		"bytes for a name":     {"{\"id\":\"v\",\"\xff\":\"x\",\"snippet\":{\"title\":\"t\"}}", ingest.Video{}, ingest.Malformed{"id": 1, "text that is not UTF-8": 1}},
		"tags of text":         {`{"id":"v","snippet":{"tags":"a","title":"t"}}`, titled, of("snippet.tags")},
		"tags of booleans":     {`{"id":"v","snippet":{"tags":[true],"title":"t"}}`, titled, of("snippet.tags")},
		"endless tags":         {`{"id":"v","snippet":{"tags":[""` + strings.Repeat(`,""`, 40_000) + `],"title":"t"}}`, titled, of("snippet.tags")},
		"a bad date":           {`{"id":"v","snippet":{"publishedAt":"yesterday"}}`, v, of("snippet.publishedAt")},
		"the key for a date":   {`{"id":"v","snippet":{"publishedAt":"` + canary + `"}}`, v, of("snippet.publishedAt")},
		"a bad duration":       {`{"id":"v","contentDetails":{"duration":"15:51"}}`, v, of("contentDetails.duration")},
		"a long duration":      {`{"id":"v","contentDetails":{"duration":"P999999999999D"}}`, v, of("contentDetails.duration")},
		"beyond int64":         {`{"id":"v","statistics":{"viewCount":"9223372036854775808","likeCount":"2"}}`, ingest.Video{ID: "v", Likes: n(2)}, of("statistics.viewCount")},
		"a huge number":        {`{"id":"v","statistics":{"viewCount":1e999}}`, v, of("statistics.viewCount")},
		"a negative count":     {`{"id":"v","statistics":{"viewCount":"-1"}}`, v, of("statistics.viewCount")},
		"a count in parts":     {`{"id":"v","statistics":{"likeCount":"1.5"}}`, v, of("statistics.likeCount")},
		"a count of an object": {`{"id":"v","statistics":{"likeCount":{"x":[1]}}}`, v, of("statistics.likeCount")},
		"an empty count":       {`{"id":"v","statistics":{"commentCount":""}}`, v, of("statistics.commentCount")},
		"a true count":         {`{"id":"v","statistics":{"viewCount":true}}`, v, of("statistics.viewCount")},
		"two of them": {`{"id":"v","snippet":{"publishedAt":"x"},"statistics":{"viewCount":"x"}}`, v,
			ingest.Malformed{"snippet.publishedAt": 1, "statistics.viewCount": 1}},
	} {
		page, err := youtube.MapPage([]byte(`{"nextPageToken":"T","items":[` + tt.item + `,` + good + `]}`))
		want := []ingest.Video{tt.want, {ID: "good", Title: "t", Views: n(1)}}
		if tt.want.ID == "" {
			want = want[1:]
		}
		if err != nil || page.Next != "T" || !reflect.DeepEqual(page.Videos, want) || !reflect.DeepEqual(page.Malformed, tt.malformed) {
			t.Errorf("%s: %v\n got %+v, malformed %v\nwant %+v, malformed %v", name, err, page.Videos, page.Malformed, want, tt.malformed)
		}
		if said := page.Malformed.String(); strings.Contains(said, canary) || (said == "") != (tt.malformed == nil) {
			t.Errorf("%s: says %q", name, said)
		}
	}
}

func TestDurationsAreISO8601(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT15M51S": 951 * time.Second, "PT1H": time.Hour, "P1DT2H3M4S": 26*time.Hour + 184*time.Second, "P1W": 168 * time.Hour,
		"P1W1DT1S": 192*time.Hour + time.Second, "P0D": 0, "PT0S": 0, "PT90M": 90 * time.Minute, "PT1.9S": time.Second, "PT1,9S": time.Second,
		"P106751D": 106751 * 24 * time.Hour,
	} {
		if got, err := youtube.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "P", "T", "PT", "P1", "P1DT", "1D", "P1Y", "P1M", "P1H", "PT1D", "PT1S1M", "PT1M1M", "P1D1W", "P-1D", "-P1D", "PT1.5M", "PT.5S", "pt1s",
		"PT1S ", "PT1.S", "PT1.5", "P1TT1S", "P106752D", "P15250WT999999H", "P99999999999999999999D", "PT9223372036854775807S", "PT" + strings.Repeat("9", 1000) + "S",
	} {
		if got, err := youtube.ParseDuration(text); err == nil || len(err.Error()) > 100 {
			t.Errorf("%q: %v, %v, want a short error", text, got, err)
		}
	}
}

func TestMappingAPageAllocatesAtMostThreeTimesItsSize(t *testing.T) {
	most := 3.0
	if quotatest.Raced { // the detector drops pooled values at random
		most = 30
	}
	for _, videos := range []int{5, 25, 47, 50} {
		body := pageOf(videos)
		least := math.Inf(1)
		for range 5 { // a garbage collection in between makes the mapping allocate its pooled values again
			least = min(least, allocatedPerByte(t, body))
		}
		t.Logf("%d videos, %d bytes: %.2f bytes allocated per byte", videos, len(body), least)
		if least > most {
			t.Errorf("%d videos: %.2f bytes allocated per byte, want at most %.0f", videos, least, most)
		}
	}
}

func allocatedPerByte(t *testing.T, body []byte) float64 {
	t.Helper()
	const rounds = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if _, err := youtube.MapPage(body); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / rounds / float64(len(body))
}

func BenchmarkMapPage(b *testing.B) {
	body := pageOf(50)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := youtube.MapPage(body); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(body)), "body-B")
}

// pageOf returns a page of videos as the fields mask leaves it: without descriptions.
func pageOf(videos int) []byte {
	var s strings.Builder
	s.WriteString(`{"nextPageToken":"CDIQAA","items":[`)
	for i := range videos {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, `{"id":"abcdefgh%03d","snippet":{"publishedAt":"2026-02-14T01:02:03Z","channelId":"UC_x5XG1OV2P6uZZ5FSM9Ttw",`+
			`"title":"A title of the usual length, with some words in it %d","thumbnails":{`, i, i)
		for j, size := range []string{"default", "medium", "high", "standard", "maxres"} {
			if j > 0 {
				s.WriteByte(',')
			}
			fmt.Fprintf(&s, `"%s":{"url":"https://i.ytimg.com/vi/abcdefgh%03d/%sdefault.jpg"}`, size, i, size)
		}
		s.WriteString(`},"channelTitle":"Some channel","tags":["one","two words","three","four","five","six","seven","eight"],` +
			`"categoryId":"24","liveBroadcastContent":"none","defaultAudioLanguage":"en"},"contentDetails":{"duration":"PT12M34S"},` +
			`"statistics":{"viewCount":"1234567","likeCount":"65432","commentCount":"4321"}}`)
	}
	s.WriteString(`]}`)
	return []byte(s.String())
}
