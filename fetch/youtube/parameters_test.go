package youtube_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/fetch/youtube"
)

// resource is a part of Google's description of an API.
type resource struct {
	Resources  map[string]resource
	Parameters map[string]any
	Methods    map[string]struct {
		HTTPMethod, Path string
		Parameters       map[string]any
	}
}

// gets returns the parameters of each GET, by path.
func (r resource) gets(into map[string]map[string]any) map[string]map[string]any {
	for _, m := range r.Methods {
		if m.HTTPMethod == "GET" {
			into["/"+m.Path] = m.Parameters
		}
	}
	for _, inner := range r.Resources {
		inner.gets(into)
	}
	return into
}

// The list of parameters equals the provider's description in the module that we build with.
func TestParametersMatchTheProvidersDescription(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "youtube", "v3", "youtube-api.json"))
	if err != nil {
		t.Fatal(err)
	}
	var api resource
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	c, routes, all := new(youtube.Client), api.gets(map[string]map[string]any{}), map[string]any{}
	if len(routes) < 25 {
		t.Errorf("the description has %d routes, want at least 25", len(routes))
	}
	for name := range api.Parameters {
		if got, want := c.Takes("/youtube/v3/videos", name), slices.Contains([]string{"alt", "fields", "prettyPrint"}, name); got != want {
			t.Errorf("%s is taken: %v, want %v", name, got, want)
		}
	}
	for _, parameters := range routes {
		maps.Copy(all, parameters)
	}
	for path, parameters := range routes {
		for name := range all {
			if _, want := parameters[name]; c.Takes(path, name) != want {
				t.Errorf("%s takes %s: %v, want %v", path, name, !want, want)
			}
		}
	}
	for _, name := range []string{"", " ", "part id", " part", "part ", "Part", "$part", "$httpHeaders", "$httpMethod", "$.xgafv", "access_token "} {
		if c.Takes("/youtube/v3/videos", name) || c.Takes("/youtube/v3/new", name) {
			t.Errorf("%q is taken", name)
		}
	}
	if !c.Takes("/youtube/v3/new", "part") || c.Takes("/youtube/v3/videos", "q") || !c.Takes("/youtube/v3/search", "q") {
		t.Error("parameters taken by a route: got others, want part on an unknown route, no q on videos, q on search")
	}
}
