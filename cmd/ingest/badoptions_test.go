package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// badOptions has a bad value of each option of the config file, and of each variable that stands for one.
var badOptions = map[string]string{
	"account":           "account: a b",
	"upstream":          "upstream: vimeo",
	"upstream_url":      "upstream_url: http://example.com/",
	"data":              "data: ~/ingest",
	"ledger":            "ledger: redis://127.0.0.1:6379/0?no_such_parameter=1",
	"hosts":             "hosts: 0",
	"store":             "store: mysql://host/db",
	"costs":             "costs: absent.yaml",
	"cost_table":        "cost_table: modern",
	"key_file":          "key_file: empty.key",
	"concurrency":       "concurrency: 33",
	"listen":            "listen: 127.0.0.1:99999",
	"admin_listen":      "admin_listen: 127.0.0.1:http-alt",
	"base_path":         "base_path: ingest/",
	"own_front_end":     "own_front_end: perhaps",
	"derived_metrics":   "derived_metrics: maybe",
	"thumbnails":        "thumbnails: small",
	"descriptions":      "descriptions: short",
	"pages":             "pages: small",
	"pages title":       "pages: {title: " + strings.Repeat("long ", 20) + "}",
	"theme":             "theme: absent.css",
	"backups":           "backups: [~/backups]",
	"stale_after":       "stale_after: 0",
	"pacing":            "pacing: fast",
	"access_log":        "access_log: verbose",
	"ping_file":         "ping_file: empty.key",
	"hooks":             "hooks: [5]",
	"hooks name":        "hooks: [{name: a b, on: [chart.saved], post: 'https://example.com/x'}]",
	"hooks on":          "hooks: [{on: [chart.lost], post: 'https://example.com/x'}]",
	"hooks run":         "hooks: [{on: [chart.saved], run: absent.sh}]",
	"hooks post":        "hooks: [{on: [chart.saved], post: 'http://example.com/x'}]",
	"hooks post_file":   "hooks: [{on: [chart.saved], post_file: empty.key}]",
	"hooks secret_file": "hooks: [{on: [chart.saved], post: 'https://example.com/x', secret_file: empty.key}]",
	"hooks body":        "hooks: [{on: [chart.saved], post: 'https://example.com/x', body: '{'}]",
	"jobs":              "jobs: []",
	"jobs name":         "jobs: [{name: a b, kind: chart, every: 30m}]",
	"jobs kind":         "jobs: [{name: a, kind: charts, every: 30m}]",
	"jobs regions":      "jobs: [{name: a, kind: chart, every: 30m, regions: [XX]}]",
	"jobs every":        "jobs: [{name: a, kind: chart, every: soon}]",
	"jobs cron":         `jobs: [{name: a, kind: chart, cron: "61 * * * *"}]`,
	"jobs pages":        "jobs: [{name: a, kind: chart, every: 30m, pages: 5}]",
	"jobs category":     "jobs: [{name: a, kind: chart, every: 30m, category: music}]",
	"jobs stagger":      "jobs: [{name: c, kind: chart, regions: [US], cron: '0 9 * * *', stagger: maybe}]",
	"jobs query":        `jobs: [{name: a, kind: search, every: 24h, query: " "}]`,
	"jobs queries":      `jobs: [{name: a, kind: search, every: 24h, queries: [" "]}]`,
	"jobs channels":     "jobs: [{name: a, kind: uploads, every: 1h, channels: ['']}]",
	"jobs ids":          "jobs: [{name: a, kind: videos, every: 1h, ids: ['']}]",
	"jobs from":         "jobs: [{name: a, kind: videos, every: 1h, from: searches}]",
	"jobs charted":      "jobs: [{name: a, kind: videos, every: 1h, from: charts, charted: soon}]",
	"jobs file":         "jobs: [{name: a, kind: videos, every: 1h, file: ''}]",
	"api":               "api: 5",
	"api hosts":         `api: {hosts: ["https://example.com"]}`,
	"api origins":       "api: {origins: [www.example.com]}",
	"api limits":        "api: {limits: {day: 5}}",
	"api outer":         "api: {outer: {1m: 0}}",
	"api address":       "api: {address: {1m: 0}}",
	"api plans":         "api: {plans: {starter: {soon: 1}}}",
	"api tokens":        "api: {tokens: 5}",
	"api tokens client": "api: {tokens: [{client: a b, sha256: " + aSum + "}]}",
	"api tokens plan":   "api: {tokens: [{client: a, plan: none, sha256: " + aSum + "}]}",
	"api tokens sha256": "api: {tokens: [{client: a, sha256: abc}]}",
	"api proxies":       "api: {proxies: [10.0.0.0/99]}",
	"api forwarding":    "api: {forwarding: X-Real-IP}",
	"api allow":         "api: {allow: [here]}",
	"api deny":          "api: {deny: [there]}",
	"api callers":       "api: {callers: [them]}",
	"api tokens caller": "api: {tokens: [{client: a, caller: perhaps, sha256: " + aSum + "}]}",
	"api failure":       "api: {failure: 5}",

	"api failure open_at_most": "api: {failure: {open_at_most: most}}",
	"api failure emergency":    "api: {failure: {emergency: 120%}}",

	"api routes":           "api: {routes: 5}",
	"api routes name":      "api: {routes: [{name: a b, match: GET /v1/search}]}",
	"api routes match":     "api: {routes: [{name: a, match: 'GET /{'}]}",
	"api routes cost":      "api: {routes: [{name: a, match: GET /v1/search, cost: -1}]}",
	"api routes limits":    "api: {routes: [{name: a, match: GET /v1/search, limits: {soon: 1}}]}",
	"api headers":          "api: {headers: draft-99}",
	"api observe":          "api: {observe: perhaps}",
	"api log_clients":      "api: {log_clients: all}",
	"api successes_only":   "api: {successes_only: 2}",
	"gateway":              "gateway: 8090",
	"gateway listen":       "gateway: {listen: 0.0.0.0:8090}",
	"gateway cache":        "gateway: {cache: {video.list: 5m}}",
	"clients":              "clients: [a]",
	"clients token_sha256": "clients: {a: {token_sha256: abc}}",
	"clients limits":       "clients: {a: {token_sha256: " + aSum + ", limits: {unit: {24h: 5}}}}",
	"INGEST_STOP_EXIT":     "1",
	"INGEST_OWN_FRONT_END": "perhaps",
	"INGEST_PACING":        "fast",
	"INGEST_LISTEN":        "127.0.0.1:-1",
	"INGEST_ADMIN_LISTEN":  "9090",
	"INGEST_BASE_PATH":     "/a//b",
	"INGEST_ACCOUNT":       "a b",
	"INGEST_PING_URL":      "ftp://example.com/x",
	"INGEST_KEY":           "two words",
	"INGEST_NOW":           "noon",
	"INGEST_COSTS":         "absent.yaml",
	"INGEST_COST_TABLE":    "modern",
	"INGEST_LEDGER":        "memcached",
	"INGEST_STORE":         "oracle",
	"INGEST_UPSTREAM":      "vimeo",
	"INGEST_UPSTREAM_URL":  "ftp://127.0.0.1/",
	"INGEST_CONFIG":        "absent.yaml",
	"INGEST_KEY_FILE":      "empty.key",
	"INGEST_PING_URL_FILE": "empty.key",
}

const aSum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// property is a part of a JSON schema.
type property struct {
	Ref                  string              `json:"$ref"`
	Properties           map[string]property `json:"properties"`
	Items                *property           `json:"items"`
	AdditionalProperties json.RawMessage     `json:"additionalProperties"`
	Defs                 map[string]property `json:"$defs"`
}

// options returns the names of a schema's options, inner ones after their outer names.
func options(p property, defs map[string]property, within string) (names []string) {
	if name, ok := strings.CutPrefix(p.Ref, "#/$defs/"); ok {
		p = defs[name]
	}
	for name, inner := range p.Properties {
		names = append(names, strings.TrimSpace(within+" "+name))
		names = append(names, options(inner, defs, strings.TrimSpace(within+" "+name))...)
	}
	if p.Items != nil {
		names = append(names, options(*p.Items, defs, within)...)
	}
	var each property
	if json.Unmarshal(p.AdditionalProperties, &each) == nil {
		names = append(names, options(each, defs, within)...)
	}
	return names
}

// TestConfigCheckRefusesEachBadOption: config check refuses a bad value of each option that the schema describes, in one
// line that names it, as run, serve and gateway would.
func TestConfigCheckRefusesEachBadOption(t *testing.T) {
	data, err := os.ReadFile("../../packaging/schema/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema property
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range options(schema, schema.Defs, "") {
		if badOptions[name] == "" {
			t.Errorf("no bad value of %s is tried", name)
		}
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("empty.key", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, name, text string) (code int, said string) {
		t.Helper()
		for variable, value := range map[string]string{"HOME": t.TempDir(), "XDG_CONFIG_HOME": "", "STATE_DIRECTORY": "", "CREDENTIALS_DIRECTORY": "", "INGEST_DATA": filepath.Join(t.TempDir(), "data"), "INGEST_CONFIG": ""} {
			t.Setenv(variable, value)
		}
		if name == "data" {
			t.Setenv("INGEST_DATA", "")
		}
		if strings.HasPrefix(name, "INGEST_") {
			t.Setenv(name, text)
		} else {
			if err := os.WriteFile("ingest.yaml", []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("INGEST_CONFIG", "ingest.yaml")
		}
		return ingestSays("config", "check")
	}
	t.Run("none", func(t *testing.T) {
		if code, said := check(t, "", "account: default"); code != exitOK {
			t.Fatalf("nothing is wrong, and it ends with %d: %s", code, said)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(badOptions)) {
		t.Run(name, func(t *testing.T) {
			code, said := check(t, name, badOptions[name])
			want := exitConfig
			if name == "key_file" || name == "INGEST_KEY" || name == "INGEST_KEY_FILE" {
				want = exitKey
			}
			if code != want || strings.Count(said, "\n") != 1 {
				t.Errorf("%s: exit %d, want %d and one line:\n%s", badOptions[name], code, want, said)
			}
		})
	}
}

// ingestSays runs the program in this process, and returns its exit code and all that it says.
func ingestSays(args ...string) (code int, said string) {
	var out strings.Builder
	code = program.Run(args, &out, &out, nil)
	return code, out.String()
}
