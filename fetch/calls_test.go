package fetch_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

func TestWhichCallsAJobAndABackfillMake(t *testing.T) {
	rich, poor := &archive{}, &upstream{}
	limits := rich.Limits()
	limits.PerPage = 100 // two look-ups a page
	type counts = []fetch.MethodCount
	for _, tt := range []struct {
		job     ingest.Kind
		methods []string
		page    counts
	}{
		{ingest.KindChart, []string{"videos.list"}, counts{{"videos.list", 1}}},
		{ingest.KindRefresh, []string{"videos.list"}, nil},
	} {
		calls, err := fetch.JobCalls(poor, ingest.Job{Kind: tt.job})
		if page := calls.PerPage(limits); err != nil || !reflect.DeepEqual(calls.Methods(), tt.methods) || !reflect.DeepEqual(page, tt.page) {
			t.Errorf("%s: %v, a page %v, %v, want %v and %v", tt.job, calls.Methods(), page, err, tt.methods, tt.page)
		}
	}
	for _, tt := range []struct {
		kind    ingest.BackfillKind
		methods []string
		page    counts
		poor    error
	}{
		{ingest.BackfillSearch, []string{"search.list", "videos.list"}, counts{{"search.list", 1}, {"videos.list", 2}}, fetch.ErrNoSearch},
		{ingest.BackfillUploads, []string{"channels.list", "playlistItems.list", "videos.list"}, counts{{"playlistItems.list", 1}, {"videos.list", 2}}, fetch.ErrNoUploads},
		{ingest.BackfillVideos, []string{"videos.list"}, nil, nil},
	} {
		calls, err := fetch.BackfillCalls(rich, tt.kind)
		if page := calls.PerPage(limits); err != nil || !reflect.DeepEqual(calls.Methods(), tt.methods) || !reflect.DeepEqual(page, tt.page) {
			t.Errorf("%s: %v, a page %v, %v, want %v and %v", tt.kind, calls.Methods(), page, err, tt.methods, tt.page)
		}
		if _, err := fetch.BackfillCalls(poor, tt.kind); !errors.Is(err, tt.poor) {
			t.Errorf("%s of an upstream that only has charts: %v, want %v", tt.kind, err, tt.poor)
		}
	}
}
