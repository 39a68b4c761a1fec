package web_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
)

// everything returns a site with pages, a status and an API.
func everything() *web.Site {
	site, _ := paged()
	docs := &testLibrary{}
	site.API, site.Pages.Documents = &web.API{Documents: docs.library}, docs.library
	site.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	return site
}

var leadsTo = regexp.MustCompile(`\s(?:href|src|action)="([^"]*)"`)

// Every link of every page leads below the path where its reader sees the site, and to something.
func TestLinksLeadBelowTheBasePath(t *testing.T) {
	site := everything()
	site.BasePath = "/ingest"
	handler := site.Handler()
	seen := map[string]bool{"/ingest/": true}
	for queue := []string{"/ingest/"}; len(queue) > 0 && len(seen) < 200; queue = queue[1:] {
		resp := ask(handler, "GET", queue[0])
		text := body(t, resp)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, want %v", queue[0], resp.StatusCode, http.StatusOK)
		}
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range leadsTo.FindAllStringSubmatch(text, -1) {
			link, _, _ := strings.Cut(strings.ReplaceAll(m[1], "&amp;", "&"), "#")
			switch {
			case link == "", link[0] == '?', strings.HasPrefix(link, "https://"), seen[link]:
			case !strings.HasPrefix(link, "/ingest/"):
				t.Errorf("%s links to %s", queue[0], link)
			default:
				seen[link] = true
				queue = append(queue, link)
			}
		}
	}
	for _, must := range []string{"/ingest/charts", "/ingest/status", "/ingest/v1/", "/ingest/v1/openapi.json", "/ingest/search"} {
		if !seen[must] {
			t.Errorf("no page links to %s: %v", must, seen)
		}
	}
}

func TestTheBasePathOfARequest(t *testing.T) {
	site := everything()
	for _, c := range []struct{ configured, asked, from, given, links string }{
		{"", "/charts", "192.0.2.1:4", "", "/"},
		{"", "/charts", "10.1.2.3:4", "/shows/", "/shows/"},
		{"", "/shows/charts", "10.1.2.3:4", "/shows", "/shows/"},
		{"", "/charts", "[::ffff:10.1.2.3]:4", "/shows", "/shows/"},
		{"", "/charts", "192.0.2.1:4", "/shows", "/"}, // not a proxy of ours
		{"/ingest", "/charts", "192.0.2.1:4", "", "/ingest/"},
		{"/ingest", "/ingest/charts", "192.0.2.1:4", "", "/ingest/"},
		{"/ingest", "/charts", "10.1.2.3:4", "/shows", "/shows/"},
		{"/ingest", "/charts", "10.1.2.3:4", `//evil.example`, "/ingest/"},
		{"/ingest", "/charts", "10.1.2.3:4", `/x"><script>`, "/ingest/"},
		{"/ingest", "/charts", "10.1.2.3:4", "/a, /b", "/ingest/"},
	} {
		site.BasePath = c.configured
		header := []string{"From", c.from}
		if c.given != "" {
			header = append(header, "X-Forwarded-Prefix", c.given)
		}
		text := body(t, ask(site.Handler(), "GET", c.asked, header...))
		if want := `action="` + c.links + `search"`; !strings.Contains(text, want) {
			t.Errorf("%+v: no %s in\n%.800s", c, want, text)
		}
	}
	site.BasePath = "/ingest"
	handler := site.Handler() // one cache for both kinds of reader
	for _, header := range [][]string{{"From", "192.0.2.1:4"}, {"From", "10.1.2.3:4", "X-Forwarded-Prefix", "/shows"}} {
		base := "/ingest/"
		if len(header) > 2 {
			base = "/shows/"
		}
		if text := body(t, ask(handler, "GET", "/v1/openapi.json", header...)); !strings.Contains(text, `"url": "`+base+`"`) {
			t.Errorf("the contract is not at %s:\n%.700s", base, text)
		}
		if text := body(t, ask(handler, "GET", "/charts", header...)); !strings.Contains(text, `href="`+base+`status"`) {
			t.Errorf("the page for %s links elsewhere", base)
		}
	}
}

func TestEachAddressHasOneForm(t *testing.T) {
	site := everything()
	for _, c := range []struct{ base, asked, location string }{
		{"", "/charts/", "/charts"},
		{"", "/charts/US/?at=2026-02-14T11:30:00Z", "/charts/US?at=2026-02-14T11:30:00Z"},
		{"", "/status/", "/status"},
		{"", "/livez/", "/livez"},
		{"", "/v1", "/v1/"},
		{"", "/v1/search/?q=a%26b", "/v1/search?q=a%26b"},
		{"", "//evil.example/charts", "/evil.example/charts"},
		{"/ingest", "/ingest", "/ingest/"},
		{"/ingest", "/ingest/charts/", "/ingest/charts"},
		{"/ingest", "/charts/", "/ingest/charts"}, // behind a proxy that removes the path
		{"/ingest", "/ingest/charts/a%2Fb/", "/ingest/charts/a%2Fb"},
	} {
		site.BasePath = c.base
		resp := ask(site.Handler(), "GET", "http://localhost"+c.asked)
		if resp.StatusCode != http.StatusPermanentRedirect || resp.Header.Get("Location") != c.location {
			t.Errorf("%s under %q: %d to %q, want %q", c.asked, c.base, resp.StatusCode, resp.Header.Get("Location"), c.location)
		}
	}
	site.BasePath = ""
	for _, path := range []string{"/", "/v1/", "/charts", "/v1/openapi.json"} {
		if resp := ask(site.Handler(), "GET", path); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, want %v", path, resp.StatusCode, http.StatusOK)
		}
	}
}

func TestANameThatIsNotServedIsNamed(t *testing.T) {
	site := everything()
	resp := ask(site.Handler(), "GET", "/charts", "Host", "charts.example.com", "Accept", "text/html,*/*;q=0.8")
	text := body(t, resp)
	if resp.StatusCode != http.StatusMisdirectedRequest || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Errorf("a browser gets %d %s, want %v and \"text/html\" at the beginning", resp.StatusCode, resp.Header.Get("Content-Type"), http.StatusMisdirectedRequest)
	}
	for _, want := range []string{"charts.example.com", "api: {hosts: [NAME]}"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	resp = ask(site.Handler(), "GET", "/v1/search?q=a", "Host", "charts.example.com\x1b<b>")
	if text := body(t, resp); resp.Header.Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(text, "charts.example.com") || strings.ContainsAny(text, "<\x1b") {
		t.Errorf("a program gets %s: %s", resp.Header.Get("Content-Type"), text)
	}
}

func TestSearchEnginesSeeNoFilters(t *testing.T) {
	site := everything()
	site.BasePath = "/ingest"
	if text := body(t, ask(site.Handler(), "GET", "/robots.txt")); !strings.HasPrefix(text, "User-agent: *\n") ||
		!strings.Contains(text, "\nDisallow: /ingest/*?\n") || !strings.Contains(text, "\nDisallow: /ingest/v1/\n") {
		t.Errorf("robots.txt: %s", text)
	}
	for path, listed := range map[string]bool{
		"/": true, "/charts": true, "/ingest/charts/US": true, "/charts/US?at=2026-02-14T11:30:00Z": false, "/search?q=a": false, "/search": false,
		"/status": false, "/v1/charts/US": false, "/metrics": false,
	} {
		if got := ask(site.Handler(), "GET", path).Header.Get("X-Robots-Tag") == ""; got != listed {
			t.Errorf("%s: may be listed: %v, want %v", path, got, listed)
		}
	}
}

// A client that closes its half of the connection after it has asked waits for its answer.
func TestAClientThatHalfClosesGetsItsPage(t *testing.T) {
	site := everything()
	closed := make(chan struct{})
	amend(site, func(ctx context.Context, f *standing.Facts) {
		<-closed
		select { // the server notices a closed half within moments
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
		f.StoreErr = context.Cause(ctx)
	})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, l, site.Handler(), slog.New(slog.DiscardHandler)) }()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = fmt.Fprint(c, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	close(closed)
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		t.Errorf("%v: %s, want \"HTTP/1.1 200 \" at the beginning", err, answer)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
