package web_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
)

// TestASearchIsMadeAgainOnlyWhenTheStoreHasChanged: and then within ten seconds. Searches limited by time, and answers
// from the ledger, are made again every ten seconds.
func TestASearchIsMadeAgainOnlyWhenTheStoreHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, lib := newAPI(t)
		version, unknown := "1", error(nil)
		library, _ := lib.library()
		library.Version = func(context.Context) (string, error) { return version, unknown }
		site.API.Library = func() (*report.Library, error) { return library, nil }
		handler := site.Handler()
		asked := func(what, query string, made int64) {
			t.Helper()
			before := lib.calls.Load()
			if resp := ask(handler, "GET", "/v1/search?q=cup"+query); resp.StatusCode != 200 {
				t.Errorf("%s: %d", what, resp.StatusCode)
			}
			if n := lib.calls.Load() - before; n != made {
				t.Errorf("%s: made %d times, want %d", what, n, made)
			}
		}
		asked("at first", "", 1)
		asked("by the week", "&seen_since=7d", 1)
		for range 20 {
			time.Sleep(11 * time.Second)
			asked("the store is as it was", "", 0)
			asked("the store is, and the time is not", "&seen_since=7d", 1)
		}
		version = "2"
		time.Sleep(11 * time.Second)
		asked("a page was saved", "", 1)
		asked("and remembered", "", 0)
		version = "3"
		asked("saved a moment ago", "", 0) // as Cache-Control says
		time.Sleep(10 * time.Second)
		asked("ten seconds ago", "", 1)
		version, unknown = "", errors.New("the disk is gone")
		time.Sleep(11 * time.Second)
		asked("the version is not known", "", 1)
		time.Sleep(11 * time.Second)
		asked("and still is not", "", 1)
		version, unknown = "4", nil
		time.Sleep(11 * time.Second)
		asked("it is known again", "", 1)
		time.Sleep(9 * time.Second)
		for range 70 { // asked for all the time
			time.Sleep(9 * time.Second)
			ask(handler, "GET", "/v1/search?q=cup")
		}
		if n := lib.calls.Load(); n != 1+21+1+1+2+1+1 {
			t.Errorf("made %d times in all: want once more after ten minutes", n)
		}
	})
}
