package hooks_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/store/storetest"
)

var (
	yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	shBlock   = regexp.MustCompile("(?s)```sh\n(.*?)```")
)

// Each template of docs/hooks.md receives real events, and a fake server of its service checks the message.
func TestTheTemplatesWork(t *testing.T) {
	text, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, templates, _ := strings.Cut(string(text), "## Templates")
	blocks := yamlBlock.FindAllStringSubmatch(templates, -1)
	if len(blocks) != 5 {
		t.Fatalf("%d templates, want 5", len(blocks))
	}
	fields := func(body []byte, names ...string) (map[string]any, error) {
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			return nil, fmt.Errorf("%s: %w", body, err)
		}
		for _, name := range names {
			if got[name] == nil {
				return nil, fmt.Errorf("%s lacks %s", body, name)
			}
		}
		return got, nil
	}
	// The services' checks; want is part of the only message.
	services := map[string]struct {
		takes func(r *http.Request, body []byte) error
		want  string
	}{
		"discord": {func(_ *http.Request, body []byte) error {
			got, err := fields(body, "content", "allowed_mentions")
			if err == nil && (got["content"] == "" || len(got["content"].(string)) > 2000) {
				return fmt.Errorf("a content of %v", got["content"])
			}
			return err
		}, "New in US: 1. @everyone <!channel>"},
		"slack": {func(_ *http.Request, body []byte) error {
			got, err := fields(body, "text")
			if err == nil && strings.Contains(got["text"].(string), "<") {
				return fmt.Errorf("unescaped: %v", got["text"])
			}
			return err
		}, "series.stale"},
		"ntfy": {func(r *http.Request, body []byte) error {
			if r.URL.Path != "/" {
				return fmt.Errorf("posted to %s, want \"/\"", r.URL.Path)
			}
			_, err := fields(body, "topic", "message")
			return err
		}, `"message":"<US>"`},
		"purge": {func(r *http.Request, _ []byte) error {
			if r.Method != "PURGE" {
				return fmt.Errorf("method %s, want \"PURGE\"", r.Method)
			}
			return nil
		}, "/charts/US"},
		"indexnow": {func(_ *http.Request, body []byte) error {
			_, err := fields(body, "host", "key", "urlList")
			return err
		}, "https://charts.example.com/videos/new"},
	}
	for _, block := range blocks {
		path := filepath.Join(t.TempDir(), "ingest.yaml")
		if err := os.WriteFile(path, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Flags{Config: path, Set: func(name string) bool { return name == "config" }}, map[string]config.JobLimits{"youtube": {UsualPages: 4}})
		if err != nil || len(c.Hooks) != 1 {
			t.Fatalf("%v: %s, want one hook", err, block[1])
		}
		hook := c.Hooks[0]
		t.Run(hook.Name, func(t *testing.T) {
			service, heard := services[hook.Name], []string{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				heard = append(heard, r.RequestURI+" "+string(body))
				if err := service.takes(r, body); err != nil {
					t.Errorf("the service refuses %s: %v", body, err)
					w.WriteHeader(http.StatusBadRequest)
				}
			}))
			defer server.Close()
			if hook.Run != "" {
				if _, err := exec.LookPath("curl"); err != nil {
					t.Skip("curl: not installed")
				}
				sh := strings.Replace(shBlock.FindStringSubmatch(templates)[1], "${CACHE:-http://127.0.0.1:6081}", server.URL, 1)
				hook.Run = script(t, sh)
			} else {
				hook.Secrets = func() (ingest.Secret, ingest.Secret, error) {
					return ingest.NewSecret(server.URL + "/"), ingest.Secret{}, nil
				}
			}
			w := newWorld(t, hook)
			storetest.Chart(t, w.store, "US", w.clock.Add(-time.Hour), storetest.Page(storetest.Titled("a", "A")))
			w.Send(t.Context()) // a first chart has nothing new
			if hook.Run != "" {
				heard = heard[:0]
			}
			storetest.Chart(t, w.store, "US", w.clock, storetest.Page(storetest.Titled("new", "@everyone <!channel>"), storetest.Titled("a", "A")))
			w.Note(t.Context(), w.clock, map[string][]ingest.Situation{"series": {{Key: "US", Begun: ingest.SeriesStale, Data: map[string]string{"job": "chart", "region": "<US>"}}}})
			w.Send(t.Context())
			all, _ := strings.CutSuffix(strings.Join(heard, "\n"), " ")
			if len(heard) != 1 || !strings.Contains(all, service.want) {
				t.Errorf("the service heard %q, want one message with %q; %s", heard, service.want, w.log.String())
			}
		})
	}
}
