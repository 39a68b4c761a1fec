package gateway_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/gateway"
)

func TestACachedAnswerIsFreeUntilItIsStale(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Etag", `"one"`)
		_, _ = io.WriteString(w, "{}")
	})
	w := newWorld(t, 100, page, func(c *gateway.Config) { c.Cache = map[string]time.Duration{"videos.list": time.Second} })
	first := w.ask(http.MethodGet, videos, "")
	second := w.ask(http.MethodGet, videos, "")
	unchanged := w.ask(http.MethodGet, videos, "", "If-None-Match", first.Header.Get("Etag"))
	if second.body != first.body || second.Header.Get("Ingest-Cost") != "0" || second.Header.Get("Ingest-Remaining") != "" {
		t.Errorf("second: got %q, %v, want %q at cost 0", second.body, second.Header, first.body)
	}
	if unchanged.StatusCode != http.StatusNotModified || w.calls() != 1 || w.saved.Load() != 2 {
		t.Errorf("got %d, %d calls, %d saved, want 304, 1 and 2", unchanged.StatusCode, w.calls(), w.saved.Load())
	}
	if w.ask(http.MethodGet, videos, "", "Cache-Control", "no-cache"); w.calls() != 2 {
		t.Errorf("no-cache: %d arrived, want 2", w.calls())
	}
	time.Sleep(1100 * time.Millisecond)
	if w.ask(http.MethodGet, videos, ""); w.calls() != 3 {
		t.Errorf("when stale: %d arrived, want 3", w.calls())
	}
}

// TestAnAnswerThatTheClientHasIsFree: the stand-in tags its answers, as YouTube does. Whether the client's question
// reaches it is the gateway's choice: YouTube charges for a 304 too.
func TestAnAnswerThatTheClientHasIsFree(t *testing.T) {
	w := newWorld(t, 100, nil, func(c *gateway.Config) { c.Cache = map[string]time.Duration{"videos.list": time.Hour} })
	tag := w.ask(http.MethodGet, videos, "").Header.Get("Etag")
	for _, known := range []string{tag, "W/" + tag, `"another", ` + tag} {
		a := w.ask(http.MethodGet, videos, "", "If-None-Match", known)
		if tag == "" || a.StatusCode != http.StatusNotModified || a.body != "" || a.Header.Get("Ingest-Cost") != "0" {
			t.Errorf("If-None-Match %s of an answer with the tag %s: %d, cost %q, %d bytes", known, tag, a.StatusCode, a.Header.Get("Ingest-Cost"), len(a.body))
		}
	}
	if a := w.ask(http.MethodGet, videos, "", "If-None-Match", `"another"`); a.StatusCode != http.StatusOK || a.body == "" {
		t.Errorf("with another tag: %d, %d bytes", a.StatusCode, len(a.body))
	}
	w.agree(1)
}

// TestARefusalLeavesKeptAnswers: a client that asks the provider anew once nothing is left gets no answer, and takes
// none away.
func TestARefusalLeavesKeptAnswers(t *testing.T) {
	w := newWorld(t, 1, nil, func(c *gateway.Config) { c.Cache = map[string]time.Duration{"videos.list": time.Hour} })
	w.ask(http.MethodGet, videos, "")
	if a := w.ask(http.MethodGet, videos, "", "Cache-Control", "no-cache"); a.StatusCode != http.StatusForbidden {
		t.Errorf("asked anew on a spent day: %d, want %v", a.StatusCode, http.StatusForbidden)
	}
	if a := w.ask(http.MethodGet, videos, ""); a.StatusCode != http.StatusOK || a.Header.Get("Ingest-Cost") != "0" {
		t.Errorf("the kept answer: %d, cost %q: %s, want %v and \"0\"", a.StatusCode, a.Header.Get("Ingest-Cost"), a.body, http.StatusOK)
	}
	w.agree(1)
}

// TestAFailureLeavesKeptAnswers: the provider's own no, and an answer that it fails, say nothing new about the
// request.
func TestAFailureLeavesKeptAnswers(t *testing.T) {
	for _, status := range []int{403, 500} {
		var served atomic.Bool
		page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if served.Swap(true) {
				googleError(w, status, "quotaExceeded")
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		})
		w := newWorld(t, 100, page, func(c *gateway.Config) { c.Cache = map[string]time.Duration{"videos.list": time.Hour} })
		w.ask(http.MethodGet, videos, "")
		if a := w.ask(http.MethodGet, videos, "", "Cache-Control", "no-cache"); a.StatusCode != status {
			t.Errorf("asked anew: %d, want %d", a.StatusCode, status)
		}
		if a := w.ask(http.MethodGet, videos, ""); a.StatusCode != http.StatusOK || a.Header.Get("Ingest-Cost") != "0" {
			t.Errorf("the answer kept before a %d: %d: %s, want %v and \"0\"", status, a.StatusCode, a.body, http.StatusOK)
		}
	}
}

// TestAnAnswerThatNoUpstreamGivesIsAFailure: a portal's page, half an answer or an error that calls itself a success is
// not passed on as an answer, is not kept, and is charged.
func TestAnAnswerThatNoUpstreamGivesIsAFailure(t *testing.T) {
	for name, body := range map[string]string{
		"a portal's page": "<!DOCTYPE html><title>Welcome to Free WiFi</title>", "a part": `{"items":[{"id":"a"},{"id`, "nothing": "",
		"null": "null", "a list": "[{}]", "a text": `"OK"`, "two answers": "{}{}", "an error": `{"error":{"code":403,"message":"quota"}}`,
		"an error and items": `{"error":{"code":500},"items":[]}`,
	} {
		for _, status := range []int{200, 202, 203, 206} {
			page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			})
			w := newWorld(t, 100, page, func(c *gateway.Config) { c.Cache = map[string]time.Duration{"videos.list": time.Hour} })
			for range 2 {
				if a := w.ask(http.MethodGet, videos, ""); a.StatusCode != http.StatusBadGateway || a.Header.Get("Ingest-Cost") != "units=1" {
					t.Errorf("%s with %d: %d, cost %q: %s, want %v and \"units=1\"", name, status, a.StatusCode, a.Header.Get("Ingest-Cost"), a.body, http.StatusBadGateway)
				}
			}
			if w.calls() != 2 || w.spent("units") != 2 {
				t.Errorf("%s with %d: %d arrived, %d spent, want 2 and 2", name, status, w.calls(), w.spent("units"))
			}
		}
	}
}
