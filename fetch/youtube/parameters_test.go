package youtube_test

import (
	"encoding/json"
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
	Methods    map[string]struct{ Parameters map[string]any }
}

func (r resource) each(f func(parameter string)) {
	for _, m := range r.Methods {
		for name := range m.Parameters {
			f(name)
		}
	}
	for _, inner := range r.Resources {
		inner.each(f)
	}
}

// The list of parameters is that of the provider's description in the module that we build with.
func TestParametersAreThoseOfTheProvidersDescription(t *testing.T) {
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
	c, n := new(youtube.Client), 0
	api.each(func(name string) {
		if n++; !c.Takes(name) {
			t.Errorf("%s is missing", name)
		}
	})
	for name := range api.Parameters {
		if got, want := c.Takes(name), slices.Contains([]string{"alt", "fields", "prettyPrint"}, name); got != want {
			t.Errorf("%s is taken: %v", name, got)
		}
	}
	for _, name := range []string{"", " ", "part id", " part", "part ", "Part", "$part", "$httpHeaders", "$httpMethod", "$.xgafv", "access_token "} {
		if c.Takes(name) {
			t.Errorf("%q is taken", name)
		}
	}
	if n < 300 {
		t.Errorf("the description has %d parameters", n)
	}
}
