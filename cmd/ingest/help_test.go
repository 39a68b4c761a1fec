package main_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// TestHelpIsOfACommandAndFitsATerminal: each section of help.txt belongs to a command, and fits into 80 columns.
func TestHelpIsOfACommandAndFitsATerminal(t *testing.T) {
	sections := program.HelpSections()
	if len(sections) < 30 {
		t.Fatalf("only %d sections are read, want at least 30", len(sections))
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, of := range []string{"", ": examples"} {
			shown := cmd.Long
			if of != "" {
				shown = cmd.Example
			}
			if text := strings.TrimSpace(sections[cmd.CommandPath()+of]); !strings.Contains(shown, text) {
				t.Errorf("%s%s does not show its section", cmd.CommandPath(), of)
			}
			delete(sections, cmd.CommandPath()+of)
		}
		var help strings.Builder
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(help.String()) {
			if term.Width(strings.TrimRight(line, "\n")) > term.Screen {
				t.Errorf("%s --help: %s, want at most %v", cmd.CommandPath(), line, term.Screen)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(program.NewRoot())
	delete(sections, "") // the text before the first
	for name := range sections {
		t.Errorf("help.txt is about %q, which is no command", name)
	}
}
