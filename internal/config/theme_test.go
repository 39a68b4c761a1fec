package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

func TestAThemeComesFromTheConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	upstreams := map[string]config.JobLimits{"youtube": {Pages: 4, UsualPages: 4}}
	for css, want := range map[string]string{
		":root{--link:red}": "", strings.Repeat(" ", 65<<10): "at most 64 kB", "\xff\xfe": "UTF-8",
	} {
		file := write("ingest.yaml", "data: "+dir+"\ntheme: "+write("theme.css", css)+"\n")
		c, err := config.Load(config.Flags{Config: file, Set: func(name string) bool { return name == "config" }}, upstreams)
		if want == "" && (err != nil || string(c.Theme) != css) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: %v, want %q", css, err, want)
		}
	}
	file := write("ingest.yaml", "theme: "+filepath.Join(dir, "none.css")+"\n")
	if _, err := config.Load(config.Flags{Config: file, Set: func(name string) bool { return name == "config" }}, upstreams); err == nil ||
		!strings.Contains(err.Error(), "name a CSS file") {
		t.Errorf("a theme that is not there: %v", err)
	}
}
