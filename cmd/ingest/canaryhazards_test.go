package main_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// hazard is an upstream, and its fault or the fault of the way to it.
type hazard struct {
	name  string
	base  string   // its URL
	env   []string // of a process, which net/http reads once
	heard *recorder
	spied *recorder // where the key must not come; nil for nowhere
	unmet bool      // the key cannot come to the upstream
}

// recorder keeps all bytes of the requests.
type recorder struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (r *recorder) note(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Write(text)
}

func (r *recorder) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all.Bytes())
}

// of records a handler's requests.
func (r *recorder) of(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var text bytes.Buffer
		_ = req.Write(&text)
		r.note(text.Bytes())
		h.ServeHTTP(w, req)
	})
}

// canaryHazards returns all faults of the stand-in, and what else can be between a program and its upstream.
func canaryHazards(t *testing.T, key string) []hazard {
	t.Helper()
	var all []hazard
	for _, kind := range append(standInFaults(t), "none") {
		o := youtubesim.Options{Seed: 3, RequireKey: key}
		if kind != "none" {
			if kind == "slow" || kind == "wait" {
				kind += "=50ms"
			}
			o.Faults = faultsOf(t, kind)
		}
		sim, err := youtubesim.New(o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, serveHazard(t, kind, sim))
	}
	all = append(all, echoes(t)...)
	return append(all, astray(t)...)
}

// standInFaults returns the kinds of faults, as the stand-in lists them when asked for an unknown one.
func standInFaults(t *testing.T) []string {
	t.Helper()
	_, err := youtubesim.ParseFault("nope")
	_, list, ok := strings.Cut(fmt.Sprint(err), "use one of ")
	if kinds := strings.Fields(list); ok && len(kinds) >= 17 {
		return kinds
	}
	t.Fatalf("the stand-in does not name its faults: %v", err)
	return nil
}

// serveHazard serves an upstream that records its requests.
func serveHazard(t *testing.T, name string, h http.Handler) hazard {
	t.Helper()
	heard := &recorder{}
	server := httptest.NewServer(heard.of(h))
	t.Cleanup(server.Close)
	return hazard{name: name, base: server.URL + "/", heard: heard}
}

// echoes returns upstreams that repeat their requests, the key included, wherever an answer has room for it.
func echoes(t *testing.T) []hazard {
	t.Helper()
	headers := func(r *http.Request) string {
		var text strings.Builder
		_ = r.Header.Write(&text)
		return text.String()
	}
	var all []hazard
	for _, status := range []int{302, 400, 403, 404, 429, 500} {
		all = append(all, serveHazard(t, fmt.Sprintf("echo in a JSON error %d", status), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			key := r.Header.Get("X-Goog-Api-Key")
			w.Header().Set("Location", "http://"+key+".example.org/?key="+key)
			w.Header().Set("X-Echo", key)
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
				"code": status, "message": "<b>asked with</b> \x1b[31m" + headers(r), "status": key,
				"errors": []any{map[string]any{"reason": key, "domain": key, "message": headers(r)}},
				"details": []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": key,
					"metadata": map[string]any{"quota_unit": key, "quota_limit": key, "quota_metric": key}}},
			}})
		})))
	}
	all = append(all,
		serveHazard(t, "echo in an HTML page", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprintf(w, "<html><body><h1>%s</h1><pre>%s</pre>", r.Header.Get("X-Goog-Api-Key"), headers(r))
		})),
		serveHazard(t, "echo in a count", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, `{"items":[{"id":"v","statistics":{"viewCount":"%s"}}]}`, r.Header.Get("X-Goog-Api-Key"))
		})),
	)
	for name, answer := range map[string]string{
		"echo as a status line":       "%s\r\n\r\n",
		"echo as a status":            "HTTP/1.1 %s\r\n\r\n",
		"echo as a version":           "HTTP/%s 200 OK\r\n\r\n",
		"echo as a header":            "HTTP/1.1 200 OK\r\n%s\r\n\r\n",
		"echo as a length":            "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n",
		"echo as a transfer encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n",
		"echo as a chunk":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n",
		"echo behind an answer":       behindAnAnswer,
	} {
		all = append(all, spoken(t, name, answer))
	}
	return all
}

// behindAnAnswer is a complete answer followed by unrequested bytes, which net/http reports to the standard library's
// logger.
const behindAnAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}%[1]s \xff\"%.20[1]s"

// spoken is an upstream that answers with a text that contains the key.
func spoken(t *testing.T, name, answer string) hazard {
	t.Helper()
	h := hazard{name: name, heard: &recorder{}}
	l := listen(t, func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		h.heard.note([]byte(req.Header.Get("X-Goog-Api-Key")))
		_, _ = fmt.Fprintf(c, answer, req.Header.Get("X-Goog-Api-Key"))
	})
	h.base = "http://" + l + "/"
	return h
}

// listen answers every connection once, and returns its address.
func listen(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				answer(c)
			}()
		}
	}()
	return l.Addr().String()
}

// astray returns the ways on which the key must not leave.
func astray(t *testing.T) []hazard {
	t.Helper()
	other := &recorder{}
	elsewhere := httptest.NewServer(other.of(http.NotFoundHandler()))
	t.Cleanup(elsewhere.Close)
	redirect := serveHazard(t, "redirect to another host", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}))
	redirect.spied = other

	refused := hazard{name: "refused connection", base: "http://" + listen(t, func(net.Conn) {}) + "/", heard: &recorder{}, unmet: true}
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		refused.base = "http://" + l.Addr().String() + "/"
		_ = l.Close()
	}

	unknown := serveHazard(t, "certificate of nobody", http.NotFoundHandler())
	secure := httptest.NewUnstartedServer(unknown.heard.of(http.NotFoundHandler()))
	secure.Config.ErrorLog = quietLog()
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	unknown.base, unknown.unmet = secure.URL+"/", true

	plain := hazard{name: "https that is http", heard: &recorder{}, unmet: true}
	plain.base = strings.Replace(serveHazard(t, "", http.NotFoundHandler()).base, "http:", "https:", 1)

	// A host that does not exist, behind a proxy that records and repeats everything it is sent.
	proxied := hazard{name: "proxy", base: "https://stand-in.invalid/", heard: &recorder{}, spied: &recorder{}, unmet: true}
	proxy := "http://" + listen(t, func(c net.Conn) {
		buf := make([]byte, 64<<10)
		n, _ := c.Read(buf)
		proxied.spied.note(buf[:n])
		_, _ = io.WriteString(c, "HTTP/1.1 502 "+string(bytes.TrimSpace(buf[:n]))+"\r\n\r\n")
	})
	proxied.env = []string{"HTTPS_PROXY=" + proxy, "HTTP_PROXY=" + proxy, "ALL_PROXY=" + proxy}

	// A provider without keys must not receive the key of another one.
	keyless := serveHazard(t, "an upstream without keys", http.NotFoundHandler())
	keyless.env, keyless.spied, keyless.unmet = []string{"INGEST_UPSTREAM=dailymotion"}, keyless.heard, true
	return []hazard{redirect, refused, unknown, plain, proxied, keyless}
}

// quietLog is for servers whose callers hang up on purpose.
func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }
