package dailymotion_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/dailymotion"
	"github.com/trendvidstream/ingest/internal/dailymotionsim"
)

// description is a video with its pointers resolved.
type description struct {
	Video        ingest.Video
	Views, Likes string
}

func describe(v ingest.Video) description {
	d := description{Video: v, Views: "withheld", Likes: "withheld"}
	if v.Views != nil {
		d.Views = strconv.FormatInt(*v.Views, 10)
	}
	if v.Likes != nil {
		d.Likes = strconv.FormatInt(*v.Likes, 10)
	}
	d.Video.Views, d.Video.Likes = nil, nil
	return d
}

// decoded returns the stand-in's own JSON of a video, read without our mapping.
func decoded(t *testing.T, v map[string]any) description {
	t.Helper()
	text := func(name string) string {
		s, _ := v[name].(string)
		return s
	}
	number := func(name, none string) string {
		if v[name] == nil {
			return none
		}
		return v[name].(json.Number).String()
	}
	seconds, err := strconv.ParseInt(number("created_time", "x"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	want := ingest.Video{
		ID: text("id"), Title: string([]rune(text("title"))[:min(1000, len([]rune(text("title"))))]), Channel: text("owner.screenname"), ChannelID: text("owner.id"), Category: text("channel"),
		Language: text("language"), PublishedAt: time.Unix(seconds, 0).UTC(), Live: text("mode") == "live", Thumbnail: text("thumbnail_720_url"),
	}
	if want.Thumbnail == "" {
		want.Thumbnail = text("thumbnail_360_url")
	}
	if !want.Live {
		d, err := time.ParseDuration(number("duration", "x") + "s")
		if err != nil {
			t.Fatal(err)
		}
		want.Duration = d
	}
	for _, tag := range v["tags"].([]any) {
		want.Tags = append(want.Tags, fmt.Sprint(tag))
	}
	return description{want, number("views_total", "withheld"), number("likes_total", "withheld")}
}

func TestEveryFieldIsAsTheUpstreamSaysIt(t *testing.T) {
	c, _, base := standIn(t, dailymotionsim.Options{Seed: 3})
	held := map[string]int{}
	for _, region := range []ingest.Region{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"} {
		for i, token := range []string{"", "2"} {
			page, err := c.Chart(region, "", token).Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			raw := rawPage(t, base, region, i+1)
			if len(page.Videos) != len(raw) || len(raw) != 100 {
				t.Fatalf("%s, page %d: %d videos, the stand-in says %d", region, i+1, len(page.Videos), len(raw))
			}
			for j, v := range page.Videos {
				got, want := describe(v), decoded(t, raw[j])
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s, rank %d:\n%+v, want\n%+v", region, i*100+j+1, got, want)
				}
				if v.Comments != nil {
					t.Errorf("%s: comments were never asked for: %d", v.ID, *v.Comments)
				}
				count(held, "withheld views", v.Views == nil)
				count(held, "withheld likes", v.Likes == nil)
				count(held, "live", v.Live)
				count(held, "no language", v.Language == "")
				count(held, "no tags", len(v.Tags) == 0)
				count(held, "a number as a tag", slices.Contains(v.Tags, "2026"))
				count(held, "a hostile title", strings.ContainsAny(v.Title, "<\x00\x1b\u202e'=\n{"))
				count(held, "a smaller thumbnail", strings.HasSuffix(v.Thumbnail, "360"))
				count(held, "all", true)
			}
		}
	}
	for _, kind := range []string{"withheld views", "withheld likes", "live", "no language", "no tags", "a number as a tag", "a hostile title", "a smaller thumbnail"} {
		if held[kind] == 0 {
			t.Errorf("no video with %s: the comparison sees too little", kind)
		}
	}
	t.Logf("videos compared, by what they held: %v", held)
}

func count(held map[string]int, kind string, is bool) {
	if is {
		held[kind]++
	}
}

// rawPage sends the stand-in the request of a call for videos.
func rawPage(t *testing.T, base string, region ingest.Region, page int) []map[string]any {
	t.Helper()
	q := url.Values{
		"country": {string(region)}, "sort": {"trending"}, "page": {strconv.Itoa(page)}, "limit": {"100"}, "fields": {dailymotion.VideoFields},
	}
	resp, err := http.Get(base + "/videos?" + q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	d.UseNumber()
	var body struct {
		List []map[string]any `json:"list"`
	}
	if err := d.Decode(&body); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	http.DefaultClient.CloseIdleConnections()
	return body.List
}

func TestAMissingCountIsNotZero(t *testing.T) {
	tests := map[string]struct{ item, views, likes string }{
		"absent":   {`{"id":"x"}`, "withheld", "withheld"},
		"null":     {`{"id":"x","views_total":null,"likes_total":null}`, "withheld", "withheld"},
		"zero":     {`{"id":"x","views_total":0,"likes_total":0}`, "0", "0"},
		"numbers":  {`{"id":"x","views_total":9223372036854775807,"likes_total":1}`, "9223372036854775807", "1"},
		"one only": {`{"id":"x","views_total":5}`, "5", "withheld"},
	}
	for name, tt := range tests {
		page, err := dailymotion.MapVideos([]byte(`{"page":1,"list":[`+tt.item+`]}`), 1)
		if err != nil || len(page.Videos) != 1 {
			t.Errorf("%s: %d videos, %v, want 1", name, len(page.Videos), err)
			continue
		}
		if d := describe(page.Videos[0]); d.Views != tt.views || d.Likes != tt.likes {
			t.Errorf("%s: views %s, likes %s, want %v and %v", name, d.Views, d.Likes, tt.views, tt.likes)
		}
	}
}

func TestNullsAreNothingAndNotAMistake(t *testing.T) {
	nulls := `"title":null,"owner.screenname":null,"owner.id":null,"channel":null,"language":null,"thumbnail_720_url":null,` +
		`"thumbnail_360_url":"http://example.com/in-clear","created_time":null,"duration":null,"mode":null,"tags":null`
	page, err := dailymotion.MapVideos([]byte(`{"list":[null,{},{"id":null},{"id":""},{"id":"x",`+nulls+`}]}`), 1)
	if err != nil || len(page.Videos) != 1 || !reflect.DeepEqual(page.Videos[0], ingest.Video{ID: "x"}) {
		t.Errorf("%+v, %v, want the video x and nothing else", page, err)
	}
}

func TestTagsAreTextAlsoWhereTheyAreNumbers(t *testing.T) {
	for in, want := range map[string][]string{
		`["b","a","b"]`: {"b", "a", "b"}, `["a",2026,1.50]`: {"a", "2026", "1.50"}, `[7]`: {"7"}, `["a",null,"",3]`: {"a", "3"}, `[]`: nil, `[null]`: nil,
	} {
		page, err := dailymotion.MapVideos([]byte(`{"list":[{"id":"x","tags":`+in+`}]}`), 1)
		if err != nil || !reflect.DeepEqual(page.Videos[0].Tags, want) {
			t.Errorf("%s: %+v, %v, want %v", in, page.Videos, err, want)
		}
	}
}

func TestALiveStreamHasNoDuration(t *testing.T) {
	for item, want := range map[string]ingest.Video{
		`{"id":"x","mode":"live","duration":90}`: {ID: "x", Live: true},
		`{"id":"x","mode":"vod","duration":90}`:  {ID: "x", Duration: 90 * time.Second},
		`{"id":"x","duration":90.9}`:             {ID: "x", Duration: 90 * time.Second},
	} {
		page, err := dailymotion.MapVideos([]byte(`{"list":[`+item+`]}`), 1)
		if err != nil || !reflect.DeepEqual(page.Videos, []ingest.Video{want}) {
			t.Errorf("%s: %+v, %v, want %+v", item, page.Videos, err, want)
		}
	}
}

func TestDuplicatesAreKept(t *testing.T) {
	page, err := dailymotion.MapVideos([]byte(`{"list":[{"id":"x"},{"id":"y"},{"id":"x"}]}`), 1)
	if err != nil || len(page.Videos) != 3 {
		t.Errorf("%d videos, %v, want 3", len(page.Videos), err)
	}
}

func TestNothingIsHalfUnderstood(t *testing.T) {
	items := func(n int) string {
		return `{"page":1,"list":[` + strings.Repeat(`{"id":"x"},`, n-1) + `{"id":"x"}]}`
	}
	for name, body := range map[string]string{
		"nothing":             "",
		"HTML":                "<!DOCTYPE html><title>Sign in</title>",
		"truncated":           items(3)[:30],
		"two documents":       items(1) + items(1),
		"null":                "null",
		"a list alone":        "[]",
		"no list":             `{"page":1,"has_more":false}`,
		"a list of null":      `{"list":null}`,
		"a list that is none": `{"list":{"id":"x"}}`,
		"text for a video":    `{"list":["x"]}`,
		"an error":            `{"error":{"code":404,"message":"m","type":"not_found"}}`,
		"one too many":        items(101),
		"a great many":        items(100_000),
		"another page":        strings.Replace(items(1), `"page":1`, `"page":2`, 1),
		"a page of text":      strings.Replace(items(1), `"page":1`, `"page":"1"`, 1),
		"has_more of text":    `{"has_more":"yes","list":[]}`,
		"deep nesting":        `{"list":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		"a number for an id":  `{"list":[{"id":5}]}`,
		"a comma in an id":    `{"list":[{"id":"x,y"}]}`,
		"an id of spaces":     `{"list":[{"id":"x y"}]}`,
		"a nul in an id":      `{"list":[{"id":"x\u0000"}]}`,
		"an endless id":       `{"list":[{"id":"` + strings.Repeat("x", 100) + `"}]}`,
	} {
		c, _ := serve(t, respond(http.StatusOK, body))
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != fetch.Broken || !strings.HasPrefix(fe.Error(), "videos.trending: Dailymotion's answer makes no sense: ") {
			t.Errorf("%s: %s, %v, want %v and \"videos.trending: Dailymotion's answer makes no sense: \" at the beginning", name, fe.Verdict, fe, fetch.Broken)
		}
		if len([]rune(fe.Error())) > 600 || strings.ContainsAny(fe.Error(), ">\x00\n") {
			t.Errorf("%s: %q, want at most 600 characters, none of them control characters", name, fe.Error())
		}
	}
}

// Malformed items are left out and counted; all else of the page is kept.
func TestOneBadItemIsOneBadItem(t *testing.T) {
	x, titled := ingest.Video{ID: "x"}, ingest.Video{ID: "x", Title: "t"}
	for name, tt := range map[string]struct {
		item, malformed string
		want            ingest.Video // without an id: none
	}{
		"no id":               {`{"title":"t"}`, "id", ingest.Video{}},
		"a number for an id":  {`{"id":5,"title":"t"}`, "id", ingest.Video{}},
		"a comma in an id":    {`{"id":"x,y"}`, "id", ingest.Video{}},
		"an endless id":       {`{"id":"` + strings.Repeat("x", 100) + `"}`, "id", ingest.Video{}},
		"text for a video":    {`"x"`, "id", ingest.Video{}},
		"a number for text":   {`{"id":"x","title":5}`, "title", x},
		"negative views":      {`{"id":"x","views_total":-1}`, "views_total", x},
		"views beyond int64":  {`{"id":"x","views_total":9223372036854775808}`, "views_total", x},
		"views in parts":      {`{"id":"x","views_total":1.5}`, "views_total", x},
		"views of text":       {`{"id":"x","views_total":"many","title":"t"}`, "views_total", titled},
		"views of nobody":     {`{"id":"x","views_total":{},"title":"t"}`, "views_total", titled},
		"views of nothing":    {`{"id":"x","views_total":""}`, "views_total", x},
		"likes of text":       {`{"id":"x","likes_total":"many"}`, "likes_total", x},
		"negative duration":   {`{"id":"x","duration":-1}`, "duration", x},
		"endless duration":    {`{"id":"x","duration":1e300}`, "duration", x},
		"no number":           {`{"id":"x","duration":"NaN"}`, "duration", x},
		"a date of text":      {`{"id":"x","created_time":"2026-01-01"}`, "created_time", x},
		"a date before 1970":  {`{"id":"x","created_time":-1}`, "created_time", x},
		"a date beyond years": {`{"id":"x","created_time":253402300800}`, "created_time", x},
		"tags of text":        {`{"id":"x","tags":"a,b","title":"t"}`, "tags", titled},
		"an object for a tag": {`{"id":"x","tags":[{}],"title":"t"}`, "tags", titled},
		"a list for a tag":    {`{"id":"x","tags":["a",1,["b"]],"title":"t"}`, "tags", titled},
		"endless tags":        {`{"id":"x","tags":[` + strings.Repeat(`1,`, 1<<20) + `1],"title":"t"}`, "tags", titled},
		"null for all":        {`{"id":"x","title":null,"tags":null,"views_total":null}`, "", x},
	} {
		page, err := dailymotion.MapVideos([]byte(`{"page":1,"has_more":true,"list":[`+tt.item+`,{"id":"good"}]}`), 1)
		want, malformed := []ingest.Video{tt.want, {ID: "good"}}, ingest.Malformed{tt.malformed: 1}
		if tt.want.ID == "" {
			want = want[1:]
		}
		if tt.malformed == "" {
			malformed = nil
		}
		if err != nil || page.Next != "2" || !reflect.DeepEqual(page.Videos, want) || !reflect.DeepEqual(page.Malformed, malformed) {
			t.Errorf("%s: %v\n got %+v, malformed %v\nwant %+v, malformed %v", name, err, page.Videos, page.Malformed, want, malformed)
		}
	}
	title := strings.Repeat("ü", 2000)
	if page, err := dailymotion.MapVideos([]byte(`{"list":[{"id":"x","title":"`+title+`"}]}`), 1); err != nil || page.Videos[0].Title != title[:2000] {
		t.Errorf("a title of 2,000 characters: %d bytes, %v", len(page.Videos[0].Title), err)
	}
}

// TestMappingAPageIsBounded: reading a page takes a small multiple of the page itself.
func TestMappingAPageIsBounded(t *testing.T) {
	body := pageOf(t, 100)
	const runs = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if _, err := dailymotion.MapVideos(body, 1); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) / runs
	ratio := float64(allocated) / float64(len(body))
	t.Logf("a page of %d bytes is mapped with %d bytes allocated: %.2f times its size", len(body), allocated, ratio)
	if ratio > 3 {
		t.Errorf("%.2f times its size, at most 3 wanted", ratio)
	}
}

// pageOf returns the body of a chart's first page of n videos.
func pageOf(t testing.TB, n int) []byte {
	t.Helper()
	_, _, base := standIn(t, dailymotionsim.Options{Seed: 3})
	resp, err := http.Get(base + "/videos?sort=trending&country=us&limit=" + strconv.Itoa(n) + "&fields=" + dailymotion.VideoFields)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return body
}

func FuzzMapVideos(f *testing.F) {
	f.Add(pageOf(f, 2)) // small, or the fuzzer only minimises
	f.Add([]byte(`{"page":1,"limit":100,"explicit":false,"total":1,"has_more":true,"list":[{"id":"x","tags":["a",1],"views_total":null}]}`))
	f.Add([]byte(`{"list":[{"id":"x","created_time":1e3,"duration":"5","views_total":"7"}]}`))
	f.Add([]byte(`{"error":{"code":"404"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		page, err := dailymotion.MapVideos(body, 1)
		if err != nil {
			if len(page.Videos) != 0 || page.Next != "" {
				t.Errorf("an error came with a page: %+v, %v, want 0 and \"\"", page, err)
			}
			return
		}
		if len(page.Videos) > 100 || page.Next != "" && page.Next != "2" {
			t.Errorf("%d videos, next %q", len(page.Videos), page.Next)
		}
		for _, v := range page.Videos {
			d := describe(v)
			if v.ID == "" || strings.ContainsAny(v.ID, ", &\x00") {
				t.Errorf("id: got %q, want one that a list of ids can have", v.ID)
			}
			if strings.HasPrefix(d.Views+d.Likes, "-") || v.Duration < 0 || v.Live && v.Duration != 0 || v.PublishedAt.Year() > 9999 {
				t.Errorf("got %+v, want no negative number, no length of a live video, a year up to 9999", d)
			}
			if v.Thumbnail != "" && !strings.HasPrefix(v.Thumbnail, "https://") {
				t.Errorf("thumbnail: got %q, want https or none", v.Thumbnail)
			}
		}
		found, err := dailymotion.MapFound(body, 1)
		if err != nil || len(found.IDs) != len(page.Videos) || found.Next != page.Next {
			t.Errorf("as ids: %d, next %q, %v", len(found.IDs), found.Next, err)
		}
	})
}
