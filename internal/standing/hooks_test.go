package standing_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/standing"
)

// The hook that has failed for longest is a condition, which the status page and the metrics print.
func TestAFailingHookIsACondition(t *testing.T) {
	now := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	f := standing.Facts{Now: now, StaleAfter: 2, Contact: &ingest.Contact{AskedAt: now, AnsweredAt: now}}
	f.Latest.Done = map[ingest.Series]ingest.Slot{us: {SlotKey: ingest.SlotKey{Job: us.Job, Key: us.Key, DueAt: now.Add(-time.Minute)}, State: ingest.Done}}
	f.Latest.Ended = f.Latest.Done
	f.Latest.Hooks = map[string]ingest.HookState{
		"works": {}, "new": {Failing: now.Add(-time.Minute), Tries: 1, Why: "exit status 1", Waiting: 1},
		"purge": {Failing: now.Add(-time.Hour), Tries: 9, RetryAt: now.Add(time.Minute), Why: "it answered 500 <b>", Waiting: 7, Dropped: 3},
	}
	c := standing.At(f).Hooks
	want := "hook purge: it answered 500 <b>; 9 tries, 7 events wait, 3 were dropped after 72h0m0s"
	if c.State != standing.Warn || c.Cause != standing.HookFails || c.Err.Error() != want || !c.Since.Equal(now.Add(-time.Hour)) ||
		!c.RetryAt.Equal(now.Add(time.Minute)) {
		t.Errorf("the condition is %+v, want %s", c, want)
	}
	site := siteOf(f)
	for path, part := range map[string]string{
		"/status": "hook purge: it answered 500 &lt;b&gt;; 9 tries, 7 events wait", "/metrics": `ingest_hook_failed_tries{hook="purge"} 9`,
	} {
		w := httptest.NewRecorder()
		site.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s has not %s: %.300s", path, part, w.Body)
		}
	}
	f.Latest.Hooks = map[string]ingest.HookState{"works": {}}
	if c := standing.At(f).Hooks; c.State != standing.Good {
		t.Errorf("a hook that works: %+v, want %v", c, standing.Good)
	}
}
