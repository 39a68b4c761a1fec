package main_test

import (
	"net"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// freePort sets $PORT to a port that nobody listens on just now.
func freePort(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ts.Check(l.Close())
	ts.Setenv("PORT", port)
}

// readmeScript pastes the shell blocks of a section of a document into a shell that stops at the first failing command:
// readme FILE SECTION [OLD=>NEW...]. OLD must occur: ports and places that a test cannot have.
func readmeScript(ts *testscript.TestScript, neg bool, args []string) {
	blocks := blocksOf(ts, neg, args)
	// What a block leaves in the background ends with the shell.
	ts.Check(ts.Exec("sh", "-e", "-c", "trap '[ -z \"$!\" ] || { kill $!; wait; }' EXIT\n"+blocks))
}

// answersScript is readmeScript for a section whose lines are questions: each is answered, in at most eight lines.
func answersScript(ts *testscript.TestScript, neg bool, args []string) {
	asked := 0
	for line := range strings.Lines(blocksOf(ts, neg, args)) {
		command, question, _ := strings.Cut(line, " # ")
		ts.Check(ts.Exec("sh", "-c", command))
		if n := strings.Count(ts.ReadFile("stdout"), "\n"); n < 1 || n > 8 {
			ts.Fatalf("%s is answered in %d lines", strings.TrimSpace(question), n)
		}
		asked++
	}
	if asked != 10 {
		ts.Fatalf("%d questions", asked)
	}
}

// blocksOf returns the commands of a section.
func blocksOf(ts *testscript.TestScript, neg bool, args []string) string {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: readme FILE SECTION [OLD=>NEW...]")
	}
	text, err := os.ReadFile("../../" + args[0])
	ts.Check(err)
	_, section, found := strings.Cut("\n"+string(text), "\n## "+args[1]+"\n")
	if !found {
		ts.Fatalf("%s has no section %q", args[0], args[1])
	}
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := ""
	for i, part := range strings.Split(section, "```sh\n") {
		if block, _, ok := strings.Cut(part, "```"); ok && i > 0 {
			blocks += block
		}
	}
	for _, replace := range args[2:] {
		old, with, _ := strings.Cut(replace, "=>")
		if !strings.Contains(blocks, old) {
			ts.Fatalf("no block of %q has %q", args[1], old)
		}
		blocks = strings.ReplaceAll(blocks, old, with)
	}
	return blocks
}
