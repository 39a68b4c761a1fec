package pages_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	g "maragu.dev/gomponents"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the time of every page of these tests.
var now = time.Date(2026, 2, 24, 18, 49, 23, 0, time.UTC)

// newSite returns a site without anything to show.
func newSite() *pages.Site {
	return &pages.Site{
		Now: func() time.Time { return now }, Version: "1.2.3", Pictures: true, PictureHosts: []string{"https://i.ytimg.com"},
		Provider: pages.Provider{Name: "YouTube", Home: "https://www.youtube.com/", Terms: "https://www.youtube.com/t/terms"},
		Overall:  func(context.Context) pages.State { return pages.State{Mood: report.Good, Word: "all is well"} },
	}
}

// get asks the site for a page.
func get(t *testing.T, s *pages.Site, url string, headers ...string) *http.Response {
	t.Helper()
	mux := http.NewServeMux()
	s.Register(mux, func(h http.Handler) http.Handler { return h })
	r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil), httptest.NewRecorder()
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	mux.ServeHTTP(w, r)
	return w.Result()
}

func TestEveryPageHasTheFrameAndAnUnknownAddressSaysWhereToGo(t *testing.T) {
	s := newSite()
	s.Overall = func(context.Context) pages.State { return pages.State{Mood: report.Warn, Word: "2 of 8 late"} }
	answer := get(t, s, "/nowhere")
	body := bodyOf(t, answer)
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown address answers %d, want %v", answer.StatusCode, http.StatusNotFound)
	}
	for _, want := range []string{
		`<a class="sr" href="#main">Skip to content</a>`, `action="/search"`, `href="/status" class="status warn"`, "2 of 8 late",
		"There is no such page", `<a href="/v1/">API</a>`, `https://www.youtube.com/t/terms`, "Tue 24 Feb, 18:49:23</time>, times are", `<html lang="en">`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	policy := answer.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "img-src 'self' https://i.ytimg.com;") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy: %s, want \"img-src 'self' https://i.ytimg.com;\" in it and \"default-src 'none'\" in it", policy)
	}
	if found := regexp.MustCompile(`(?i)<style|style=|<script>|\son[a-z]+=`).FindString(body); found != "" {
		t.Errorf("the policy does not allow %q", found)
	}
}

func TestWithoutPicturesThePolicyNamesNoOtherHost(t *testing.T) {
	s := newSite()
	s.Pictures = false
	if policy := get(t, s, "/nowhere").Header.Get("Content-Security-Policy"); strings.Contains(policy, "https:") {
		t.Errorf("policy: %s", policy)
	}
}

func TestBrowsersKeepTheStylesheetUntilItChanges(t *testing.T) {
	s := newSite()
	s.Theme = []byte(":root{--link:red}")
	paths := regexp.MustCompile(`(?:href|src)="(/[a-z]+\.(?:css|js|svg)\?v=[^"]+)"`).FindAllStringSubmatch(bodyOf(t, get(t, s, "/")), -1)
	if len(paths) != 4 {
		t.Fatalf("the page loads %v, want 4 of them", paths)
	}
	for _, p := range paths {
		answer := get(t, s, p[1])
		etag := answer.Header.Get("ETag")
		if answer.StatusCode != http.StatusOK || !strings.Contains(answer.Header.Get("Cache-Control"), "immutable") || etag == "" {
			t.Errorf("%s: %d, %v, want 200, immutable, with an ETag", p[1], answer.StatusCode, answer.Header)
		}
		plain, _, _ := strings.Cut(p[1], "?")
		if again := get(t, s, plain, "If-None-Match", etag); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s, which the browser has: %d, want %v", plain, again.StatusCode, http.StatusNotModified)
		}
	}
}

// A browser loads both with its first page.
func TestStylesheetAndScriptAreSmall(t *testing.T) {
	s := newSite()
	style, script := len(bodyOf(t, get(t, s, "/style.css"))), len(bodyOf(t, get(t, s, "/script.js")))
	if style+script > 20_000 {
		t.Errorf("style.css has %d bytes and script.js %d, want at most 20,000 together", style, script)
	}
}

func TestNoNameOfALineCoversAnother(t *testing.T) {
	c := pages.LineChart{Label: "x", Height: 300, Lines: []pages.Line{{Name: "US", EndY: 290}, {Name: "GB", EndY: 291}, {Name: "DE", EndY: 299}, {Name: "FR", EndY: -1}}}
	text := render(t, c.Node())
	for _, want := range []string{`x="13" y="274">US<`, `x="13" y="289">GB<`, `x="13" y="304">DE<`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s: %s", want, text)
		}
	}
	if strings.Contains(text, ">FR<") {
		t.Errorf("a line that ended long ago has its name at the end:\n%s", text)
	}
}

func TestAMoodIsAFormAndAColour(t *testing.T) {
	text := render(t, pages.Strip("four", []report.Mood{report.Good, report.Warn, report.Bad, report.Idle}))
	for _, want := range []string{`class="good" d="M176 0h3v14`, `class="warn" d="M180 7h3v7`, `class="bad" d="M184 0h3v5h-3M184 9h3v5`, `class="idle" d="M188 1h2v12`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s: %s", want, text)
		}
	}
}

func render(t *testing.T, n g.Node) string {
	t.Helper()
	var b strings.Builder
	if err := n.Render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func bodyOf(t *testing.T, answer *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
