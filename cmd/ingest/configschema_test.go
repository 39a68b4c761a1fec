package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// goodConfigs are configs that the program takes.
var goodConfigs = []string{
	"api: {headers: []}", "account: ''", "data: ''", "store: 'postgres://'", "api: {routes: [{name: a, match: GET example.com/x}]}", "clients: {a: {token_sha256: " + aSum + ", limits: {units: {day: 5, 24h: 7}}}}",
	"{}", "listen: \"\"", "jobs: [{name: a, kind: chart, every: 30m, regions: []}]", "api: {plans: {free: {}}}", "account: default", "account: my-project.2", "upstream: youtube", "upstream: dailymotion\njobs: [{name: a, kind: chart, every: 1h}]",
	"upstream_url: http://127.0.0.1:8099/", "upstream_url: https://proxy.example/", "upstream_url: http://localhost:8099", "upstream_url: http://[::1]:8099/",
	"data: /var/lib/ingest", "data: here", "ledger: sqlite", "ledger: redis://127.0.0.1:6379/0",
	"ledger: postgres://u@db.example/ingest", "ledger: postgresql://u@db.example/ingest", "ledger: redis://127.0.0.1:6379/0\nhosts: 3", "store: sqlite", "store: postgres://u@db.example/ingest",
	"cost_table: classic", "cost_table: split-2026-06", "concurrency: 1", "concurrency: 32", "listen: 127.0.0.1:8080", `listen: "[::1]:8080"`,
	"listen: 127.0.0.1:8080\nadmin_listen: 127.0.0.1:9090", "derived_metrics: off", "access_log: on", "api: {headers: off}", "base_path: /ingest", "base_path: /a/b", `base_path: ""`, "own_front_end: true", "thumbnails: off", "descriptions: on", "descriptions: off", `thumbnails: "on"`,
	"pages: {title: Charts}", "pages: {}", "backups: [/var/backups]", "backups: []", "stale_after: 3", "pacing: auto", "pacing: off", "pacing: \"off\"",
	"jobs: [{name: a, kind: chart, every: 30m}]", `jobs: [{name: a, kind: chart, cron: "0 * * * *"}]`, `jobs: [{name: a, kind: chart, cron: "@hourly"}]`, "jobs: [{name: a, kind: chart, every: 30m, regions: [US, gb]}]",
	`jobs: [{name: a, kind: chart, every: 30m, category: "10"}]`, "jobs: [{name: a, kind: chart, every: 30m, category: 10}]", "jobs: [{name: a, kind: search, every: 24h, query: cup, pages: 2}]",
	"jobs: [{name: r, kind: refresh, every: 24h}]", "jobs: [{name: a, kind: chart, every: 1h30m, pages: 1}]",
	"api: {hosts: [example.com]}", "api: {origins: [\"https://www.example.com\"]}", "api: {limits: {1m: 60, 1h: 1000}}", "api: {outer: {1m: 60}}", "api: {address: {1m: 600, 1h: {limit: 6000, observe: true}}}",
	"api: {plans: {free: {1m: 5}}, tokens: [{client: a, plan: free, sha256: " + aSum + "}]}", "api: {tokens: [{client: a, sha256: " + aSum + "}]}", "api: {limits: {1m: 60}, proxies: [10.0.0.0/8], forwarding: X-Forwarded-For}",
	"api: {allow: [192.0.2.0/24], deny: [\"2001:db8::/32\"]}", "api: {deny: [192.0.2.7]}", "api: {observe: true, successes_only: true}", "api: {limits: {1m: 60, 1h: {limit: 1000, observe: true}}, log_clients: plain}", "hosts: 2.0", "api: {}",
	"gateway: {listen: 127.0.0.1:8090}", "gateway: {cache: {videos.list: 5m}}", "gateway: {}", "clients: {a: {token_sha256: " + aSum + "}}", "clients: {a: {token_sha256: " + aSum + ", limits: {units: {24h: 5}}}}", "clients: {}",
	"hooks: []", "hooks: [{on: [chart.saved, series.stale], run: /bin/true}]", "hooks: [{on: [chart.saved], post: 'https://hooks.example/x'}, {name: b, on: [backfill.ended], post: 'http://127.0.0.1:9/x', body: '{text: .type}'}]",
}

// moreBadConfigs are refused, besides badOptions.
var moreBadConfigs = []string{
	"api: {routes: [{name: a, match: GET /x, cost: 0}]}", "api: {routes: [{name: a, match: x}]}", "api: {limits: {1500ms: 5}}", "api: {address: {1500ms: 5}}", "jobs:", "jobs: # none\nstale_after: 3", "upstream_url: http://127.0.0.1/?x=1", "upstream_url: https://example.com/?x=1",
	"gateway: {cache: {videos.list: 0s}}", "clients: {a: {token_sha256: " + aSum + ", limits: {units: {1w: 5}}}}", "backups: ['']",
	"acount: default", "listen: localhost:http", "base_path: /", "access_log: all", "api: {origins: [\"*\"]}", "api: {headers: legacy}", "hosts: many", "concurrency: 0", "concurrency: four", "listen: 8080", "listen: localhost", "data: [a]",
	"jobs: {a: b}", "jobs: [{name: a, kind: chart}]", `jobs: [{name: a, kind: chart, every: 30m, cron: "0 * * * *"}]`, "jobs: [{kind: chart, every: 30m}]", "jobs: [{name: a, every: 30m}]",
	"jobs: [{name: a, kind: chart, every: 30m}, {name: a, kind: chart, every: 30m}]", "jobs: [{name: a, kind: chart, every: 30m, pages: 0}]",
	"jobs: [{name: a, kind: chart, every: -30m}]", "jobs: [{name: a, kind: chart, every: 0s}]", "jobs: [{name: a, kind: search, every: 24h}]", "jobs: [{name: a, kind: refresh, every: 24h, query: x}]",
	"jobs: [{name: a, kind: chart, every: 30m, query: x}]", "jobs: [{name: a, kind: refresh, every: 24h, pages: 2}]", "api: {limit: {1m: 5}}", "api: {limits: {1m: -5}}",
	"gateway: {port: 8090}", "gateway: {cache: {videos.list: soon}}", "clients: {a: {}}", "clients: {\"a b\": {token_sha256: " + aSum + "}}", "backups: /var/backups", "stale_after: -1", "key: abc", "worth: on", "hosts: 2.5", "concurrency: 1.5", "stale_after: 2.5", "jobs: [{name: a, kind: chart, every: 30m, pages: 1.5}]", "api: {limits: {1m: 60.5}}", "clients: {a: {token_sha256: " + aSum + ", limits: {units: {24h: 5.5}}}}",
	"api: {limits: {1m: {limit: 5, observ: true}}}", "api: {limits: {1m: {limit: 5.5}}}", "api: {plans: {a: {1m: {observe: true}}}}", "- account: a", "account", "pages: {titel: x}",
	"hooks: [{on: [], run: /bin/true}]", "hooks: [{on: [chart.saved]}]", "hooks: [{on: [chart.saved], run: /bin/true, post: 'https://example.com/x'}]", "hooks: [{on: [chart.saved], post: 'https://a:b@example.com/x'}]",
	"hooks: [{on: [chart.saved], run: /bin/true}, {on: [series.stale], run: /bin/true}]", "hooks: [{on: [chart.saved], run: /bin/true, secret_file: x}]",
}

// unsayable are parts of refused configs whose mistake only other files, other parts or the program's tables show.
var unsayable = []string{
	"costs: absent.yaml", "key_file: empty.key", "ping_file: empty.key", "post_file: empty.key", "post_file: /etc/ingest/", "run: /usr/local/bin/purge-chart", "secret_file: empty.key", "run: absent.sh", "body: '{'", "{on: [series.stale], run: /bin/true}]", "secret_file: x", "theme: absent.css", "/etc/ingest/db-ca.crt", "cost_table: modern", "video.list", "limits: {unit:", "match: 'GET /{'",
	"regions: [XX]", "category: music", "61 * * * *", "no_such_parameter", "plan: none", "every: 30m}, {name: a,", "gateway: {listen: 0.0.0.0:8090}",
}

func TestLongTheSchemaAndTheProgramTakeTheSameConfigs(t *testing.T) {
	text, err := os.ReadFile("../../packaging/schema/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("config", tree); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config")
	if err != nil {
		t.Fatal(err)
	}
	configs := slices.Concat(goodConfigs, moreBadConfigs, configsInDocs(t))
	for name, text := range badOptions {
		if !strings.HasPrefix(name, "INGEST_") {
			configs = append(configs, text)
		}
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("empty.key", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_CONFIG", "ingest.yaml")
	for _, config := range configs {
		if err := os.WriteFile("ingest.yaml", []byte(config+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for variable, value := range map[string]string{"HOME": t.TempDir(), "XDG_CONFIG_HOME": "", "STATE_DIRECTORY": "", "CREDENTIALS_DIRECTORY": "", "INGEST_DATA": filepath.Join(t.TempDir(), "data")} {
			t.Setenv(variable, value)
		}
		if strings.HasPrefix(config, "data:") {
			t.Setenv("INGEST_DATA", "")
		}
		code, said := ingestSays("config", "check")
		var refused error
		data, err := yaml.YAMLToJSON([]byte(config))
		if err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err == nil {
			refused = schema.Validate(value)
		}
		if slices.Contains(goodConfigs, config) && code != exitOK || slices.Contains(moreBadConfigs, config) && code == exitOK {
			t.Errorf("%s\nconfig check ends with %d: %s", config, code, said)
		}
		beyond := slices.ContainsFunc(unsayable, func(part string) bool { return strings.Contains(config, part) })
		if (code == exitOK || beyond) != (refused == nil) || beyond && code == exitOK {
			t.Errorf("%s\nconfig check ends with %d: %s\nthe schema: %v", config, code, said, refused)
		}
	}
	t.Logf("%d configs", len(configs))
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// configsInDocs returns the configs that the documents show.
func configsInDocs(t *testing.T) (configs []string) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			configs = append(configs, block[1])
		}
	}
	return configs
}
