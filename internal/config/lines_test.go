package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

// A mistake is found by the file and the line, in words of this program and not of a parser's grammar.
func TestAMistakeInTheConfigHasItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"\nlisten: 99":      `:2: listen "99"`,
		"\nadmin_listen: x": `:2: listen "x"`,
		"\nupstream: foo":   `:2: upstream "foo"`,
		"\nstale_after: 1h": `:2: stale_after: "1h" is not a whole number`,
		"\nhosts: 99":       ":2: hosts: 99 is outside",
		"\ndata: $HOME/x":   ":2: $HOME/x: $ means nothing outside a shell",
		"\ndata: ~/x":       ":2: ~/x: ~ means nothing outside a shell",
		"\nledger: foo":     `:2: ledger "foo"`,
		"\npacing: x":       `:2: pacing: "x"`,
		"\ntheme: no.css":   ":2: theme: ",
		"thumbnails: maybe": `:1: thumbnails: "maybe"`,
		"data: x\nfoo":      ":2: a line without a colon",
		"data: [x":          ":1: a [ without its ]",
		"jobs: - x":         ":1: a list with dashes begins on the line after its name",
		"a: b: c":           ":1: a second colon",
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Flags{Config: file, Set: func(name string) bool { return name == "config" }}, map[string]config.JobLimits{"youtube": {Pages: 4, UsualPages: 4}})
		if err == nil || !strings.Contains(err.Error(), file+want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A value that a variable gives is not blamed on the file.
func TestAVariablesMistakeHasNoLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_LISTEN", "99")
	_, err := config.Load(config.Flags{Config: file, Set: func(name string) bool { return name == "config" }}, map[string]config.JobLimits{"youtube": {Pages: 4, UsualPages: 4}})
	if err == nil || strings.Contains(err.Error(), "c.yaml") {
		t.Errorf("%v", err)
	}
}
