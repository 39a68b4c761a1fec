package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	program "github.com/trendvidstream/ingest/cmd/ingest"
)

// wrongInputs are common mistakes, with the exit code that README gives and a part of the one line printed. A word
// KEY=VALUE before the command sets a variable. Files are the wrongFiles.
var wrongInputs = []struct {
	command string
	code    int
	says    string
}{
	// Words that are mistyped.
	{"serach cats", exitUsage, `did you mean "search"?`},
	{"frobnicate", exitUsage, `unknown command "frobnicate"`},
	{"status", exitUsage, `unknown command "status" for "ingest": did you mean "quota"?`},
	{"start", exitUsage, `did you mean "serve"?`},
	{"quota taek videos.list", exitUsage, `did you mean "take"?`},
	{"config chek", exitUsage, `did you mean "check"?`},
	{"run US", exitUsage, "did you mean --region US?"},
	{"run us,gb", exitUsage, "did you mean --region US,GB?"},
	{"slots DE", exitUsage, "did you mean --region DE?"},
	{"run extra", exitUsage, `unknown command "extra"`},
	{"run --regoin US", exitUsage, "did you mean --region?"},
	{"chart US --pratial", exitUsage, "did you mean --partial?"},
	{"serve --port 80", exitUsage, "unknown flag: --port"},
	{"run -x", exitUsage, "unknown shorthand flag"},
	{"run --region", exitUsage, "flag needs an argument"},
	// Arguments that are missing.
	{"chart", exitUsage, "which chart?"},
	{"history", exitUsage, "which video?"},
	{"search", exitUsage, "search for what?"},
	{"backup", exitUsage, "back up into what?"},
	{"quota take", exitUsage, "draw for which call?"},
	{"quota post units", exitUsage, "how much of which pool?"},
	{"quota drain", exitUsage, "which pool?"},
	{"backfill cancel", exitUsage, "which backfill?"},
	{"backfill plan", exitUsage, "plan what?"},
	{"backfill plan uploads", exitUsage, "which channels?"},
	{"backfill plan refresh", exitUsage, "how old is old"},
	// Values.
	{"run --region XX", exitUsage, `unknown region "XX": use ISO 3166 codes`},
	{"quota take videos.list --region usa", exitUsage, `unknown region "usa"`},
	{"run --region UK", exitUsage, "did you mean GB"},
	{"run --region US,US", exitUsage, "named twice"},
	{"run --region JP", exitUsage, "no job fetches JP"},
	{"run --pages 9", exitUsage, "--pages 9 is outside 1..4"},
	{"run --nope --json", exitUsage, `{"error":"unknown flag: --nope","code":"usage"`},
	{"run --pages many", exitUsage, `--pages "many": use a whole number`},
	{"chart Atlantis", exitUsage, "ISO 3166"},
	{"chart US --at noon", exitUsage, `--at "noon": use a time ago`},
	{"chart US --at 2126-01-01", exitUsage, "is in the future"},
	{"quota --since 2126-01-01", exitUsage, "is in the future"},
	{"chart US --format xml", exitUsage, "use text, json, csv or jsonl"},
	{"chart US --json --format csv", exitUsage, "give one of them"},
	{"search x --order best", exitUsage, "use relevance, views, freshness or rise"},
	{"search x --limit 0", exitUsage, "--limit 0 is outside 1..1000"},
	{"search x --min-views -1", exitUsage, "--min-views -1 is below 0"},
	{"search x --min-length 4m --max-length 3m", exitUsage, "are they reversed?"},
	{"chart US --max-length 0s", exitUsage, "--max-length \"0s\": use a length of time"},
	{"search x --after nonsense", exitUsage, "--after:"},
	{"slots --outcome fine", exitUsage, "use due, claimed, done"},
	{"slots --next 0", exitUsage, "--next 0 is below 1"},
	{"slots --next -1", exitUsage, "--next -1 is below 1"},
	{"slots --limit 0", exitUsage, "--limit 0 is below 1"},
	{"slots --since yesterday", exitUsage, "use a time ago"},
	{"quota take videos.list --purpose fun", exitUsage, "use scheduled, refresh, backfill, manual or client"},
	{"quota take video.list", exitUsage, `did you mean "videos.list"`},
	{"quota post unit 5", exitUsage, `did you mean "units"`},
	{"quota post units none", exitUsage, "whole number"},
	{"quota --jq .pools[", exitUsage, "--jq"},
	{"quota --data=", exitUsage, "name a directory"},
	{"simulate --latency soon", exitUsage, "a length of time such as 500ms"},
	{"simulate --listen 0.0.0.0:8099", exitUsage, "loopback"},
	{"simulate --latency -3s", exitUsage, "ingest: --latency -3s is below 0"},
	{"simulate --per-minute -1", exitUsage, "ingest: --per-minute -1 is below 0"},
	{"simulate --day 2026-02-14", exitUsage, "with --charts"},
	{"simulate --limit unit=3", exitUsage, "ingest: limit for an unknown pool \"unit\""},
	{"simulate --upstream vimeo", exitUsage, "use youtube or dailymotion"},
	{"simulate --limit units", exitUsage, "units=40"},
	{"simulate --fault nonsense", exitUsage, "--fault"},
	{"simulate --charts nowhere --day 2026-02-14", exitUsage, "nowhere"},
	{"simulate --cost-table modern", exitUsage, "modern"},
	{"simulate --seed first", exitUsage, `--seed "first": use a whole number`},
	{"demo --json", exitUsage, "demo tells a story"},
	{"backfill plan search x --from 2026-03-01 --to 2026-02-01", exitUsage, "are they reversed"},
	{"backfill plan videos absent.txt", exitUsage, "read the ids"},
	// The configuration.
	{"config check --config absent.yaml", exitConfig, "absent.yaml"},
	{"config check --config key.yaml", exitConfig, `key.yaml:2: unknown field "key": a key is a secret and does not belong here`},
	{"config check --config hosts.yaml", exitConfig, `hosts.yaml:1: hosts: "two" is not a whole number`},
	{"config check --config tabs.yaml", exitConfig, "tabs.yaml:2: a tab"},
	{"config check --config port.yaml", exitConfig, "did you mean 127.0.0.1:8080?"},
	{"config check --config typo.yaml", exitConfig, `typo.yaml:2: unknown field "evry": did you mean "every"?`},
	{"config check --config region.yaml", exitConfig, `region.yaml:3: unknown region "UK": did you mean GB?`},
	{"config check --config two.yaml", exitConfig, "two.yaml:3: two jobs are called \"chart\""},
	{"INGEST_DATA= config check --config home.yaml", exitConfig, "home.yaml:1: ~/ingest: ~ means nothing outside a shell"},
	{"config check --config never.yaml", exitConfig, "never.yaml:2: every: 0s must be above zero: try 30m"},
	{"config check --costs absent.yaml", exitConfig, "read the costs"},
	{"config check --costs ceiling.yaml", exitConfig, `ceiling.yaml:5: unknown field "ceiling": did you mean "ceilings"?`},
	{"config check --costs fraction.yaml", exitConfig, `fraction.yaml:12: method videos.list costs "1.5" of units`},
	{"config check --cost-table modern", exitConfig, "use one of classic"},
	{"quota --ledger memcached", exitConfig, "use sqlite, redis://"},
	{"INGEST_NOW=yesterday quota", exitConfig, "not an RFC 3339 time"},
	{"INGEST_UPSTREAM_URL= INGEST_NOW=2026-02-14T09:00:00Z run --key-file good.key", exitConfig, "INGEST_NOW is for a stand-in upstream"},
	{"INGEST_UPSTREAM_URL= INGEST_NOW=2026-02-14T09:00:00Z quota take videos.list", exitConfig, "INGEST_NOW is for a stand-in upstream"},
	{"INGEST_UPSTREAM=vimeo run", exitConfig, "use dailymotion or youtube"},
	{"INGEST_UPSTREAM_URL=http://example.com/ run --key-file good.key", exitConfig, "https"},
	{"INGEST_UPSTREAM_URL=ftp://127.0.0.1/ run --key-file good.key", exitConfig, "https"},
	{"serve --listen here --key-file good.key", exitConfig, "127.0.0.1:8080"},
	// The key.
	{"INGEST_UPSTREAM_URL= run", exitKey, "no API key"},
	{"INGEST_UPSTREAM_URL= run --key-file absent.key", exitKey, "absent.key"},
	{"INGEST_UPSTREAM_URL= INGEST_KEY_FILE=absent.key INGEST_KEY=never-used run", exitKey, "absent.key"},
	{"INGEST_UPSTREAM_URL= run --key-file empty.key", exitKey, "is empty"},
	{"INGEST_UPSTREAM_URL= run --key-file open.key", exitKey, "chmod 600"},
	{"INGEST_UPSTREAM_URL= run --key-file two.key", exitKey, "more than one word"},
	{"LANG=C LC_ALL=C INGEST_UPSTREAM_URL= run", exitKey, "no API key"},
	// The directory.
	{"INGEST_DATA= HOME= XDG_CONFIG_HOME= config check", exitConfig, "give --data"},
	{"chart US", exitError, "nothing was fetched into"},
	{"backup copy.db", exitError, "nothing was fetched into"},
	{"run --data good.key/data", exitConfig, "data"},
}

var wrongFiles = map[string]string{
	"key.yaml":     "account: default\nkey: AIzaSyA-1234567890-abcdefghijklmnopqrst\n",
	"home.yaml":    "data: ~/ingest\n",
	"hosts.yaml":   "hosts: two\n",
	"tabs.yaml":    "jobs:\n\t- name: chart\n",
	"port.yaml":    "listen: 8080\n",
	"typo.yaml":    "jobs:\n  - {name: chart, kind: chart, evry: 30m}\n",
	"region.yaml":  "jobs:\n  - name: chart\n    regions: [US, UK]\n    kind: chart\n    every: 30m\n",
	"two.yaml":     "jobs:\n  - {name: chart, kind: chart, every: 30m}\n  - {name: chart, kind: chart, every: 1h}\n",
	"never.yaml":   "jobs:\n  - {name: chart, kind: chart, every: 0s}\n",
	"ceiling.yaml": "version: 1\nupstreams:\n  youtube:\n    zone: America/Los_Angeles\n    ceiling: {scheduled: 95%}\n",
	"fraction.yaml": `version: 1
upstreams:
  youtube:
    zone: America/Los_Angeles
    table: small
    grace: 30s
    ceilings: {scheduled: 95%, refresh: 95%, backfill: 70%, manual: 99.5%, client: 70%}
    failure: {open_at_most: 0.1%, emergency: 0.5%, settle: 10m}
    tables:
      small:
        pools: {units: {24h: 20, day: 20}}
        methods: {videos.list: {units: 1.5}}
`,
	"good.key":   "a-key-that-is-never-sent\n",
	"empty.key":  "\n",
	"open.key":   "open-secret\n",
	"two.key":    "first-secret second-secret\n",
	"absent.dir": "",
}

// TestWrongInputs: each mistake is one clear line and the documented exit code; standard output is empty, no key is
// shown, and nothing is created.
func TestWrongInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range wrongFiles {
		mode := os.FileMode(0o600)
		if name == "open.key" {
			mode = 0o644
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	before := namesHere(t)
	for _, tt := range wrongInputs {
		t.Run(tt.command, func(t *testing.T) {
			for name, value := range map[string]string{
				"INGEST_UPSTREAM_URL": "http://127.0.0.1:1/", "INGEST_DATA": "data", "HOME": t.TempDir(), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "",
				"STATE_DIRECTORY": "", "CREDENTIALS_DIRECTORY": "",
			} {
				t.Setenv(name, value)
			}
			args := strings.Fields(tt.command)
			for name, value, ok := strings.Cut(args[0], "="); ok; name, value, ok = strings.Cut(args[0], "=") {
				t.Setenv(name, value)
				args = args[1:]
			}
			var out, errs bytes.Buffer
			code := program.Run(args, &out, &errs, nil)
			said := errs.String()
			if code != tt.code || !strings.Contains(said, tt.says) || strings.Count(said, "\n") != 1 ||
				!strings.HasPrefix(said, "ingest: ") && !strings.HasPrefix(said, `{"error":`) {
				t.Errorf("exit %d, want %d and a line with %q:\n%s", code, tt.code, tt.says, said)
			}
			if out.Len() > 0 || strings.Contains(said, "-secret") || strings.Contains(said, "AIza") {
				t.Errorf("standard output %q, standard error %q", out.String(), said)
			}
			if now := namesHere(t); now != before {
				t.Errorf("there are now %s, and were %s", now, before)
			}
		})
	}
}

// namesHere lists the working directory.
func namesHere(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}
