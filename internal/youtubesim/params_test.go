package youtubesim_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestInvalidRequestsAreRefusedAndCostOne(t *testing.T) {
	many := "videos?part=id&id=" + strings.Repeat("a,", 25) + strings.Repeat("b", 3)
	for i := range 51 {
		many += "," + string(rune('A'+i%26)) + strings.Repeat("x", i)
	}
	for _, c := range []struct{ path, reason string }{
		{oneVideo + "&regioncode=US", "invalid"},
		{oneVideo + "&foo=1", "invalid"},
		{oneVideo + "&maxResults=51", "invalidParameter"},
		{oneVideo + "&maxResults=0", "invalidParameter"},
		{oneVideo + "&maxResults=ten", "invalidParameter"},
		{oneVideo + "&regionCode=GB", "invalid"},
		{"videos?part=id&chart=mostPopular&regionCode=XX", "invalidRegionCode"},
		{"videos?part=id&chart=mostPopular&regionCode=us", "invalidRegionCode"},
		{"videos?part=id&chart=trending", "invalidParameter"},
		{"videos?chart=mostPopular", "required"},
		{"videos?part=snippets&chart=mostPopular", "unknownPart"},
		{"videos?part=id", "missingRequiredParameter"},
		{"videos?part=id&chart=mostPopular&id=x", "incompatibleParameters"},
		{many, "invalidParameter"},
		{oneVideo + "&alt=xml", "invalidParameter"},
		{oneVideo + "&prettyPrint=maybe", "invalidParameter"},
		{oneVideo + "&fields=items(id", "invalidParameter"},
		{oneVideo + "&fields=items/titel", "invalidParameter"},
		{oneVideo + "&fields=items(snippet(title/x))", "invalidParameter"},
		{oneVideo + "&fields=,", "invalidParameter"},
		{oneVideo + "&%zz", "invalid"},
		{"videos?part=id&myRating=like", "invalidParameter"},
		{"search?part=id&maxResults=-1", "invalidParameter"},
		{"search?part=statistics&q=a", "unknownPart"},
		{"search?part=id&publishedAfter=yesterday", "invalidParameter"},
		{"search?part=id&order=newest", "invalidParameter"},
		{"search?part=id&type=clip", "invalidParameter"},
		{"search?part=id&videoCategoryId=10", "incompatibleParameters"},
		{"search?part=id&videoDuration=long", "invalidParameter"},
		{"search?part=id&regionCode=ZZ", "invalidRegionCode"},
		{"channels?part=id", "missingRequiredParameter"},
		{"channels?part=id&id=a&forHandle=b", "incompatibleParameters"},
		{"playlistItems?part=id", "missingRequiredParameter"},
		{"videoCategories?part=id", "missingRequiredParameter"},
		{"videoCategories?part=id&regionCode=ZZ", "invalidRegionCode"},
		{"videos:batchGetStats?part=id", "missingRequiredParameter"},
	} {
		t.Run(c.path, func(t *testing.T) {
			s := newStand(t, youtubesim.Options{CostTable: "split-2026-06"})
			status, body := s.ask(c.path)
			if status != 400 || reason(body) != c.reason {
				t.Errorf("status %d, want 400 %s: %v", status, c.reason, body)
			}
			l := s.Ledger()
			if sum := l.Units["units"] + l.Units["search"] + l.Units["batch_stats"]; sum != 1 {
				t.Errorf("charged %v, want 1 in all", l.Units)
			}
		})
	}
}

func TestSystemParametersAreAccepted(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	s.list(oneVideo + "&alt=json&prettyPrint=false&key=any&quotaUser=me&$.xgafv=2&uploadType=x&upload_protocol=y&access_token=z&oauth_token=o")
}

func TestListsMayBeCommaSeparatedOrRepeated(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	id := ids(s.chart("DE"))[:3]
	want := withoutEtags(s.list("videos?part=snippet,statistics&id=" + strings.Join(id, ",")))
	for _, q := range []string{
		"part=snippet&part=statistics&id=" + strings.Join(id, "&id="),
		"part=statistics,snippet&id=" + id[0] + "&id=" + id[1] + "," + id[2],
		"part=snippet,statistics,snippet&id=" + strings.Join(append(id, id[0]), "%2C"),
	} {
		if got := withoutEtags(s.list("videos?" + q)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", q, got, want)
		}
	}
	if got := items(want.(map[string]any)); len(got) != 3 || !slices.Equal(ids(got), id) {
		t.Errorf("got ids %v, want %v", ids(got), id)
	}
}

func TestPartsThatWereNotAskedForAreAbsent(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	for _, i := range items(s.list("videos?part=statistics&chart=mostPopular")) {
		if i["snippet"] != nil || i["contentDetails"] != nil || i["statistics"] == nil || i["id"] == nil {
			t.Fatalf("item %v", i)
		}
	}
}

func TestAFieldMaskLeavesOnlyItsNamedFields(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	path := "videos?part=snippet,contentDetails&maxResults=2&chart=mostPopular&regionCode=DE"
	full := withoutEtags(s.list(path)).(map[string]any)
	title := func(i int) any { return items(full)[i]["snippet"].(map[string]any)["title"] }
	want := map[string]any{"items": []any{
		map[string]any{"id": items(full)[0]["id"], "snippet": map[string]any{"title": title(0)}},
		map[string]any{"id": items(full)[1]["id"], "snippet": map[string]any{"title": title(1)}},
	}}
	for _, mask := range []string{"items(id,snippet/title)", "items(id,snippet(title))", "items/id,items/snippet/title"} {
		if got := s.list(path + "&fields=" + mask); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", mask, got, want)
		}
	}
	got := s.list(path + "&fields=nextPageToken,pageInfo/totalResults")
	if want := (map[string]any{"nextPageToken": "CAIQAA", "pageInfo": map[string]any{"totalResults": 200.0}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := withoutEtags(s.list(path + "&fields=*")); !reflect.DeepEqual(got, full) {
		t.Errorf("fields=*: %v, want the whole answer, %v", got, full)
	}
	if status, body := s.ask(path + "&fields=items/id&pageToken=x"); status != 400 || reason(body) != "invalidPageToken" {
		t.Errorf("an error under a mask: %d %v, want 400 and \"invalidPageToken\"", status, body)
	}
}

func TestARequiredKeyMayComeAsHeaderOrParameter(t *testing.T) {
	s := newStand(t, youtubesim.Options{RequireKey: "right"})
	for _, c := range []struct {
		header, query string
		want          int
	}{{"right", "", 200}, {"", "&key=right", 200}, {"", "", 400}, {"wrong", "", 400}, {"wrong", "&key=right", 400}} {
		r := httptest.NewRequest(http.MethodGet, "/youtube/v3/"+oneVideo+c.query, nil)
		if c.header != "" {
			r.Header.Set("X-Goog-Api-Key", c.header)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("header %q, query %q: status %d, want %d", c.header, c.query, w.Code, c.want)
		}
	}
}

func TestAnswersAreZippedAndIndentedAsAsked(t *testing.T) {
	s := newStand(t, youtubesim.Options{})
	ask := func(path, encoding string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/youtube/v3/"+path, nil)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	w := ask(oneVideo, "gzip, br")
	z, err := gzip.NewReader(w.Body)
	if err != nil || w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("header %v, %v, want \"gzip\"", w.Header(), err)
	}
	text, err := io.ReadAll(z)
	if err != nil || !json.Valid(text) || !strings.Contains(string(text), "\n  \"items\"") {
		t.Errorf("%v in %.100s, want indented JSON", err, text)
	}
	if got := ask(oneVideo+"&prettyPrint=false", "").Body.String(); strings.Count(got, "\n") != 1 {
		t.Errorf("prettyPrint=false: %.100s, want one line", got)
	}
	if got, want := w.Header().Get("Date"), "Sat, 21 Nov 2026 20:10:00 GMT"; got != want {
		t.Errorf("Date %q, want the stand-in's own, %q", got, want)
	}
}
