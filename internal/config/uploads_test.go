package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/config"
)

// The channels of an uploads job, the queries of a search job and the ids of a videos job come from the config and from its file, each once; a wrong
// one is named with its line.
func TestAWatchingJobNamesItsSources(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "channels.txt"), []byte("# mine\n@b\r\n\n @a \n@c"), 0o600); err != nil {
		t.Fatal(err)
	}
	limits := map[string]config.JobLimits{"youtube": {SearchPages: 10, Channel: func(ref string) (string, error) {
		if !strings.HasPrefix(ref, "@") {
			return "", errors.New(ref + " is no channel")
		}
		return ref, nil
	}, Video: func(ref string) (id, why string) {
		if strings.HasPrefix(ref, "@") {
			return "", "it is no video"
		}
		return ref, ""
	}}}
	load := func(job string) (*config.Config, error) {
		file := filepath.Join(dir, "ingest.yaml")
		if err := os.WriteFile(file, []byte("jobs:\n  - {name: creators, every: 1h, "+job+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(config.Flags{Config: file, Set: func(name string) bool { return name == "config" }}, limits)
	}
	c, err := load(`kind: uploads, channels: ["@a", "@d"], file: channels.txt`)
	if err != nil || len(c.Jobs) != 1 || !slices.Equal(c.Jobs[0].Channels, []string{"@a", "@d", "@b", "@c"}) {
		t.Fatalf("%+v, %v, want one job with channels @a @d @b @c", c.Jobs, err)
	}
	if series := c.Jobs[0].Series(); len(series) != 5 || series[0].Key != "@a" || series[4].Key != "" {
		t.Errorf("its series are %v, want 5, \"@a\" and \"\"", series)
	}
	if c, err = load(`kind: search, queries: [" a  b ", c], regions: [US]`); err != nil || !slices.Equal(c.Jobs[0].Queries, []string{"a b", "c"}) {
		t.Fatalf("%+v, %v, want the queries \"a b\" and c", c.Jobs, err)
	}
	if q := c.Jobs[0].Search(c.Jobs[0].Series()[0].Key); q.Text != "a b" || q.Region != "US" {
		t.Errorf("the first slot asks %+v, want \"a b\" and \"US\"", q)
	}
	if c, err = load("kind: videos, ids: [x, y, x], from: charts"); err != nil ||
		!slices.Equal(c.Jobs[0].Videos, []string{"x", "y"}) || c.Jobs[0].Charted != 7*24*time.Hour {
		t.Errorf("%+v, %v, want the videos x and y, charted in 7 days", c.Jobs, err)
	}
	for job, want := range map[string]string{
		`kind: uploads`:                                 "needs the channels that it watches",
		`kind: uploads, channels: [x]`:                  "ingest.yaml:2:",
		`kind: uploads, file: none.txt`:                 "none.txt",
		`kind: uploads, channels: [x], pages: 2`:        "takes name, kind, channels, file",
		`kind: search, queries: [a], query: b`:          "use one of them",
		`kind: search, queries: [a], regions: [US, GB]`: "one region at most",
		`kind: search`:                                  "needs the words",
		`kind: videos`:                                  "needs ids:, a file: or from: charts",
		`kind: videos, ids: [x], charted: 1d`:           "is for from: charts",
		`kind: videos, ids: ["@x"]`:                     "it is no video",
		`kind: refresh, channels: ["@a"]`:               "channels: a job of kind refresh has none",
	} {
		if _, err := load(job); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", job, err, want)
		}
	}
}
