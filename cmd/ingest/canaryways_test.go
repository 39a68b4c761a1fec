package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

// way is a way for the key to reach the program, or nearly.
type way struct {
	name string
	good bool // the program finds the key in it
	// open is true where the person has put it into the arguments: every process can read those.
	open bool
	give func(h *home) handed
}

// handed is the part that a way adds to a command.
type handed struct {
	args []string
	env  map[string]string
}

// home is a place where the program runs, and where nothing may show the key: the key itself lies outside.
type home struct {
	t       *testing.T
	key     string
	dir     string // the test reads all files in it afterwards
	secrets string
	base    string // of the upstream
	ping    string // of a dead man's switch; "" for none
}

func newHome(t *testing.T, key, base string) *home {
	t.Helper()
	top := t.TempDir()
	h := &home{t: t, key: key, dir: filepath.Join(top, "home"), secrets: filepath.Join(top, "secrets"), base: base}
	for _, dir := range []string{h.dir, h.secrets, filepath.Join(h.dir, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *home) data() string { return filepath.Join(h.dir, "data") }

// secret writes a file that may hold the key.
func (h *home) secret(name, text string, mode os.FileMode) string {
	path := filepath.Join(h.secrets, name)
	err := os.WriteFile(path, []byte(text), 0o600)
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		h.t.Error(err)
	}
	return path
}

// args returns a row's arguments followed by the arguments of the way.
func (h *home) args(of []string, g handed) []string {
	var all []string
	for _, arg := range slices.Concat(of, g.args) {
		all = append(all, strings.ReplaceAll(arg, "$HOME", h.dir))
	}
	return all
}

// canaryConfig keeps the runs short: a region, a page.
const canaryConfig = "jobs: [{name: chart, kind: chart, regions: [US], every: 30m, pages: 1}, {name: refresh, kind: refresh, every: 24h}]\n"

// env is the environment of a command: the way's on top of the usual one. Empty variables are not set.
func (h *home) env(g handed) map[string]string {
	env := map[string]string{
		"HOME": h.dir, "TMPDIR": filepath.Join(h.dir, "tmp"), "INGEST_DATA": h.data(), "INGEST_UPSTREAM_URL": h.base,
		"INGEST_CONFIG":   h.secret("ingest.yaml", canaryConfig, 0o600),
		"INGEST_KEY_FILE": "", "INGEST_KEY": "", "CREDENTIALS_DIRECTORY": "", "INGEST_LEDGER": "", "INGEST_PING_URL": h.ping,
	}
	for name, value := range g.env {
		env[name] = value
	}
	return env
}

// canaryWays returns all ways to give the key, and the mistakes that people make with it.
func canaryWays() []way {
	file := func(name string, good bool, mode os.FileMode, text func(key string) string) way {
		return way{name: name, good: good, give: func(h *home) handed {
			return handed{args: []string{"--key-file", h.secret(strings.ReplaceAll(name, " ", "-"), text(h.key), mode)}}
		}}
	}
	set := func(name string, good bool, env func(h *home) map[string]string) way {
		return way{name: name, good: good, give: func(h *home) handed { return handed{env: env(h)} }}
	}
	arg := func(name string, args func(h *home) []string) way {
		return way{name: name, open: true, give: func(h *home) handed { return handed{args: args(h)} }}
	}
	inConfig := func(name string, good bool, text func(h *home) string) way {
		return set(name, good, func(h *home) map[string]string {
			return map[string]string{"INGEST_CONFIG": h.secret(strings.ReplaceAll(name, " ", "-")+".yaml", text(h)+canaryConfig, 0o600)}
		})
	}
	return []way{
		file("key file", true, 0o600, func(k string) string { return k + "\n" }),
		set("INGEST_KEY_FILE", true, func(h *home) map[string]string {
			return map[string]string{"INGEST_KEY_FILE": h.secret("env.key", h.key, 0o400)}
		}),
		set("INGEST_KEY", true, func(h *home) map[string]string { return map[string]string{"INGEST_KEY": h.key} }),
		set("systemd credential", true, func(h *home) map[string]string {
			return map[string]string{"CREDENTIALS_DIRECTORY": filepath.Dir(h.secret(config.Credential, h.key+"\n", 0o400))}
		}),
		inConfig("config key_file", true, func(h *home) string { return "key_file: " + h.secret("config.key", h.key, 0o600) + "\n" }),

		file("two lines", false, 0o600, func(k string) string { return k + "\n" + k + "\n" }),
		file("spaces", false, 0o600, func(k string) string { return "key = " + k }),
		file("byte order mark", false, 0o600, func(k string) string { return "\ufeff" + k }),
		file("nul", false, 0o600, func(k string) string { return k + "\x00" + k }),
		file("readable by all", false, 0o644, func(k string) string { return k }),
		file("far too long", false, 0o600, func(k string) string { return strings.Repeat(k, 200) }),
		set("INGEST_KEY of two lines", false, func(h *home) map[string]string { return map[string]string{"INGEST_KEY": h.key + "\n" + h.key} }),
		set("the key in INGEST_KEY_FILE", false, func(h *home) map[string]string { return map[string]string{"INGEST_KEY_FILE": h.key} }),
		set("userinfo in INGEST_UPSTREAM_URL", false, func(h *home) map[string]string {
			return map[string]string{"INGEST_UPSTREAM_URL": strings.Replace(h.base, "://", "://me:"+h.key+"@", 1)}
		}),
		inConfig("the key as key_file", false, func(h *home) string { return "key_file: " + h.key + "\n" }),
		inConfig("the key in the config", false, func(h *home) string { return "key: " + h.key + "\n" }),
		inConfig("half a quote in the config", false, func(h *home) string { return "key_file: \"" + h.key + "\n" }),
		inConfig("the key in upstream_url", false, func(h *home) string { return "upstream_url: https://x.invalid/?key=" + h.key + "\n" }),

		arg("the key as --key-file", func(h *home) []string { return []string{"--key-file", h.key} }),
		arg("the key as --key-file=", func(h *home) []string { return []string{"--key-file=./" + h.key} }),
		arg("?key= in --upstream-url", func(h *home) []string { return []string{"--upstream-url", h.base + "?key=" + h.key} }),
		arg("a path in --upstream-url", func(h *home) []string { return []string{"--upstream-url", h.base + h.key + "/"} }),
		arg("a port in --upstream-url", func(h *home) []string { return []string{"--upstream-url", "https://127.0.0.1:" + h.key + "/"} }),
		arg("--key", func(h *home) []string { return []string{"--key", h.key} }),
		arg("--api-key=", func(h *home) []string { return []string{"--api-key=" + h.key} }),
		arg("password in --ledger", func(h *home) []string { return []string{"--ledger", "redis://:" + h.key + "@127.0.0.1:1/0"} }),
	}
}
