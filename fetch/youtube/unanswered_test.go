package youtube_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// What the wire does is tested there. These tests are about its seams with the adapter.

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%d: the other host was asked", status) }))
		defer other.Close()
		c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?key="+canary, status)
		})
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != fetch.Broken || !strings.HasSuffix(fe.Error(), "redirects to "+strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%d: %s, %v", status, fe.Verdict, fe)
		}
	}
}

func TestWhatNeverLeftIsUnsent(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	fe := fails(t.Context(), t, clientOf(t, gone.URL, 20*time.Second).Chart("US", "", ""))
	if fe.Verdict != fetch.Unsent || !strings.Contains(fe.Error(), "YouTube was not reached") {
		t.Errorf("%s, %v", fe.Verdict, fe)
	}
}

// Whether the call was sent before its time was over depends on how busy the machine is, so the verdict is not
// checked: the wire's own test has a clock that no machine slows down.
func TestACallEndsWithItsTimeout(t *testing.T) {
	_, srv := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	begin := time.Now()
	if fe := fails(t.Context(), t, clientOf(t, srv.URL, 50*time.Millisecond).Chart("US", "", "")); !errors.Is(fe, context.DeadlineExceeded) {
		t.Errorf("%s, %v", fe.Verdict, fe)
	}
	if took := time.Since(begin); took > 10*time.Second { // the wire's shortest limit is as long
		t.Errorf("took %s", took)
	}
}

func TestTheKeyIsTakenOutOfAnAnswerThatRepeatsIt(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Goog-Api-Key")
		_, _ = io.WriteString(w, `{"items":[{"id":"v","snippet":{"title":"your key is `+key+`","tags":["`+strings.ReplaceAll(key, "_", `\u005F`)+`"]}}]}`)
	})
	page, err := c.Chart("US", "", "").Do(t.Context())
	if err != nil || len(page.Videos) != 1 || page.Videos[0].Title != "your key is ***" || page.Videos[0].Tags[0] != "***" {
		t.Errorf("%+v, %v", page, err)
	}
}
