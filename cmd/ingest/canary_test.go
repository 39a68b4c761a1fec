//go:build unix

package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/spf13/cobra"
)

// row is how the canary test runs a command.
type row struct {
	args [][]string // they take turns; the way's additions come last
	// alone is a command that has an upstream of its own, or none: which one is configured changes nothing.
	alone bool
	// slow is one that takes seconds: it is run twice, and no more.
	slow bool
	// child is a command that is run as a process of its own, by TestLongNoProcessShowsTheKey: one that waits
	// between its tries, or for a signal.
	child bool
}

// canaryRows has a row for every command, also for those with only subcommands: it is not known whether a command
// that is missing here shows the key. $HOME in an argument is a directory that is examined afterwards.
var canaryRows = map[string]row{
	"ingest":         {args: [][]string{{}, {"--help"}, {"--version"}}, alone: true},
	"ingest run":     {args: [][]string{{"run"}, {"run", "--json"}, {"run", "--quiet"}, {"run", "--force", "--region", "US"}}, child: true},
	"ingest serve":   {args: [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"serve", "--json", "--listen", "127.0.0.1:0"}}, child: true},
	"ingest gateway": {args: [][]string{{"gateway", "--listen", "127.0.0.1:0"}}, child: true},
	"ingest quota":   {args: [][]string{{"quota"}, {"quota", "--json"}}},
	"ingest search":  {args: [][]string{{"search", "a*"}, {"search", "--json", "a*", "--order", "views"}, {"search", "nothinglikethis"}}},
	"ingest chart":   {args: [][]string{{"chart", "US"}, {"chart", "US", "--json"}, {"chart", "US", "--format", "csv", "--partial"}, {"chart", "GB"}}},
	"ingest history": {args: [][]string{
		{"history", "v"}, {"history", "--json", "dQw4w9WgXcQ"},
	}},
	"ingest slots":                 {args: [][]string{{"slots"}, {"slots", "--json"}, {"slots", "--region", "US"}, {"slots", "--next", "2"}}},
	"ingest metrics":               {args: [][]string{{"metrics"}}},
	"ingest config":                {args: [][]string{{"config"}}},
	"ingest config check":          {args: [][]string{{"config", "check"}, {"config", "check", "--json"}}},
	"ingest doctor":                {args: [][]string{{"doctor"}, {"doctor", "--json"}, {"doctor", "--online"}}},
	"ingest quota take":            {args: [][]string{{"quota", "take", "videos.list"}, {"quota", "take", "search.list", "--json"}}},
	"ingest quota post":            {args: [][]string{{"quota", "post", "units", "1"}}},
	"ingest flags":                 {args: [][]string{{"flags"}}},
	"ingest quota drain":           {args: [][]string{{"quota", "drain", "search"}, {"quota", "drain", "search", "--lift"}}},
	"ingest quota rebuild":         {args: [][]string{{"quota", "rebuild"}}},
	"ingest quota audit-report":    {args: [][]string{{"quota", "audit-report"}, {"quota", "audit-report", "--json"}}},
	"ingest quota advise":          {args: [][]string{{"quota", "advise"}, {"quota", "advise", "--json"}}},
	"ingest quota reset":           {args: [][]string{{"quota", "reset"}, {"quota", "reset", "--yes"}}},
	"ingest backfill":              {args: [][]string{{"backfill"}}},
	"ingest backfill plan":         {args: [][]string{{"backfill", "plan"}}},
	"ingest backfill plan uploads": {args: [][]string{{"backfill", "plan", "uploads", "UC_x5XG1OV2P6uZZ5FSM9Ttw"}, {"backfill", "plan", "uploads", "@nobody", "--json"}}},
	"ingest backfill plan search":  {args: [][]string{{"backfill", "plan", "search", "cats", "--from", "2026-01-01"}}},
	"ingest backfill plan videos":  {args: [][]string{{"backfill", "plan", "videos", "$HOME/ids"}}},
	"ingest backfill plan refresh": {args: [][]string{{"backfill", "plan", "refresh", "--older-than", "1h"}}},
	"ingest backfill run":          {args: [][]string{{"backfill", "run", "bf-1", "--yes"}}},
	"ingest backfill run uploads":  {args: [][]string{{"backfill", "run", "uploads", "@nobody", "--yes"}, {"backfill", "run", "uploads", "UC_x5XG1OV2P6uZZ5FSM9Ttw", "--yes", "--json"}}, child: true},
	"ingest backfill run search":   {args: [][]string{{"backfill", "run", "search", "cats", "--from", "2026-01-01", "--yes", "--max-units", "101"}}},
	"ingest backfill run videos":   {args: [][]string{{"backfill", "run", "videos", "$HOME/ids", "--yes"}}},
	"ingest backfill run refresh":  {args: [][]string{{"backfill", "run", "refresh", "--older-than", "1h", "--yes"}}},
	"ingest backfill status":       {args: [][]string{{"backfill", "status"}, {"backfill", "status", "--json"}}},
	"ingest backfill cancel":       {args: [][]string{{"backfill", "cancel", "none"}}},
	"ingest backfill retry":        {args: [][]string{{"backfill", "retry", "none"}}},
	"ingest backup":                {args: [][]string{{"backup", "$HOME/copy.db"}, {"backup", "$HOME/other.db", "--json"}, {"backup", "--expire", "$HOME"}}},
	"ingest store":                 {args: [][]string{{"store"}}},
	"ingest store copy":            {args: [][]string{{"store", "copy"}, {"store", "copy", "--from", "sqlite", "--to", "postgres://me@127.0.0.1:1/x", "--json"}}},
	"ingest demo":                  {args: [][]string{{"demo"}}, alone: true, slow: true},
	"ingest simulate":              {args: [][]string{{"simulate"}}, alone: true, child: true},
	"ingest version":               {args: [][]string{{"version"}, {"version", "--json"}}, alone: true},
	"ingest help":                  {args: [][]string{{"help", "run"}}, alone: true},
	"ingest completion":            {args: [][]string{{"completion"}}, alone: true},
	"ingest completion bash":       {args: [][]string{{"completion", "bash"}}, alone: true},
	"ingest completion zsh":        {args: [][]string{{"completion", "zsh"}}, alone: true},
	"ingest completion fish":       {args: [][]string{{"completion", "fish"}}, alone: true},
	"ingest completion powershell": {args: [][]string{{"completion", "powershell"}}, alone: true},
}

// commands returns the program's commands, by their paths.
func commands() []string {
	root := program.NewRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var paths []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		paths = append(paths, c.CommandPath())
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return paths
}

func TestEveryCommandIsInTheCanaryTest(t *testing.T) {
	paths := commands()
	for _, path := range paths {
		if len(canaryRows[path].args) == 0 {
			t.Errorf("%s has no row in canaryRows: say with which arguments it is to be run", path)
		}
	}
	if len(paths) < 20 {
		t.Errorf("the program has %d commands, want at least 20", len(paths))
	}
}

// I6: no byte of any output or file holds the key, whatever the command, whatever is wrong with the upstream, and
// however the key was given. Each command meets each hazard and each way; each hazard meets each way.
func TestNoCommandShowsTheKey(t *testing.T) { noCommandShowsTheKey(t, share{of: 30}) }

func TestLongNoCommandShowsTheKey(t *testing.T) { noCommandShowsTheKey(t, longShare(t)) }

// share selects the pairs that are tried: every n-th pair, beginning with the first.
type share struct{ of, first int }

func (s share) has(pair int) bool { return pair%s.of == s.first }

// longShare is a quarter, another one each time. With SOAK set it is all.
func longShare(t *testing.T) share {
	t.Helper()
	if os.Getenv(soakEnv) != "" {
		return share{of: 1}
	}
	s := share{of: 4, first: rand.IntN(4)}
	t.Logf("every fourth pair, beginning with %d", s.first)
	return s
}

// noCommandShowsTheKey runs some of the pairs of a command and a hazard, so that each command meets
// several hazards and each hazard several commands.
func noCommandShowsTheKey(t *testing.T, pairs share) {
	t.Helper()
	c, ways := newCanary(likeGoogle), canaryWays()
	hazards := canaryHazards(t, c.key)
	paths := commands()
	runs, files := 0, 0
	for i, hazard := range hazards {
		if hazard.env != nil { // it takes a process: NoProcessShowsTheKey
			continue
		}
		h := newHome(t, c.key, hazard.base)
		online(t, c, h, hazard, ways[i%goodWays(ways)])
		runs++
		for j, path := range paths {
			r := canaryRows[path]
			if !pairs.has(i+j) || r.child || r.alone && i >= len(ways) || r.slow && i >= 2 {
				continue
			}
			h.run(c, hazard.name, ways[(i+j)%len(ways)], r.args[i%len(r.args)])
			runs++
		}
		files += c.watchFiles(t, hazard.name, h.dir)
		if hazard.spied != nil {
			c.watch(t, hazard.name+": the other host", hazard.spied.bytes())
		}
	}
	t.Logf("%d commands x %d hazards x %d ways to give a key: %d runs in process, %d files: no piece of the key", len(commands()), len(hazards), len(ways), runs, files)
}

// goodWays counts the ways that work; they come first.
func goodWays(ways []way) int {
	return slices.IndexFunc(ways, func(w way) bool { return !w.good })
}

// online makes one call of the doctor with the key, and checks that it reached the upstream: without a leak in the
// opposite case the test would prove nothing.
func online(t *testing.T, c canary, h *home, hazard hazard, w way) {
	t.Helper()
	h.run(c, hazard.name, w, []string{"doctor", "--online"})
	if got := strings.Contains(string(hazard.heard.bytes()), c.key); got == hazard.unmet {
		t.Errorf("%s, %s: the key came to the upstream: %t", hazard.name, w.name, got)
	}
}

// run runs the program in this process.
func (h *home) run(c canary, hazard string, w way, args []string) {
	h.t.Helper()
	g := w.give(h)
	for name, value := range h.env(g) {
		h.t.Setenv(name, value)
	}
	var out, messages strings.Builder
	program.Run(h.args(args, g), &out, &messages, nil)
	where := strings.Join(append([]string{"ingest"}, args...), " ") + ", " + hazard + ", " + w.name
	c.watch(h.t, where+": standard output", []byte(out.String()))
	c.watch(h.t, where+": standard error", []byte(messages.String()))
}

// A key typed where something else belongs is recognized only by its shape.
func TestAKeyThatIsTypedIsNotRepeated(t *testing.T) {
	c := newCanary(likeGoogle)
	h := newHome(t, c.key, "http://127.0.0.1:1/")
	for _, args := range [][]string{
		{c.key}, {"run", c.key}, {"run", "--region", c.key}, {"run", "--region", "US," + c.key}, {"chart", c.key}, {"quota", "take", c.key}, {"quota", "post", c.key, "1"},
		{"slots", "--outcome", c.key}, {"help", c.key}, {"config", c.key}, {"doctor", c.key}, {"run", "--pages", c.key}, {"quota", "--cost-table", c.key},
		{"quota", "--config", c.key}, {"quota", "--costs", c.key}, {"quota", "--ledger", c.key}, {"completion", c.key}, {"--" + c.key}, {"run", "--key-file" + c.key},
	} {
		h.run(c, "none", way{name: "typed", give: func(*home) handed { return handed{} }}, args)
	}
}

// If a file that should hold a secret does not exist, its name is shown, unless the name is the secret.
func TestAFileThatIsNotThereIsNamedUnlessItIsTheSecret(t *testing.T) {
	for _, name := range []string{"CREDENTIALS_DIRECTORY", "INGEST_KEY_FILE", "INGEST_KEY", "INGEST_PING_URL_FILE", "INGEST_PING_URL"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	for path, named := range map[string]bool{
		"absent.key": true, "keys/youtube.key": true, "/nowhere/youtube.key": true, dir + "/a-name-that-is-as-long-as-a-key-is": true,
		newCanary(likeGoogle).key: false, newCanary(unlike).key: false, "./" + newCanary(unlike).key: false, newCanary(unlike).key + ".key": false,
		"https://ping.example/short": false, "ping.example/5f0c1b1e-8d1f-4c55-9a10-1f5e7c1b2a3d": false,
	} {
		c := config.Config{KeyFile: path, PingFile: path}
		_, keyErr := c.Key()
		_, pingErr := c.PingURL()
		for _, err := range []error{keyErr, pingErr} {
			if err == nil || strings.Contains(err.Error(), path) != named {
				t.Errorf("%s: named should be %t: %v", path, named, err)
			}
		}
	}
}
