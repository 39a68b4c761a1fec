package youtubesim_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func officialClient(t *testing.T, o youtubesim.Options) (*youtube.Service, *stand) {
	t.Helper()
	s := newStand(t, o)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	yt, err := youtube.NewService(t.Context(), option.WithEndpoint(web.URL+"/"), option.WithAPIKey("not-a-key"))
	if err != nil {
		t.Fatal(err)
	}
	return yt, s
}

func TestTheOfficialClientUnderstandsEveryMethod(t *testing.T) {
	yt, s := officialClient(t, youtubesim.Options{RequireKey: "not-a-key"})
	chart, err := yt.Videos.List([]string{"snippet", "statistics", "contentDetails"}).Chart("mostPopular").RegionCode("IN").MaxResults(50).
		Fields("nextPageToken", "items(id,snippet(title,channelId,tags),statistics,contentDetails/duration)").Do()
	if err != nil || len(chart.Items) < 47 || chart.NextPageToken != "CDIQAA" || chart.Items[0].Snippet.Title == "" || chart.Items[0].Statistics.ViewCount == 0 {
		t.Fatalf("chart %+v, %v", chart, err)
	}
	next, err := yt.Videos.List([]string{"id"}).Chart("mostPopular").RegionCode("IN").MaxResults(50).PageToken(chart.NextPageToken).Do()
	if err != nil || next.PrevPageToken != "CDIQAQ" {
		t.Errorf("second page %+v, %v, want \"CDIQAQ\"", next, err)
	}
	one, two := chart.Items[0].Id, chart.Items[1].Id
	byID, err := yt.Videos.List([]string{"snippet", "status"}).Id(one, two).Do()
	if err != nil || len(byID.Items) != 2 || byID.Items[1].Id != two {
		t.Errorf("by id %+v, %v, want 2 and %v", byID, err, two)
	}
	stats, err := yt.Videos.BatchGetStats().Part("statistics", "snippet").Id(one, two).Do()
	if err != nil || len(stats.Items) != 2 || stats.Items[0].Statistics.ViewCount == 0 || stats.Items[0].Snippet.PublishTime == "" {
		t.Errorf("stats %+v, %v", stats, err)
	}
	found, err := yt.Search.List([]string{"snippet"}).Q("a").Type("video").Order("date").MaxResults(10).Do()
	if err != nil || len(found.Items) != 10 || found.Items[0].Id.VideoId == "" {
		t.Errorf("search %+v, %v", found, err)
	}
	channels, err := yt.Channels.List([]string{"contentDetails", "snippet", "statistics"}).Id(chart.Items[0].Snippet.ChannelId).Do()
	if err != nil || len(channels.Items) != 1 {
		t.Fatalf("channels %+v, %v, want one item", channels, err)
	}
	uploads, err := yt.PlaylistItems.List([]string{"contentDetails"}).PlaylistId(channels.Items[0].ContentDetails.RelatedPlaylists.Uploads).Do()
	if err != nil || len(uploads.Items) == 0 || uploads.Items[0].ContentDetails.VideoId == "" {
		t.Errorf("uploads %+v, %v", uploads, err)
	}
	categories, err := yt.VideoCategories.List([]string{"snippet"}).RegionCode("US").Do()
	if err != nil || len(categories.Items) != 32 {
		t.Errorf("categories %+v, %v, want 32 items", categories, err)
	}
	all, err := yt.I18nRegions.List([]string{"snippet"}).Do()
	if err != nil || len(all.Items) < 100 {
		t.Errorf("regions %+v, %v, want at least 100", all, err)
	}
	if l := s.Ledger(); l.Units["units"] != 7 || l.Units["search"] != 1 || len(l.Calls) != 7 {
		t.Errorf("ledger %+v, want 7, 1 and 7", l)
	}
}

func TestTheOfficialClientUnderstandsRefusals(t *testing.T) {
	yt, _ := officialClient(t, youtubesim.Options{Limits: map[string]int64{"units": 1}})
	list := func(token string) *googleapi.Error {
		t.Helper()
		_, err := yt.Videos.List([]string{"id"}).Chart("mostPopular").PageToken(token).Do()
		var api *googleapi.Error
		if !errors.As(err, &api) {
			t.Fatalf("error %v", err)
		}
		return api
	}
	if e := list("nonsense"); e.Code != 400 || e.Errors[0].Reason != "invalidPageToken" {
		t.Errorf("bad token: %v, want 400 and \"invalidPageToken\"", e)
	}
	if e := list(""); e.Code != 403 || e.Errors[0].Reason != "quotaExceeded" {
		t.Errorf("spent: %v, want 403 and \"quotaExceeded\"", e)
	}
}
