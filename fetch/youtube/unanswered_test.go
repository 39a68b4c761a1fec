package youtube_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// The wire's own behaviour is tested there. These tests are about its seams with the adapter and with Google's
// client, which stands between the two and has rules of its own for redirects and failures.

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%d: the other host was asked", status) }))
		defer other.Close()
		c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?key="+canary, status)
		})
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != fetch.Broken || !strings.HasSuffix(fe.Error(), "redirects to "+strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%d: %s, %v, want %v, a redirect to %s", status, fe.Verdict, fe, fetch.Broken, other.URL)
		}
	}
}

func TestAnUnsentCallIsReportedAsUnsent(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stranger := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request to this host: got one, want none") }))
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	stranger.StartTLS()
	defer stranger.Close()
	for name, base := range map[string]string{"refused": gone.URL, "certificate of a stranger": stranger.URL} {
		fe := fails(t.Context(), t, clientOf(t, base, 20*time.Second).Chart("US", "", ""))
		if fe.Verdict != fetch.Unsent || !strings.Contains(fe.Error(), "YouTube was not reached") {
			t.Errorf("%s: %s, %v, want %v and \"YouTube was not reached\" in it", name, fe.Verdict, fe, fetch.Unsent)
		}
	}
}

func TestACancelledCallSaysWhetherItLeft(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(errors.New("shutting down"))
		<-r.Context().Done()
	})
	if fe := fails(ctx, t, c.Chart("US", "", "")); fe.Verdict != fetch.Broken || !errors.Is(fe, context.Canceled) {
		t.Errorf("in flight: %s, %v, want %v and error %v", fe.Verdict, fe, fetch.Broken, context.Canceled)
	}
	if fe := fails(ctx, t, c.Chart("US", "", "")); fe.Verdict != fetch.Unsent || !errors.Is(fe, context.Canceled) {
		t.Errorf("before: %s, %v, want %v and error %v", fe.Verdict, fe, fetch.Unsent, context.Canceled)
	}
}

// Whether the call was sent before its time was over depends on how busy the machine is, so the verdict is not
// checked: the wire's own test has a clock that no machine slows down.
func TestACallEndsWithItsTimeout(t *testing.T) {
	_, srv := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	begin := time.Now()
	if fe := fails(t.Context(), t, clientOf(t, srv.URL, 50*time.Millisecond).Chart("US", "", "")); !errors.Is(fe, context.DeadlineExceeded) {
		t.Errorf("%s, %v, want error %v", fe.Verdict, fe, context.DeadlineExceeded)
	}
	if took := time.Since(begin); took > 10*time.Second { // the wire's shortest limit is as long
		t.Errorf("took %s", took)
	}
}

func TestOneCallArrivesOnceOnAKeptConnectionToo(t *testing.T) {
	var arrived atomic.Int32
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) > 1 {
			hijacked("")(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"items":[]}`)
	})
	if _, err := c.Chart("US", "", "").Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.Broken || arrived.Load() != 2 {
		t.Errorf("two calls arrived as %d requests: %s, %v, want %v and 2", arrived.Load(), fe.Verdict, fe, fetch.Broken)
	}
}

func TestTheKeyIsTakenOutOfAnAnswerThatRepeatsIt(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Goog-Api-Key")
		_, _ = io.WriteString(w, `{"items":[{"id":"v","snippet":{"title":"your key is `+key+`","tags":["`+strings.ReplaceAll(key, "_", `\u005F`)+`"]}}]}`)
	})
	page, err := c.Chart("US", "", "").Do(t.Context())
	if err != nil || len(page.Videos) != 1 || page.Videos[0].Title != "your key is ***" || page.Videos[0].Tags[0] != "***" {
		t.Errorf("%+v, %v, want 1, \"your key is ***\" and \"***\"", page, err)
	}
}
