package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/spf13/cobra"
)

// TestHelpFitsATerminal walks every command but cobra's own, and those that it makes for completion.
func TestHelpFitsATerminal(t *testing.T) {
	seen := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		seen++
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if w := term.Width(strings.TrimRight(line, "\n")); w > 80 {
				t.Errorf("%s --help: %d columns: %s", cmd.CommandPath(), w, line)
			}
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(program.NewRoot())
	if seen < 25 {
		t.Errorf("%d commands were seen: there are more", seen)
	}
}

// TestMessagesAreWrappedOnATerminalOnly: a log and the mail of cron keep one line a message.
func TestMessagesAreWrappedOnATerminalOnly(t *testing.T) {
	long := errors.New(strings.Repeat("many words of an error ", 12))
	for _, narrow := range []bool{true, false} {
		var out bytes.Buffer
		if code := program.Report(&out, narrow, long); code != exitUsage {
			t.Errorf("exit %d, want %d", code, exitUsage)
		}
		lines, widest := 0, 0
		for line := range strings.Lines(out.String()) {
			lines, widest = lines+1, max(widest, term.Width(strings.TrimRight(line, "\n")))
		}
		if narrow && widest > 80 || !narrow && lines != 3 {
			t.Errorf("terminal %v: %d lines of up to %d columns for 3 messages:\n%s", narrow, lines, widest, out.String())
		}
		if words := strings.Count(strings.Join(strings.Fields(out.String()), " "), "words of an error"); words != 36 {
			t.Errorf("terminal %v: %d of 36 words are there", narrow, words)
		}
	}
}
